/* Text to token ids and back, and messages to a prompt. */
#ifndef TDM_TEXT_H
#define TDM_TEXT_H

#include "model.h"

/* ---- Token ids --------------------------------------------------------------------------------------------------- */

/* A growable array of ids; free with tdm_ids_free. Zero-initialise before first use. */
typedef struct {
    tdm_id *ids;
    size_t n, capacity;
} tdm_ids;

TDM_API void tdm_ids_free(tdm_ids *ids);

/* Appends the ids of a text to `out`, as of the beginning of a prompt: the token that begins every prompt comes first
 * (tdm_model_info.begins_with). special: the spelling of a special token, such as <|im_end|>, becomes that token.
 * (Files of Hugging Face call special tokens added tokens.) */
TDM_API tdm_status tdm_tokenize(const tdm_model *m, const char *text, size_t length, bool special, tdm_ids *out,
                                tdm_error *err);

/* A part of a text, up to the byte before `end`, and whether the spelling of special tokens in it becomes these tokens.
 * In a prompt that holds for what the template wrote, but not for the messages. */
typedef struct {
    size_t end;
    bool special;
} tdm_text_part;

/* As tdm_tokenize, for a text of n parts. The end of the last one is the length of the text. */
TDM_API tdm_status tdm_tokenize_parts(const tdm_model *m, const char *text, const tdm_text_part *parts, size_t n,
                                      tdm_ids *out, tdm_error *err);
/* Whether this token ends a reply. A model may have several such tokens. */
TDM_API bool tdm_model_is_end(const tdm_model *m, tdm_id id);
/* The text of ids, special tokens included: valid UTF-8, malloc'ed and zero-terminated. A character may be spread over
 * several tokens, and one that is incomplete becomes U+FFFD. So pass all ids of a reply rather than one at a time. */
TDM_API tdm_status tdm_detokenize(const tdm_model *m, const tdm_id *ids, size_t n, char **text, size_t *length,
                                  tdm_error *err);
/* A text of the model's files about prompts: "chat_template", "bos_token" or "eos_token". It lives as long as the
 * model. NULL: the files have none. */
TDM_API const char *tdm_model_text(const tdm_model *m, const char *what, size_t *length);
/* Opens a tokenizer.json alone as a model without weights or template. */
TDM_API tdm_status tdm_tokenizer_open(tdm_model **out, const char *tokenizer_json, tdm_error *err);

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

typedef enum { TDM_SYSTEM, TDM_USER, TDM_ASSISTANT } tdm_role;

typedef struct {
    tdm_role role;
    const char *text;
    size_t length;
    const char *thinking; /* of the assistant only; may be NULL */
    size_t thinking_length;
    const tdm_placed_picture *pictures; /* its pictures (pictures.h), of the user only */
    size_t n_pictures;
} tdm_message;

/* Whether the model thinks before it answers, and how much. ON is MEDIUM if the template has efforts. Functions return
 * TDM_E_REFUSED if the template lacks what is asked for (tdm_model_info.thinkings). */
typedef enum {
    TDM_THINK_OFF, TDM_THINK_ON, TDM_THINK_LOW, TDM_THINK_MEDIUM, TDM_THINK_HIGH, TDM_THINK_XHIGH, TDM_THINKINGS
} tdm_thinking;
/* Whether past turns keep their thinking. AUTO leaves it to the template. Functions return TDM_E_REFUSED for ON and OFF
 * if the template has no such switch. */
typedef enum { TDM_KEEP_AUTO, TDM_KEEP_ON, TDM_KEEP_OFF, TDM_KEEPS } tdm_keep_thinking;

/* "off", "on", "low"... and "auto", "on", "off". */
TDM_API const char *tdm_thinking_name(tdm_thinking t);
TDM_API const char *tdm_keep_thinking_name(tdm_keep_thinking k);

typedef struct {
    tdm_thinking think;
    tdm_keep_thinking keep_thinking;
    bool generation_prompt; /* the prompt ends with the opening of the reply */
} tdm_render_options;

/* Renders messages with the model's chat template, to ids, to text or to both (either may be NULL). Ids are appended;
 * they include the token that begins every prompt. *text is malloc'ed. With the model NULL the template is ChatML, to
 * text only. TDM_E_REFUSED: the template refuses the messages. */
TDM_API tdm_status tdm_render_sized(const tdm_model *m, const tdm_message *messages, size_t n,
                                    const tdm_render_options *options, size_t size, tdm_ids *ids, char **text,
                                    tdm_error *err);
static inline tdm_status tdm_render(const tdm_model *m, const tdm_message *messages, size_t n,
                                    const tdm_render_options *options, tdm_ids *ids, char **text, tdm_error *err)
{
    return tdm_render_sized(m, messages, n, options, sizeof *options, ids, text, err);
}

#endif
