#include "src/pull/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/io/number.h"
#include "src/net/header.h"

/* False when it doesn't fit. */
static bool value_copy(struct span v, char *out, size_t room)
{
    if (v.length >= room || memchr(v.bytes, 0, v.length)) return false;
    memcpy(out, v.bytes, v.length);
    out[v.length] = 0;
    return true;
}

/* W/"abc" -> abc. What is no digest (a mirror may make its own) says nothing about the content. */
static void take_etag(head *h, struct span v)
{
    char *etag = h->reply->etag;
    if (v.length >= 2 && !memcmp(v.bytes, "W/", 2)) v.bytes += 2, v.length -= 2;
    if (v.length >= 2 && v.bytes[0] == '"' && v.bytes[v.length - 1] == '"') v.bytes++, v.length -= 2;
    bool digest = (v.length == 40 || v.length == 64) && value_copy(v, etag, sizeof h->reply->etag);
    if (!digest || strspn(etag, "0123456789abcdef") != v.length) etag[0] = 0;
}

/* bytes 100-199/200 */
static void take_range(transfer_reply *r, struct span v)
{
    char text[100], *slash, *dash;
    if (!value_copy(v, text, sizeof text) || strncmp(text, "bytes ", 6)) return;
    if (!(slash = strchr(text, '/')) || !(dash = strchr(text, '-')) || dash > slash) return;
    *slash = *dash = 0;
    r->ranged = number_whole(text + 6, &r->from) && number_whole(slash + 1, &r->total);
}

/* text/html; charset=utf-8 */
static bool is_html(struct span v)
{
    static const char *const types[] = {"text/html", "application/xhtml+xml"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t n = strlen(types[i]);
        if (v.length >= n && !strncasecmp(v.bytes, types[i], n) && (v.length == n || strchr("; \t", v.bytes[n])))
            return true;
    }
    return false;
}

void head_take(head *h, const char *line, size_t n)
{
    transfer_reply *r = h->reply;
    char text[32];
    struct span v;
    if (header_value(line, n, "Location", &v)) {
        free(h->location);
        h->location = strndup(v.bytes, v.length);
    } else if (header_value(line, n, "Retry-After", &v)) {
        h->after = header_seconds(v);
    } else if (header_value(line, n, "Content-Range", &v)) {
        take_range(r, v);
    } else if (header_value(line, n, "Content-Type", &v)) {
        r->html = is_html(v);
    } else if (header_value(line, n, "Transfer-Encoding", &v)) {
        r->framed = true;
    } else if (!h->own) {
        return; /* only the hub's own server can know what follows */
    } else if (header_value(line, n, "X-Linked-Etag", &v)) {
        take_etag(h, v);
        h->linked = true;
    } else if (header_value(line, n, "ETag", &v)) {
        if (!h->linked) take_etag(h, v);
    } else if (header_value(line, n, "X-Linked-Size", &v)) {
        r->sized = value_copy(v, text, sizeof text) && number_whole(text, &r->size);
    } else if (header_value(line, n, "Link", &v)) {
        char next[REPOSITORY_URL_ROOM];
        if (repository_next_page(v.bytes, v.length, next)) strcpy(r->next, next);
    } else if (header_value(line, n, "X-Error-Message", &v)) {
        snprintf(r->message, sizeof r->message, "%.*s", (int)(v.length < 199 ? v.length : 199), v.bytes);
    }
}
