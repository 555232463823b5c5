/* A server as -m, /model and the configuration name it: http://HOST:PORT[/v1][#MODEL], or NAME[#MODEL] of
 * server.NAME.url (src/cli/servers.h). */
#ifndef TANDEM_SRC_NAMED_H
#define TANDEM_SRC_NAMED_H

#include "src/cli/options.h"
#include "src/server/place.h"

typedef struct {
    char address[PLACE_URL + PLACE_MODEL + 2]; /* as place_parse takes it */
    place place;
    int kind;             /* a dialect; -1: to be found out */
    const char *key_file; /* of the configuration, or NULL; both live as long as the options */
    const char *key_env;
    bool drafts; /* may be read ahead there */
} named;

/* Does a model's name mean a server? NULL: no. */
bool named_is_server(const options *o, const char *model);
/* TDM_E_ARG: it can't be an address; the line says where it stands. */
tdm_status named_find(named *out, const options *o, const char *model, tdm_error *err);

#endif
