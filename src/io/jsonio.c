#include "src/io/jsonio.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/json/tree.h"
#include "src/io/json_text.h"
#include "src/io/output.h"

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

tdm_status jsonio_parse(json_object **out, const char *name, const char *text, size_t n, tdm_error *err)
{
    return json_tree_parse(out, name, text, n, JSON_TREE_UTF8, err);
}

tdm_status jsonio_parse_mended(json_object **out, const char *name, const char *text, size_t n, tdm_error *err)
{
    return json_tree_parse(out, name, text, n, JSON_TREE_MENDED, err);
}

tdm_status jsonio_parse_pieces(json_object **out, const char *name, const char *text, size_t n, tdm_error *err)
{
    return json_tree_parse(out, name, text, n, JSON_TREE_PIECES, err);
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

/* ---- Building ---------------------------------------------------------------------------------------------------- */

json_object *jsonio_object(void)
{
    return json_object_new_object();
}

json_object *jsonio_array(void)
{
    return json_object_new_array();
}

static void add(json_object *o, const char *key, json_object *member)
{
    if (o && !json_object_object_add(o, key, member)) return;
    json_object_put(member);
    json_text_lacks(o);
}

static void append(json_object *array, json_object *element)
{
    if (array && !json_object_array_add(array, element)) return;
    json_object_put(element);
    json_text_lacks(array);
}

void jsonio_add(json_object *o, const char *key, json_object *member)
{
    if (member)
        add(o, key, member);
    else
        json_text_lacks(o);
}

void jsonio_append(json_object *array, json_object *element)
{
    if (element)
        append(array, element);
    else
        json_text_lacks(array);
}

static json_object *text_of(const char *text, size_t n)
{
    char *valid = malloc(3 * n + 3);
    if (!valid) return NULL;
    size_t length = utf8_mend(text, n, valid);
    json_object *o = length <= INT32_MAX ? json_object_new_string_len(valid, (int)length) : NULL;
    free(valid);
    return o;
}

static json_object *digits_of(const char *text)
{
    return json_object_new_double_s(strtod(text, NULL), text);
}

static json_object *real_of(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return digits_of(text);
}

void jsonio_add_text(json_object *o, const char *key, const char *text, size_t n)
{
    jsonio_add(o, key, text_of(text, n));
}

void jsonio_add_string(json_object *o, const char *key, const char *text)
{
    if (text)
        jsonio_add_text(o, key, text, strlen(text));
    else
        jsonio_add_null(o, key);
}

void jsonio_add_bool(json_object *o, const char *key, bool value)
{
    jsonio_add(o, key, json_object_new_boolean(value));
}

void jsonio_add_int(json_object *o, const char *key, int64_t value)
{
    jsonio_add(o, key, json_object_new_int64(value));
}

void jsonio_add_real(json_object *o, const char *key, double value)
{
    if (isfinite(value))
        jsonio_add(o, key, real_of(value));
    else
        jsonio_add_null(o, key);
}

void jsonio_add_hash(json_object *o, const char *key, uint64_t value)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    jsonio_add_string(o, key, text);
}

void jsonio_add_digits(json_object *o, const char *key, const char *text)
{
    jsonio_add(o, key, digits_of(text));
}

void jsonio_add_null(json_object *o, const char *key)
{
    add(o, key, NULL);
}

void jsonio_append_null(json_object *array)
{
    append(array, NULL);
}

void jsonio_append_string(json_object *array, const char *text)
{
    jsonio_append(array, text_of(text, strlen(text)));
}

void jsonio_append_int(json_object *array, int64_t value)
{
    jsonio_append(array, json_object_new_int64(value));
}

void jsonio_append_real(json_object *array, double value)
{
    if (isfinite(value))
        jsonio_append(array, real_of(value));
    else
        append(array, NULL);
}

void jsonio_append_digits(json_object *array, const char *text)
{
    jsonio_append(array, digits_of(text));
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

tdm_status jsonio_line(json_object *o, struct buffer *out, tdm_error *err)
{
    return json_text_write(o, JSON_TEXT_LINE, out, err);
}

tdm_status jsonio_indented(json_object *o, struct buffer *out, tdm_error *err)
{
    return json_text_write(o, JSON_TEXT_INDENTED, out, err);
}

bool jsonio_write(json_object *o, FILE *out)
{
    struct buffer line = {0};
    bool whole = !jsonio_line(o, &line, NULL) && !buffer_append(&line, "\n", 1, NULL);
    if (!whole) errno = ENOMEM;
    bool written = whole && fwrite(line.bytes, 1, line.n, out) == line.n;
    int failure = errno;
    buffer_free(&line);
    errno = failure;
    return written;
}

void jsonio_print(json_object *o)
{
    struct buffer line = {0};
    if (jsonio_line(o, &line, NULL) || buffer_append(&line, "\n", 1, NULL))
        output_fail(ENOMEM);
    else
        output_text(line.bytes, line.n);
    buffer_free(&line);
    json_object_put(o);
}
