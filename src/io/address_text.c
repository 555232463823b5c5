#include "src/io/address_text.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

size_t address_text_scheme(const char *text)
{
    return !strncasecmp(text, "https://", 8) ? 8 : !strncasecmp(text, "http://", 7) ? 7 : 0;
}

size_t address_text_host(const char *text)
{
    size_t closing = text[0] == '[' ? strcspn(text, "]") : 0;
    return closing && text[closing] ? closing + 1 : strcspn(text, ":/#");
}

bool address_text_numbers(const char *host, size_t n, int *family, unsigned char out[sizeof(struct in6_addr)])
{
    char text[INET6_ADDRSTRLEN];
    bool brackets = n > 2 && host[0] == '[';
    if (brackets) host++, n -= 2;
    if (n >= sizeof text) return false;
    memcpy(text, host, n);
    text[n] = 0;
    *family = brackets ? AF_INET6 : AF_INET;
    return inet_pton(*family, text, out) == 1;
}

/* Does a port follow the first n bytes, and then the end, a path or a model? */
static bool has_port(const char *text, size_t n)
{
    size_t digits = text[n] == ':' ? strspn(text + n + 1, "0123456789") : 0;
    char end = text[n + (digits ? digits + 1 : 0)];
    return n && digits && digits <= 5 && (!end || end == '/' || end == '#');
}

bool address_text_is_bare(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];
    int family;
    size_t n = address_text_host(text);
    if (!has_port(text, n)) return false;
    return (n == 9 && !strncasecmp(text, "localhost", n)) || address_text_numbers(text, n, &family, address);
}

bool address_text_lacks_scheme(const char *text)
{
    return has_port(text, strcspn(text, ":/#")) && !address_text_is_bare(text);
}
