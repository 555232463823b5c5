/* The servers of models that the configuration file names, for `-m NAME` and /model:
 *
 *   server.NAME.url = http://HOST:PORT[/v1][#MODEL]   or https://HOST ...; the only required line
 *   server.NAME.model = MODEL the server's name for it; without it the first that the server offers
 *   server.NAME.kind = llama-server|vllm|sglang|openai   without it the program asks the server
 *   server.NAME.key-file = FILE                       a file with the server's key ...
 *   server.NAME.key-env = VARIABLE                    ... or an environment variable with it
 *   server.NAME.drafts = yes|no whether drafts are read ahead there, which sends them before Enter; default: no
 *   server.NAME.plain-http = yes|no whether to use plain http if it is another computer on an overlay network
 *   (src/net/address.h); without it the user is asked
 *
 * Pure data: nothing here contacts a server. */
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
/* After all lines are read, checks that each server has an address, and not two keys. */
tdm_status servers_check(const struct server_named *all, int n, tdm_error *err);
/* NULL: there is none of that name. */
const struct server_named *servers_find(const struct server_named *all, int n, const char *name);

/* The lines of a server, for `tandem config`: setting i as "url" and its value; false: there are no more. Settings that
 * were not given are left out. */
bool servers_line(const struct server_named *s, int i, const char **setting, const char **value);

#endif
