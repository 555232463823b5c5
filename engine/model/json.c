#include "engine/model/json.h"

#include <json-c/json_util.h>
#include <math.h>

#include "engine/base/error.h"
#include "engine/base/signature.h"
#include "engine/json/tree.h"
#include "engine/model/map.h"

/* The whole text as one value of this type. */
static tdm_status parse(struct json_object **out, json_type type, const void *text, uint64_t length, const char *file,
                        tdm_error *err)
{
    *out = NULL;
    if (length == 0) return error_set(err, TDM_E_FORMAT, "%s: expected JSON, found an empty file", file);
    if (length > JSON_LIMIT)
        return error_set(err, TDM_E_FORMAT, "%s: expected JSON of at most %d bytes, found %llu", file, JSON_LIMIT,
                         (unsigned long long)length);
    tdm_status status = json_tree_parse(out, file, text, length, JSON_TREE_ANY_BYTES, err);
    if (status || json_object_is_type(*out, type)) return status;
    json_object_put(*out);
    *out = NULL;
    return error_set(err, TDM_E_FORMAT, "%s: expected a JSON %s, found another value", file, json_type_to_name(type));
}

tdm_status json_parse(struct json_object **out, const void *text, uint64_t length, const char *file, tdm_error *err)
{
    return parse(out, json_type_object, text, length, file, err);
}

tdm_status json_parse_array(struct json_object **out, const void *text, uint64_t length, const char *file,
                            tdm_error *err)
{
    return parse(out, json_type_array, text, length, file, err);
}

tdm_status json_read(struct json_object **out, const char *path, tdm_error *err)
{
    *out = NULL;
    struct map map;
    tdm_status status = map_open(&map, path, err);
    if (status) return status;
    status = json_parse(out, map.data, map.size, path, err);
    char found[SIGNATURE_ROOM];
    if (status == TDM_E_FORMAT && map.size && signature_of_bytes(found, map.data, map.size))
        error_set(err, status, "%s: expected JSON, found %s", path, found);
    if (!status && (status = map_check(&map, err))) {
        json_object_put(*out);
        *out = NULL;
    }
    map_close(&map);
    return status;
}

/* The value when there is one that is not null; its type is checked by the caller. */
static struct json_object *look_up(struct json_object *o, const char *key, bool *found)
{
    struct json_object *v = NULL;
    bool there = json_object_object_get_ex(o, key, &v) && v;
    if (found) *found = there;
    return v;
}

static tdm_status wrong(struct json_object *v, const char *key, const char *expected, const char *file, tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "%s: field %s: expected %s, found %s", file, key, expected,
                     json_type_to_name(json_object_get_type(v)));
}

tdm_status json_get_u64(struct json_object *o, const char *key, uint64_t low, uint64_t high, uint64_t *out, bool *found,
                        const char *file, tdm_error *err)
{
    struct json_object *v = look_up(o, key, found);
    if (!v) return TDM_OK;
    if (!json_object_is_type(v, json_type_int)) return wrong(v, key, "an integer", file, err);
    int64_t i = json_object_get_int64(v);
    if (i < 0 || (uint64_t)i < low || (uint64_t)i > high)
        return error_set(err, TDM_E_FORMAT, "%s: field %s: expected %llu to %llu, found %lld", file, key,
                         (unsigned long long)low, (unsigned long long)high, (long long)i);
    *out = (uint64_t)i;
    return TDM_OK;
}

tdm_status json_get_double(struct json_object *o, const char *key, double *out, bool *found, const char *file,
                           tdm_error *err)
{
    struct json_object *v = look_up(o, key, found);
    if (!v) return TDM_OK;
    if (!json_object_is_type(v, json_type_double) && !json_object_is_type(v, json_type_int))
        return wrong(v, key, "a number", file, err);
    double d = json_object_get_double(v);
    if (!isfinite(d) || fabs(d) > 3.4e38)
        return error_set(err, TDM_E_FORMAT, "%s: field %s: expected a finite number", file, key);
    *out = d;
    return TDM_OK;
}

tdm_status json_get_bool(struct json_object *o, const char *key, bool *out, bool *found, const char *file,
                         tdm_error *err)
{
    struct json_object *v = look_up(o, key, found);
    if (!v) return TDM_OK;
    if (!json_object_is_type(v, json_type_boolean)) return wrong(v, key, "true or false", file, err);
    *out = json_object_get_boolean(v);
    return TDM_OK;
}

tdm_status json_get_string(struct json_object *o, const char *key, const char **out, size_t *length, bool *found,
                           const char *file, tdm_error *err)
{
    struct json_object *v = look_up(o, key, found);
    if (!v) return TDM_OK;
    if (!json_object_is_type(v, json_type_string)) return wrong(v, key, "a string", file, err);
    *out = json_object_get_string(v);
    if (length) *length = (size_t)json_object_get_string_len(v);
    return TDM_OK;
}

tdm_status json_get_object(struct json_object *o, const char *key, struct json_object **out, bool *found,
                           const char *file, tdm_error *err)
{
    struct json_object *v = look_up(o, key, found);
    if (!v) return TDM_OK;
    if (!json_object_is_type(v, json_type_object)) return wrong(v, key, "an object", file, err);
    *out = v;
    return TDM_OK;
}

tdm_status json_get_array(struct json_object *o, const char *key, struct json_object **out, bool *found,
                          const char *file, tdm_error *err)
{
    struct json_object *v = look_up(o, key, found);
    if (!v) return TDM_OK;
    if (!json_object_is_type(v, json_type_array)) return wrong(v, key, "an array", file, err);
    *out = v;
    return TDM_OK;
}
