/* The servers of models that the configuration file names, for `-m NAME` and /model:
 *
 *   server.NAME.url = http://HOST:PORT[/v1][#MODEL]   or https://HOST ...; the one line that each must have
 *   server.NAME.model = MODEL                         as the server calls it; without it the first that it offers
 *   server.NAME.kind = llama-server|vllm|sglang|openai   without it the server is asked
 *   server.NAME.key-file = FILE                       where the key is that the server wants ...
 *   server.NAME.key-env = VARIABLE                    ... or the variable that has it
 *   server.NAME.drafts = yes|no                       whether drafts are read ahead there, and so leave this computer
 *                                                     before Enter; no without it
 *   server.NAME.plain-http = yes|no                   whether plain http may go there if it is another computer on an
 *                                                     overlay network (src/net/address.h); it is asked without it
 *
 * Pure data: nothing is asked of a server here. */
#ifndef TANDEM_SRC_SERVERS_H
#define TANDEM_SRC_SERVERS_H

#include <stdbool.h>

#include "engine/tandem.h"

enum { SERVERS_MAX = 16, SERVERS_NAME = 32, SERVERS_TEXT = 600, SERVERS_KIND = 16 };

typedef enum { SERVERS_UNSAID, SERVERS_NO, SERVERS_YES } servers_choice;

struct server_named {
    char name[SERVERS_NAME];
    char url[SERVERS_TEXT], model[SERVERS_TEXT]; /* "": not given */
    char kind[SERVERS_KIND];
    char key_file[SERVERS_TEXT], key_env[SERVERS_TEXT];
    servers_choice drafts, plain_http;
};

/* setting: "NAME.url" and so on; the first one of a name appends a server to the malloc'ed *all of *n. On failure one
 * line with what was expected and found. */
tdm_status servers_set(struct server_named **all, int *n, const char *setting, const char *value, tdm_error *err);
/* All lines are read: each server has an address, and not two keys. */
tdm_status servers_check(const struct server_named *all, int n, tdm_error *err);
/* NULL: there is none of that name. */
const struct server_named *servers_find(const struct server_named *all, int n, const char *name);

/* The lines of a server, for `tandem config`: setting i as "url" and its value; false: there are no more. What was not
 * given is left out. */
bool servers_line(const struct server_named *s, int i, const char **setting, const char **value);

#endif
