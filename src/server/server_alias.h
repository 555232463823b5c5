/* A server as named by -m, /model and the configuration: http://HOST:PORT[/v1][#MODEL], or NAME[#MODEL] for a
 * server.NAME.url (src/cli/servers.h). */
#ifndef TANDEM_SRC_SERVER_ALIAS_H
#define TANDEM_SRC_SERVER_ALIAS_H

#include "src/cli/options.h"
#include "src/server/server_address.h"

typedef struct {
    char text[SERVER_ADDRESS_URL + SERVER_ADDRESS_MODEL + 2]; /* the address, as server_address_parse takes it */
    server_address address;
    int kind;             /* a dialect; -1: to be detected */
    const char *key_file; /* of the configuration, or NULL; both live as long as the options */
    const char *key_env;
    bool drafts; /* drafts may be read ahead there */
    bool plain_http; /* plain http may go there on an overlay network */
} server_alias;

/* Does a model's name mean a server? NULL: no. */
bool server_alias_is_server(const options *o, const char *model);
/* TDM_E_ARG: not a valid address; the line says where it was given. */
tdm_status server_alias_find(server_alias *out, const options *o, const char *model, tdm_error *err);

#endif
