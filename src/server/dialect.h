/* The differences between servers of language models: evaluating a prompt ahead, requesting a reply, and parsing the
 * answer. Pure functions on JSON; connection.h sends it.
 *
 * Sources: llama.cpp's tools/server/README.md (/completion, /props); vLLM's and SGLang's pages on their
 * OpenAI-compatible servers (/v1/completions, /version, /get_model_info); OpenAI's API reference (/v1/chat/completions,
 * stream_options).
 *
 *   LLAMA    /completion with the rendered prompt, cache_prompt and one slot for a conversation; 0 tokens read ahead
 *   VLLM     /v1/completions with the rendered prompt; the server caches prefixes itself; 1 token evaluates ahead
 *   SGLANG   the same
 *   OPENAI   /v1/chat/completions with messages; the server renders them; 1 token evaluates ahead, which may cost money
 *
 * Messages with pictures go to all of them in OPENAI's form, each picture with the bytes of its file in a data address
 * (image_url): llama-server, vLLM and SGLang support that path too.
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
/* Does it take a rendered prompt? Otherwise it takes messages. */
bool dialect_takes_prompts(dialect d);

/* How a request says whether the model shall think first, if the server renders the messages. */
typedef enum {
    DIALECT_THINK_RENDERED, /* the rendered prompt says it */
    DIALECT_THINK_TEMPLATE, /* by arguments of the chat template: llama-server, vLLM, SGLang */
    DIALECT_THINK_EFFORT,   /* by reasoning_effort, "none" for no thinking: Ollama */
    DIALECT_THINK_ASKED,    /* by reasoning_effort if it shall think, else not at all, since services refuse a request
                               with a field that their model lacks */
} dialect_thinking;

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *model;           /* the server's name for it, sent with every request; NULL: its only one */
    const char *base;            /* OPENAI: the base of paths; NULL: "/v1" */
    struct span prompt;          /* for dialects that take prompts */
    const tdm_message *messages; /* for the others; system prompt first */
    size_t n_messages;
    bool continues; /* the last message is a reply to be continued */
    const tdm_sampling *sampling;
    int max_tokens; /* 0: until the model ends or its context does */
    int room;       /* about the tokens that the context has left for the reply; 0: not known */
    bool ignore_eos;
    const char *const *stops; /* NULL-terminated, or NULL */
    const char *const *marks; /* likewise: special tokens to be included in the text, for dialects that take prompts */
    int slot;                 /* LLAMA: the conversation's slot; -1: the server's choice */
    dialect_thinking thinking; /* how the request states `think` */
    tdm_thinking think;
} dialect_ask;

/* Appends a WIRE_REQUEST's bytes (src/net/wire.h): a reply is streamed, or with `ahead` the prompt is only evaluated.
 */
tdm_status dialect_request(dialect d, const dialect_ask *ask, bool ahead, struct buffer *out, tdm_error *err);
/* A GET of /props, llama-server's settings for this model. A server with several models may load it for that. */
tdm_status dialect_settings(const char *model, struct buffer *out, tdm_error *err);
/* A GET of this path. */
tdm_status dialect_get(const char *path, struct buffer *out, tdm_error *err);

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

/* Counts are -1 if the server does not report them. */
typedef struct {
    struct buffer text, thinking;         /* of this piece; UTF-8 */
    struct buffer refusal;                /* the model's text of a refusal, in place of an answer */
    struct buffer tool;                   /* the name of a tool that the model calls */
    bool end;                             /* the reply ends with this piece */
    tdm_finish finish; /* why it ends: TDM_FINISH_END, TDM_FINISH_LENGTH, TDM_FINISH_STOP_STRING, TDM_FINISH_CONTEXT;
                          TDM_FINISH_FAILED: for another reason */
    char reason[80];   /* TDM_FINISH_FAILED: that reason, one line */
    int64_t prompt_tokens, cached_tokens; /* of the whole prompt; of these, from the server's cache */
    int64_t evaluated_tokens;             /* of the prompt, for this request */
    int64_t reply_tokens;
    int slot;                   /* LLAMA: the slot that the server used; -1: unknown */
    double prompt_ms, reply_ms; /* by the server's clock */
} dialect_piece;

void dialect_piece_free(dialect_piece *p);
/* Reads the data of one event, or the whole body of an answer that was not streamed, into p, whose buffers are emptied
 * first. An object without any part of a reply, null and empty data give empty pieces; "[DONE]" is a piece that ends
 * the reply if no piece did before. TDM_E_FORMAT: the data are not of this dialect, or report the server's own error,
 * which is the line; then p has the rest of the data. */
tdm_status dialect_read(dialect d, struct span data, dialect_piece *p, tdm_error *err);

/* The line of a failure: the server's message in its body (refusal.h), or the status alone. */
void dialect_failure(int status, struct span body, tdm_error *err);

#endif
