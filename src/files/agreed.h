/* The servers that the user has agreed to send to: $XDG_STATE_HOME/tandem/servers, one address a line
 * ("http://192.168.1.7:8080", the url of server_address.h without a path), the latest last. A line with "plain " before
 * the address is the user's consent to plain http on an overlay network, which is asked separately. The user may edit
 * the file: without its line a server needs consent again. */
#ifndef TANDEM_SRC_AGREED_H
#define TANDEM_SRC_AGREED_H

#include <stdbool.h>

#include "engine/tandem.h"

/* url: of a request; its scheme, host and port count. */
bool agreed_with(const char *url);
/* Keeps it for the next time. */
tdm_status agreed_keep(const char *url, tdm_error *err);
/* The same for plain http on an overlay network. */
bool agreed_with_plain_http(const char *url);
tdm_status agreed_keep_plain_http(const char *url, tdm_error *err);

#endif
