/* The kind, models and settings of a server, requested before any part of a conversation is sent. The requests are GETs
 * without content; the answers are untrusted.
 *
 *   GET /props           llama-server: its slots, context and chat template; /props?model=NAME if it has several
 *                        models and loads them on request (a router)
 *   GET /get_model_info  SGLang
 *   GET /version         vLLM
 *   GET /v1/models       the models' names; for all other servers the only request; /models if the
 *                        address has a base path of its own
 *
 * A path that is missing or refused says nothing about the others: a model that the user names is used unless the
 * server can't be reached, or lists its models without this one. */
#ifndef TANDEM_SRC_SERVER_INFO_H
#define TANDEM_SRC_SERVER_INFO_H

#include "src/server/connection.h"
#include "src/server/dialect.h"

enum { SERVER_INFO_MODELS = 2000, SERVER_INFO_NAME = 200 };

typedef struct {
    dialect kind;
    char model[SERVER_INFO_NAME]; /* the one that is used */
    const char *base;           /* OPENAI: the base of paths; NULL: "/v1" */
    bool router;                /* LLAMA: it has several models; the members below are about the one that is used */
    char (*models)[SERVER_INFO_NAME]; /* the offered models, at most SERVER_INFO_MODELS */
    int n_models;
    char version[80];     /* "": unknown */
    int context;          /* tokens of a conversation; 0: unknown */
    int slots;            /* conversations that it keeps; 0: unknown */
    char *chat_template;  /* malloc'ed; NULL: unknown */
    bool blind;           /* LLAMA: it reports that its model has no vision */
    bool ollama;          /* it is an Ollama, by the owner that its list of models names */
    double round_trip_ms; /* of a request on an open connection */
} server_info;

/* Called now and then while an answer is awaited: true cancels the wait, with TDM_E_CANCELLED. loading_s: the seconds
 * for which requests to a busy or loading server have been repeated; -1: it answers. NULL: never called, and requests
 * are not repeated. */
typedef struct {
    bool (*given_up)(void *ctx, int loading_s);
    void *ctx;
} server_info_patience;

/* Makes the requests and waits for the answers; with `patience` it repeats them by the rules of refusal.h. kind: a
 * dialect; -1: to be detected. model: the wanted name; NULL: the first offered. TDM_E_NOT_FOUND: there is no such
 * model; TDM_E_IO: the server can't be reached, refuses to list its models, or is loading its model. */
tdm_status server_info_ask(server_info *out, connection *c, int kind, const char *model,
                           const server_info_patience *patience, tdm_error *err);
void server_info_free(server_info *f);

/* Reads the text of a llama-server's /props into a zeroed f. TDM_E_FORMAT: the text is none. */
tdm_status server_info_read_props(server_info *f, struct span text, tdm_error *err);
/* Reads the text of /v1/models into an f without names: the names, and the one that is used. Errors as
 * server_info_ask. */
tdm_status server_info_read_models(server_info *f, struct span text, const char *wanted, tdm_error *err);

#endif
