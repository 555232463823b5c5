/* Tandem's inference engine: Qwen3.5-family text models (hybrid Gated DeltaNet + gated attention) on two units.
 *
 * This header is the manual. Conventions that hold for all of it:
 *
 *   errors     a function that can fail for an outside cause returns a tdm_status, TDM_OK or a negative code, and
 *              fills the caller's tdm_error (which may be NULL) with one line. Nothing is half done on failure
 *              unless a function says so. The engine never exits, never prints and reads no environment variable.
 *   ownership  what a `_open` or `_new` function returns is freed with the `_close` or `_free` of the same name
 *              (NULL is allowed). Strings and arrays handed in are copied unless a function says otherwise.
 *   threads    an object may be used by one thread at a time unless its section says more.
 *   units      times are nanoseconds of CLOCK_MONOTONIC, sizes bytes, speeds per second, unless the name says
 *              otherwise (_ms, _tps tokens per second, _gbs 1e9 bytes per second).
 *   text       UTF-8, given with its length; it may hold zero bytes and invalid sequences.
 */
#ifndef TANDEM_H
#define TANDEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h" /* tdm_status and tdm_error */

#define TDM_API __attribute__((visibility("default")))

/* ---- Errors -------------------------------------------------------------------------------------------------- */

/* The hook is called with one line of text just before the engine aborts on a broken invariant, on the thread that
 * found it. It should restore the terminal and then print the line: the engine does not. NULL (the default): the engine
 * prints the line on standard error. */
TDM_API void tdm_set_panic_hook(void (*hook)(const char *line));

/* A token id. Ids are rows of the embedding matrix. */
typedef int32_t tdm_id;

/* ---- Models --------------------------------------------------------------------------------------------------
 * tdm_model: configuration, tokenizer, template and packed weights. Immutable, shared by any number of machines,
 * chats and threads. The model must outlive them. */

typedef struct tdm_model tdm_model;

/* What a long operation is at, and what is counted meanwhile. */
typedef enum {
    TDM_STEP_READING,         /* packed weights: bytes */
    TDM_STEP_PACKING,         /* weights for this CPU: bytes */
    TDM_STEP_PACKING_EXPERTS, /* those that stay in memory: bytes */
    TDM_STEP_CONVERTING,      /* to another file: bytes */
    TDM_STEP_TESTING_GPU,     /* its driver, once: trials */
    TDM_STEP_COPYING_GPU,     /* weights to it: bytes */
    TDM_STEP_MEASURING_GPU,   /* products by which it is chosen what runs there: layers */
    TDM_STEP_COMPILING_GPU,   /* its programs: programs */
    TDM_STEP_LIMITS,          /* of a machine (tdm_machine_measure): measurements */
    TDM_STEPS,
} tdm_step;

/* Called repeatedly during a long operation, of each step with rising `done`; returning non-zero cancels it
 * (TDM_E_CANCELLED). */
typedef int (*tdm_progress)(void *ctx, tdm_step step, uint64_t done, uint64_t total);

typedef struct {
    const char *path;        /* a GGUF file, a Hugging Face directory or name, `synthetic:0.8b[/layers][:type]` */
    const char *builtin;     /* the built-in model's GGUF (tokenizer of the synthetic ones; NULL: none) */
    const char *const *hubs; /* folders of Hugging Face hub caches to look names up in, NULL-terminated; or NULL */
    const char *kernels;     /* reference, scalar, avx2, avx512, amx, neon; NULL: the best for this CPU */
    const char *quant;       /* q8_0 or q4_0: quantise matrices while loading; NULL: as stored */
    const char *lm_head;     /* q8_0, q6_k; NULL or as-is: as stored */
    int threads;             /* cores used for packing; 0: every allowed one */
    uint64_t expert_memory;  /* for the packed experts of a mixture, the rest is read from the file when it is needed;
                                0: as many as the free memory holds */
    const char *pack_folder; /* where packed weights are kept for the next start, in the background; NULL: nowhere */
    uint64_t pack_limit;     /* bytes of all files there; 0: a tenth of what is free or taken by them. Those used least
                                recently go first */
    bool pack_read_only;     /* what is there is read, nothing is written */
    bool text_only;          /* no weights: tokenizer, template and information alone */
    tdm_progress progress;   /* may be NULL */
    void *progress_ctx;
} tdm_model_options;

TDM_API tdm_status tdm_model_open(tdm_model **out, const tdm_model_options *options, tdm_error *err);
TDM_API void tdm_model_close(tdm_model *m);

typedef struct {
    float temperature;       /* 0: greedy, ties to the lowest id */
    int top_k;               /* 0: off */
    float top_p, min_p;      /* 1 and 0: off */
    float presence_penalty, frequency_penalty, repeat_penalty; /* 0, 0, 1: off */
    uint64_t seed;
} tdm_sampling;

/* The arithmetic of a matrix's products. */
typedef enum { TDM_F32, TDM_BF16, TDM_INT8, TDM_ARITHMETICS } tdm_arithmetic;

/* Facts for `info`; strings live as long as the model. */
typedef struct {
    const char *name, *path, *format, *architecture, *kernels;
    const char *weight_types;    /* "Q6_K 84%, F32 16%" by bytes */
    uint64_t parameters, file_bytes, packed_bytes, bytes_per_token, flops_per_token;
    tdm_arithmetic arithmetic;   /* of most of the weights with this kernel set */
    int layers, full_layers, hidden, intermediate, heads, kv_heads, head_dim;
    int whole_layers;            /* of the model that this is a part of (synthetic:NAME/LAYERS); else equal to layers */
    int lin_key_heads, lin_value_heads, lin_key_dim, lin_value_dim, conv_kernel;
    int experts, experts_used, expert_intermediate; /* of a mixture, whose shared expert has `intermediate`; 0: none */
    uint64_t active_parameters;  /* that a token is multiplied with; without a mixture all but the embeddings */
    uint64_t expert_bytes, expert_memory; /* of all experts, packed; of memory for them */
    uint64_t mtp_parameters, mtp_bytes; /* of the head that drafts tokens, which counts nowhere else; 0: none */
    double load_seconds;         /* reading and packing the weights took; 0: no weights */
    bool was_packed;             /* they came from pack_folder */
    double from_disk_tps;        /* experts don't all fit into memory: expected tokens per second; else 0 */
    int vocabulary;              /* rows of the LM head */
    int tokens;                  /* ids that the tokenizer knows */
    int trained_context;
    bool tied, synthetic;
    bool on_server;              /* tdm_model_open_server: path is its host, and counts of tokens are estimates */
    bool can_think, has_efforts; /* --think; its low, medium and xhigh */
    bool can_keep_thinking, keeps_thinking; /* thinking of past turns: on request; by default */
    const char *template_name;   /* "qwen3.5", "qwen3.6", "qwen3.8", "built-in", "none (qwen3.5 form)" */
    bool template_replaced;      /* the file's own template is not known: the Qwen3.5 form is used instead */
    const char *skipped;         /* "21 vision tensors" or "" */
    tdm_sampling sampling;       /* defaults: the file's own, else the published ones for the size */
    bool sampling_from_file;
    uint64_t fingerprint;
} tdm_model_info;

TDM_API void tdm_model_describe(const tdm_model *m, tdm_model_info *out);

/* Writes the model of in->path (builtin, hubs and progress as for tdm_model_open; other options are ignored) as a GGUF
 * file with the matrices in `type`: q8_0, q6_k, q4_k, q4_0, bf16, f16. A synthetic model becomes a file as well. The
 * file that is read can't be the one that is written (TDM_E_ARG). */
TDM_API tdm_status tdm_convert(const tdm_model_options *in, const char *out, const char *type, tdm_error *err);

/* ---- Text ---------------------------------------------------------------------------------------------------- */

/* A growable array of ids; free with tdm_ids_free. Zero-initialise before first use. */
typedef struct {
    tdm_id *ids;
    size_t n, room;
} tdm_ids;

TDM_API void tdm_ids_free(tdm_ids *ids);

/* Appends the ids of a text. `added`: the spelling of an added token, such as <|im_end|>, becomes that token. */
TDM_API tdm_status tdm_tokenize(const tdm_model *m, const char *text, size_t length, bool added, tdm_ids *out,
                                tdm_error *err);
/* Opens a tokenizer.json alone as a model without weights or template. */
TDM_API tdm_status tdm_tokenizer_open(tdm_model **out, const char *tokenizer_json, tdm_error *err);
/* Text of ids, special tokens included; *text is malloc'ed and zero-terminated. */
TDM_API tdm_status tdm_detokenize(const tdm_model *m, const tdm_id *ids, size_t n, char **text, size_t *length,
                                  tdm_error *err);

typedef enum { TDM_SYSTEM, TDM_USER, TDM_ASSISTANT } tdm_role;

typedef struct {
    tdm_role role;
    const char *text;
    size_t length;
    const char *thinking; /* assistant only; may be NULL */
    size_t thinking_length;
} tdm_message;

/* Whether the model thinks before it answers, and how much. ON means MEDIUM where the template has levels of effort
 * (Qwen3.8; its own default, xhigh, thinks for thousands of tokens). Templates without levels refuse LOW, MEDIUM and
 * XHIGH (TDM_E_REFUSED). */
typedef enum {
    TDM_THINK_OFF, TDM_THINK_ON, TDM_THINK_LOW, TDM_THINK_MEDIUM, TDM_THINK_XHIGH, TDM_THINKINGS
} tdm_thinking;
/* Whether past turns keep their thinking in the prompt. AUTO: the template's default (Qwen3.8: yes, 3.6: no). ON is
 * refused where the template has no such option. */
typedef enum { TDM_KEEP_AUTO, TDM_KEEP_ON, TDM_KEEP_OFF, TDM_KEEPS } tdm_keep_thinking;

/* "off", "on", "low"... and "auto", "on", "off". */
TDM_API const char *tdm_thinking_name(tdm_thinking t);
TDM_API const char *tdm_keep_thinking_name(tdm_keep_thinking k);

typedef struct {
    tdm_thinking think;
    tdm_keep_thinking keep_thinking;
    bool generation_prompt; /* ends with the opening of the reply */
} tdm_render_options;

/* Renders messages with the model's chat template, to ids and/or to text (either may be NULL).
 * m NULL: the Qwen3.5 form, text only. TDM_E_REFUSED when the template refuses them. */
TDM_API tdm_status tdm_render(const tdm_model *m, const tdm_message *messages, size_t n,
                              const tdm_render_options *options, tdm_ids *ids, char **text, tdm_error *err);

/* ---- Servers -------------------------------------------------------------------------------------------------
 * A model that a server computes with: the caller says how the server is reached, the chat what is to be evaluated and
 * when. Such a model has no weights. Its prompts are rendered here, as text; its tokens are counted by the tokenizer of
 * another model, so that all counts but the server's own are estimates. A chat on it works like any other in the
 * pipeline `tandem`, the only one that it has: it reads ahead by requests for the prompt so far, of which the server
 * keeps what it evaluated, at pauses and never while a reply is written. TDM_E_UNSUPPORTED there: sessions, states in
 * files, cold prompts, other pipelines. The engine itself opens no connection. */

typedef enum {
    TDM_END,        /* the model's end token */
    TDM_LENGTH,     /* max_tokens, max_answer_tokens */
    TDM_STOP_STRING,
    TDM_CONTEXT,    /* the context is full */
    TDM_STOPPED,    /* by tdm_chat_stop or send_now */
    TDM_FAILED,     /* a unit failed; the text so far is kept */
    TDM_UNFINISHED, /* still being decoded, or the program died in it */
    TDM_REPEATS,    /* it only repeated itself: loop_guard */
} tdm_finish;

/* What is read before Enter: nothing, finished turns, also what is typed, at a pause also the prompt's end. */
typedef enum { TDM_SPEC_OFF, TDM_SPEC_HISTORY, TDM_SPEC_DRAFT, TDM_SPEC_FULL } tdm_speculation;

/* What a server tells of a request; -1: it doesn't. */
typedef struct {
    int64_t prompt, cached, evaluated, reply; /* tokens; prompt = cached + evaluated */
    double prompt_ms, reply_ms;               /* by the server's clock */
} tdm_server_counts;

typedef struct {
    const char *prompt;           /* rendered, with what there is of a reply that is continued: valid UTF-8. The text of
                                     messages can't spell a token of the template: such a spelling has a U+2060 in it */
    size_t length;
    bool ahead;                   /* it is only to be evaluated and kept; what follows is not looked at then */
    int answer;                   /* the number of the answer, from 1: that many are written at the same time */
    bool think;                   /* the prompt's setting */
    const tdm_sampling *sampling; /* its seed is of this turn and attempt */
    int max_tokens;               /* of the reply; 0: no limit */
    const char *const *stops;     /* NULL-terminated; or NULL */
    bool ignore_eos;
} tdm_server_ask;

typedef enum {
    TDM_SERVER_NOTHING, /* nothing has come yet */
    TDM_SERVER_TEXT,    /* text of the reply: whole characters */
    TDM_SERVER_NOTE,    /* a line for the user, and nothing of the reply */
    TDM_SERVER_END,     /* the reply, or the prompt, is at its end */
    TDM_SERVER_FAILED,  /* there will be no more; text: why, one line */
} tdm_server_news_kind;

typedef struct {
    tdm_server_news_kind kind;
    const char *text;         /* valid until the next call for this request */
    size_t length;
    bool thinking;            /* TEXT: told apart by the server; else the text has </think> in it, if it has thinking */
    int tokens;               /* TEXT: that it stands for, about */
    tdm_finish finish;        /* END */
    tdm_server_counts counts; /* as known so far */
} tdm_server_news;

/* How the server is reached. start, next and end are called by the units' threads, several requests at a time, each by
 * one thread; soon by the one that has called tdm_chat_set_draft. None is called with a lock of the chat held. */
typedef struct {
    void *ctx;
    /* Begins a request, without waiting. The strings are the caller's again when it returns. */
    tdm_status (*start)(void *ctx, const tdm_server_ask *ask, void **request, tdm_error *err);
    /* The next news of it, at most after timeout_ms. */
    void (*next)(void *ctx, void *request, int timeout_ms, tdm_server_news *out);
    /* Frees it; what is still under way is given up. */
    void (*end)(void *ctx, void *request);
    /* Something is typed: a reply may be asked for soon. Nothing of it is told. Called for every key, where something
     * may be sent before Enter; must not wait. May be NULL. */
    void (*soon)(void *ctx);
} tdm_server;

typedef struct {
    const char *name;          /* of the model, as it is shown */
    const char *host;          /* where it is */
    const char *chat_template; /* the model's own; NULL: not known */
    const char *template_name; /* the form that it is known to have, as in tdm_model_info; NULL: by chat_template */
    const char *tokenizer;     /* the model file whose tokenizer counts */
    int context;               /* tokens; 0: not known */
    double round_trip_ms;      /* twice that is the shortest pause that is worth a request */
    tdm_speculation ahead;     /* the most that may be sent before Enter, whatever a chat asks for */
    bool in_turn;              /* it answers the requests of a conversation one after the other, each going on from
                                  what the one before evaluated: what reads ahead is not given up for the reply then */
    const tdm_sampling *sampling; /* NULL: the published ones */
    tdm_server server;         /* must outlive the model */
} tdm_server_options;

TDM_API tdm_status tdm_model_open_server(tdm_model **out, const tdm_server_options *options, tdm_error *err);

/* ---- Machine and units -----------------------------------------------------------------------------------------
 * tdm_machine: one pinned worker thread per allowed core, and two units made of them. Unit 0 prefills, unit 1
 * decodes. A unit may be a GPU instead: its driver is a thread that waits for it, and the cores stand by for the case
 * that the GPU is lost. A model is copied to a unit's GPU when a chat or a session is opened, or before it
 * (tdm_places). Functions are safe from any thread except the units' own jobs. */

typedef struct tdm_machine tdm_machine;

enum { TDM_PREFILL_UNIT = 0, TDM_DECODE_UNIT = 1, TDM_UNITS = 2 };

typedef struct {
    int threads;              /* cores used in all; 0: every allowed one */
    const char *prefill_unit; /* "cpu:2-3", or "gpu", "gpu:1"; NULL: by topology, all cores beside a GPU */
    const char *decode_unit;  /* both may be the same GPU */
    const char *prefill_kind; /* "native" or "blas", for which OpenBLAS is loaded; NULL: native. For cores only */
    const char *decode_kind;
    bool no_lending;
    /* The folder where results of self-tests of GPUs' drivers are kept: a unit whose GPU fails it has cores instead
     * (tdm_unit_info.refused). NULL: drivers are not tested. */
    const char *cache_folder;
    tdm_progress progress; /* of such a test, some seconds for a new driver, in trials, not in bytes; may be NULL */
    void *progress_ctx;
} tdm_machine_options;

TDM_API tdm_status tdm_machine_open(tdm_machine **out, const tdm_machine_options *options, tdm_error *err);
TDM_API void tdm_machine_close(tdm_machine *m);
TDM_API void tdm_machine_set_lending(tdm_machine *m, bool on);
TDM_API int tdm_machine_cores(const tdm_machine *m);

typedef enum {
    TDM_SPAN_HISTORY, TDM_SPAN_DRAFT, TDM_SPAN_SUFFIX, TDM_SPAN_PROMPT, TDM_SPAN_DECODE,
    TDM_SPAN_HANDOVER, TDM_SPAN_CHECKPOINT, TDM_SPAN_RESTORE, TDM_SPAN_LENT, TDM_SPAN_KINDS
} tdm_span_kind;

typedef struct {
    int64_t start_ns, end_ns; /* end 0: still running */
    tdm_span_kind kind;
    uint32_t tokens;
    uint64_t bytes;           /* weights, keys and values and states moved */
    uint32_t first, ids_hash; /* which tokens: position of the first, and what tells them from others (0: not told) */
} tdm_span;

typedef struct {
    const char *name;         /* "cpu:1", "gpu:0"; "server" while the chat that is served is on one */
    const char *kind;         /* native, blas, gpu, server */
    int cores;                /* that it computes with */
    char server[128];         /* the server's host; else "" */
    char device[128];         /* of a GPU: what it calls itself; else "", and what follows is 0 */
    char device_driver[128];  /* with its version */
    char device_pci[16];      /* where it is plugged in, "0000:41:00.0"; "": not known */
    uint64_t device_memory, device_used; /* bytes in all, and those that this program has there */
    bool shares_device;       /* both units are on this GPU */
    bool device_software;     /* it computes on the cores */
    bool device_lost;         /* the cores do its work */
    char refused[256];        /* why the GPU that it was to be is not used: one line; else "" */
    struct { uint64_t spans, tokens, ns, bytes; } total[TDM_SPAN_KINDS]; /* since the machine was opened */
} tdm_unit_info;

TDM_API void tdm_unit_describe(const tdm_machine *m, int unit, tdm_unit_info *out);
/* Copies the spans that end after since_ns, oldest first, at most `room` (the newest are kept); returns how many. */
TDM_API size_t tdm_unit_spans(const tdm_machine *m, int unit, int64_t since_ns, tdm_span *out, size_t room);

/* Measured upper limits of some cores, to compare actual speeds with. 0: not measured. */
typedef struct {
    double operations[TDM_ARITHMETICS]; /* per second, from registers; a multiply-add counts as two */
    double bytes;                       /* read from memory, per second */
} tdm_ceiling;

typedef struct {
    tdm_ceiling unit[TDM_UNITS]; /* of its own cores, with the other unit idle; not measured where it is a GPU */
    tdm_ceiling all;             /* of the cores of both units together; not measured where both are GPUs */
} tdm_ceilings;

/* Measures the limits with a kernel set (NULL: the best for this CPU); takes about 2 s and 256 MiB. It first waits for
 * the running dispatch and token, and holds back all other work of the units until it returns. One thread at a time.
 * progress (may be NULL) is called after each step of some hundredths of a second, on another thread. */
TDM_API tdm_status tdm_machine_measure(tdm_machine *m, const char *kernels, tdm_progress progress, void *progress_ctx,
                                       tdm_ceilings *out, tdm_error *err);

typedef enum { TDM_KV_F32, TDM_KV_F16, TDM_KV_Q8_0 } tdm_kv;

/* ---- Sessions: one timeline of tokens on one unit, driven by the caller ----------------------------------------
 * For `run`-like programs, evaluation and measuring; a conversation with type-ahead prefill is a tdm_chat. */

typedef struct tdm_session tdm_session;

typedef struct {
    int unit;             /* TDM_PREFILL_UNIT or TDM_DECODE_UNIT */
    tdm_kv kv;
    int context;          /* most tokens */
    int dispatch;         /* tokens per forward pass; 0, automatic: 32, with experts 512, on a GPU 128 */
} tdm_session_options;

TDM_API tdm_status tdm_session_open(tdm_session **out, const tdm_model *m, tdm_machine *machine,
                                    const tdm_session_options *options, tdm_error *err);
TDM_API void tdm_session_close(tdm_session *s);
/* Evaluates tokens and appends them to the session. If all_logits isn't NULL, it receives one row [vocabulary] of
 * logits for each of the n positions; want_last keeps those of the last position for tdm_session_logits. On
 * TDM_E_CONTEXT nothing was evaluated. */
TDM_API tdm_status tdm_session_eval(tdm_session *s, const tdm_id *ids, size_t n, bool want_last, float *all_logits,
                                    tdm_error *err);
/* NULL: there are none. */
TDM_API const float *tdm_session_logits(const tdm_session *s);
/* Draws a token from the kept logits; index is the token's number in its reply (the random number depends on
 * seed, turn, attempt and index alone). -1: none of them is finite, or the unit failed. */
TDM_API tdm_id tdm_session_sample(tdm_session *s, const tdm_sampling *sampling, uint32_t turn, uint32_t attempt,
                                  uint32_t index);
TDM_API size_t tdm_session_length(const tdm_session *s);
TDM_API void tdm_session_clear(tdm_session *s);
/* Converts the state to bytes and back: the encoding of state files, also used to move a state between units. */
TDM_API tdm_status tdm_session_save(tdm_session *s, void **bytes, size_t *n, tdm_error *err);
TDM_API tdm_status tdm_session_load(tdm_session *s, const void *bytes, size_t n, tdm_error *err);
/* Fills the state with made-up keys, values and recurrent states of `length` tokens (measuring only). */
TDM_API tdm_status tdm_session_fill(tdm_session *s, size_t length, uint64_t seed, tdm_error *err);
/* Transfers the state of s to dst (same model) in memory: shares the pages, moves or copies the rest. */
TDM_API tdm_status tdm_session_handover(tdm_session *dst, tdm_session *s, tdm_error *err);

/* ---- Chats: a conversation on two units ------------------------------------------------------------------------
 * The conversation is a tree of messages; the path from the root to the current leaf is what the model sees. The
 * chat has threads of its own (the machine's workers). Every tdm_chat_ function may be called from one thread, the
 * front end's; none waits for a forward pass unless it says so. The chat reports by events: wait on the descriptor
 * (readable while events are queued), then take them all.
 *
 * How long functions may wait that begin a turn or a cold prompt (send, send_now, continue, regenerate, cold): in the
 * pipeline `tandem` not at all. In a pipeline that does not read ahead, if the previous turn was stopped, until the
 * current layer of its prompt is finished; the first use of a pipeline also waits for the token being decoded.
 * tdm_chat_close always waits for at most one layer and one token.
 *
 * A machine serves one chat at a time: the one opened last. While it is open, earlier chats on the machine neither read
 * nor decode; when it is closed, the one opened before it continues where it was. */

typedef struct tdm_chat tdm_chat;

enum { TDM_MTP_AUTO = 0, TDM_MTP_OFF = -1, TDM_MTP_MOST = 5 };
typedef enum {
    TDM_PIPE_SINGLE, TDM_PIPE_SLOTS, TDM_PIPE_SEQUENTIAL_SOLO, TDM_PIPE_SEQUENTIAL, TDM_PIPE_BATCH_SOLO,
    TDM_PIPE_BATCH, TDM_PIPE_TANDEM, TDM_PIPELINES
} tdm_pipeline;
/* When it is read that far. At pauses: not while a reply is being decoded, and not while the draft's last key is
 * younger than the pause: every word is read once, and the two units never work together. */
typedef enum { TDM_READ_ALWAYS, TDM_READ_AT_PAUSES, TDM_READ_NEVER } tdm_reading;
typedef enum { TDM_FULL_STOP, TDM_FULL_DROP_OLDEST } tdm_on_full;

/* "off", "history"... and "single", "slots"...; -1 when there is no such name. */
TDM_API int tdm_speculation_find(const char *name);
TDM_API const char *tdm_speculation_name(tdm_speculation s);
TDM_API int tdm_pipeline_find(const char *name);
TDM_API const char *tdm_pipeline_name(tdm_pipeline p);

typedef struct {
    tdm_pipeline pipeline;
    tdm_speculation speculation;
    tdm_reading reading;
    int dispatch;                /* most tokens per forward pass; 0, automatic: 32, with experts 512 (at most 128 of
                                    them while a reply decodes), on a GPU 128 (32 while one decodes) */
    int pause_ms;                /* rest before the draft is taken for the whole message; -1, automatic: none after a
                                    sentence, else twice the suffix's time or a key's, at most 150 ms */
    int context;                 /* 0: as much as the model and half the free memory allow, at most 32768 */
    tdm_kv kv, prefill_kv;
    const tdm_model *prefill_model; /* the same model in another weight type for the prefill unit; NULL: same */
    uint64_t checkpoint_bytes;   /* 0: an eighth of the free memory */
    tdm_on_full on_full;
    tdm_sampling sampling;
    tdm_thinking think;
    tdm_keep_thinking keep_thinking;
    int max_tokens;              /* limit of a reply, fixed when the reply begins; 0: none but the context */
    int max_answer_tokens;       /* the same, counting only what follows the thinking */
    bool ignore_eos;
    bool loop_guard;             /* a reply that only repeats itself ends (TDM_REPEATS), not with ignore_eos: its last
                                    tokens have a period of at most 200, at least four times and for 120 tokens, more
                                    where such a text may be wanted (engine/chat/guard.h). Decided by its tokens alone,
                                    of a server by its text; from anew where it is continued. tdm_chat_defaults: off */
    const char *const *stops;    /* NULL-terminated; or NULL */
    bool hash_logits;            /* fill logits_hash of each turn's statistics (some tenths of a ms a token) */
    int mtp;                     /* tokens drafted before a pass, which verifies them: 1 to TDM_MTP_MOST; TDM_MTP_AUTO:
                                    as many as are worth it; TDM_MTP_OFF. The text is the same. While paced only as
                                    many as are late, where the model is slower than the pace; not while several
                                    answers are written */
    double mtp_accept;           /* for measuring only: this share of the drafts counts as right, whatever the model
                                    says, so the text is wrong; 0: off */
    double pace_tps;             /* decode at most so many tokens per second; 0: off. The first token is never delayed;
                                    tokens after a delay of up to 250 ms come faster until the rate is restored */
} tdm_chat_options;

TDM_API void tdm_chat_defaults(tdm_chat_options *options, const tdm_model *m);

/* Weights on the GPUs that a machine's units are, brought there before a chat is opened, which takes them from there
 * and need not copy them: a chat is opened on the thread that draws. Sets o->context where it is 0; a chat that is
 * opened with the same context, keys and values takes them. What does not fit is left to tdm_chat_open, which says so.
 * progress (may be NULL): as for tdm_model_open. Any thread. To be closed once the chat is open; before the model and
 * the machine. Fails with TDM_E_ARG, TDM_E_NOMEM, TDM_E_CANCELLED. */
typedef struct tdm_places tdm_places;
TDM_API tdm_status tdm_places_open(tdm_places **out, const tdm_model *m, tdm_machine *machine, tdm_chat_options *o,
                                   tdm_progress progress, void *progress_ctx, tdm_error *err);
TDM_API void tdm_places_close(tdm_places *p); /* NULL is allowed */

TDM_API tdm_status tdm_chat_open(tdm_chat **out, const tdm_model *m, tdm_machine *machine,
                                 const tdm_chat_options *options, tdm_error *err);
TDM_API void tdm_chat_close(tdm_chat *c);

/* Changes options of a running chat; takes effect at the next dispatch or token, the pipeline and the models at
 * the next turn. The context, the key/value types and the prefill model can't change (TDM_E_ARG); `stops` stay those
 * that the chat was opened with. Another dispatch size or checkpoint memory waits for the running dispatch. Where
 * checkpoints get less memory, the least valuable are dropped, and the system has theirs back. */
TDM_API tdm_status tdm_chat_configure(tdm_chat *c, const tdm_chat_options *options, tdm_error *err);
TDM_API void tdm_chat_options_of(const tdm_chat *c, tdm_chat_options *out);

/* Call with the text of the input line after every change. held: do not prefill it, it may be a command. */
TDM_API tdm_status tdm_chat_set_draft(tdm_chat *c, const char *text, size_t length, bool held, tdm_error *err);

/* Sends a message and empties the draft. enter_ns: when the Enter key was read. While a reply is being decoded the
 * message is queued and sent when the reply ends; further text is appended to the queued message after a newline.
 * TDM_E_CONTEXT when it doesn't fit. */
TDM_API tdm_status tdm_chat_send(tdm_chat *c, const char *text, size_t length, int64_t enter_ns, tdm_error *err);
/* Stops the running reply and sends the queued message at once. */
TDM_API void tdm_chat_send_now(tdm_chat *c, int64_t enter_ns);
/* Takes the queued message back: its text, malloc'ed, or NULL when nothing is queued. */
TDM_API char *tdm_chat_unqueue(tdm_chat *c);

/* Several answers to one message, TDM_ANSWERS_MAX at most: they are written at the same time, for one reading of the
 * weights each token, from the state of the one prompt. Each is what tdm_chat_regenerate would give, one after the
 * other, bit for bit. They are branches: siblings, the first of them current. text NULL: so many more answers to the
 * last message. While a reply is written a text is queued as by tdm_chat_send, and gets so many answers; without one
 * TDM_E_BUSY. TDM_E_NOT_FOUND where there is no message, TDM_E_CONTEXT. */
enum { TDM_ANSWERS_MAX = 8 };
TDM_API tdm_status tdm_chat_answers(tdm_chat *c, int answers, const char *text, size_t length, int64_t enter_ns,
                                    tdm_error *err);

TDM_API void tdm_chat_stop(tdm_chat *c);                                   /* ends the reply, keeps its text so far */
/* Ends one of several answers, given by its node; the others go on. Nothing happens where it has ended. */
TDM_API void tdm_chat_stop_answer(tdm_chat *c, int node);
TDM_API tdm_status tdm_chat_continue(tdm_chat *c, tdm_error *err);        /* continues a stopped or cut-off reply */
TDM_API tdm_status tdm_chat_regenerate(tdm_chat *c, int64_t enter_ns, tdm_error *err); /* same place, new sample */
TDM_API tdm_status tdm_chat_undo(tdm_chat *c, tdm_error *err);            /* one turn back; it stays as a branch */
TDM_API tdm_status tdm_chat_redo(tdm_chat *c, tdm_error *err);
/* Begins to edit the user message `node`: the conversation goes back to just before it, prefill restarts from there at
 * once, and the next send adds a sibling of it. node 0 ends editing. */
TDM_API tdm_status tdm_chat_edit(tdm_chat *c, int node, tdm_error *err);
/* Makes `node` (and the newest path below it) current. While several answers are written it may be one of them: that
 * one is followed from then on, and what is sent next replies to it. */
TDM_API tdm_status tdm_chat_select(tdm_chat *c, int node, tdm_error *err);
TDM_API tdm_status tdm_chat_set_system(tdm_chat *c, const char *text, size_t length, tdm_error *err);
TDM_API void tdm_chat_clear(tdm_chat *c);                                  /* a new, empty conversation */

/* What a turn could build on when Enter was pressed. Only warm turns show the benefit of reading ahead. */
typedef enum {
    TDM_FIRST,      /* the first turn of a conversation */
    TDM_RESUMED,    /* the first turn after tdm_chat_load */
    TDM_WARM,       /* a later turn; part of its message was evaluated before Enter (turn_before_enter) */
    TDM_COLD,       /* a later turn; none of its message was */
} tdm_turn_kind;

/* Why a turn's time to the first token is not typical of its kind. Marked turns are left out of medians. */
typedef enum {
    TDM_UNMARKED,
    TDM_QUEUED,     /* it was sent while a reply was being decoded: its clock starts at that reply's end */
    TDM_CUT,        /* it was queued, and tdm_chat_send_now stopped the reply: its clock starts there */
    TDM_HEAD_START, /* its text was in the draft before any key was typed: an earlier message was edited */
} tdm_turn_mark;

/* "first", "resumed", "warm", "cold"; "queued", "cut", "head start", "" for none. */
TDM_API const char *tdm_turn_kind_name(tdm_turn_kind kind);
TDM_API const char *tdm_turn_mark_name(tdm_turn_mark mark);

/* Statistics of a turn. Those of its prompt are complete with TDM_EV_REPLY, those of its reply with TDM_EV_END. */
typedef struct {
    tdm_turn_kind kind;
    tdm_turn_mark mark;
    bool paced;
    int64_t enter_ns;               /* where the clock of the TTFT starts */
    int64_t first_id_ns;            /* first token id is there: the engine's share ends */
    int64_t first_answer_ns;        /* first token after thinking */
    int64_t last_id_ns;             /* the newest token of the reply is there */
    int64_t end_ns;
    uint32_t prompt_tokens;         /* the whole prompt: earlier + before_enter + after_enter */
    uint32_t earlier;               /* of these, tokens shared with the last turn's prompt */
    uint32_t before_enter, after_enter; /* evaluated for this turn, before Enter and after it */
    uint32_t adopted;               /* of before_enter, those of the last reply that prefill did not evaluate again: the
                                       decoder's own state was taken over */
    uint32_t turn_tokens;           /* the user's turn with the suffix */
    uint32_t turn_before_enter;     /* of turn_tokens, those evaluated before Enter */
    uint32_t wasted;                /* evaluated but not part of the prompt that was sent */
    uint32_t suffix_evaluations;
    uint32_t reply_tokens, thinking_tokens;
    double decode_tps;              /* tokens after the first, per second, from the first to the last; of a server that
                                     * tells its times, by its clock */
    uint32_t passes;                /* that made the tokens after the first */
    uint32_t drafted, accepted;     /* tokens that those passes verified; of them, those that the reply has */
    uint32_t lag_max;               /* largest distance in tokens from the follower to the reply being decoded */
    double handover_ms;             /* in memory, or save + read + restore through the bridge */
    double save_ms, read_ms, restore_ms;
    uint64_t ids_hash, logits_hash; /* FNV-1a of prompt and reply ids; of all logits sampled from */
    bool by_server;                 /* the counts are a server's own, where they were told (counted), else estimates */
    bool counted;
    double server_prompt_ms, server_reply_ms; /* by the server's clock; 0: not told */
} tdm_turn_stats;

/* A node of the conversation. Nodes are numbered from 1 in order of creation; 0 is the root. */
typedef struct {
    int node, parent;
    tdm_role role;
    char *text, *thinking;          /* malloc'ed copies; thinking may be NULL */
    size_t length, thinking_length;
    tdm_finish finish;              /* assistant */
    int branch, branches;           /* 1-based place among its siblings */
    bool current;                   /* on the current path */
    int64_t time_s;                 /* wall clock, seconds since 1970 */
    tdm_turn_stats stats;           /* assistant; all zero when loaded from a file */
} tdm_node;

TDM_API int tdm_chat_nodes(const tdm_chat *c);                             /* how many; ids are 1..n */
TDM_API int tdm_chat_path(const tdm_chat *c, int *nodes, int room);        /* the current path; returns its length */
TDM_API tdm_status tdm_chat_node(const tdm_chat *c, int node, tdm_node *out, tdm_error *err);
TDM_API void tdm_node_free(tdm_node *node);
/* Replaces the conversation by a saved one: nodes in order, each parent before its children, `leaf` the end of the
 * current path. */
TDM_API tdm_status tdm_chat_load(tdm_chat *c, const char *system, size_t system_length, const tdm_node *nodes, int n,
                                 int leaf, tdm_error *err);
/* Saves and loads the prefilled state that belongs to a saved conversation. Saving waits for the running dispatch; it
 * may run in a thread of its own while the chat is used, but must return before tdm_chat_close. Loading reads the file
 * while the units continue to work. A file of another model, weight type, key/value type or kernel set is refused
 * (TDM_E_FORMAT); the conversation is then simply prefilled again. */
TDM_API tdm_status tdm_chat_save_state(tdm_chat *c, const char *path, tdm_error *err);
TDM_API tdm_status tdm_chat_load_state(tdm_chat *c, const char *path, tdm_error *err);

/* One conversation that is left while it is answered goes on elsewhere, in the background: its replies are written with
 * the same bits as in front. They join the passes of the replies in front where that slows these by at most a fifth,
 * else every n-th pass; they rest while the prompt in front waits for its first token. Its events have `elsewhere` set.
 * What is queued stays behind. These functions may wait for the token that is being decoded.
 *
 * tdm_chat_leave: the chat has an empty conversation with the same system prompt afterwards. TDM_E_BUSY: no reply is
 * being written (its prompt may still be read), or there is another conversation elsewhere, answered or not;
 * TDM_E_UNSUPPORTED: the pipeline decodes on the prefill unit, or the model is on a server. On failure all is as
 * before. */
TDM_API tdm_status tdm_chat_leave(tdm_chat *c, tdm_error *err);
/* It takes the place of the one in front, which goes elsewhere where `keep` is set and is forgotten otherwise. While
 * one of its replies is written, each of them comes as an event once more (`again`), and so does the text so far of
 * those that are. TDM_E_NOT_FOUND: there is none; TDM_E_BUSY: the one in front has a prompt that is being read. */
TDM_API tdm_status tdm_chat_visit(tdm_chat *c, bool keep, tdm_error *err);
TDM_API void tdm_chat_stop_elsewhere(tdm_chat *c);                         /* its replies end, with their text so far */
TDM_API void tdm_chat_forget_elsewhere(tdm_chat *c);                       /* it is gone, whatever was being written */

typedef struct {
    bool possible;          /* tdm_chat_leave can do it with this pipeline, once a reply is being written */
    bool prompts;           /* the one in front has a prompt that is being read: TDM_E_BUSY of tdm_chat_visit */
    bool there;             /* one is elsewhere; what follows is of it */
    int answers, writing;   /* of its last turn; of these, being written */
    tdm_finish finish;      /* of the one that is current */
    uint32_t tokens;        /* of all of them so far */
    double decode_tps;      /* of the one that is current */
    double cost;            /* a pass in front with them, in passes without; 0: not measured */
    int every;              /* they join one in so many passes of the replies in front */
} tdm_elsewhere;

TDM_API void tdm_chat_elsewhere_of(const tdm_chat *c, tdm_elsewhere *out);
/* As tdm_chat_nodes, tdm_chat_path and tdm_chat_node, of that conversation. */
TDM_API int tdm_chat_nodes_elsewhere(const tdm_chat *c);
TDM_API int tdm_chat_path_elsewhere(const tdm_chat *c, int *nodes, int room);
TDM_API tdm_status tdm_chat_node_elsewhere(const tdm_chat *c, int node, tdm_node *out, tdm_error *err);

typedef enum {
    TDM_EV_NONE,
    TDM_EV_TURN,      /* a user message joined the conversation: node; its reply follows */
    TDM_EV_REPLY,     /* a reply begins: node, stats so far; one for each of several answers, in their order */
    TDM_EV_TEXT,      /* text of node: UTF-8, whole characters; thinking says which part */
    TDM_EV_END,       /* the reply ended: node, finish, stats, writing */
    TDM_EV_QUEUED,    /* a message was queued or joined */
    TDM_EV_UNQUEUED,  /* it was sent or taken back */
    TDM_EV_PATH,      /* the current path changed (undo, redo, select, load, clear) */
    TDM_EV_NOTICE,    /* one line for the user: text */
    TDM_EV_ERROR,     /* something failed, but the chat continues: text */
    TDM_EV_COLD,      /* the result of tdm_chat_cold: cold */
} tdm_event_kind;

typedef struct {
    tdm_pipeline pipeline;
    double warm_ms, warm_engine_ms; /* of the turn that is compared */
    double cold_ms;
    uint32_t warm_tokens, cold_tokens; /* evaluated after Enter */
    bool same_first_token;
} tdm_cold;

typedef struct {
    tdm_event_kind kind;
    int node;
    bool elsewhere;         /* REPLY, TEXT, END: of the conversation elsewhere */
    bool again;             /* REPLY: it began earlier (tdm_chat_visit); finish: its own */
    int answer, answers;    /* REPLY, TEXT, END: which of the turn's answers, from 1, and how many there are */
    int writing;            /* TDM_EV_END: answers of the turn that are still written; 0: the turn has ended */
    size_t lost;            /* TDM_EV_END: the last bytes of the node's text, which no TEXT could tell (no memory) */
    const char *text;       /* valid until the next call */
    size_t length;
    bool thinking;
    tdm_id id;              /* TDM_EV_TEXT: last token of this text; -1: none */
    uint32_t tokens;        /* TDM_EV_TEXT: reply_tokens up to the end of this text */
    tdm_finish finish;
    tdm_turn_stats stats;
    tdm_cold cold;
} tdm_event;

/* A descriptor for poll(2), readable when events are queued; sometimes also when none is left. It becomes readable only
 * after the chat has released its lock, so that a woken reader need not wait for it. The chat closes it. */
TDM_API int tdm_chat_fd(const tdm_chat *c);
/* Takes the oldest queued event; false: there is none. Only one thread may take events. Each turn that has begun comes
 * to its END, whatever memory there is; other events may be lost, and then an ERROR says so and a PATH follows. */
TDM_API bool tdm_chat_next_event(tdm_chat *c, tdm_event *out);
/* Waits until nothing decodes, nothing is queued and the follower has nothing to do, or timeout_ms passed (-1:
 * for ever). */
TDM_API bool tdm_chat_wait_idle(tdm_chat *c, int timeout_ms);

/* Evaluates the prompt of the last user message again from an empty scratch state, up to its first token, for
 * comparison; the result comes as TDM_EV_COLD. */
TDM_API tdm_status tdm_chat_cold(tdm_chat *c, tdm_pipeline pipeline, tdm_error *err);

typedef enum {
    TDM_MARK_OFF, TDM_MARK_AFTER_REPLY, TDM_MARK_FOLLOWING, TDM_MARK_TO_READ, TDM_MARK_READY, TDM_MARK_QUEUED,
    TDM_MARK_TOO_LONG
} tdm_mark;

typedef enum { TDM_IDLE, TDM_READING, TDM_THINKING, TDM_ANSWERING } tdm_phase;

typedef struct {
    tdm_phase phase;
    uint32_t reading_done, reading_total; /* TDM_READING: of the prompt tokens left at Enter: evaluated; all */
    int answers, writing;       /* answers of the turn under way or the last one; of these, being written */
    int answer;                 /* the one that is current, from 1 */
    bool queued;
    tdm_mark mark;
    size_t draft_read_bytes;    /* bytes of the latest draft that are evaluated */
    uint32_t draft_tokens;      /* of the draft; 0 also for drafts too long to be counted */
    uint32_t target, read;      /* tokens of the follower's target; of these, tokens in its state */
    uint32_t behind;            /* target - read */
    uint32_t ahead;             /* evaluated since the last turn's Enter */
    uint32_t adopted;           /* of read: those that the decoder evaluated, whose state was taken over */
    uint32_t read_again;        /* of target, where the last tdm_chat_configure changed what stood there: those
                                   from the first other token on */
    uint32_t wasted;
    uint32_t checkpoints;
    uint64_t checkpoint_bytes, checkpoint_budget;
    bool no_checkpoints;        /* no memory for checkpoints: an edit evaluates the conversation again */
    int dispatch;               /* most tokens of one of the follower's forward passes */
    bool prefill_failed;        /* its last dispatch failed: prefill rests until the next change or Enter */
    uint32_t context_used, context_size;
    double decode_tps;          /* decode_tps of the running reply, else of the last one; 0: there is none. Of several
                                   answers each has about the same */
    double prefill_tps;         /* over the last dispatches */
    double speed_kept;          /* decode speed while prefill works, divided by decode speed alone; at most 1; 0: not
                                   known: too few tokens were measured, or their times vary too much */
    double handover_ms;         /* the last one */
    uint64_t weight_bytes, state_bytes;
    tdm_speculation level;      /* what is read ahead, as far as options, battery and server allow it */
    bool on_server;             /* what follows is of a server */
    bool rereads;               /* it evaluates a prompt anew that only its end is new of: less is read ahead */
    double round_trip_ms;
    tdm_server_counts last;     /* of the last request that it told something of */
} tdm_chat_status;

TDM_API void tdm_chat_status_of(const tdm_chat *c, tdm_chat_status *out);
/* The text of the tokens that a span of the chat's units was about (of a reply's token, after the few before it), at
 * most `room` bytes, which may end within a character; returns how many. 0: it was about none, or they are no longer
 * part of what the chat has. */
TDM_API size_t tdm_chat_span_text(const tdm_chat *c, const tdm_span *s, char *out, size_t room);

/* ---- Sensors ---------------------------------------------------------------------------------------------------
 * Reading takes some tens of small files: read at most once a second, and only while the values are shown. */

typedef struct {
    bool valid;
    double value;
    char name[48];      /* "package-0", "core temperature" */
    char unit[8];       /* W, C, MHz */
    char reason[96];    /* why not valid */
    char remedy[160];   /* the command that makes it readable; or "" */
} tdm_sensor;

typedef struct tdm_sensors tdm_sensors;
TDM_API tdm_sensors *tdm_sensors_open(void);
TDM_API void tdm_sensors_close(tdm_sensors *s);
TDM_API size_t tdm_sensors_read(tdm_sensors *s, tdm_sensor *out, size_t room);

/* ---- The CPU ---------------------------------------------------------------------------------------------------
 * Lines of text for `info --cpu`: what was found and what was chosen. *text is malloc'ed. */
TDM_API tdm_status tdm_cpu_describe(char **text, tdm_error *err);
/* The same for `info --gpu`: the devices that a unit can name and the results of their self-tests that are kept in the
 * folder (tdm_machine_options.cache_folder; NULL: none are), or why there is none. */
TDM_API tdm_status tdm_gpu_describe(const char *cache_folder, char **text, tdm_error *err);

typedef struct {
    char name[128], driver[128]; /* driver: with its version */
    bool software;               /* it runs on the cores */
    uint64_t identity;           /* of device, driver and this program's shaders */
} tdm_gpu_info;
/* Those devices in their order, at most `room`; returns how many there are. */
TDM_API int tdm_gpu_list(tdm_gpu_info *out, int room);
/* Resolves `kernels` (as in tdm_model_options) to the name of a kernel set, a static string. */
TDM_API tdm_status tdm_kernels_name(const char *kernels, const char **name, tdm_error *err);

#endif
