#include "engine/model/gguf/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/base/signature.h"
#include "engine/base/size.h"
#include "engine/model/cursor.h"
#include "engine/model/extents.h"
#include "engine/model/map.h"

enum { MAX_PARTS = 1000, MAX_NAME = 1024, DEFAULT_ALIGNMENT = 32, MAX_ALIGNMENT = 65536 };

struct gguf {
    char *path;       /* of the first part */
    struct map *maps; /* one per part; none when the bytes are the caller's */
    uint32_t parts;
    uint64_t bytes;
    struct gguf_key *keys;
    struct gguf_tensor *tensors;
    size_t key_count, tensor_count;
    const struct gguf_key **by_name; /* sorted */
};

/* The part that is being read, and where the error line goes. */
struct reader {
    struct gguf *g;
    struct cursor c;
    const char *path;
    struct gguf_key **keys; /* the list that metadata goes to, and its length */
    size_t *key_count;
    tdm_error *err;
};

static const uint8_t value_bytes[GGUF_VALUES] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
};

/* No file has longer texts or lists: one that ends within such a one isn't cut off, its length is damaged. */
enum { MAX_LENGTH = 64 << 20 };

static tdm_status damaged(struct reader *r, const char *what, uint64_t length)
{
    return error_set(r->err, TDM_E_FORMAT,
                     "%s: offset %llu: damaged? expected %s, found a length of %llu in a file of %llu bytes", r->path,
                     (unsigned long long)r->c.at, what, (unsigned long long)length, (unsigned long long)r->c.size);
}

static tdm_status truncated(struct reader *r, const char *what)
{
    char short_of[MAP_INCOMPLETE_ROOM];
    if (r->c.wanted > MAX_LENGTH) return damaged(r, what, r->c.wanted);
    return error_set(r->err, TDM_E_FORMAT, "%s: %soffset %llu: expected %s, found the end of the file (%llu bytes)",
                     r->path, map_incomplete(short_of, r->c.size, 0), (unsigned long long)r->c.at, what,
                     (unsigned long long)r->c.size);
}

#define AT(r)   (r)->path, (unsigned long long)(r)->c.at
#define NAME(s) (int)((s).length < 80 ? (s).length : 80), (s).bytes

/* Makes room for one more item in a list whose capacity is the power of two at or above its length. */
static void *grow(void *list, size_t count, size_t size)
{
    if (count & (count - 1) || (count == 0 && list)) return list;
    size_t room = count ? 2 * count : 1;
    return room > SIZE_MAX / size ? NULL : realloc(list, room * size);
}

static struct span read_string(struct cursor *c)
{
    uint64_t length = cursor_u64(c);
    const char *p = cursor_take(c, length);
    return (struct span){p ? p : "", p ? length : 0};
}

static tdm_status read_key(struct reader *r)
{
    uint64_t start = r->c.at;
    struct gguf_key key = {.name = read_string(&r->c), .count = 1};
    uint32_t type = cursor_u32(&r->c);
    if (type == GGUF_ARRAY) {
        key.array = true;
        type = cursor_u32(&r->c);
        key.count = cursor_u64(&r->c);
    }
    if (r->c.failed) return truncated(r, "a metadata key and its type");
    if (key.name.length == 0 || key.name.length > MAX_NAME)
        return error_set(r->err, TDM_E_FORMAT, "%s: offset %llu: expected a key of 1 to %d bytes, found %llu", r->path,
                         (unsigned long long)start, MAX_NAME, (unsigned long long)key.name.length);
    if (type == GGUF_ARRAY)
        return error_set(r->err, TDM_E_UNSUPPORTED, "%s: key %.*s: arrays of arrays are not supported", r->path,
                         NAME(key.name));
    if (type >= GGUF_VALUES)
        return error_set(r->err, TDM_E_FORMAT, "%s: key %.*s: expected a value type 0 to 12, found %u", r->path,
                         NAME(key.name), type);
    key.type = (enum gguf_value)type;
    key.data = r->c.data + r->c.at;
    uint64_t begin = r->c.at;
    if (type == GGUF_STRING) {
        for (uint64_t i = 0; i < key.count && !r->c.failed; i++) read_string(&r->c);
    } else {
        uint64_t bytes;
        if (!size_mul(key.count, value_bytes[type], &bytes)) bytes = UINT64_MAX;
        cursor_take(&r->c, bytes);
    }
    uint64_t length = key.array && key.count > r->c.wanted ? key.count : r->c.wanted;
    if (r->c.failed && length > MAX_LENGTH) {
        char what[120];
        snprintf(what, sizeof what, "the values of key %.*s", NAME(key.name));
        return damaged(r, what, length);
    }
    if (r->c.failed) {
        char short_of[MAP_INCOMPLETE_ROOM];
        return error_set(r->err, TDM_E_FORMAT,
                         "%s: %skey %.*s: its %llu values run past the end of the file (%llu bytes)", r->path,
                         map_incomplete(short_of, r->c.size, 0), NAME(key.name), (unsigned long long)key.count,
                         (unsigned long long)r->c.size);
    }
    key.bytes = r->c.at - begin;
    struct gguf_key *list = grow(*r->keys, *r->key_count, sizeof *list);
    if (!list) return error_set(r->err, TDM_E_NOMEM, "%s: out of memory", r->path);
    *r->keys = list;
    list[(*r->key_count)++] = key;
    return TDM_OK;
}

static tdm_status read_tensor(struct reader *r)
{
    uint64_t start = r->c.at;
    struct gguf_tensor t = {.name = read_string(&r->c), .shape = {1, 1, 1, 1}};
    t.dims = cursor_u32(&r->c);
    if (r->c.failed) return truncated(r, "a tensor's name and shape");
    if (t.name.length == 0 || t.name.length > MAX_NAME)
        return error_set(r->err, TDM_E_FORMAT, "%s: offset %llu: expected a tensor name of 1 to %d bytes, found %llu",
                         r->path, (unsigned long long)start, MAX_NAME, (unsigned long long)t.name.length);
    if (t.dims < 1 || t.dims > GGUF_MAX_DIMS)
        return error_set(r->err, TDM_E_FORMAT, "%s: tensor %.*s: expected 1 to 4 dimensions, found %u", r->path,
                         NAME(t.name), t.dims);
    uint64_t rows = 1, elements = 1;
    for (uint32_t i = 0; i < t.dims; i++) {
        t.shape[i] = cursor_u64(&r->c);
        if (r->c.failed) return truncated(r, "a tensor's shape");
        if (t.shape[i] == 0 || !size_mul(elements, t.shape[i], &elements) || elements >> 48)
            return error_set(r->err, TDM_E_FORMAT,
                             "%s: tensor %.*s: expected a dimension of at least 1 and fewer than "
                             "2^48 elements, found dimension %u of %llu",
                             r->path, NAME(t.name), i, (unsigned long long)t.shape[i]);
        if (i) rows *= t.shape[i];
    }
    uint32_t number = cursor_u32(&r->c);
    uint64_t offset = cursor_u64(&r->c);
    if (r->c.failed) return truncated(r, "a tensor's type and offset");
    t.type = type_from_gguf(number);
    if (t.type == TYPE_COUNT) {
        const char *name = type_foreign_name(number);
        char names[200];
        type_names(names, sizeof names);
        return error_set(r->err, TDM_E_UNSUPPORTED,
                         "%s: tensor %.*s: type %s (%u) is not supported; expected one of %s", r->path, NAME(t.name),
                         name ? name : "unknown", number, names);
    }
    uint64_t row_bytes = type_row_bytes(t.type, t.shape[0]);
    if (!row_bytes)
        return error_set(
            r->err, TDM_E_FORMAT, "%s: tensor %.*s: expected rows of a multiple of %u elements (%s), found %llu",
            r->path, NAME(t.name), type_info(t.type)->block, type_info(t.type)->name, (unsigned long long)t.shape[0]);
    t.bytes = rows * row_bytes;                  /* below 2^48 elements of at most 4 bytes: no overflow */
    t.data = (const uint8_t *)(uintptr_t)offset; /* made a pointer when the data's start is known */
    struct gguf_tensor *list = grow(r->g->tensors, r->g->tensor_count, sizeof *list);
    if (!list) return error_set(r->err, TDM_E_NOMEM, "%s: out of memory", r->path);
    r->g->tensors = list;
    list[r->g->tensor_count++] = t;
    return TDM_OK;
}

static const struct gguf_key *find_in(const struct gguf_key *keys, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (span_is(keys[i].name, name)) return &keys[i];
    return NULL;
}

static bool key_integer(const struct gguf_key *k, uint64_t index, int64_t *out)
{
    const uint8_t *p = k->data;
    uint64_t v = 0;
    uint32_t width = value_bytes[k->type];
    for (uint32_t i = width; i-- > 0;) v = v << 8 | p[index * width + i];
    switch (k->type) {
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
        *out = (int64_t)v;
        return true;
    case GGUF_I8:
        *out = (int8_t)v;
        return true;
    case GGUF_I16:
        *out = (int16_t)v;
        return true;
    case GGUF_I32:
        *out = (int32_t)v;
        return true;
    case GGUF_I64:
        *out = (int64_t)v;
        return true;
    case GGUF_U64:
        *out = (int64_t)v;
        return v <= INT64_MAX;
    default:
        return false;
    }
}

/* The part's unsigned metadata value, or `otherwise` when the key is missing; false when it is no such value. */
static bool part_value(struct reader *r, const char *name, uint64_t high, uint64_t otherwise, uint64_t *out)
{
    const struct gguf_key *k = find_in(*r->keys, *r->key_count, name);
    int64_t v = 0;
    *out = otherwise;
    if (!k) return true;
    if (k->array || !key_integer(k, 0, &v) || v < 0 || (uint64_t)v > high) {
        error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected an integer from 0 to %llu", r->path, name,
                  (unsigned long long)high);
        return false;
    }
    *out = (uint64_t)v;
    return true;
}

static tdm_status read_header(struct reader *r, uint64_t *tensors, uint64_t *keys)
{
    const uint8_t *magic = cursor_take(&r->c, 4);
    if (!magic || memcmp(magic, "GGUF", 4)) {
        char found[SIGNATURE_ROOM];
        if (signature_of_weights(found, r->c.data, r->c.size))
            return error_set(r->err, TDM_E_FORMAT, "%s: expected a GGUF file, found %s", r->path, found);
        return error_set(r->err, TDM_E_FORMAT, "%s: offset 0: expected the magic GGUF, found %s", r->path,
                         magic ? "other bytes" : "the end of the file");
    }
    uint32_t version = cursor_u32(&r->c);
    *tensors = cursor_u64(&r->c);
    *keys = cursor_u64(&r->c);
    if (r->c.failed) return truncated(r, "the header");
    if (version != 2 && version != 3)
        return error_set(r->err, TDM_E_UNSUPPORTED, "%s: offset 4: expected GGUF version 2 or 3, found %s%u%s", r->path,
                         version && !(version & 0xffffff) ? "a file for big-endian machines, version " : "",
                         version && !(version & 0xffffff) ? version >> 24 : version,
                         version == 1 ? ", of before August 2023: convert the checkpoint again" : "");
    /* Even an empty key takes 13 bytes (key, type, one byte), and an empty tensor 32 (name, dims, shape, type,
     * offset). */
    if (*keys > r->c.size / 13 || *tensors > r->c.size / 32) {
        char short_of[MAP_INCOMPLETE_ROOM];
        return error_set(r->err, TDM_E_FORMAT, "%s: %soffset 8: %llu tensors and %llu keys do not fit into %llu bytes",
                         r->path, map_incomplete(short_of, r->c.size, 0), (unsigned long long)*tensors,
                         (unsigned long long)*keys, (unsigned long long)r->c.size);
    }
    return TDM_OK;
}

/* A tensor of the part runs past the part's end: how long the file would be, and where it is short. */
static tdm_status tensor_outside(struct reader *r, const struct gguf_tensor *t, uint64_t offset, uint64_t need)
{
    char short_of[MAP_INCOMPLETE_ROOM];
    return error_set(r->err, TDM_E_FORMAT,
                     "%s: %stensor %.*s: its %llu bytes at data offset %llu run past the end of the file (%llu bytes)",
                     r->path, map_incomplete(short_of, r->c.size, need), NAME(t->name), (unsigned long long)t->bytes,
                     (unsigned long long)offset, (unsigned long long)r->c.size);
}

/* Where the last of the part's tensors ends; UINT64_MAX where a sum overflows. Their data is still an offset. */
static uint64_t end_of_tensors(const struct reader *r, uint64_t first, uint64_t data)
{
    uint64_t end = data, at;
    for (uint64_t i = first; i < r->g->tensor_count; i++) {
        const struct gguf_tensor *t = &r->g->tensors[i];
        if (!size_add(data, (uint64_t)(uintptr_t)t->data, &at) || !size_add(at, t->bytes, &at)) return UINT64_MAX;
        if (at > end) end = at;
    }
    return end;
}

/* The part's tensors, from the first one on, point into its data. */
static tdm_status check_apart(const struct reader *r, uint64_t first)
{
    size_t n = r->g->tensor_count - first;
    struct extent *list = malloc((n + 1) * sizeof *list);
    if (!list) return error_set(r->err, TDM_E_NOMEM, "%s: out of memory", r->path);
    for (size_t i = 0; i < n; i++) {
        const struct gguf_tensor *t = &r->g->tensors[first + i];
        uint64_t begin = (uint64_t)(t->data - r->c.data);
        list[i] = (struct extent){begin, begin + t->bytes, t->name};
    }
    tdm_status status = extents_check(list, n, r->path, r->err);
    free(list);
    return status;
}

/* Reads a part's metadata and tensors and points the tensors into its data. */
static tdm_status read_part(struct reader *r)
{
    uint64_t tensors = 0, keys = 0, alignment, first = r->g->tensor_count;
    tdm_status status = read_header(r, &tensors, &keys);
    for (uint64_t i = 0; !status && i < keys; i++) status = read_key(r);
    if (status) return status;
    if (!part_value(r, "general.alignment", MAX_ALIGNMENT, DEFAULT_ALIGNMENT, &alignment)) return TDM_E_FORMAT;
    if (alignment < 8 || alignment & (alignment - 1))
        return error_set(r->err, TDM_E_FORMAT,
                         "%s: key general.alignment: expected a power of two from 8 to %d, found %llu", r->path,
                         MAX_ALIGNMENT, (unsigned long long)alignment);
    for (uint64_t i = 0; !status && i < tensors; i++) status = read_tensor(r);
    if (status) return status;
    uint64_t data = (r->c.at + alignment - 1) & ~(alignment - 1), need = end_of_tensors(r, first, data);
    for (uint64_t i = first; i < r->g->tensor_count; i++) {
        struct gguf_tensor *t = &r->g->tensors[i];
        uint64_t offset = (uint64_t)(uintptr_t)t->data, at;
        if (offset & (alignment - 1))
            return error_set(r->err, TDM_E_FORMAT,
                             "%s: tensor %.*s: expected an offset that is a multiple of %llu, found "
                             "%llu",
                             r->path, NAME(t->name), (unsigned long long)alignment, (unsigned long long)offset);
        if (!size_add(data, offset, &at) || !size_within(at, t->bytes, r->c.size))
            return tensor_outside(r, t, offset, need);
        t->data = r->c.data + at;
    }
    return check_apart(r, first);
}

static int compare_spans(struct span a, struct span b)
{
    int order = memcmp(a.bytes, b.bytes, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_keys(const void *a, const void *b)
{
    return compare_spans((*(const struct gguf_key *const *)a)->name, (*(const struct gguf_key *const *)b)->name);
}

static int compare_tensors(const void *a, const void *b)
{
    return compare_spans((*(const struct gguf_tensor *const *)a)->name, (*(const struct gguf_tensor *const *)b)->name);
}

/* Sorts the keys for look-up; refuses a name that occurs twice, key or tensor. */
static tdm_status index_names(struct gguf *g, tdm_error *err)
{
    const struct gguf_tensor **tensors = malloc((g->tensor_count + 1) * sizeof *tensors);
    g->by_name = malloc((g->key_count + 1) * sizeof *g->by_name);
    if (!g->by_name || !tensors) {
        free(tensors);
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", g->path);
    }
    for (size_t i = 0; i < g->key_count; i++) g->by_name[i] = &g->keys[i];
    for (size_t i = 0; i < g->tensor_count; i++) tensors[i] = &g->tensors[i];
    qsort(g->by_name, g->key_count, sizeof *g->by_name, compare_keys);
    qsort(tensors, g->tensor_count, sizeof *tensors, compare_tensors);
    tdm_status status = TDM_OK;
    for (size_t i = 1; !status && i < g->key_count; i++)
        if (!compare_spans(g->by_name[i - 1]->name, g->by_name[i]->name))
            status = error_set(err, TDM_E_FORMAT, "%s: key %.*s occurs twice", g->path, NAME(g->by_name[i]->name));
    for (size_t i = 1; !status && i < g->tensor_count; i++)
        if (!compare_spans(tensors[i - 1]->name, tensors[i]->name))
            status = error_set(err, TDM_E_FORMAT, "%s: tensor %.*s occurs twice", g->path, NAME(tensors[i]->name));
    free(tensors);
    return status;
}

/* ---- Split files: PREFIX-00001-of-00003.gguf ------------------------------------------------------------------- */

/* Splits a part's path; false when it has another form. */
static bool parse_part_name(const char *path, size_t *prefix, uint32_t *part, uint32_t *parts)
{
    static const char form[] = "-00000-of-00000.gguf";
    size_t length = strlen(path), tail = sizeof form - 1;
    if (length < tail) return false;
    const char *p = path + length - tail;
    uint32_t numbers[2] = {0, 0};
    for (size_t i = 0; i < tail; i++) {
        if (form[i] != '0') {
            if (p[i] != form[i]) return false;
        } else {
            if (p[i] < '0' || p[i] > '9') return false;
            numbers[i > 6] = numbers[i > 6] * 10 + (uint32_t)(p[i] - '0');
        }
    }
    *prefix = length - tail;
    *part = numbers[0];
    *parts = numbers[1];
    return true;
}

static char *part_path(const char *path, size_t prefix, uint32_t part, uint32_t parts)
{
    char *out = NULL;
    if (asprintf(&out, "%.*s-%05u-of-%05u.gguf", (int)prefix, path, part, parts) < 0) return NULL;
    return out;
}

/* Opens and reads part `part` (from 0); the first part tells how many there are. */
static tdm_status open_part(struct gguf *g, const char *path, uint32_t part, uint64_t *split_count, tdm_error *err)
{
    tdm_status status = map_open(&g->maps[part], path, err);
    if (status) return status;
    g->parts = part + 1;
    g->bytes += g->maps[part].size;
    struct gguf_key *other = NULL;
    size_t other_count = 0;
    struct reader r = {.g = g,
                       .c = {.data = g->maps[part].data, .size = g->maps[part].size},
                       .path = path,
                       .keys = part ? &other : &g->keys,
                       .key_count = part ? &other_count : &g->key_count,
                       .err = err};
    uint64_t number;
    status = read_part(&r);
    if (!status && (!part_value(&r, "split.no", UINT16_MAX, part, &number) ||
                    !part_value(&r, "split.count", UINT16_MAX, part ? g->parts : 1, split_count)))
        status = TDM_E_FORMAT;
    if (!status && number != part && *split_count > 1)
        status = error_set(err, TDM_E_FORMAT, "%s: key split.no: expected %u, found %llu", path, part,
                           (unsigned long long)number);
    free(other);
    return status;
}

static tdm_status open_rest(struct gguf *g, uint64_t count, tdm_error *err)
{
    size_t prefix;
    uint32_t part, parts;
    if (!parse_part_name(g->path, &prefix, &part, &parts) || parts != count || count > MAX_PARTS)
        return error_set(err, TDM_E_FORMAT,
                         "%s: expected the name of a split file's part (NAME-00001-of-%05llu.gguf, at "
                         "most %d parts)",
                         g->path, (unsigned long long)count, MAX_PARTS);
    struct map *maps = realloc(g->maps, parts * sizeof *maps);
    if (!maps) return error_set(err, TDM_E_NOMEM, "%s: out of memory", g->path);
    g->maps = maps;
    for (uint32_t i = 1; i < parts; i++) {
        char *path = part_path(g->path, prefix, i + 1, parts);
        if (!path) return error_set(err, TDM_E_NOMEM, "%s: out of memory", g->path);
        uint64_t ignored;
        tdm_status status = open_part(g, path, i, &ignored, err);
        free(path);
        if (status) return status;
    }
    const struct gguf_key *total = find_in(g->keys, g->key_count, "split.tensors.count");
    int64_t expected;
    if (total && !total->array && key_integer(total, 0, &expected) && expected != (int64_t)g->tensor_count)
        return error_set(err, TDM_E_FORMAT,
                         "%s: key split.tensors.count: expected %llu tensors in all parts, found %zu", g->path,
                         (unsigned long long)expected, g->tensor_count);
    return TDM_OK;
}

tdm_status gguf_open(struct gguf **out, const char *path, tdm_error *err)
{
    *out = NULL;
    struct gguf *g = calloc(1, sizeof *g);
    size_t prefix;
    uint32_t part, parts;
    if (g) {
        bool later = parse_part_name(path, &prefix, &part, &parts) && part > 1;
        g->path = later ? part_path(path, prefix, 1, parts) : strdup(path);
        g->maps = calloc(1, sizeof *g->maps);
    }
    if (!g || !g->path || !g->maps) {
        gguf_close(g);
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    }
    uint64_t count;
    tdm_status status = open_part(g, g->path, 0, &count, err);
    if (!status && count > 1) status = open_rest(g, count, err);
    if (!status) status = index_names(g, err);
    if (status)
        gguf_close(g);
    else
        *out = g;
    return status;
}

tdm_status gguf_open_memory(struct gguf **out, const void *data, uint64_t size, const char *name, tdm_error *err)
{
    *out = NULL;
    struct gguf *g = calloc(1, sizeof *g);
    if (g) g->path = strdup(name);
    if (!g || !g->path) {
        gguf_close(g);
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    }
    g->bytes = size;
    struct reader r = {.g = g,
                       .c = {.data = data, .size = size},
                       .path = g->path,
                       .keys = &g->keys,
                       .key_count = &g->key_count,
                       .err = err};
    tdm_status status = read_part(&r);
    if (!status) status = index_names(g, err);
    if (status)
        gguf_close(g);
    else
        *out = g;
    return status;
}

void gguf_close(struct gguf *g)
{
    if (!g) return;
    if (g->maps)
        for (uint32_t i = 0; i < g->parts; i++) map_close(&g->maps[i]);
    free(g->maps);
    free(g->path);
    free(g->keys);
    free(g->tensors);
    free(g->by_name);
    free(g);
}

const char *gguf_path(const struct gguf *g)
{
    return g->path;
}

uint64_t gguf_file_bytes(const struct gguf *g)
{
    return g->bytes;
}

uint64_t gguf_stamp(const struct gguf *g)
{
    uint64_t stamp = 0;
    for (uint32_t i = 0; g->maps && i < g->parts; i++) stamp = fnv_step(stamp, g->maps[i].stamp);
    return stamp;
}

tdm_status gguf_check(const struct gguf *g, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (uint32_t i = 0; g->maps && i < g->parts && !status; i++) status = map_check(&g->maps[i], err);
    return status;
}

void gguf_release(const struct gguf *g, const void *data, uint64_t bytes)
{
    for (uint32_t i = 0; g->maps && i < g->parts; i++) map_release(&g->maps[i], data, bytes);
}

void gguf_forget(const struct gguf *g)
{
    for (uint32_t i = 0; g->maps && i < g->parts; i++) map_forget(&g->maps[i]);
}

size_t gguf_keys(const struct gguf *g, const struct gguf_key **list)
{
    *list = g->keys;
    return g->key_count;
}

size_t gguf_tensors(const struct gguf *g, const struct gguf_tensor **list)
{
    *list = g->tensors;
    return g->tensor_count;
}

/* ---- Look-ups ---------------------------------------------------------------------------------------------------- */

const struct gguf_key *gguf_find(const struct gguf *g, const char *key)
{
    const struct gguf_key wanted = {.name = {key, strlen(key)}}, *p = &wanted;
    const struct gguf_key **hit = bsearch(&p, g->by_name, g->key_count, sizeof p, compare_keys);
    return hit ? *hit : NULL;
}

static bool key_real(const struct gguf_key *k, uint64_t index, double *out)
{
    float f;
    if (k->type == GGUF_F32) {
        memcpy(&f, k->data + index * sizeof f, sizeof f);
        *out = f;
    } else if (k->type == GGUF_F64) {
        memcpy(out, k->data + index * sizeof *out, sizeof *out);
    }
    return k->type == GGUF_F32 || k->type == GGUF_F64;
}

bool gguf_key_number(const struct gguf_key *k, uint64_t index, double *out)
{
    int64_t v = 0;
    if (index >= k->count || k->type == GGUF_STRING) return false;
    if (key_real(k, index, out)) return true;
    bool whole = k->type == GGUF_BOOL || key_integer(k, index, &v);
    if (whole) *out = k->type == GGUF_BOOL ? k->data[index] != 0 : (double)v;
    return whole;
}

bool gguf_key_text(const struct gguf_key *k, struct span *out)
{
    if (k->type != GGUF_STRING || k->array) return false;
    *out = (struct span){(const char *)k->data + 8, k->bytes - 8};
    return true;
}

/* Finds a key and checks its form; TDM_OK with *k NULL when it is absent. */
static tdm_status find_kind(const struct gguf *g, const char *key, bool array, bool string, const struct gguf_key **k,
                            bool *found, tdm_error *err)
{
    *k = gguf_find(g, key);
    if (found) *found = *k;
    if (!*k) return TDM_OK;
    if ((*k)->array != array || ((*k)->type == GGUF_STRING) != string) {
        *k = NULL;
        return error_set(err, TDM_E_FORMAT, "%s: key %s: expected %s%s, found another type", g->path, key,
                         array ? "an array of " : "a ",
                         string  ? (array ? "strings" : "string")
                         : array ? "numbers"
                                 : "number");
    }
    return TDM_OK;
}

tdm_status gguf_get_u64(const struct gguf *g, const char *key, uint64_t low, uint64_t high, uint64_t *out, bool *found,
                        tdm_error *err)
{
    const struct gguf_key *k;
    tdm_status status = find_kind(g, key, false, false, &k, found, err);
    int64_t v = -1;
    if (!k) return status;
    if (!key_integer(k, 0, &v))
        return error_set(err, TDM_E_FORMAT, "%s: key %s: expected an integer, found another type", g->path, key);
    if (v < 0 || (uint64_t)v < low || (uint64_t)v > high)
        return error_set(err, TDM_E_FORMAT, "%s: key %s: expected %llu to %llu, found %lld", g->path, key,
                         (unsigned long long)low, (unsigned long long)high, (long long)v);
    *out = (uint64_t)v;
    return TDM_OK;
}

tdm_status gguf_get_number(const struct gguf *g, const char *key, double *out, bool *found, tdm_error *err)
{
    const struct gguf_key *k;
    int64_t whole;
    tdm_status status = find_kind(g, key, false, false, &k, found, err);
    if (!k || key_real(k, 0, out)) return status;
    if (!key_integer(k, 0, &whole))
        return error_set(err, TDM_E_FORMAT, "%s: key %s: expected a number, found another type", g->path, key);
    *out = (double)whole;
    return TDM_OK;
}

tdm_status gguf_get_float(const struct gguf *g, const char *key, float *out, bool *found, tdm_error *err)
{
    const struct gguf_key *k;
    tdm_status status = find_kind(g, key, false, false, &k, found, err);
    if (!k) return status;
    double v;
    if (!key_real(k, 0, &v))
        return error_set(err, TDM_E_FORMAT, "%s: key %s: expected a float, found another type", g->path, key);
    if (!(v >= -3.4e38 && v <= 3.4e38))
        return error_set(err, TDM_E_FORMAT, "%s: key %s: expected a finite float", g->path, key);
    *out = (float)v;
    return TDM_OK;
}

tdm_status gguf_get_string(const struct gguf *g, const char *key, struct span *out, bool *found, tdm_error *err)
{
    const struct gguf_key *k;
    tdm_status status = find_kind(g, key, false, true, &k, found, err);
    if (!k) return status;
    gguf_key_text(k, out);
    return TDM_OK;
}

/* An array, and memory for its values of this many bytes each: *room NULL where there are none, or on failure. Where
 * there is no such array *k is NULL. */
static tdm_status find_array(const struct gguf *g, const char *key, bool strings, size_t size,
                             const struct gguf_key **k, void **room, bool *found, tdm_error *err)
{
    tdm_status status = find_kind(g, key, true, strings, k, found, err);
    *room = *k && (*k)->count ? malloc((*k)->count * size) : NULL;
    if (*k && (*k)->count && !*room) return error_set(err, TDM_E_NOMEM, "%s: out of memory", g->path);
    return status;
}

tdm_status gguf_get_strings(const struct gguf *g, const char *key, struct span **out, uint64_t *count, bool *found,
                            tdm_error *err)
{
    const struct gguf_key *k;
    void *room;
    tdm_status status = find_array(g, key, true, sizeof **out, &k, &room, found, err);
    if (!k) return status;
    *out = room;
    *count = k->count;
    if (!room) return status;
    struct cursor c = {.data = k->data, .size = k->bytes};
    for (uint64_t i = 0; i < k->count; i++) (*out)[i] = read_string(&c);
    return TDM_OK;
}

tdm_status gguf_get_i32s(const struct gguf *g, const char *key, int32_t **out, uint64_t *count, bool *found,
                         tdm_error *err)
{
    const struct gguf_key *k;
    void *room;
    tdm_status status = find_array(g, key, false, sizeof **out, &k, &room, found, err);
    if (!k) return status;
    *out = room;
    *count = k->count;
    if (!room) return status;
    for (uint64_t i = 0; i < k->count; i++) {
        int64_t v;
        if (!key_integer(k, i, &v) || v < INT32_MIN || v > INT32_MAX) {
            free(*out);
            *out = NULL;
            return error_set(err, TDM_E_FORMAT,
                             "%s: key %s: expected 32-bit integers, found another value at index %llu", g->path, key,
                             (unsigned long long)i);
        }
        (*out)[i] = (int32_t)v;
    }
    return TDM_OK;
}

tdm_status gguf_get_floats(const struct gguf *g, const char *key, float **out, uint64_t *count, bool *found,
                           tdm_error *err)
{
    const struct gguf_key *k;
    void *room;
    tdm_status status = find_array(g, key, false, sizeof **out, &k, &room, found, err);
    if (!k) return status;
    *out = room;
    *count = k->count;
    if (!room) return status;
    for (uint64_t i = 0; i < k->count; i++) {
        double v;
        if (!key_real(k, i, &v)) {
            free(*out);
            *out = NULL;
            return error_set(err, TDM_E_FORMAT, "%s: key %s: expected floats, found another type", g->path, key);
        }
        (*out)[i] = (float)v;
    }
    return TDM_OK;
}
