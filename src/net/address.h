/* Where plain http may lead: this computer and private networks (RFC 1918, RFC 4193, link-local). Decided by the
 * address that is really connected to, not by its name, since the owner of a name decides where it points. */
#ifndef TANDEM_SRC_ADDRESS_H
#define TANDEM_SRC_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* False for any other family than IPv4 and IPv6. */
bool address_is_private(const struct sockaddr *address);

#endif
