/* Where plain http may lead. Decided by the address that is really connected to, not by its name, since the owner of a
 * name decides where it points.
 *
 *   private    this computer (0.0.0.0 and :: are it, too) and private networks (RFC 1918, RFC 4193, link-local)
 *   overlay    100.64.0.0/10 (RFC 6598): overlay networks, whose computers are one's own as a rule and whose lines are
 *              encrypted, and networks of carriers, where neither holds: the user is to say
 *   public     all others */
#ifndef TANDEM_SRC_ADDRESS_H
#define TANDEM_SRC_ADDRESS_H

#include <sys/socket.h>

typedef enum { ADDRESS_PRIVATE, ADDRESS_OVERLAY, ADDRESS_PUBLIC } address_reach;

/* Public: any other family than IPv4 and IPv6, too. */
address_reach address_reach_of(const struct sockaddr *address);

#endif
