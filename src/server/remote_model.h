/* A model on a server: the functions that the engine's chat needs (tandem.h, 'Servers'), over a connection. Nothing is
 * sent before the user has agreed.
 *
 *     remote_model_open(&s, &(remote_model_options){.address = "http://127.0.0.1:8080", .agreed = true, ...}, &err);
 *     remote_model_of(s)   for tdm_chat_open and so on
 *     remote_model_close(s)   after its chats
 *
 * If the server takes prompts, it gets text, rendered here by the server's template; otherwise it gets messages
 * (/v1/chat/completions), which it renders itself.
 *
 * A request that the server can't answer yet is repeated (refusal.h), unless it reads ahead.
 *
 * Threads: any, one at a time but for the model's chats. */
#ifndef TANDEM_SRC_REMOTE_MODEL_H
#define TANDEM_SRC_REMOTE_MODEL_H

#include "src/server/connection.h"
#include "src/server/server_info.h"
#include "src/server/server_address.h"

typedef struct remote_model remote_model;

typedef struct {
    const char *address;   /* as server_address.h takes it */
    int kind;              /* a dialect; -1: to be detected */
    const char *key_file;  /* as connection.h; both may be NULL */
    const char *key_env;
    const char *tokenizer; /* the model file whose tokenizer counts; NULL: the engine's own */
    const char *chat_template; /* instead of the server's; or NULL */
    int ahead;             /* the most that is sent before Enter, a tdm_speculation; -1: finished turns, or nothing if
                              prompts may cost money */
    server_info_patience patience; /* while its answers are awaited; given_up NULL: without a limit */
    bool plain_http;               /* as connection.h */
    bool *lacks_plain_http;        /* set if the lack of plain_http was the failure; or NULL */
    bool agreed;                   /* the user has agreed to send their text to this host */
} remote_model_options;

/* Asks the server for its kind, models and settings, and waits for the answers. TDM_E_REFUSED, with nothing sent: the
 * user has not agreed, or not to plain http. Other errors as for server_address_parse, connection_open, server_info_ask
 * and tdm_model_open_server. */
tdm_status remote_model_open(remote_model **out, const remote_model_options *options, tdm_error *err);
/* NULL is allowed. */
void remote_model_close(remote_model *s);

tdm_model *remote_model_of(const remote_model *s);
const server_info *remote_model_info(const remote_model *s);
const server_address *remote_model_address(const remote_model *s);
/* The most that is sent before Enter. */
tdm_speculation remote_model_ahead(const remote_model *s);

#endif
