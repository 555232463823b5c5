/* Which addresses plain http may reach. */
#include "tests/check.h"

#include <arpa/inet.h>

#include "src/net/address.h"

static bool is_private(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) return address_is_private((struct sockaddr *)&v4);
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1) abort();
    return address_is_private((struct sockaddr *)&v6);
}

TEST(this_computer_and_private_networks)
{
    static const char *const yes[] = {
        "127.0.0.1", "127.255.1.2", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",    "169.254.9.9",
        "::1",       "fe80::1",     "febf::1",  "fc00::1",    "fdff::1",        "::ffff:10.1.2.3"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (!is_private(yes[i])) CHECK_FAIL("%s is private", yes[i]);
}

TEST(everything_else)
{
    static const char *const no[] = {
        "8.8.8.8",     "9.255.255.255", "11.0.0.0",    "126.0.0.1",      "128.0.0.1", "172.15.0.1",
        "172.32.0.1",  "192.167.1.1",   "192.169.0.1", "100.64.0.1",     "0.0.0.0",   "::",
        "2001:db8::1", "fec0::1",       "fe00::1",     "::ffff:8.8.8.8", "::2"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (is_private(no[i])) CHECK_FAIL("%s is not private", no[i]);
    CHECK(!address_is_private(&(struct sockaddr){.sa_family = AF_UNIX}));
}

TEST_MAIN(T(this_computer_and_private_networks), T(everything_else))
