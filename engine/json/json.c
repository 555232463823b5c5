#include "engine/json/json.h"

#include <json-c/json_object.h>
#include <json-c/json_util.h>
#include <json-c/linkhash.h>
#include <math.h>
#include <string.h>

#include "engine/base/error.h"

/* ---- Parsing ----------------------------------------------------------------------------------------------------- */

/* The whole text as one value of this kind. */
static tdm_status parse(json_object **out, json_kind kind, const char *name, const void *text, uint64_t n,
                        tdm_error *err)
{
    *out = NULL;
    if (n == 0) return error_set(err, TDM_E_FORMAT, "%s: expected JSON, found an empty file", name);
    if (n > JSON_LIMIT)
        return error_set(err, TDM_E_FORMAT, "%s: expected JSON of at most %d bytes, found %llu", name, JSON_LIMIT,
                         (unsigned long long)n);
    tdm_status status = json_parse(out, name, text, n, JSON_ANY_BYTES, err);
    if (status || json_is(*out, kind)) return status;
    json_free(*out);
    *out = NULL;
    return error_set(err, TDM_E_FORMAT, "%s: expected a JSON %s, found another value", name,
                     kind == JSON_ARRAY ? "array" : "object");
}

tdm_status json_parse_object(json_object **out, const char *name, const void *text, uint64_t n, tdm_error *err)
{
    return parse(out, JSON_OBJECT, name, text, n, err);
}

tdm_status json_parse_array(json_object **out, const char *name, const void *text, uint64_t n, tdm_error *err)
{
    return parse(out, JSON_ARRAY, name, text, n, err);
}

json_object *json_share(json_object *v)
{
    return json_object_get(v);
}

void json_free(json_object *v)
{
    json_object_put(v);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

json_kind json_kind_of(json_object *v)
{
    static const json_kind kinds[] = {
        [json_type_null] = JSON_NULL,     [json_type_boolean] = JSON_BOOL,  [json_type_int] = JSON_INT,
        [json_type_double] = JSON_REAL,   [json_type_string] = JSON_STRING, [json_type_array] = JSON_ARRAY,
        [json_type_object] = JSON_OBJECT,
    };
    return kinds[json_object_get_type(v)];
}

bool json_is(json_object *v, json_kind kind)
{
    return json_kind_of(v) == kind;
}

bool json_is_number(json_object *v)
{
    return json_is(v, JSON_INT) || json_is(v, JSON_REAL);
}

const char *json_kind_name(json_object *v)
{
    return json_type_to_name(json_object_get_type(v));
}

bool json_equal(json_object *a, json_object *b)
{
    return json_object_equal(a, b);
}

const char *json_text_of(json_object *v)
{
    return json_is(v, JSON_STRING) ? json_object_get_string(v) : NULL;
}

struct span json_span_of(json_object *v)
{
    const char *text = json_text_of(v);
    return (struct span){text, text ? (size_t)json_object_get_string_len(v) : 0};
}

int64_t json_int_of(json_object *v)
{
    return json_object_get_int64(v);
}

double json_real_of(json_object *v)
{
    return json_object_get_double(v);
}

bool json_truth_of(json_object *v)
{
    return json_object_get_boolean(v);
}

const char *json_shown(json_object *v)
{
    const char *text = v ? json_text_of(v) : "null";
    if (!text) text = json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN);
    return text ? text : "?";
}

size_t json_length(json_object *array)
{
    return json_is(array, JSON_ARRAY) ? json_object_array_length(array) : 0;
}

json_object *json_at(json_object *array, size_t i)
{
    return i < json_length(array) ? json_object_array_get_idx(array, i) : NULL;
}

size_t json_members(json_object *o)
{
    return json_is(o, JSON_OBJECT) ? (size_t)json_object_object_length(o) : 0;
}

struct json_walk json_walk(json_object *o)
{
    return (struct json_walk){.next = json_is(o, JSON_OBJECT) ? lh_table_head(json_object_get_object(o)) : NULL};
}

bool json_next(struct json_walk *w)
{
    const struct lh_entry *entry = w->next;
    if (!entry) return false;
    w->key = lh_entry_k(entry);
    w->value = lh_entry_v(entry);
    w->next = lh_entry_next(entry);
    return true;
}

/* ---- Lenient look-ups -------------------------------------------------------------------------------------------- */

bool json_has(json_object *o, const char *key)
{
    return json_object_object_get_ex(o, key, NULL);
}

json_object *json_get(json_object *o, const char *key)
{
    json_object *member = NULL;
    json_object_object_get_ex(o, key, &member);
    return member;
}

json_object *json_member(json_object *o, const char *key, json_kind kind)
{
    json_object *member = json_get(o, key);
    return json_is(member, kind) ? member : NULL;
}

const char *json_text(json_object *o, const char *key, size_t *n)
{
    struct span text = json_span_of(json_get(o, key));
    if (n) *n = text.length;
    return text.bytes;
}

int64_t json_int(json_object *o, const char *key, int64_t fallback)
{
    json_object *member = json_member(o, key, JSON_INT);
    return member ? json_int_of(member) : fallback;
}

double json_real(json_object *o, const char *key, double fallback)
{
    json_object *member = json_get(o, key);
    double value = json_is_number(member) ? json_real_of(member) : fallback;
    return isfinite(value) ? value : fallback;
}

bool json_flag(json_object *o, const char *key, bool fallback)
{
    json_object *member = json_member(o, key, JSON_BOOL);
    return member ? json_truth_of(member) : fallback;
}

/* ---- Strict look-ups --------------------------------------------------------------------------------------------- */

static tdm_status wrong(json_object *v, const char *key, const char *expected, const char *file, tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "%s: field %s: expected %s, found %s", file, key, expected, json_kind_name(v));
}

/* The value when there is one that is not null; *status tells whether it is of this kind. */
static json_object *look_up(json_object *o, const char *key, json_kind kind, const char *expected, bool *found,
                            const char *file, tdm_status *status, tdm_error *err)
{
    json_object *v = json_get(o, key);
    if (found) *found = v;
    *status = v && !json_is(v, kind) ? wrong(v, key, expected, file, err) : TDM_OK;
    return *status ? NULL : v;
}

tdm_status json_get_u64(json_object *o, const char *key, uint64_t low, uint64_t high, uint64_t *out, bool *found,
                        const char *file, tdm_error *err)
{
    tdm_status status;
    json_object *v = look_up(o, key, JSON_INT, "an integer", found, file, &status, err);
    if (!v) return status;
    int64_t i = json_int_of(v);
    if (i < 0 || (uint64_t)i < low || (uint64_t)i > high)
        return error_set(err, TDM_E_FORMAT, "%s: field %s: expected %llu to %llu, found %lld", file, key,
                         (unsigned long long)low, (unsigned long long)high, (long long)i);
    *out = (uint64_t)i;
    return TDM_OK;
}

tdm_status json_get_double(json_object *o, const char *key, double *out, bool *found, const char *file, tdm_error *err)
{
    json_object *v = json_get(o, key);
    if (found) *found = v;
    if (!v) return TDM_OK;
    if (!json_is_number(v)) return wrong(v, key, "a number", file, err);
    double d = json_real_of(v);
    if (!isfinite(d) || fabs(d) > 3.4e38)
        return error_set(err, TDM_E_FORMAT, "%s: field %s: expected a finite number", file, key);
    *out = d;
    return TDM_OK;
}

tdm_status json_get_bool(json_object *o, const char *key, bool *out, bool *found, const char *file, tdm_error *err)
{
    tdm_status status;
    json_object *v = look_up(o, key, JSON_BOOL, "true or false", found, file, &status, err);
    if (v) *out = json_truth_of(v);
    return status;
}

tdm_status json_get_string(json_object *o, const char *key, const char **out, size_t *length, bool *found,
                           const char *file, tdm_error *err)
{
    tdm_status status;
    struct span text = json_span_of(look_up(o, key, JSON_STRING, "a string", found, file, &status, err));
    if (!text.bytes) return status;
    *out = text.bytes;
    if (length) *length = text.length;
    return TDM_OK;
}

tdm_status json_get_object(json_object *o, const char *key, json_object **out, bool *found, const char *file,
                           tdm_error *err)
{
    tdm_status status;
    json_object *v = look_up(o, key, JSON_OBJECT, "an object", found, file, &status, err);
    if (v) *out = v;
    return status;
}

tdm_status json_get_array(json_object *o, const char *key, json_object **out, bool *found, const char *file,
                          tdm_error *err)
{
    tdm_status status;
    json_object *v = look_up(o, key, JSON_ARRAY, "an array", found, file, &status, err);
    if (v) *out = v;
    return status;
}
