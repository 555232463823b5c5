/* What a server is: found out by asking it, before anything of a conversation is sent. The questions are GETs without
 * content; the answers are untrusted.
 *
 *   GET /props           llama-server: its slots, context and chat template
 *   GET /get_model_info  SGLang
 *   GET /version         vLLM
 *   GET /v1/models       the models' names, and of all others the only question */
#ifndef TANDEM_SRC_FACTS_H
#define TANDEM_SRC_FACTS_H

#include "src/server/connection.h"
#include "src/server/dialect.h"

enum { FACTS_MODELS = 200, FACTS_NAME = 200 };

typedef struct {
    dialect kind;
    char model[FACTS_NAME];     /* the one that is used */
    char (*models)[FACTS_NAME]; /* what the server offers, at most FACTS_MODELS */
    int n_models;
    char version[80];     /* "" when it doesn't say */
    int context;          /* tokens of a conversation; 0 when it doesn't say */
    int slots;            /* conversations that it keeps; 0 when it doesn't say */
    char *chat_template;  /* malloc'ed; NULL when it doesn't say */
    const char *form;     /* of Tandem's templates the one that the model's name stands for; NULL: none */
    double round_trip_ms; /* of a question on an open connection */
} facts;

/* Asked now and then while an answer is waited for: true gives it up, with TDM_E_CANCELLED. NULL: it is waited for. */
typedef struct {
    bool (*given_up)(void *ctx);
    void *ctx;
} facts_patience;

/* Waits for the answers. kind: a dialect, -1: to be found out. model: the name wanted; NULL: the first that is offered.
 * TDM_E_NOT_FOUND: there is no such model; TDM_E_IO: the server can't be reached, or wants a key. */
tdm_status facts_ask(facts *out, connection *c, int kind, const char *model, const facts_patience *patience,
                     tdm_error *err);
void facts_free(facts *f);

/* What the text of a llama-server's /props says, into a zeroed f; false: it is none. */
bool facts_read_props(facts *f, struct span text);
/* What the text of /v1/models says, into a zeroed f: the names, and the one that is used. As facts_ask. */
tdm_status facts_read_models(facts *f, struct span text, const char *wanted, tdm_error *err);

/* Asks one thing and waits for the whole answer, of at most a few MiB. TDM_E_IO when none comes or its status is not
 * 200, with the status in *code (0: none; may be NULL). The request is dialect.h's; body's memory is the caller's. */
tdm_status facts_get(connection *c, struct span request, struct buffer *body, int *code, double *took_ms,
                     const facts_patience *patience, tdm_error *err);

#endif
