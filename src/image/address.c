#include "src/image/address.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/base64.h"
#include "engine/base/error.h"
#include "src/files/files.h"
#include "src/image/image.h"
#include "src/image/picture.h"

char *address_path(const char *text, size_t n)
{
    static const char scheme[] = "file://", here[] = "localhost";
    size_t at = sizeof scheme - 1, length = 0;
    if (n <= at || strncasecmp(text, scheme, at)) return NULL;
    if (n - at > sizeof here - 1 && !strncasecmp(text + at, here, sizeof here - 1)) at += sizeof here - 1;
    char *path = text[at] == '/' ? malloc(n - at + 1) : NULL;
    while (path && at < n) {
        char digits[3] = {0}, c = text[at];
        bool coded =
            c == '%' && n - at > 2 && isxdigit((unsigned char)text[at + 1]) && isxdigit((unsigned char)text[at + 2]);
        if (coded) memcpy(digits, text + at + 1, 2);
        if (coded) c = (char)strtoul(digits, NULL, 16);
        path[length++] = c ? c : '\n'; /* a zero names no file */
        at += coded ? 3 : 1;
    }
    if (path) path[length] = 0;
    return path;
}

/* "data:image/png;base64,": where its data begin; NULL: it is none. */
static const char *data_of(const char *address)
{
    static const char scheme[] = "data:", coding[] = ";base64,";
    const char *comma = strncasecmp(address, scheme, sizeof scheme - 1) ? NULL : strchr(address, ',');
    size_t n = sizeof coding - 1, head = comma ? (size_t)(comma + 1 - address) : 0;
    return head > n && !strncasecmp(comma + 1 - n, coding, n) ? comma + 1 : NULL;
}

static bool has_scheme(const char *address)
{
    const char *colon = strstr(address, "://");
    return !strncasecmp(address, "data:", 5) ||
           (colon && colon > address &&
            strspn(address, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == (size_t)(colon - address));
}

tdm_status address_picture(tdm_picture **out, const char *address, tdm_error *err)
{
    const char *data = data_of(address), *name = data ? "data address" : address;
    char *path = data ? NULL : address_path(address, strlen(address)), *bytes = NULL;
    const picture *kept;
    size_t n;
    tdm_status status = TDM_OK;
    *out = NULL;
    if (data && !(bytes = base64_bytes(data, strlen(data), &n)))
        status = error_set(err, TDM_E_FORMAT, "%s: expected base64", name);
    else if (!data && !path && has_scheme(address))
        status =
            error_set(err, TDM_E_UNSUPPORTED, "%.60s: expected a path, file:///... or data:...;base64,...", address);
    else if (!data)
        status = files_read(path ? path : address, IMAGE_BYTES, &bytes, &n, err);
    free(path);
    return status ? status : picture_take(&kept, out, bytes, n, name, NULL, NULL, err);
}
