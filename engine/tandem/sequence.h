/* Sequences: a sequence of tokens on one unit, driven by the caller. They are for evaluation, measurements and programs
 * that ask one question; a conversation that is read ahead of Enter is a tdm_chat (chat.h).
 */
#ifndef TDM_SEQUENCE_H
#define TDM_SEQUENCE_H

#include "machine.h"

/* The type in which keys and values are kept. The default is float16. */
typedef enum { TDM_KV_DEFAULT, TDM_KV_F32, TDM_KV_F16, TDM_KV_Q8_0, TDM_KV_TYPES } tdm_kv;

typedef struct tdm_sequence tdm_sequence;

typedef struct {
    int unit;     /* TDM_PREFILL_UNIT (0) or TDM_DECODE_UNIT; they differ only if the machine's options say so */
    tdm_kv kv;
    int context;  /* the most tokens that the sequence holds; 0: as much as the model and half the free memory allow, at
                     most 32768 */
    int dispatch; /* tokens per forward pass; 0, automatic: 32, with experts 512, on a GPU 128 */
} tdm_sequence_options;

TDM_API tdm_status tdm_sequence_open_sized(tdm_sequence **out, const tdm_model *m, tdm_machine *machine,
                                          const tdm_sequence_options *options, size_t size, tdm_error *err);
static inline tdm_status tdm_sequence_open(tdm_sequence **out, const tdm_model *m, tdm_machine *machine,
                                          const tdm_sequence_options *options, tdm_error *err)
{
    return tdm_sequence_open_sized(out, m, machine, options, sizeof *options, err);
}
TDM_API void tdm_sequence_close(tdm_sequence *s);

/* Evaluates tokens and appends them to the sequence. If all_logits isn't NULL, it receives one row [vocabulary] of
 * logits for each of the n positions; want_last keeps those of the last position for tdm_sequence_logits and
 * tdm_sequence_sample. TDM_E_CONTEXT: the tokens do not fit, and nothing was evaluated. */
TDM_API tdm_status tdm_sequence_eval(tdm_sequence *s, const tdm_id *ids, size_t n, bool want_last, float *all_logits,
                                    tdm_error *err);
/* The kept logits [vocabulary]; NULL: none are kept. */
TDM_API const float *tdm_sequence_logits(const tdm_sequence *s);
/* Samples a token from the kept logits. (NULL for the sampling: as recommended for the model.) The token is not
 * evaluated; pass it to tdm_sequence_eval next, unless it ends the reply (tdm_model_is_end).
 *
 * index is the token's number in its reply, from 0. With index 0 a reply begins: the tokens that the sequence holds
 * then are its prompt. The repeat penalty is for tokens of prompt and reply, the frequency and presence penalties are
 * for those of the reply alone. The random number depends on the seed, turn, attempt and index alone; turn and attempt
 * may be any numbers, such as 0.
 *
 * TDM_E_ARG: no logits are kept, or the sampling is out of range. TDM_E_UNSUPPORTED: no logit is finite. */
TDM_API tdm_status tdm_sequence_sample(tdm_sequence *s, const tdm_sampling *sampling, uint32_t turn, uint32_t attempt,
                                      uint32_t index, tdm_id *out, tdm_error *err);
/* How many tokens the sequence holds. */
TDM_API size_t tdm_sequence_length(const tdm_sequence *s);
TDM_API void tdm_sequence_clear(tdm_sequence *s);
/* Converts the state to bytes (malloc'ed) and back, in the encoding of state files, which also moves a state between
 * units. */
TDM_API tdm_status tdm_sequence_save(tdm_sequence *s, void **bytes, size_t *n, tdm_error *err);
TDM_API tdm_status tdm_sequence_load(tdm_sequence *s, const void *bytes, size_t n, tdm_error *err);

#endif
