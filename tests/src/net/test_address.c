/* Which addresses plain http may reach. */
#include "tests/check.h"

#include <arpa/inet.h>

#include "src/net/address.h"

static address_reach reach_of(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) return address_reach_of((struct sockaddr *)&v4);
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1) abort();
    return address_reach_of((struct sockaddr *)&v6);
}

TEST(this_computer_and_private_networks)
{
    static const char *const yes[] = {
        "127.0.0.1", "127.255.1.2", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",    "169.254.9.9",
        "::1",       "fe80::1",     "febf::1",  "fc00::1",    "fdff::1",        "::ffff:10.1.2.3",
        "0.0.0.0",   "::",          "::ffff:0.0.0.0"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (reach_of(yes[i]) != ADDRESS_PRIVATE) CHECK_FAIL("%s is private", yes[i]);
}

TEST(everything_else)
{
    static const char *const no[] = {
        "8.8.8.8",     "9.255.255.255", "11.0.0.0",    "126.0.0.1",      "128.0.0.1", "172.15.0.1",
        "172.32.0.1",  "192.167.1.1",   "192.169.0.1", "100.63.255.255", "100.128.0.0", "0.0.0.1",
        "2001:db8::1", "fec0::1",       "fe00::1",     "::ffff:8.8.8.8", "::2"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (reach_of(no[i]) != ADDRESS_PUBLIC) CHECK_FAIL("%s is public", no[i]);
    CHECK_INT(ADDRESS_PUBLIC, address_reach_of(&(struct sockaddr){.sa_family = AF_UNIX}));
}

TEST(overlay_networks)
{
    static const char *const overlay[] = {"100.64.0.0", "100.100.100.100", "100.127.255.255", "::ffff:100.64.0.1"};
    for (size_t i = 0; i < sizeof overlay / sizeof *overlay; i++)
        if (reach_of(overlay[i]) != ADDRESS_OVERLAY) CHECK_FAIL("%s is of an overlay network", overlay[i]);
}

TEST_MAIN(T(this_computer_and_private_networks), T(everything_else), T(overlay_networks))
