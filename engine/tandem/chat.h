/* Chats: a conversation on two units.
 *
 * The conversation is a tree of messages (conversation.h). The path from the root to the current leaf is what the model
 * sees. The prefill unit reads that path, the reply that is being written and the draft before Enter is pressed; the
 * decode unit writes the replies. To read tokens is to evaluate them on the prefill unit (prefill).
 *
 * Threads: a chat has threads of its own (the machine's workers), and reports by events (event.h). Only one thread may
 * call functions whose names begin with tdm_chat_, except for tdm_chat_save_state, which may run on any thread.
 *
 * Waiting: no function waits for a forward pass, with these exceptions.
 *   tdm_chat_send, send_pictures, answers, send_now, continue, regenerate, cold   In the pipeline `tandem` they never
 *       wait. In another one they may wait for one layer, if the previous turn was stopped while its prompt was read,
 *       and the first use of a pipeline waits for the token that is being decoded.
 *   tdm_chat_configure   Waits for the running dispatch, if the dispatch size or the checkpoint memory changes.
 *   tdm_chat_leave, tdm_chat_visit   May wait for the token that is being decoded.
 *   tdm_chat_save_state   Waits for the running dispatch.
 *   tdm_chat_close   Waits for at most one layer and one token.
 *
 * A machine serves one chat at a time: the one that was opened last. While it is open, earlier chats on the machine
 * neither read nor decode. When it is closed, the chat that was opened before it continues where it was.
 */
#ifndef TDM_CHAT_H
#define TDM_CHAT_H

#include "sequence.h"
#include "text.h"

typedef struct tdm_chat tdm_chat;

/* A chat has two dialogues, a conversation each. The user types to the one in front. The one in the back was left while
 * a reply was written, or is empty (dialogue.h). */
typedef enum { TDM_FRONT, TDM_BACK } tdm_which_dialogue;

/* ---- Options ----------------------------------------------------------------------------------------------------- */

/* What is read before Enter. */
typedef enum {
    TDM_SPEC_DEFAULT, /* FULL */
    TDM_SPEC_OFF,     /* nothing */
    TDM_SPEC_HISTORY, /* past turns, and the reply that is being written */
    TDM_SPEC_DRAFT,   /* also the draft */
    TDM_SPEC_FULL,    /* at a pause, also the end of the prompt */
} tdm_speculation;

/* When it is read. */
typedef enum {
    TDM_READ_ALWAYS,
    TDM_READ_AT_PAUSES, /* not while a reply is being decoded, and not while the draft's last key is younger than the
                           pause: every word is read once, and the two units never work at the same time */
    TDM_READ_NEVER,
} tdm_reading;

/* How a prompt reaches the unit that decodes. All but the first are for comparison. */
typedef enum {
    TDM_PIPE_TANDEM,          /* the prefill unit reads ahead; the state is handed over at Enter */
    TDM_PIPE_SINGLE,          /* the decode unit reads the prompt after Enter, as other programs do */
    TDM_PIPE_SLOTS,           /* the prefill unit reads it, padded to 64, 256 or 512 tokens */
    TDM_PIPE_SEQUENTIAL_SOLO, /* the prefill unit reads it token by token, and decodes */
    TDM_PIPE_SEQUENTIAL,      /* the prefill unit reads it token by token */
    TDM_PIPE_BATCH_SOLO,      /* the prefill unit reads it by dispatches, and decodes */
    TDM_PIPE_BATCH,           /* the prefill unit reads it by dispatches */
    TDM_PIPELINES
} tdm_pipeline;

/* What happens when the context is full. */
typedef enum {
    TDM_FULL_STOP,       /* the reply ends */
    TDM_FULL_DROP_OLDEST /* the oldest turns are left out of the prompt */
} tdm_on_full;

/* How a state reaches a unit with another memory. */
typedef enum {
    TDM_BRIDGE_DIRECT, /* it is copied */
    TDM_BRIDGE_BYTES   /* it is saved to bytes and restored, as between two programs */
} tdm_bridge;

/* tdm_chat_options.mtp: what it may be besides a number of drafts, and the largest such number. */
enum { TDM_MTP_AUTO = 0, TDM_MTP_OFF = -1, TDM_MTP_MAX = 5 };
/* tdm_chat_options.pause_ms: no pause. */
enum { TDM_PAUSE_NONE = -1 };

/* "off", "history"... and "single", "slots"...; -1 when there is no such name. */
TDM_API int tdm_speculation_find(const char *name);
TDM_API const char *tdm_speculation_name(tdm_speculation s);
TDM_API int tdm_pipeline_find(const char *name);
TDM_API const char *tdm_pipeline_name(tdm_pipeline p);

/* Zero in each member is the default. Most programs set none of them, or some of the first group. */
typedef struct {
    /* Replies. */
    tdm_sampling sampling;
    tdm_thinking think;
    tdm_keep_thinking keep_thinking;
    int max_tokens;              /* limit of a reply, fixed when the reply begins; 0: the context alone */
    int max_answer_tokens;       /* the same, counting only the tokens after the thinking */
    const char *const *stops;    /* texts that end a reply; NULL ends the list; or NULL */
    bool ignore_eos;             /* the model's end tokens do not end a reply */
    bool loop_guard;             /* end a reply that only repeats itself (TDM_FINISH_REPEATS), unless ignore_eos is set:
                                    its last tokens have a period of at most 200, at least four times and for 120
                                    tokens; for more tokens if such a text may be wanted: lines (24 times and 600
                                    tokens), punctuation, numbers, or what the message contains. Only the reply's
                                    tokens and the message count; of a server's reply, its text. For a continued reply
                                    the guard starts empty */
    tdm_on_full on_full;
    double pace_tps;             /* decode at most this many tokens per second; 0: no limit. The first token is never
                                    delayed. After a delay of up to 250 ms, tokens come faster until the rate is
                                    restored */
    /* Reading ahead. */
    tdm_speculation speculation;
    tdm_reading reading;
    int pause_ms;                /* pause after the last key before the end of the prompt is read too; TDM_PAUSE_NONE:
                                    no pause. 0, automatic: none after the end of a sentence; otherwise twice the time
                                    to evaluate the suffix or twice the typing interval, whichever is less, at most 150
                                    ms */
    int mtp;                     /* tokens drafted before a pass, which verifies them: 1 to TDM_MTP_MAX; TDM_MTP_AUTO:
                                    as many as are worth it; TDM_MTP_OFF. The text is the same. With pace_tps, only as
                                    many as are needed to keep up; with several answers, none */
    /* Memory. */
    int context;                 /* tokens; 0: as much as the model and half the free memory allow, at most 32768 */
    tdm_kv kv;                   /* keys and values of the decode unit */
    tdm_kv prefill_kv;           /* keys and values of the prefill unit; default: as kv */
    uint64_t checkpoint_bytes;   /* for checkpoints and replicas; 0: an eighth of the free memory */
    int picture_tokens;          /* the most tokens of a picture (pictures.h); 0: the model's own bound */
    uint64_t picture_bytes;      /* for encoded pictures; 0: 256 MiB */
    /* Comparison and measurement. */
    tdm_pipeline pipeline;
    int dispatch;                /* the most tokens per forward pass; 0, automatic: 32, with experts 512 (at most 128 of
                                    them while a reply is decoded), on a GPU 128 (32 while one is decoded) */
    tdm_bridge bridge;
    const tdm_model *prefill_model; /* the same model in another weight type for the prefill unit; NULL: the same */
    bool hash_logits;            /* compute tdm_turn_stats.logits_hash (some tenths of a ms a token) */
} tdm_chat_options;

/* Fills in the defaults for this model, with the recommended sampling in place of zeros: for programs that change some
 * members of the sampling. */
TDM_API void tdm_chat_defaults_sized(tdm_chat_options *options, size_t size, const tdm_model *m);
static inline void tdm_chat_defaults(tdm_chat_options *options, const tdm_model *m)
{
    tdm_chat_defaults_sized(options, sizeof *options, m);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Copies weights to the GPUs of a machine's units before a chat is opened. tdm_chat_open copies them too, which takes
 * seconds; a program that must not wait there calls this function on another thread first. It sets o->context if that
 * is 0; a chat that is opened with the same context, keys and values uses these weights. What does not fit on a GPU is
 * left to tdm_chat_open, which reports it. progress (may be NULL) is as for tdm_model_open. Any thread may call this
 * function; no other call and no reply waits for it. Close the preload when the chat is open, and before model and
 * machine. TDM_E_ARG, TDM_E_NOMEM, TDM_E_CANCELLED. */
typedef struct tdm_preload tdm_preload;
TDM_API tdm_status tdm_preload_open_sized(tdm_preload **out, const tdm_model *m, tdm_machine *machine,
                                         tdm_chat_options *o, size_t size, tdm_progress progress, void *progress_ctx,
                                         tdm_error *err);
static inline tdm_status tdm_preload_open(tdm_preload **out, const tdm_model *m, tdm_machine *machine,
                                         tdm_chat_options *o, tdm_progress report, void *report_ctx, tdm_error *err)
{
    return tdm_preload_open_sized(out, m, machine, o, sizeof *o, report, report_ctx, err);
}
TDM_API void tdm_preload_close(tdm_preload *p); /* NULL is allowed */

/* Opens a chat with an empty conversation. machine NULL: a machine with default options, which the chat opens, and
 * closes in the end. options NULL: the defaults. If the model has to be copied to a GPU, this takes seconds
 * (tdm_preload); otherwise it takes milliseconds, most of them for memory. */
TDM_API tdm_status tdm_chat_open_sized(tdm_chat **out, const tdm_model *m, tdm_machine *machine,
                                       const tdm_chat_options *options, size_t size, tdm_error *err);
static inline tdm_status tdm_chat_open(tdm_chat **out, const tdm_model *m, tdm_machine *machine,
                                       const tdm_chat_options *options, tdm_error *err)
{
    return tdm_chat_open_sized(out, m, machine, options, sizeof *options, err);
}
TDM_API void tdm_chat_close(tdm_chat *c);

/* Changes the options of a running chat. All members are set: a zero is the default, except in the members that can't
 * change, where it keeps the present value. These are the context, kv, prefill_kv and prefill_model (TDM_E_ARG);
 * `stops` is ignored, and checkpoint_bytes 0 keeps the memory as it is. So begin with tdm_chat_options_of to change
 * single members.
 *
 * The options take effect at the next dispatch or token, the pipeline at the next turn. If checkpoints get less memory,
 * the least valuable are dropped, and their memory goes back to the system. */
TDM_API tdm_status tdm_chat_configure_sized(tdm_chat *c, const tdm_chat_options *options, size_t size, tdm_error *err);
static inline tdm_status tdm_chat_configure(tdm_chat *c, const tdm_chat_options *options, tdm_error *err)
{
    return tdm_chat_configure_sized(c, options, sizeof *options, err);
}
/* The options in effect. */
TDM_API void tdm_chat_options_of_sized(const tdm_chat *c, tdm_chat_options *out, size_t size);
static inline void tdm_chat_options_of(const tdm_chat *c, tdm_chat_options *out)
{
    tdm_chat_options_of_sized(c, out, sizeof *out);
}

/* ---- Typing and sending ------------------------------------------------------------------------------------------ */

/* Sets the draft: the text of the input line. Call it with the whole text after every change; an empty text, also NULL
 * with length 0, is no draft. held: do not read it yet, since it may be a command. */
TDM_API tdm_status tdm_chat_set_draft(tdm_chat *c, const char *text, size_t length, bool held, tdm_error *err);

/* Sends a message and empties the draft. The message may be empty; the chat does not treat white space specially.
 * enter_ns: when the Enter key was read; 0, here and below: now. While a reply is being written, the message is queued
 * and sent when the reply ends (TDM_EV_QUEUED); if one is queued already, the text is appended to it after a newline.
 * If the last message has no reply, or a reply without text and thinking, the new message becomes its sibling
 * (TDM_EV_PATH), so that no prompt contains a turn without a reply. TDM_E_CONTEXT: the message doesn't fit. */
TDM_API tdm_status tdm_chat_send(tdm_chat *c, const char *text, size_t length, int64_t enter_ns, tdm_error *err);
/* Stops the running reply and sends the queued message at once. */
TDM_API void tdm_chat_send_now(tdm_chat *c, int64_t enter_ns);
/* Takes the queued message back: its text, malloc'ed, or NULL when no message is queued. */
TDM_API char *tdm_chat_unqueue(tdm_chat *c);

/* Asks for several answers to one message, at most TDM_ANSWERS_MAX. They start from the state of the same prompt and
 * are written at the same time; the weights are read once for a token of each. Each is, bit for bit, what
 * tdm_chat_regenerate would give, called once for each. The answers are branches: siblings, the first of them current.
 * With text NULL they are further answers to the last message. While a reply is written, a text is queued as by
 * tdm_chat_send and gets this many answers; without a text the result is TDM_E_BUSY. TDM_E_NOT_FOUND: there is no
 * message. TDM_E_CONTEXT. */
enum { TDM_ANSWERS_MAX = 8 };
TDM_API tdm_status tdm_chat_answers(tdm_chat *c, int answers, const char *text, size_t length, int64_t enter_ns,
                                    tdm_error *err);

/* Ends the dialogue's replies; their text so far is kept. */
TDM_API void tdm_chat_stop(tdm_chat *c, tdm_which_dialogue which);
/* Ends one of several answers, given by its node; the others continue. It does nothing if that answer has ended. */
TDM_API void tdm_chat_stop_answer(tdm_chat *c, int node);
/* Continues a reply that was stopped or cut off. */
TDM_API tdm_status tdm_chat_continue(tdm_chat *c, tdm_error *err);
/* Writes another reply to the last message, sampled anew: a sibling of the current one. */
TDM_API tdm_status tdm_chat_regenerate(tdm_chat *c, int64_t enter_ns, tdm_error *err);

/* Evaluates the prompt of the last user message again from an empty state, up to its first token, for comparison with a
 * prompt that was read ahead. The result is an event, TDM_EV_COLD. TDM_E_NOT_FOUND: the last message has no reply, or
 * one that was continued or loaded, of whose first token nothing is known. */
TDM_API tdm_status tdm_chat_cold(tdm_chat *c, tdm_pipeline pipeline, tdm_error *err);

#endif
