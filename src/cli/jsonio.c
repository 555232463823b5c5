#include "src/cli/jsonio.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/cli/output.h"

enum { DEEPEST = 32 };

tdm_status jsonio_parse(json_object **out, const char *name, const char *text, size_t n, tdm_error *err)
{
    if (n > INT32_MAX) return error_set(err, TDM_E_FORMAT, "%s: longer than 2 GB", name);
    json_tokener *tokener = json_tokener_new_ex(DEEPEST);
    if (!tokener) return error_set(err, TDM_E_NOMEM, "out of memory");
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    json_object *value = json_tokener_parse_ex(tokener, text, (int)n);
    /* A number at the very end only ends with the text. */
    bool at_end = !value && json_tokener_get_error(tokener) == json_tokener_continue;
    if (at_end) value = json_tokener_parse_ex(tokener, "", 1);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    size_t end = at_end ? n : json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    while (end < n && strchr(" \t\r\n", text[end]) && text[end]) end++;
    if (error == json_tokener_success && end >= n && value) {
        *out = value;
        return TDM_OK;
    }
    json_object_put(value);
    return error_set(err, TDM_E_FORMAT, "%s: byte %zu: not valid JSON: %s", name, end,
                     error == json_tokener_success ? "something follows the value" : json_tokener_error_desc(error));
}

json_object *jsonio_member(json_object *o, const char *key, json_type type)
{
    json_object *member;
    if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, key, &member)) return NULL;
    return json_object_is_type(member, type) ? member : NULL;
}

const char *jsonio_text(json_object *o, const char *key, size_t *n)
{
    json_object *member = jsonio_member(o, key, json_type_string);
    if (n) *n = member ? (size_t)json_object_get_string_len(member) : 0;
    return member ? json_object_get_string(member) : NULL;
}

int64_t jsonio_int(json_object *o, const char *key, int64_t fallback)
{
    json_object *member = jsonio_member(o, key, json_type_int);
    return member ? json_object_get_int64(member) : fallback;
}

double jsonio_real(json_object *o, const char *key, double fallback)
{
    json_object *member;
    if (!json_object_is_type(o, json_type_object) || !json_object_object_get_ex(o, key, &member)) return fallback;
    if (!json_object_is_type(member, json_type_double) && !json_object_is_type(member, json_type_int)) return fallback;
    double value = json_object_get_double(member);
    return isfinite(value) ? value : fallback;
}

void jsonio_add_text(json_object *o, const char *key, const char *text, size_t n)
{
    char *valid = malloc(3 * n + 3);
    if (!valid) return;
    size_t length = output_valid(text, n, valid);
    json_object_object_add(o, key, json_object_new_string_len(valid, (int)length));
    free(valid);
}

void jsonio_add_string(json_object *o, const char *key, const char *text)
{
    if (text)
        jsonio_add_text(o, key, text, strlen(text));
    else
        json_object_object_add(o, key, NULL);
}

void jsonio_add_int(json_object *o, const char *key, int64_t value)
{
    json_object_object_add(o, key, json_object_new_int64(value));
}

void jsonio_add_real(json_object *o, const char *key, double value)
{
    char text[32];
    if (!isfinite(value)) {
        json_object_object_add(o, key, NULL);
        return;
    }
    snprintf(text, sizeof text, "%.6g", value);
    json_object_object_add(o, key, json_object_new_double_s(value, text));
}

void jsonio_add_hash(json_object *o, const char *key, uint64_t value)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    json_object_object_add(o, key, json_object_new_string(text));
}

const char *jsonio_line(json_object *o)
{
    return json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}
