#include "src/server/server_address.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"

bool server_address_is_meant(const char *model)
{
    return !strncmp(model, "http://", 7) || !strncmp(model, "https://", 8);
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n >= m && !memcmp(text + n - m, end, m);
}

/* Printable ASCII without what quotes or begins something else: other letters come percent-encoded or as punycode. */
static bool is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("\"<>\\^`{|}@?", text[i])) return false;
    return true;
}

tdm_status server_address_parse(server_address *out, const char *text, tdm_error *err)
{
    static const char expected[] = "expected http://HOST:PORT[/v1][#MODEL] or https://HOST, found %.200s";
    static const char *const pages[] = {"/chat/completions", "/completions", "/models"}; /* pasted with the rest */
    *out = (server_address){.url = ""};
    const char *hash = strchr(text, '#');
    size_t n = hash ? (size_t)(hash - text) : strlen(text);
    const char *model = hash ? hash + 1 : "";
    while (n && text[n - 1] == '/') n--;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (ends_with(text, n, pages[i])) n -= strlen(pages[i]);
    while (n && text[n - 1] == '/') n--;
    if (ends_with(text, n, "/v1")) n -= 3;
    while (n && text[n - 1] == '/') n--;
    size_t scheme = !strncmp(text, "https://", 8) ? 8 : !strncmp(text, "http://", 7) ? 7 : 0;
    /* What may be a key is not repeated. */
    char odd = text[strcspn(text, "@?#")];
    if (scheme && odd && odd != '#')
        return error_set(err, TDM_E_ARG, "expected an address without @ and ?; a server's key comes from "
                         "server.NAME.key-file or server.NAME.key-env");
    if (!scheme || n <= scheme || n >= SERVER_ADDRESS_URL || strlen(model) >= SERVER_ADDRESS_MODEL ||
        !is_plain(text, n))
        return error_set(err, TDM_E_ARG, expected, text);
    size_t host = strcspn(text + scheme, "/");
    if (host > n - scheme) host = n - scheme;
    if (host == 0 || host >= SERVER_ADDRESS_HOST || text[scheme] == ':')
        return error_set(err, TDM_E_ARG, expected, text);
    snprintf(out->url, sizeof out->url, "%.*s", (int)n, text);
    snprintf(out->host, sizeof out->host, "%.*s", (int)host, text + scheme);
    snprintf(out->model, sizeof out->model, "%s", model);
    return TDM_OK;
}
