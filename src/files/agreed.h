/* The servers that the user has agreed to send to: $XDG_STATE_HOME/tandem/servers, one address a line
 * ("http://192.168.1.7:8080", what server_address.h calls the url without a path), the latest last. A line with
 * "plain " before the address is about plain http on an overlay network, which is another question. The file may be
 * edited: if a line is taken out, the user is asked again. */
#ifndef TANDEM_SRC_AGREED_H
#define TANDEM_SRC_AGREED_H

#include <stdbool.h>

#include "engine/tandem.h"

/* url: what a request goes to; scheme, host and port of it count. */
bool agreed_with(const char *url);
/* Keeps it for the next time. */
tdm_status agreed_keep(const char *url, tdm_error *err);
/* The same for plain http on an overlay network. */
bool agreed_with_plain_http(const char *url);
tdm_status agreed_keep_plain_http(const char *url, tdm_error *err);

#endif
