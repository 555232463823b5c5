/* One encoder and one decoder over a stream that is a file or memory; see statefile.h for the layout.
 * The checksum (engine/base/checksum.h) guards against damage: whatever it says, sizes and ids are checked. */
#include "engine/state/statefile.h"

#include "engine/base/atomic_file.h"
#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/model/half.h"
#include "engine/state/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they lie in memory");

enum { VERSION = 2, FLAG_LOGITS = 1, Q8_BLOCK = 32, STAGE = 1 << 16, CHECKSUM_BYTES = 8 };
/* What follows the fields of the shape: the width of the MTP head, and its entries. */
enum { HEAD_FIELDS = 2 };
enum { SHAPE_FIELDS = 11, HEADER_BYTES = 8 + 4 + 4 + 8 + 8 + 4 * (2 + SHAPE_FIELDS + HEAD_FIELDS) };

/* ---- Streams --------------------------------------------------------------------------------------------------- */

/* Where the encoder writes: to a file, or to the end of a buffer. The first error sticks. */
struct sink {
    struct atomic_file *file;
    struct state_bytes *memory;
    struct checksum checksum;
    tdm_status status;
    tdm_error *err;
    size_t used;
    uint8_t stage[STAGE];
};

static void sink_out(struct sink *s, const void *data, size_t bytes)
{
    if (s->status) return;
    if (s->file) {
        s->status = atomic_file_write(s->file, data, bytes, s->err);
        return;
    }
    memcpy(s->memory->data + s->memory->size, data, bytes); /* room for all was made before */
    s->memory->size += bytes;
}

static void sink_flush(struct sink *s)
{
    sink_out(s, s->stage, s->used);
    checksum_add(&s->checksum, s->stage, s->used);
    s->used = 0;
}

static void sink_put(struct sink *s, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    while (bytes) {
        size_t n = STAGE - s->used < bytes ? STAGE - s->used : bytes;
        memcpy(s->stage + s->used, p, n);
        s->used += n;
        p += n;
        bytes -= n;
        if (s->used == STAGE) sink_flush(s);
    }
}

static void sink_u32(struct sink *s, uint32_t v)
{
    sink_put(s, &v, sizeof v);
}

static void sink_u64(struct sink *s, uint64_t v)
{
    sink_put(s, &v, sizeof v);
}

/* Where the decoder reads: a file, or memory. The first error sticks; zeros come after it. */
struct feed {
    int fd; /* -1: memory */
    const uint8_t *memory;
    const char *name; /* for error lines */
    uint64_t size;    /* in all, checksum included */
    uint64_t fetched; /* bytes that came into the stage so far */
    struct checksum checksum;
    tdm_status status;
    tdm_error *err;
    size_t used, filled;
    uint8_t stage[STAGE];
};

static bool feed_raw(struct feed *f, void *out, size_t bytes)
{
    if (f->fd < 0) {
        memcpy(out, f->memory + f->fetched, bytes);
        f->fetched += bytes;
        return true;
    }
    for (uint8_t *p = out; bytes;) {
        ssize_t n = read(f->fd, p, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) f->status = error_errno(f->err, TDM_E_IO, "%s: cannot read", f->name);
        if (n == 0)
            f->status = error_set(f->err, TDM_E_FORMAT, "%s: shortened while reading, at byte %llu", f->name,
                                  (unsigned long long)f->fetched);
        if (n <= 0) return false;
        p += n;
        bytes -= (size_t)n;
        f->fetched += (uint64_t)n;
    }
    return true;
}

static void feed_fill(struct feed *f)
{
    uint64_t left = f->size - CHECKSUM_BYTES - f->fetched;
    f->used = 0;
    f->filled = left < STAGE ? (size_t)left : STAGE;
    if (!f->filled) f->status = error_set(f->err, TDM_E_FORMAT, "%s: ends too early", f->name);
    if (f->status || !feed_raw(f, f->stage, f->filled)) return;
    checksum_add(&f->checksum, f->stage, f->filled);
}

static void feed_take(struct feed *f, void *out, size_t bytes)
{
    for (uint8_t *p = out; bytes;) {
        if (!f->status && f->used == f->filled) feed_fill(f);
        if (f->status) {
            memset(p, 0, bytes);
            return;
        }
        size_t n = f->filled - f->used < bytes ? f->filled - f->used : bytes;
        memcpy(p, f->stage + f->used, n);
        f->used += n;
        p += n;
        bytes -= n;
    }
}

static uint32_t feed_u32(struct feed *f)
{
    uint32_t v;
    feed_take(f, &v, sizeof v);
    return v;
}

static uint64_t feed_u64(struct feed *f)
{
    uint64_t v;
    feed_take(f, &v, sizeof v);
    return v;
}

/* ---- Rows of keys and values ----------------------------------------------------------------------------------- */

static size_t row_bytes(enum kv_type type, uint32_t head_dim)
{
    uint32_t blocks = (head_dim + Q8_BLOCK - 1) / Q8_BLOCK;
    return type == KV_F32   ? 4 * (size_t)head_dim
           : type == KV_F16 ? 2 * (size_t)head_dim
                            : head_dim + 2 * (size_t)blocks;
}

enum { ROW_MAX_BYTES = 4 * CONFIG_MAX_HEAD };

static void encode_row(enum kv_type type, uint32_t n, const float *x, uint8_t *out)
{
    if (type == KV_F32) memcpy(out, x, n * sizeof *x);
    for (uint32_t i = 0; type == KV_F16 && i < n; i++) {
        uint16_t half = f16_narrow(x[i]);
        memcpy(out + 2 * i, &half, 2);
    }
    for (uint32_t b = 0; type == KV_Q8_0 && b < n; b += Q8_BLOCK) {
        uint32_t block = n - b < Q8_BLOCK ? n - b : Q8_BLOCK;
        float largest = 0;
        for (uint32_t i = b; i < b + block; i++) largest = fmaxf(largest, fabsf(x[i]));
        uint16_t scale = f16_narrow(largest / 127);
        float inverse = f16_widen(scale) > 0 ? 1 / f16_widen(scale) : 0;
        memcpy(out, &scale, 2);
        for (uint32_t i = 0; i < block; i++)
            out[2 + i] = (uint8_t)(int8_t)lrintf(fmaxf(-127, fminf(127, x[b + i] * inverse)));
        out += 2 + block;
    }
}

static void decode_row(enum kv_type type, uint32_t n, const uint8_t *in, float *x)
{
    if (type == KV_F32) memcpy(x, in, n * sizeof *x);
    for (uint32_t i = 0; type == KV_F16 && i < n; i++) {
        uint16_t half;
        memcpy(&half, in + 2 * i, 2);
        x[i] = f16_widen(half);
    }
    for (uint32_t b = 0; type == KV_Q8_0 && b < n; b += Q8_BLOCK) {
        uint32_t block = n - b < Q8_BLOCK ? n - b : Q8_BLOCK;
        uint16_t scale;
        memcpy(&scale, in, 2);
        for (uint32_t i = 0; i < block; i++) x[b + i] = (float)(int8_t)in[2 + i] * f16_widen(scale);
        in += 2 + block;
    }
}

/* ---- The order of value heads ---------------------------------------------------------------------------------- */

/* Where this model keeps the value head that the original checkpoint numbers `head`. */
static uint32_t own_head(const struct state_shape *s, uint32_t head)
{
    uint32_t served = s->value_heads / s->key_heads;
    return s->value_heads_tiled ? head / served + head % served * s->key_heads : head;
}

/* Where it keeps the channel that the original numbers `channel`; runs of value_dim channels stay together. */
static uint32_t own_channel(const struct state_shape *s, uint32_t channel)
{
    uint32_t first = 2 * s->key_heads * s->key_dim; /* of the values */
    if (channel < first) return channel;
    uint32_t head = (channel - first) / s->value_dim;
    return first + own_head(s, head) * s->value_dim + (channel - first) % s->value_dim;
}

/* ---- Encoding -------------------------------------------------------------------------------------------------- */

/* What the size of a state's encoding depends on, beside the shape. */
struct extent {
    enum kv_type kv;
    uint32_t tokens, width, entries; /* of the MTP head; width 0: headless */
    bool logits;
};

static struct extent extent_of(const struct state *s)
{
    uint32_t width = s->headless ? 0 : pool_shape(s->pool)->head_width;
    return (struct extent){pool_kv(s->pool), s->length, width, s->entries, s->logits_valid};
}

static uint64_t encoded_bytes(const struct state_shape *s, struct extent e)
{
    uint64_t rows = (uint64_t)s->attention_layers * e.tokens + e.entries;
    return HEADER_BYTES + (uint64_t)e.tokens * sizeof(tdm_id) +
           2 * rows * s->kv_heads * row_bytes(e.kv, s->head_dim) +
           (uint64_t)(e.tokens - e.entries) * e.width * sizeof(float) +
           (state_shape_recurrent_floats(s) + state_shape_conv_floats(s) + (e.logits ? s->vocab : 0)) *
               (uint64_t)sizeof(float) +
           CHECKSUM_BYTES;
}

static void shape_fields(const struct state_shape *s, uint32_t field[SHAPE_FIELDS])
{
    const uint32_t all[] = {s->attention_layers, s->kv_heads,    s->head_dim, s->linear_layers,
                            s->key_heads,        s->value_heads, s->key_dim,  s->value_dim,
                            s->conv_channels,    s->conv_taps,   s->vocab};
    _Static_assert(sizeof all / sizeof *all == SHAPE_FIELDS, "one for each field of the header");
    memcpy(field, all, sizeof all);
}

/* The keys and values of one head of a layer in these pages. */
static void encode_head(const struct state *s, struct page *const *pages, uint32_t layer, uint32_t head, uint32_t n,
                        struct sink *out)
{
    uint32_t dim = pool_shape(s->pool)->head_dim;
    enum kv_type kv = pool_kv(s->pool);
    for (uint32_t position = 0; position < n; position++) {
        const struct page *page = pages[position / KV_PAGE];
        float k[CONFIG_MAX_HEAD], v[CONFIG_MAX_HEAD];
        uint8_t row[ROW_MAX_BYTES];
        pool_kernels(s->pool)->kv_load(kv, dim, pool_keys(s->pool, page, layer, head),
                                       pool_values(s->pool, page, layer, head), position % KV_PAGE, k, v);
        encode_row(kv, dim, k, row);
        sink_put(out, row, row_bytes(kv, dim));
        encode_row(kv, dim, v, row);
        sink_put(out, row, row_bytes(kv, dim));
    }
}

static void encode_header(const struct state *s, uint64_t fingerprint, struct sink *out)
{
    const struct extent e = extent_of(s);
    uint32_t field[SHAPE_FIELDS];
    shape_fields(pool_shape(s->pool), field);
    sink_put(out, "TDMSTATE", 8);
    sink_u32(out, VERSION);
    sink_u32(out, s->logits_valid ? FLAG_LOGITS : 0);
    sink_u64(out, fingerprint);
    sink_u64(out, encoded_bytes(pool_shape(s->pool), e));
    sink_u32(out, (uint32_t)e.kv);
    sink_u32(out, s->length);
    sink_put(out, field, sizeof field);
    sink_u32(out, e.width);
    sink_u32(out, e.entries);
}

static void encode(const struct state *s, uint64_t fingerprint, struct sink *out)
{
    const struct state_shape *shape = pool_shape(s->pool);
    encode_header(s, fingerprint, out);
    sink_put(out, s->tokens, s->length * sizeof *s->tokens);
    for (uint32_t i = 0; i < shape->attention_layers * shape->kv_heads; i++)
        encode_head(s, s->pages, i / shape->kv_heads, i % shape->kv_heads, s->length, out);
    for (uint32_t i = 0; i < shape->kv_heads; i++) encode_head(s, s->head_pages, 0, i, s->entries, out);
    if (!s->headless)
        sink_put(out, s->waiting, (size_t)(s->length - s->entries) * shape->head_width * sizeof(float));
    for (uint32_t i = 0; i < shape->linear_layers * shape->value_heads; i++) {
        uint32_t layer = i / shape->value_heads, head = own_head(shape, i % shape->value_heads);
        for (uint32_t d = 0; d < shape->key_dim; d++) {
            for (uint32_t slab = 0; slab < state_shape_slabs(shape); slab++) {
                uint32_t width = state_shape_width(shape, slab);
                sink_put(out, state_slab(s, layer, head, slab) + (size_t)d * width, width * sizeof(float));
            }
        }
    }
    for (uint32_t i = 0; i < shape->linear_layers * (shape->conv_taps - 1); i++) {
        const float *row = s->conv + (size_t)i * shape->conv_channels;
        uint32_t values = 2 * shape->key_heads * shape->key_dim;
        sink_put(out, row, values * sizeof *row);
        for (uint32_t c = values; c < shape->conv_channels; c += shape->value_dim)
            sink_put(out, row + own_channel(shape, c), shape->value_dim * sizeof *row);
    }
    if (s->logits_valid) sink_put(out, s->logits, shape->vocab * sizeof *s->logits);
    sink_flush(out);
    uint64_t sum = checksum_end(&out->checksum);
    sink_out(out, &sum, sizeof sum);
}

/* ---- Decoding -------------------------------------------------------------------------------------------------- */

/* Do these entries of the MTP head fit so many tokens? */
static bool head_fits(const struct extent *e, const struct state_shape *shape)
{
    if (e->width == 0 || e->tokens == 0) return e->entries == 0 && (e->width == 0 || e->width == shape->head_width);
    return e->width == shape->head_width && e->entries < e->tokens && e->tokens - e->entries <= STATE_WAITING;
}

static void decode_header(struct feed *in, const struct state *s, uint64_t fingerprint, struct extent *extent)
{
    static const char *const names[] = {
        "attention layers", "KV heads", "head dim",  "linear layers",        "key heads",
        "value heads",      "key dim",  "value dim", "convolution channels", "taps",
        "vocabulary"};
    const struct state_shape *shape = pool_shape(s->pool);
    char magic[8];
    feed_take(in, magic, sizeof magic);
    uint32_t version = feed_u32(in), flags = feed_u32(in);
    uint64_t print = feed_u64(in), size = feed_u64(in);
    uint32_t type = feed_u32(in), n = feed_u32(in), field[SHAPE_FIELDS], expected[SHAPE_FIELDS];
    feed_take(in, field, sizeof field);
    uint32_t width = feed_u32(in), entries = feed_u32(in);
    if (in->status) return;
    shape_fields(shape, expected);

    tdm_error *err = in->err;
    if (memcmp(magic, "TDMSTATE", 8))
        in->status = error_set(err, TDM_E_FORMAT, "%s: no state file (it does not begin with TDMSTATE)", in->name);
    else if (version != VERSION)
        in->status = error_set(err, TDM_E_FORMAT, "%s: version %u, expected %d", in->name, version, VERSION);
    else if (flags & ~(uint32_t)FLAG_LOGITS)
        in->status = error_set(err, TDM_E_FORMAT, "%s: unknown flags 0x%x", in->name, flags);
    else if (type > KV_Q8_0)
        in->status = error_set(err, TDM_E_FORMAT, "%s: key/value type %u, expected 0 to 2", in->name, type);
    else if (print != fingerprint)
        in->status = error_set(err, TDM_E_FORMAT,
                               "%s: made by another model or settings (fingerprint %016llx, "
                               "expected %016llx)",
                               in->name, (unsigned long long)print, (unsigned long long)fingerprint);
    for (int i = 0; i < SHAPE_FIELDS && !in->status; i++)
        if (field[i] != expected[i])
            in->status =
                error_set(err, TDM_E_FORMAT, "%s: %u %s, expected %u", in->name, field[i], names[i], expected[i]);
    *extent = (struct extent){(enum kv_type)type, n, width, entries, flags & FLAG_LOGITS};
    if (!in->status && !head_fits(extent, shape))
        in->status = error_set(err, TDM_E_FORMAT, "%s: an MTP head of width %u with %u entries does not fit %u tokens",
                               in->name, width, entries, n);
    if (in->status) return;
    uint64_t right = encoded_bytes(shape, *extent);
    if (size != right || in->size != right)
        in->status = error_set(err, TDM_E_FORMAT, "%s: %llu bytes, header says %llu, %u tokens take %llu", in->name,
                               (unsigned long long)in->size, (unsigned long long)size, n, (unsigned long long)right);
}

/* The keys and values of one head of a layer into these pages. */
static void decode_head(struct feed *in, struct state *s, enum kv_type type, struct page *const *pages, uint32_t layer,
                        uint32_t head, uint32_t n)
{
    uint32_t dim = pool_shape(s->pool)->head_dim;
    for (uint32_t position = 0; position < n && !in->status; position++) {
        const struct page *page = pages[position / KV_PAGE];
        float k[CONFIG_MAX_HEAD], v[CONFIG_MAX_HEAD];
        uint8_t row[ROW_MAX_BYTES];
        feed_take(in, row, row_bytes(type, dim));
        decode_row(type, dim, row, k);
        feed_take(in, row, row_bytes(type, dim));
        decode_row(type, dim, row, v);
        pool_kernels(s->pool)->kv_store(pool_kv(s->pool), dim, pool_keys(s->pool, page, layer, head),
                                        pool_values(s->pool, page, layer, head), position % KV_PAGE, k, v);
    }
}

static void decode_keys_values(struct feed *in, struct state *s, const struct extent *e)
{
    const struct state_shape *shape = pool_shape(s->pool);
    for (uint32_t i = 0; i < shape->attention_layers * shape->kv_heads && !in->status; i++)
        decode_head(in, s, e->kv, s->pages, i / shape->kv_heads, i % shape->kv_heads, e->tokens);
    for (uint32_t i = 0; i < shape->kv_heads && !in->status; i++)
        decode_head(in, s, e->kv, s->head_pages, 0, i, e->entries);
    if (!s->headless) feed_take(in, s->waiting, (size_t)(e->tokens - e->entries) * e->width * sizeof(float));
}

static void decode_recurrent(struct feed *in, struct state *s)
{
    const struct state_shape *shape = pool_shape(s->pool);
    for (uint32_t i = 0; i < shape->linear_layers * shape->value_heads && !in->status; i++) {
        uint32_t layer = i / shape->value_heads, head = own_head(shape, i % shape->value_heads);
        for (uint32_t d = 0; d < shape->key_dim; d++) {
            for (uint32_t slab = 0; slab < state_shape_slabs(shape); slab++) {
                uint32_t width = state_shape_width(shape, slab);
                feed_take(in, state_slab(s, layer, head, slab) + (size_t)d * width, width * sizeof(float));
            }
        }
    }
    for (uint32_t i = 0; i < shape->linear_layers * (shape->conv_taps - 1); i++) {
        float *row = s->conv + (size_t)i * shape->conv_channels;
        uint32_t values = 2 * shape->key_heads * shape->key_dim;
        feed_take(in, row, values * sizeof *row);
        for (uint32_t c = values; c < shape->conv_channels; c += shape->value_dim)
            feed_take(in, row + own_channel(shape, c), shape->value_dim * sizeof *row);
    }
}

static tdm_status decode(struct feed *in, struct state *s, uint64_t fingerprint)
{
    const struct state_shape *shape = pool_shape(s->pool);
    struct extent e = {.kv = KV_F32};
    if (in->size < HEADER_BYTES + CHECKSUM_BYTES)
        return error_set(in->err, TDM_E_FORMAT, "%s: %llu bytes, too short for a state", in->name,
                         (unsigned long long)in->size);
    decode_header(in, s, fingerprint, &e);
    s->headless = e.width == 0;
    if (!in->status) in->status = state_make_room(s, e.tokens, in->err);
    if (!in->status) feed_take(in, s->tokens, e.tokens * sizeof *s->tokens);
    for (uint32_t i = 0; i < e.tokens && !in->status; i++)
        if (s->tokens[i] < 0 || (uint32_t)s->tokens[i] >= shape->vocab)
            in->status = error_set(in->err, TDM_E_FORMAT, "%s: token %u is %d, expected 0 to %u", in->name, i,
                                   (int)s->tokens[i], shape->vocab - 1);
    if (!in->status) decode_keys_values(in, s, &e);
    if (!in->status) decode_recurrent(in, s);
    if (!in->status && e.logits) feed_take(in, s->logits, shape->vocab * sizeof *s->logits);
    uint64_t sum = 0;
    if (!in->status && feed_raw(in, &sum, sizeof sum) && sum != checksum_end(&in->checksum))
        in->status = error_set(in->err, TDM_E_FORMAT, "%s: damaged (checksum %016llx, expected %016llx)", in->name,
                               (unsigned long long)checksum_end(&in->checksum), (unsigned long long)sum);
    if (in->status) {
        state_clear(s);
        return in->status;
    }
    s->length = e.tokens;
    s->entries = e.entries;
    s->logits_valid = e.logits;
    return TDM_OK;
}

/* ---- Files and memory ------------------------------------------------------------------------------------------ */

/* What a device keeps goes to the file by way of memory. */
static tdm_status write_bytes(struct sink *out, const struct state *s, uint64_t fingerprint)
{
    struct state_bytes bytes = {0};
    tdm_status status = state_save_memory(s, fingerprint, &bytes, out->err);
    if (status == TDM_OK) status = atomic_file_write(out->file, bytes.data, bytes.size, out->err);
    state_bytes_free(&bytes);
    return status;
}

tdm_status statefile_save(const char *path, const struct state *s, uint64_t fingerprint, tdm_error *err)
{
    assert_always(!s->broken);
    struct sink *out = malloc(sizeof *out);
    if (!out) return error_set(err, TDM_E_NOMEM, "%s: no memory to write a state", path);
    *out = (struct sink){.checksum = checksum_start, .err = err};
    tdm_status status = atomic_file_new(&out->file, path, err);
    if (!status) {
        if (s->pool->memory == &state_host_memory) {
            encode(s, fingerprint, out);
            status = out->status;
        } else {
            status = write_bytes(out, s, fingerprint);
        }
        if (status)
            atomic_file_abort(out->file);
        else
            status = atomic_file_commit(out->file, err);
    }
    free(out);
    return status;
}

/* Likewise back: *in is at the file's beginning. */
static tdm_status read_bytes(struct feed *in, struct state *s, uint64_t fingerprint)
{
    const struct extent whole = {.kv = KV_F32, .tokens = s->pool->context, .logits = true};
    uint64_t most = encoded_bytes(&s->pool->shape, whole);
    if (in->size > most)
        return error_set(in->err, TDM_E_FORMAT, "%s: %llu bytes, at most %llu are a state of this model", in->name,
                         (unsigned long long)in->size, (unsigned long long)most);
    uint8_t *data = malloc(in->size);
    if (!data)
        return error_set(in->err, TDM_E_NOMEM, "%s: no memory for %llu bytes", in->name, (unsigned long long)in->size);
    tdm_status status = feed_raw(in, data, in->size) ? TDM_OK : in->status;
    if (status == TDM_OK) status = state_load_memory(s, fingerprint, data, in->size, in->err);
    free(data);
    return status;
}

tdm_status statefile_load(const char *path, struct state *s, uint64_t fingerprint, tdm_error *err)
{
    state_clear(s);
    struct feed *in = malloc(sizeof *in);
    if (!in) return error_set(err, TDM_E_NOMEM, "%s: no memory to read a state", path);
    *in = (struct feed){.name = path, .checksum = checksum_start, .err = err};
    struct stat st;
    tdm_status status = file_open(path, &in->fd, err);
    if (!status && fstat(in->fd, &st)) status = error_errno(err, TDM_E_IO, "%s: cannot open", path);
    if (!status) {
        in->size = (uint64_t)st.st_size;
        bool here = s->pool->memory == &state_host_memory;
        status = here ? decode(in, s, fingerprint) : read_bytes(in, s, fingerprint);
    }
    if (in->fd >= 0) close(in->fd);
    free(in);
    return status;
}

void state_bytes_free(struct state_bytes *b)
{
    free(b->data);
    *b = (struct state_bytes){0};
}

tdm_status state_save_memory(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err)
{
    assert_always(!s->broken);
    return s->pool->memory->save(s, fingerprint, out, err);
}

tdm_status state_load_memory(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err)
{
    state_clear(s);
    return s->pool->memory->load(s, fingerprint, data, size, err);
}

tdm_status statefile_host_save(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err)
{
    uint64_t bytes = encoded_bytes(pool_shape(s->pool), extent_of(s));
    if (bytes > out->room) {
        uint8_t *data = realloc(out->data, bytes);
        if (!data) return error_set(err, TDM_E_NOMEM, "no memory for a state of %llu bytes", (unsigned long long)bytes);
        out->data = data;
        out->room = bytes;
    }
    struct sink *sink = malloc(sizeof *sink);
    if (!sink) return error_set(err, TDM_E_NOMEM, "no memory to write a state");
    *sink = (struct sink){.memory = out, .checksum = checksum_start, .err = err};
    out->size = 0;
    encode(s, fingerprint, sink);
    free(sink);
    return TDM_OK;
}

tdm_status statefile_host_load(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err)
{
    struct feed *in = malloc(sizeof *in);
    if (!in) return error_set(err, TDM_E_NOMEM, "no memory to read a state");
    *in =
        (struct feed){.fd = -1, .memory = data, .name = "state", .size = size, .checksum = checksum_start, .err = err};
    tdm_status status = decode(in, s, fingerprint);
    free(in);
    return status;
}
