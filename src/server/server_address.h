/* A server as the user names it: http://HOST:PORT[/v1][#MODEL] or https://..., or a name of the configuration
 * (server.NAME.url and so on). The scheme may be written in any case, and may be missing (it is http then) if the host
 * is localhost or a numeric address, with a port. 0.0.0.0 and [::] are this computer. */
#ifndef TANDEM_SRC_SERVER_ADDRESS_H
#define TANDEM_SRC_SERVER_ADDRESS_H

#include <stdbool.h>

#include "engine/tandem.h"

enum { SERVER_ADDRESS_URL = 600, SERVER_ADDRESS_HOST = 260, SERVER_ADDRESS_MODEL = 200 };

typedef struct {
    char url[SERVER_ADDRESS_URL];     /* without /v1, anything after that, and a slash at its end: paths are appended */
    char host[SERVER_ADDRESS_HOST];   /* "192.168.1.7:8080", as shown in the status line */
    char model[SERVER_ADDRESS_MODEL]; /* "": the server's first */
} server_address;

/* Is a model's name an address of a server? */
bool server_address_is_meant(const char *model);
/* TDM_E_ARG with what was expected and found. */
tdm_status server_address_parse(server_address *out, const char *text, tdm_error *err);

#endif
