/* What differs between servers of language models: how a prompt is evaluated ahead, how a reply is asked for, and what
 * comes back. Pure functions on JSON; who sends it is connection.h.
 *
 * Sources: llama.cpp's tools/server/README.md (/completion, /props, /apply-template); vLLM's and SGLang's pages on
 * their OpenAI-compatible servers (/v1/completions, /version, /get_model_info); OpenAI's API reference
 * (/v1/chat/completions, stream_options).
 *
 *   LLAMA    /completion with the rendered prompt, cache_prompt and one slot for a conversation; 0 tokens evaluate
 * ahead VLLM     /v1/completions with the rendered prompt; prefixes are kept by themselves; 1 token evaluates ahead
 *   SGLANG   the same
 *   OPENAI   /v1/chat/completions with messages; the server renders them; 1 token evaluates ahead, which may cost money
 *
 * Everything that comes from a server is untrusted. */
#ifndef TANDEM_SRC_DIALECT_H
#define TANDEM_SRC_DIALECT_H

#include <stdbool.h>

#include "engine/base/buffer.h"
#include "engine/base/span.h"

typedef enum { DIALECT_LLAMA, DIALECT_VLLM, DIALECT_SGLANG, DIALECT_OPENAI, DIALECTS } dialect;

/* "llama-server", "vllm", "sglang", "openai"; -1 when there is no such name. */
const char *dialect_name(dialect d);
int dialect_find(const char *name);
/* Does it take a rendered prompt? Else it wants messages. */
bool dialect_takes_prompts(dialect d);

/* ---- What is asked ----------------------------------------------------------------------------------------------- */

typedef struct {
    const char *model;           /* as the server calls it; NULL: its only one */
    struct span prompt;          /* where the dialect takes prompts */
    const tdm_message *messages; /* else; system prompt first */
    size_t n_messages;
    bool continues; /* the last message is a reply to go on with */
    const tdm_sampling *sampling;
    int max_tokens; /* 0: until the model ends or its context does */
    int room;       /* about the tokens that the context has left for the reply; 0: not known */
    bool ignore_eos;
    const char *const *stops; /* NULL-terminated, or NULL */
    int slot;                 /* LLAMA: of the conversation; -1: the server's choice */
    bool can_think, think;    /* OPENAI: as chat_template_kwargs, for models of this family */
} dialect_ask;

/* Appends a WIRE_REQUEST's bytes (src/net/wire.h): a reply is streamed, or with `ahead` the prompt is only evaluated.
 */
tdm_status dialect_request(dialect d, const dialect_ask *ask, bool ahead, struct buffer *out, tdm_error *err);
/* A POST of /apply-template: llama-server's own rendering of the messages. */
tdm_status dialect_render(const dialect_ask *ask, struct buffer *out, tdm_error *err);
/* The same for a GET, and a POST of this body. */
tdm_status dialect_get(const char *path, struct buffer *out, tdm_error *err);
tdm_status dialect_post(const char *path, const char *body, struct buffer *out, tdm_error *err);

/* ---- What comes back --------------------------------------------------------------------------------------------- */

/* Counts are -1 where the server does not tell them. */
typedef struct {
    struct buffer text, thinking;         /* of this piece; UTF-8 */
    bool end;                             /* of the reply ... */
    tdm_finish finish;                    /* ... and why: TDM_END, TDM_LENGTH, TDM_STOP_STRING, TDM_CONTEXT */
    int64_t prompt_tokens, cached_tokens; /* of the whole prompt, and of these the ones that were kept */
    int64_t evaluated_tokens;             /* of the prompt, for this request */
    int64_t reply_tokens;
    int slot;                   /* LLAMA: that the server took; -1: not told */
    double prompt_ms, reply_ms; /* by the server's clock */
} dialect_piece;

void dialect_piece_free(dialect_piece *p);
/* Reads the data of one event, or the whole body of an answer that was not streamed, into p, whose buffers are emptied
 * first. TDM_E_FORMAT: it is none of this dialect; or the server's own error, as its line. TDM_E_IO: the server has
 * broken the reply off. "[DONE]" is an empty piece. */
tdm_status dialect_read(dialect d, struct span data, dialect_piece *p, tdm_error *err);

/* The line of a failure: what the server says in its body, or the status alone. Control characters are replaced. */
void dialect_failure(int status, struct span body, tdm_error *err);

#endif
