#include "engine/model/hf/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/signature.h"
#include "engine/base/size.h"
#include "engine/base/span.h"
#include "engine/json/json.h"
#include "engine/json/scan.h"
#include "engine/model/cursor.h"
#include "engine/model/extents.h"
#include "engine/model/map.h"

struct safetensors {
    char *path;
    struct map map; /* empty when the bytes are the caller's */
    uint64_t bytes;
    struct json_object *header; /* holds the names */
    struct safetensors_tensor *tensors;
    size_t count;
};

static const struct dtype {
    const char *name;
    uint32_t bytes;
    enum type type;
} dtypes[] = {
    {"F32", 4, TYPE_F32},    {"F16", 2, TYPE_F16},       {"BF16", 2, TYPE_BF16},     {"F64", 8, TYPE_COUNT},
    {"I64", 8, TYPE_COUNT},  {"U64", 8, TYPE_COUNT},     {"I32", 4, TYPE_COUNT},     {"U32", 4, TYPE_COUNT},
    {"I16", 2, TYPE_COUNT},  {"U16", 2, TYPE_COUNT},     {"I8", 1, TYPE_COUNT},      {"U8", 1, TYPE_COUNT},
    {"BOOL", 1, TYPE_COUNT}, {"F8_E4M3", 1, TYPE_COUNT}, {"F8_E5M2", 1, TYPE_COUNT},
};

static tdm_status wrong(struct safetensors *s, const char *name, const char *what, tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: %s", s->path, name, what);
}

/* An array of non-negative integers, or false. */
static bool integers(struct json_object *array, uint64_t *out, size_t room, size_t *count)
{
    if (!json_is(array, JSON_ARRAY)) return false;
    *count = json_length(array);
    if (*count > room) return false;
    for (size_t i = 0; i < *count; i++) {
        struct json_object *v = json_at(array, i);
        if (!json_is(v, JSON_INT) || json_int_of(v) < 0) return false;
        out[i] = (uint64_t)json_int_of(v);
    }
    return true;
}

/* Where the last tensor's data ends, counted from where the first one's begins. */
static uint64_t end_of_data(const struct safetensors *s)
{
    uint64_t end = 0;
    for (struct json_walk m = json_walk(s->header); json_next(&m);) {
        uint64_t range[2];
        size_t two;
        if (integers(json_get(m.value, "data_offsets"), range, 2, &two) && two == 2 && range[1] > end) end = range[1];
    }
    return end;
}

static tdm_status read_tensor(struct safetensors *s, const char *name, struct json_object *o, const uint8_t *data,
                              uint64_t data_bytes, struct safetensors_tensor *t, tdm_error *err)
{
    if (!json_is(o, JSON_OBJECT)) return wrong(s, name, "expected an object", err);
    *t = (struct safetensors_tensor){.name = name, .type = TYPE_COUNT};
    struct span dtype = json_span_of(json_get(o, "dtype"));
    if (!dtype.bytes) return wrong(s, name, "expected a string as dtype", err);
    if (dtype.length >= sizeof t->dtype)
        return wrong(s, name, "expected a dtype such as BF16, found a longer name", err);
    memcpy(t->dtype, dtype.bytes, dtype.length + 1);
    uint32_t width = 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].name, t->dtype)) {
            width = dtypes[i].bytes;
            t->type = dtypes[i].type;
        }

    size_t dims, two;
    uint64_t range[2];
    if (!integers(json_get(o, "shape"), t->shape, SAFETENSORS_MAX_DIMS, &dims))
        return wrong(s, name, "expected a shape of at most 8 non-negative integers", err);
    t->dims = (uint32_t)dims;
    t->elements = 1;
    for (size_t i = 0; i < dims; i++)
        if (!size_mul(t->elements, t->shape[i], &t->elements)) return wrong(s, name, "its shape overflows", err);
    for (size_t i = dims; i < SAFETENSORS_MAX_DIMS; i++) t->shape[i] = 1;

    if (!integers(json_get(o, "data_offsets"), range, 2, &two) || two != 2)
        return wrong(s, name, "expected data_offsets of two non-negative integers", err);
    if (range[0] > range[1] || range[1] > data_bytes) {
        char short_of[MAP_INCOMPLETE_ROOM];
        uint64_t before = s->bytes - data_bytes, end = end_of_data(s);
        return error_set(
            err, TDM_E_FORMAT, "%s: %stensor %.80s: expected data_offsets within %llu bytes, found %llu to %llu",
            s->path, map_incomplete(short_of, s->bytes, end < UINT64_MAX - before ? before + end : UINT64_MAX), name,
            (unsigned long long)data_bytes, (unsigned long long)range[0], (unsigned long long)range[1]);
    }
    t->bytes = range[1] - range[0];
    t->data = data + range[0];
    uint64_t expected;
    if (width && (!size_mul(t->elements, width, &expected) || expected != t->bytes))
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: expected %llu elements of %u bytes, found %llu bytes",
                         s->path, name, (unsigned long long)t->elements, width, (unsigned long long)t->bytes);
    return TDM_OK;
}

static int by_text(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* A name that comes twice has only its last value in the tree, and it is not known which one counts. */
static tdm_status check_once(const struct safetensors *s, const char *text, uint64_t length, tdm_error *err)
{
    size_t n = 0, room = json_members(s->header);
    struct span *names = malloc((room + 1) * sizeof *names), name;
    if (!names) return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
    struct jsonscan j;
    jsonscan_open(&j, s->path, text, length, err);
    j.raw_controls = true; /* as the tree took it */
    jsonscan_object(&j);
    while (n <= room && jsonscan_member(&j, &name)) {
        names[n++] = name;
        jsonscan_skip(&j);
    }
    tdm_status status = j.status;
    if (!status && n > room) {
        qsort(names, n, sizeof *names, by_text);
        size_t i = 1;
        while (i + 1 < n && by_text(&names[i - 1], &names[i])) i++;
        status = error_set(err, TDM_E_FORMAT, "%s: tensor %.*s is there twice", s->path,
                           (int)(names[i].length < 80 ? names[i].length : 80), names[i].bytes);
    }
    jsonscan_close(&j);
    free(names);
    return status;
}

static tdm_status check_apart(const struct safetensors *s, const uint8_t *data, tdm_error *err)
{
    struct extent *list = malloc((s->count + 1) * sizeof *list);
    if (!list) return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
    for (size_t i = 0; i < s->count; i++) {
        const struct safetensors_tensor *t = &s->tensors[i];
        uint64_t begin = (uint64_t)(t->data - data);
        list[i] = (struct extent){begin, begin + t->bytes, {t->name, strlen(t->name)}};
    }
    tdm_status status = extents_check(list, s->count, s->path, err);
    free(list);
    return status;
}

static tdm_status read_header(struct safetensors *s, const uint8_t *data, uint64_t size, tdm_error *err)
{
    struct cursor c = {.data = data, .size = size};
    uint64_t length = cursor_u64(&c);
    char found[SIGNATURE_ROOM];
    if ((size < 9 || data[8] != '{') && signature_of_weights(found, data, size))
        return error_set(err, TDM_E_FORMAT, "%s: expected a safetensors file, found %s", s->path, found);
    if (c.failed)
        return error_set(err, TDM_E_FORMAT, "%s: expected a header length of 8 bytes, found a file of %llu bytes",
                         s->path, (unsigned long long)size);
    uint64_t left = cursor_left(&c);
    if (length > JSON_LIMIT || length > left) {
        char short_of[MAP_INCOMPLETE_ROOM] = "";
        if (length <= JSON_LIMIT) map_incomplete(short_of, size, 8 + length);
        return error_set(err, TDM_E_FORMAT, "%s: %soffset 0: expected a header length of at most %llu, found %llu",
                         s->path, short_of, (unsigned long long)(left < JSON_LIMIT ? left : JSON_LIMIT),
                         (unsigned long long)length);
    }
    const char *text = cursor_take(&c, length);
    tdm_status status = json_parse_object(&s->header, s->path, text, length, err);
    if (!status) status = check_once(s, text, length, err);
    if (status) return status;
    s->tensors = calloc(json_members(s->header) + 1, sizeof *s->tensors);
    if (!s->tensors) return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
    for (struct json_walk m = json_walk(s->header); json_next(&m);) {
        if (!strcmp(m.key, "__metadata__")) continue;
        status = read_tensor(s, m.key, m.value, data + c.at, size - c.at, &s->tensors[s->count], err);
        if (status) return status;
        s->count++;
    }
    return check_apart(s, data + c.at, err);
}

static tdm_status open_bytes(struct safetensors **out, struct safetensors *s, const void *data, uint64_t size,
                             tdm_error *err)
{
    s->bytes = size;
    tdm_status status = read_header(s, data, size, err);
    if (status)
        safetensors_close(s);
    else
        *out = s;
    return status;
}

static struct safetensors *new_named(const char *name)
{
    struct safetensors *s = calloc(1, sizeof *s);
    if (s) s->path = strdup(name);
    if (s && s->path) return s;
    free(s);
    return NULL;
}

tdm_status safetensors_open(struct safetensors **out, const char *path, tdm_error *err)
{
    *out = NULL;
    struct safetensors *s = new_named(path);
    if (!s) return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    tdm_status status = map_open(&s->map, path, err);
    if (status) {
        safetensors_close(s);
        return status;
    }
    return open_bytes(out, s, s->map.data, s->map.size, err);
}

tdm_status safetensors_open_memory(struct safetensors **out, const void *data, uint64_t size, const char *name,
                                   tdm_error *err)
{
    *out = NULL;
    struct safetensors *s = new_named(name);
    if (!s) return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    return open_bytes(out, s, data, size, err);
}

void safetensors_close(struct safetensors *s)
{
    if (!s) return;
    json_free(s->header);
    map_close(&s->map);
    free(s->tensors);
    free(s->path);
    free(s);
}

const char *safetensors_path(const struct safetensors *s)
{
    return s->path;
}

uint64_t safetensors_file_bytes(const struct safetensors *s)
{
    return s->bytes;
}

uint64_t safetensors_stamp(const struct safetensors *s)
{
    return s->map.stamp;
}

tdm_status safetensors_check(const struct safetensors *s, tdm_error *err)
{
    return map_check(&s->map, err);
}

void safetensors_release(const struct safetensors *s, const void *data, uint64_t bytes)
{
    map_release(&s->map, data, bytes);
}

void safetensors_forget(const struct safetensors *s)
{
    map_forget(&s->map);
}

size_t safetensors_tensors(const struct safetensors *s, const struct safetensors_tensor **list)
{
    *list = s->tensors;
    return s->count;
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->tensors[i].name, name)) return &s->tensors[i];
    return NULL;
}
