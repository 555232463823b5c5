/* To which addresses plain http may connect. The actual address of the connection decides, not its name, since the
 * owner of a name can point it anywhere.
 *
 *   private    this computer (also 0.0.0.0 and ::) and private networks (RFC 1918, RFC 4193, link-local)
 *   overlay    100.64.0.0/10 (RFC 6598): overlay networks, whose computers are usually one's own and whose
 *              connections are encrypted, and networks of carriers, where neither holds: the user decides
 *   public     all others */
#ifndef TANDEM_SRC_ADDRESS_H
#define TANDEM_SRC_ADDRESS_H

#include <sys/socket.h>

typedef enum { ADDRESS_PRIVATE, ADDRESS_OVERLAY, ADDRESS_PUBLIC } address_reach;

/* Families other than IPv4 and IPv6 are public. */
address_reach address_reach_of(const struct sockaddr *address);

#endif
