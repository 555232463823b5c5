#include "src/server/server_address.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/span.h"
#include "src/io/address_text.h"

bool server_address_is_meant(const char *model)
{
    return address_text_scheme(model) || address_text_is_bare(model);
}

/* Printable ASCII without what quotes or begins something else: other letters come percent-encoded or as punycode. */
static bool is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("\"<>\\^`{|}@?", text[i])) return false;
    return true;
}

/* What a program listens on when it listens on all addresses is, for one that connects, this computer. */
static const char *this_computer(const char *host, size_t n)
{
    unsigned char address[sizeof(struct in6_addr)] = {0};
    static const unsigned char none[sizeof address];
    int family;
    if (!address_text_numbers(host, n, &family, address) || memcmp(address, none, sizeof none)) return NULL;
    return family == AF_INET ? "127.0.0.1" : "localhost"; /* ::1, and 127.0.0.1 as well */
}

/* The address without what is pasted with it: the page, /v1, slashes at its end. */
static size_t base_of(const char *text, size_t n)
{
    static const char *const pages[] = {"/chat/completions", "/completions", "/completion", "/responses", "/models",
                                        "/props", "/health"};
    while (n && text[n - 1] == '/') n--;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (!span_ends((struct span){text, n}, pages[i])) continue;
        n -= strlen(pages[i]);
        break;
    }
    while (n && text[n - 1] == '/') n--;
    if (span_ends((struct span){text, n}, "/v1")) n -= 3;
    while (n && text[n - 1] == '/') n--;
    return n;
}

tdm_status server_address_parse(server_address *out, const char *text, tdm_error *err)
{
    static const char expected[] = "expected http://HOST:PORT[/v1][#MODEL] or https://HOST, found %.200s";
    *out = (server_address){.url = ""};
    const char *hash = strchr(text, '#'), *model = hash ? hash + 1 : "";
    size_t scheme = address_text_scheme(text), n = base_of(text, hash ? (size_t)(hash - text) : strlen(text));
    bool bare = !scheme && address_text_is_bare(text);
    /* What may be a key is not repeated. */
    char odd = text[strcspn(text, "@?#")];
    if ((scheme || bare) && odd && odd != '#')
        return error_set(err, TDM_E_ARG, "expected an address without @ and ?; a server's key comes from "
                         "server.NAME.key-file or server.NAME.key-env");
    if (!scheme && !bare && address_text_lacks_scheme(text))
        return error_set(err, TDM_E_ARG, "expected http:// or https:// before %.200s", text);
    if ((!scheme && !bare) || n <= scheme || n >= SERVER_ADDRESS_URL || strlen(model) >= SERVER_ADDRESS_MODEL ||
        !is_plain(text, n))
        return error_set(err, TDM_E_ARG, expected, text);
    const char *from = text + scheme;
    size_t rest = n - scheme, host = strcspn(from, "/");
    if (host > rest) host = rest;
    if (host == 0 || host >= SERVER_ADDRESS_HOST || from[0] == ':') return error_set(err, TDM_E_ARG, expected, text);
    size_t named = address_text_host(from);
    const char *here = this_computer(from, named);
    int port = (int)(host - named);
    snprintf(out->host, sizeof out->host, "%.*s%.*s", here ? (int)strlen(here) : (int)named, here ? here : from, port,
             from + named);
    int length = snprintf(out->url, sizeof out->url, "%s%s%.*s", scheme == 8 ? "https://" : "http://", out->host,
                          (int)(rest - host), from + host);
    if (length >= SERVER_ADDRESS_URL) return error_set(err, TDM_E_ARG, expected, text);
    snprintf(out->model, sizeof out->model, "%s", model);
    return TDM_OK;
}
