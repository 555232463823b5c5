/* A server as the user names it: http://HOST:PORT[/v1][#MODEL] or https://..., or a name of the configuration
 * (server.NAME.url and so on). */
#ifndef TANDEM_SRC_PLACE_H
#define TANDEM_SRC_PLACE_H

#include <stdbool.h>

#include "engine/tandem.h"

enum { PLACE_URL = 600, PLACE_HOST = 260, PLACE_MODEL = 200 };

typedef struct {
    char url[PLACE_URL];     /* without /v1 and the slash at its end: paths are appended */
    char host[PLACE_HOST];   /* "192.168.1.7:8080", as it stands in the status line */
    char model[PLACE_MODEL]; /* "": the server's first */
} place;

/* Does a model's name mean a server? */
bool place_is_meant(const char *model);
/* TDM_E_ARG with what was expected and found. */
tdm_status place_parse(place *out, const char *text, tdm_error *err);

#endif
