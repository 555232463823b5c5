#include "src/pull/page.h"

#include <string.h>
#include <strings.h>

#include "engine/base/error.h"

bool page_begins(const void *bytes, size_t n)
{
    static const char *const openings[] = {"<!doctype html", "<html", "<head"};
    const char *at = bytes, *end = at + n;
    if (n >= 3 && !memcmp(at, "\357\273\277", 3)) at += 3;
    while (at < end && *at && strchr(" \t\r\n", *at)) at++;
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        size_t length = strlen(openings[i]);
        if ((size_t)(end - at) >= length && !strncasecmp(at, openings[i], length)) return true;
    }
    return false;
}

tdm_status page_came(const char *what, tdm_error *err)
{
    return error_set(err, TDM_E_IO, "%s: a web page came: sign-in or proxy?", what);
}
