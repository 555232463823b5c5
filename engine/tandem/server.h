/* Servers: a model that runs on a server.
 *
 * The caller provides functions that reach the server; the chat decides what is to be evaluated and when. The engine
 * itself opens no connection. Such a model has no weights. Its prompts are rendered here, as text. The tokenizer of
 * another model counts its tokens, so all counts but the server's own are estimates.
 *
 * A chat on it works like any other in the pipeline `tandem`, the only one that it has. It reads ahead by requests for
 * the prompt so far; the server keeps what it evaluated in its prefix cache. The chat sends them at pauses, and never
 * while a reply is written. These are TDM_E_UNSUPPORTED there: sequences, states in files, cold prompts, other
 * pipelines.
 */
#ifndef TDM_SERVER_H
#define TDM_SERVER_H

#include "conversation.h"

/* What a server reports about a request; -1: not reported. */
typedef struct {
    int64_t prompt, cached, evaluated, reply; /* tokens; prompt = cached + evaluated */
    double prompt_ms, reply_ms;               /* by the server's clock */
} tdm_server_counts;

/* A request. */
typedef struct {
    const char *prompt;          /* rendered, with the beginning of a reply that is continued: valid UTF-8. If a message
                                    spells a special token of the template, a U+2060 stands in the spelling */
    size_t length;
    size_t n_messages;
    size_t begun_length;
    const tdm_message *messages; /* for a server that renders them itself: the messages, system prompt first ... */
    const char *begun;           /* ... and the answer so far of a reply that is continued */
    bool ahead;                  /* only evaluate the prompt and keep it; the members below are not used then */
    int answer;                  /* number of the answer, from 1; each answer is a request */
    tdm_thinking think;          /* think first, and how much; for a server that renders the messages itself: the prompt
                                    opens no thinking */
    const tdm_sampling *sampling; /* its seed is of this turn and attempt */
    int max_tokens;              /* of the reply; 0: no limit */
    const char *const *stops;    /* NULL ends the list; or NULL */
    const char *const *marks;    /* special tokens that thinking is known by: for a rendered prompt they are wanted in
                                    the reply's text. NULL ends the list; or NULL */
    bool ignore_eos;
} tdm_server_ask;

typedef enum {
    TDM_SERVER_NOTHING, /* nothing has come yet */
    TDM_SERVER_TEXT,    /* text of the reply: whole characters */
    TDM_SERVER_NOTE,    /* a line for the user, which is no part of the reply */
    TDM_SERVER_END,     /* the reply, or the evaluation of the prompt, has ended */
    TDM_SERVER_FAILED,  /* the request has failed; text: why, one line */
} tdm_server_news_kind;

typedef struct {
    tdm_server_news_kind kind;
    const char *text;         /* valid until the next call for this request */
    size_t length;
    bool thinking;            /* TEXT: the server marked it as thinking; if it marks none, the template's marks are in
                                 the text (<think> and </think>, or those of `marks`) */
    int tokens;               /* TEXT: about how many tokens it is */
    tdm_finish finish;        /* END */
    tdm_server_counts counts; /* as known so far */
} tdm_server_news;

/* The functions that reach the server. The units' threads call start, next and end, for several requests at a time,
 * each request on one thread. The thread that has called tdm_chat_set_draft calls soon. None is called with a lock of
 * the chat held. */
typedef struct {
    void *ctx;
    /* Begins a request, without waiting. The strings are valid until it returns. */
    tdm_status (*start)(void *ctx, const tdm_server_ask *ask, void **request, tdm_error *err);
    /* Waits for news of the request, at most timeout_ms. */
    void (*next)(void *ctx, void *request, int timeout_ms, tdm_server_news *out);
    /* Frees the request. If it still runs, it is cancelled. */
    void (*end)(void *ctx, void *request);
    /* The user types, so a reply may be asked for soon. The text is not passed. Called for every key, if anything may
     * be sent before Enter; must not wait. May be NULL. */
    void (*soon)(void *ctx);
} tdm_server;

typedef struct {
    const char *name;          /* of the model, as it is shown */
    const char *host;          /* of the server, as it is shown */
    const char *chat_template; /* the model's own. NULL, or one that can't be run: requests are made of messages */
    const char *tokenizer;     /* the model file whose tokenizer counts; NULL: the engine counts, more than most do */
    int context;               /* tokens; 0: unknown */
    double round_trip_ms;      /* twice this is the shortest pause after which a request is sent */
    tdm_speculation ahead;     /* the most that may be sent before Enter, whatever a chat's options say; default: OFF */
    bool in_turn;              /* the server runs the requests of a conversation one after the other, each from what the
                                  one before evaluated; so a running read-ahead request is not cancelled at Enter */
    const tdm_sampling *sampling; /* recommended; NULL: by the tokenizer's model file */
    tdm_server server;         /* must outlive the model */
} tdm_server_options;

TDM_API tdm_status tdm_model_open_server_sized(tdm_model **out, const tdm_server_options *options, size_t size,
                                               tdm_error *err);
static inline tdm_status tdm_model_open_server(tdm_model **out, const tdm_server_options *options, tdm_error *err)
{
    return tdm_model_open_server_sized(out, options, sizeof *options, err);
}

#endif
