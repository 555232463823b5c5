#include "src/io/json_lines.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "src/io/jsonio.h"

tdm_status json_lines_feed(json_lines *s, const char *bytes, size_t n, tdm_error *err)
{
    if (s->taken) {
        memmove(s->come.bytes, s->come.bytes + s->taken, s->come.n - s->taken);
        s->come.n -= s->taken;
        s->taken = 0;
    }
    if (n > JSON_LINES_LONGEST || s->come.n > JSON_LINES_LONGEST - n)
        return error_set(err, TDM_E_FORMAT, "a line of more than %d bytes came: expected JSON", JSON_LINES_LONGEST);
    return buffer_append(&s->come, bytes, n, err);
}

tdm_status json_lines_next(json_lines *s, const char *what, json_object **out, tdm_error *err)
{
    *out = NULL;
    char *line = s->come.bytes ? s->come.bytes + s->taken : NULL;
    char *end = line ? memchr(line, '\n', s->come.n - s->taken) : NULL;
    if (!end) return TDM_OK;
    s->taken += (size_t)(end - line) + 1;
    tdm_status status = jsonio_parse(out, what, line, (size_t)(end - line), err);
    if (status || json_object_is_type(*out, json_type_object)) return status;
    json_object_put(*out);
    *out = NULL;
    return error_set(err, TDM_E_FORMAT, "%s: expected an object", what);
}

void json_lines_free(json_lines *s)
{
    buffer_free(&s->come);
    *s = (json_lines){0};
}
