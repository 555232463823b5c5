#include "src/net/address.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static address_reach reach_v4(uint32_t a)
{
    bool private = !a || a >> 24 == 127 || a >> 24 == 10 || a >> 20 == (172 << 4 | 1) || a >> 16 == (192 << 8 | 168) ||
                   a >> 16 == (169 << 8 | 254);
    return private ? ADDRESS_PRIVATE : a >> 22 == (100 << 2 | 1) ? ADDRESS_OVERLAY : ADDRESS_PUBLIC;
}

address_reach address_reach_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return reach_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6) return ADDRESS_PUBLIC;
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        uint32_t last;
        memcpy(&last, v6.sin6_addr.s6_addr + 12, sizeof last);
        return reach_v4(ntohl(last));
    }
    bool private = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) || IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
                   IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) || (v6.sin6_addr.s6_addr[0] & 0xfe) == 0xfc;
    return private ? ADDRESS_PRIVATE : ADDRESS_PUBLIC;
}
