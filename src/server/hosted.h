/* A model on a server: what the engine's chat needs of it (tandem.h, 'Servers'), by way of a connection. Nothing is
 * sent to anybody before the user has agreed.
 *
 *     hosted_open(&s, &(hosted_options){.address = "http://127.0.0.1:8080", .agreed = true, ...}, &err);
 *     hosted_model(s)   for tdm_chat_open and so on
 *     hosted_close(s)   after its chats
 *
 * How a prompt goes there: as Tandem's own text where the server takes prompts and the model's template is one of those
 * that Tandem knows; to another llama-server as the text that it makes of the messages (/apply-template); else as
 * messages (/v1/chat/completions).
 *
 * A request that is told to come later (429, 503 with Retry-After, or 503 of a llama-server, which is loading its model
 * then) is made again, a few times; one that reads ahead is given up.
 *
 * Threads: any, one at a time but for the model's chats. */
#ifndef TANDEM_SRC_HOSTED_H
#define TANDEM_SRC_HOSTED_H

#include "src/server/connection.h"
#include "src/server/facts.h"
#include "src/server/place.h"

typedef struct hosted hosted;

typedef struct {
    const char *address;   /* as place.h takes it */
    int kind;              /* a dialect; -1: to be found out */
    const char *key_file;  /* as connection.h; both may be NULL */
    const char *key_env;
    const char *tokenizer; /* the model file whose tokenizer counts */
    int ahead;             /* the most that is sent before Enter, a tdm_speculation; -1: finished turns, and nothing
                              where prompts may cost money */
    facts_patience patience; /* with its answers; given_up NULL: they are waited for */
    bool agreed;           /* the user has said that what is written may go to this host */
} hosted_options;

/* Asks the server what it is, and waits for that. TDM_E_REFUSED, with nothing sent: not agreed. Else as place_parse,
 * connection_open, facts_ask and tdm_model_open_server. */
tdm_status hosted_open(hosted **out, const hosted_options *options, tdm_error *err);
/* NULL is allowed. */
void hosted_close(hosted *s);

tdm_model *hosted_model(const hosted *s);
const facts *hosted_facts(const hosted *s);
const place *hosted_place(const hosted *s);
/* The most that is sent before Enter. */
tdm_speculation hosted_ahead(const hosted *s);

#endif
