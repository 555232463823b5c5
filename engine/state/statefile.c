/* One encoder and one decoder over a stream that is a file or memory; see statefile.h for the layout.
 * The checksum (engine/base/checksum.h) guards against damage: whatever it says, sizes and ids are checked. */
#include "engine/state/statefile.h"

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/model/half.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "engine/state/layout.h"
#include "engine/state/pads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they lie in memory");

enum { VERSION = 4, FLAG_LOGITS = 1, Q8_BLOCK = 32, STAGE = 1 << 16, CHECKSUM_BYTES = 8 };
/* Fields of the shape, of the MTP head (its width, its entries) and pictures, of each kind and of a picture. */
enum { SHAPE_FIELDS = 9, HEAD_FIELDS = 3, KIND_FIELDS = 4, PICTURE_FIELDS = 4 };
enum {
    HEADER_BYTES = 8 + 4 + 4 + 8 + 8 + 4 * (2 + SHAPE_FIELDS + HEAD_FIELDS),
    PICTURE_BYTES = 4 * PICTURE_FIELDS + 16
};

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

/* The blocks of one head in a page: in the pool's form, or plain (kernel.h). */
struct pair_of_blocks {
    unsigned char keys[KV_PAGE * CONFIG_MAX_HEAD * sizeof(float)] __attribute__((aligned(64)));
    unsigned char values[KV_PAGE * CONFIG_MAX_HEAD * sizeof(float)] __attribute__((aligned(64)));
};

/* A position's row of a plain block, to the bytes of a file or from them; returns where the next one begins. */
static uint8_t *move_row(enum kv_type type, uint32_t dim, unsigned char *block, uint32_t position, uint8_t *row,
                         bool to_row)
{
    size_t size = type == KV_F32 ? 4 : type == KV_F16 ? 2 : 1;
    unsigned char *elements = block + position * dim * size;
    if (type != KV_Q8_0) {
        memcpy(to_row ? row : elements, to_row ? elements : row, dim * size);
        return row + dim * size;
    }
    uint32_t blocks = (dim + Q8_BLOCK - 1) / Q8_BLOCK;
    float *scale = (float *)(block + (size_t)KV_PAGE * dim) + (size_t)position * blocks;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t at = b * Q8_BLOCK, n = dim - at < Q8_BLOCK ? dim - at : Q8_BLOCK;
        uint16_t half = f16_narrow(scale[b]);
        memcpy(to_row ? row : (uint8_t *)&half, to_row ? (uint8_t *)&half : row, sizeof half);
        scale[b] = f16_widen(half);
        memcpy(to_row ? row + 2 : elements + at, to_row ? elements + at : row + 2, n);
        row += 2 + n;
    }
    return row;
}

/* Keys and values of positions [first, end) of a page: rows one after the other. */
static void move_rows(enum kv_type type, uint32_t dim, struct pair_of_blocks *plain, uint32_t first, uint32_t end,
                      uint8_t *rows, bool to_rows)
{
    for (uint32_t position = first; position < end; position++) {
        rows = move_row(type, dim, plain->keys, position, rows, to_rows);
        rows = move_row(type, dim, plain->values, position, rows, to_rows);
    }
}

enum { ROWS_MAX_BYTES = 2 * KV_PAGE * CONFIG_MAX_HEAD * 4 };

/* ---- Recurrent states, in the original's order of value heads --------------------------------------------------- */

/* Where this model keeps the channel that the original numbers `channel`; runs of value_dim channels stay together. */
static uint32_t own_channel(const struct state_shape *s, uint32_t channel)
{
    uint32_t first = 2 * s->key_heads * s->key_dim; /* of the values */
    if (channel < first) return channel;
    uint32_t head = (channel - first) / s->value_dim;
    return first + state_shape_own_head(s, head) * s->value_dim + (channel - first) % s->value_dim;
}

/* Hands over the floats of the linear layers piece by piece, in the file's order, until one can't be moved. */
static void move_recurrent(const struct state *s, bool (*move)(void *ctx, float *values, size_t n), void *ctx)
{
    const struct state_shape *shape = pool_shape(s->pool);
    for (uint32_t i = 0; i < shape->linear_layers * shape->value_heads; i++) {
        uint32_t layer = i / shape->value_heads, head = state_shape_own_head(shape, i % shape->value_heads);
        for (uint32_t d = 0; d < shape->key_dim; d++) {
            for (uint32_t slab = 0; slab < state_shape_slabs(shape); slab++) {
                uint32_t width = state_shape_width(shape, slab);
                if (!move(ctx, state_slab(s, layer, head, slab) + (size_t)d * width, width)) return;
            }
        }
    }
    for (uint32_t i = 0; i < shape->linear_layers * (shape->conv_taps - 1); i++) {
        float *row = s->conv + (size_t)i * shape->conv_channels;
        uint32_t values = 2 * shape->key_heads * shape->key_dim;
        bool moved = move(ctx, row, values);
        for (uint32_t c = values; moved && c < shape->conv_channels; c += shape->value_dim)
            moved = move(ctx, row + own_channel(shape, c), shape->value_dim);
        if (!moved) return;
    }
}

static bool put_floats(void *sink, float *values, size_t n)
{
    sink_put(sink, values, n * sizeof *values);
    return true;
}

static bool take_floats(void *ctx, float *values, size_t n)
{
    struct feed *in = ctx;
    feed_take(in, values, n * sizeof *values);
    return !in->status;
}

/* ---- Encoding -------------------------------------------------------------------------------------------------- */

/* What the size of a state's encoding depends on, beside the shape. */
struct extent {
    enum kv_type kv;
    uint32_t tokens, width, entries, pictures; /* width, entries: of the MTP head; width 0: headless */
    bool logits;
};

static struct extent extent_of(const struct state *s)
{
    uint32_t width = s->headless ? 0 : pool_shape(s->pool)->head_width;
    uint32_t pictures = 0;
    for (uint32_t i = 0, n; (n = pads_next(s->tokens, &i, s->length)) > 0; i += n) pictures++;
    return (struct extent){pool_kv(s->pool), s->length, width, s->entries, pictures, s->logits_valid};
}

/* The first position of a kind that is encoded, where this many tokens are. */
static uint32_t first_encoded(const struct state_kind *kind, uint32_t tokens)
{
    return state_kind_seen(kind, tokens) * KV_PAGE;
}

static uint64_t kind_bytes(const struct state_kind *kind, enum kv_type kv, uint32_t positions)
{
    return (uint64_t)2 * kind->layers * kind->kv_heads * positions * row_bytes(kv, kind->head_dim);
}

static uint64_t encoded_bytes(const struct state_shape *s, struct extent e)
{
    uint64_t bytes = HEADER_BYTES + 4 * KIND_FIELDS * (uint64_t)(s->kinds + (e.width > 0)) +
                     (uint64_t)e.tokens * sizeof(tdm_id) + (uint64_t)e.pictures * PICTURE_BYTES +
                     (uint64_t)(e.tokens - e.entries) * e.width * sizeof(float) +
                     (state_shape_recurrent_floats(s) + state_shape_conv_floats(s) + (e.logits ? s->vocab : 0)) *
                         (uint64_t)sizeof(float) +
                     CHECKSUM_BYTES;
    for (uint32_t i = 0; i < s->kinds; i++)
        bytes += kind_bytes(&s->kind[i], e.kv, e.tokens - first_encoded(&s->kind[i], e.tokens));
    return bytes + (e.width ? kind_bytes(&s->kind[s->kinds], e.kv, e.entries) : 0);
}

static void shape_fields(const struct state_shape *s, uint32_t field[SHAPE_FIELDS])
{
    const uint32_t all[] = {s->linear_layers, s->key_heads, s->value_heads, s->key_dim, s->value_dim,
                            s->conv_channels, s->conv_taps, s->vocab,       s->kinds};
    _Static_assert(sizeof all / sizeof *all == SHAPE_FIELDS, "one for each field of the header");
    memcpy(field, all, sizeof all);
}

static void kind_fields(const struct state_kind *kind, uint32_t field[KIND_FIELDS])
{
    const uint32_t all[] = {kind->window, kind->kv_heads, kind->head_dim, kind->layers};
    _Static_assert(sizeof all / sizeof *all == KIND_FIELDS, "one for each field of a kind");
    memcpy(field, all, sizeof all);
}

/* The keys and values of one head of a layer of a kind at these positions. */
static void encode_head(const struct state *s, uint32_t kind, uint32_t layer, uint32_t head, uint32_t first,
                        uint32_t end, struct sink *out)
{
    uint32_t dim = pool_shape(s->pool)->kind[kind].head_dim;
    enum kv_type kv = pool_kv(s->pool);
    struct pair_of_blocks plain;
    uint8_t rows[ROWS_MAX_BYTES];
    for (uint32_t position = first, next; position < end; position = next) {
        const struct page *page = state_pages(s, kind)[position / KV_PAGE];
        uint32_t start = position / KV_PAGE * KV_PAGE;
        next = start + KV_PAGE < end ? start + KV_PAGE : end;
        pool_kernels(s->pool)->kv_take(kv, dim, pool_keys(s->pool, kind, page, layer, head),
                                       pool_values(s->pool, kind, page, layer, head), plain.keys, plain.values);
        move_rows(kv, dim, &plain, position - start, next - start, rows, true);
        sink_put(out, rows, 2 * (size_t)(next - position) * row_bytes(kv, dim));
    }
}

static void encode_kind(const struct state *s, uint32_t kind, uint32_t first, uint32_t end, struct sink *out)
{
    const struct state_kind *shape = &pool_shape(s->pool)->kind[kind];
    for (uint32_t i = 0; i < shape->layers * shape->kv_heads; i++)
        encode_head(s, kind, i / shape->kv_heads, i % shape->kv_heads, first, end, out);
}

static void encode_header(const struct state *s, uint64_t fingerprint, struct sink *out)
{
    const struct extent e = extent_of(s);
    const struct state_shape *shape = pool_shape(s->pool);
    uint32_t field[SHAPE_FIELDS], of_kind[KIND_FIELDS];
    shape_fields(shape, field);
    sink_put(out, "TDMSTATE", 8);
    sink_u32(out, VERSION);
    sink_u32(out, s->logits_valid ? FLAG_LOGITS : 0);
    sink_u64(out, fingerprint);
    sink_u64(out, encoded_bytes(shape, e));
    sink_u32(out, (uint32_t)e.kv);
    sink_u32(out, s->length);
    sink_put(out, field, sizeof field);
    sink_u32(out, e.width);
    sink_u32(out, e.entries);
    sink_u32(out, e.pictures);
    for (uint32_t i = 0; i < shape->kinds + (e.width > 0); i++) {
        kind_fields(&shape->kind[i], of_kind);
        sink_put(out, of_kind, sizeof of_kind);
    }
}

static void encode_tokens(const struct state *s, struct sink *out)
{
    for (uint32_t i = 0; i < s->length; i++) sink_u32(out, s->tokens[i] < 0 ? UINT32_MAX : (uint32_t)s->tokens[i]);
    for (uint32_t i = 0, n; (n = pads_next(s->tokens, &i, s->length)) > 0; i += n) {
        const struct pads *p = pads_find(s->tokens[i], NULL);
        const uint32_t field[PICTURE_FIELDS] = {i, n, p->rows, p->columns};
        sink_put(out, field, sizeof field);
        sink_put(out, p->hash, sizeof p->hash);
    }
}

static void encode(const struct state *s, uint64_t fingerprint, struct sink *out)
{
    const struct state_shape *shape = pool_shape(s->pool);
    encode_header(s, fingerprint, out);
    encode_tokens(s, out);
    for (uint32_t i = 0; i < shape->kinds; i++)
        encode_kind(s, i, first_encoded(&shape->kind[i], s->length), s->length, out);
    if (!s->headless) encode_kind(s, shape->kinds, 0, s->entries, out);
    if (!s->headless)
        sink_put(out, s->waiting, (size_t)(s->length - s->entries) * shape->head_width * sizeof(float));
    move_recurrent(s, put_floats, out);
    if (s->logits_valid) sink_put(out, s->logits, shape->vocab * sizeof *s->logits);
    sink_flush(out);
    uint64_t sum = checksum_end(&out->checksum);
    sink_out(out, &sum, sizeof sum);
}

/* ---- Decoding -------------------------------------------------------------------------------------------------- */

/* Do these entries of the MTP head fit this many tokens? */
static bool head_fits(const struct extent *e, const struct state_shape *shape)
{
    if (e->width == 0 || e->tokens == 0) return e->entries == 0 && (e->width == 0 || e->width == shape->head_width);
    return e->width == shape->head_width && e->entries < e->tokens && e->tokens - e->entries <= STATE_WAITING;
}

/* Compares fields of the header with those of the shape. */
static void compare_fields(struct feed *in, const uint32_t *field, const uint32_t *expected, const char *const *names,
                           int n)
{
    for (int i = 0; i < n && !in->status; i++)
        if (field[i] != expected[i])
            in->status =
                error_set(in->err, TDM_E_FORMAT, "%s: %u %s, expected %u", in->name, field[i], names[i], expected[i]);
}

static void decode_kinds(struct feed *in, const struct state_shape *shape, uint32_t n)
{
    static const char *const names[] = {"positions in a window", "KV heads", "head dim", "attention layers"};
    for (uint32_t i = 0; i < n && !in->status; i++) {
        uint32_t field[KIND_FIELDS], expected[KIND_FIELDS];
        kind_fields(&shape->kind[i], expected);
        feed_take(in, field, sizeof field);
        compare_fields(in, field, expected, names, KIND_FIELDS);
    }
}

static void decode_header(struct feed *in, const struct state *s, uint64_t fingerprint, struct extent *extent)
{
    static const char *const names[] = {"linear layers", "key heads",  "value heads",
                                        "key dim",       "value dim",  "convolution channels",
                                        "taps",          "vocabulary", "kinds of attention layers"};
    const struct state_shape *shape = pool_shape(s->pool);
    char magic[8];
    feed_take(in, magic, sizeof magic);
    uint32_t version = feed_u32(in), flags = feed_u32(in);
    uint64_t print = feed_u64(in), size = feed_u64(in);
    uint32_t type = feed_u32(in), n = feed_u32(in), field[SHAPE_FIELDS], expected[SHAPE_FIELDS];
    feed_take(in, field, sizeof field);
    uint32_t width = feed_u32(in), entries = feed_u32(in), pictures = feed_u32(in);
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
    compare_fields(in, field, expected, names, SHAPE_FIELDS);
    *extent = (struct extent){(enum kv_type)type, n, width, entries, pictures, flags & FLAG_LOGITS};
    if (!in->status && !head_fits(extent, shape))
        in->status = error_set(err, TDM_E_FORMAT, "%s: an MTP head of width %u with %u entries does not fit %u tokens",
                               in->name, width, entries, n);
    if (!in->status && pictures > n)
        in->status = error_set(err, TDM_E_FORMAT, "%s: %u pictures in %u tokens", in->name, pictures, n);
    if (!in->status) decode_kinds(in, shape, shape->kinds + (width > 0));
    if (in->status) return;
    uint64_t right = encoded_bytes(shape, *extent);
    if (size != right || in->size != right)
        in->status = error_set(err, TDM_E_FORMAT, "%s: %llu bytes, header says %llu, %u tokens take %llu", in->name,
                               (unsigned long long)in->size, (unsigned long long)size, n, (unsigned long long)right);
}

/* The keys and values of one head of a layer of a kind at these positions. */
static void decode_head(struct feed *in, struct state *s, enum kv_type type, uint32_t kind, uint32_t layer,
                        uint32_t head, uint32_t first, uint32_t end)
{
    uint32_t dim = pool_shape(s->pool)->kind[kind].head_dim;
    const struct kernels *k = pool_kernels(s->pool);
    struct pair_of_blocks plain = {0}, other; /* of positions that no row is of anything will do */
    uint8_t rows[ROWS_MAX_BYTES];
    for (uint32_t position = first, next; position < end && !in->status; position = next) {
        const struct page *page = state_pages(s, kind)[position / KV_PAGE];
        void *keys = pool_keys(s->pool, kind, page, layer, head);
        void *values = pool_values(s->pool, kind, page, layer, head);
        uint32_t start = position / KV_PAGE * KV_PAGE;
        next = start + KV_PAGE < end ? start + KV_PAGE : end;
        feed_take(in, rows, 2 * (size_t)(next - position) * row_bytes(type, dim));
        move_rows(type, dim, &plain, position - start, next - start, rows, false);
        if (type == pool_kv(s->pool)) {
            k->kv_give(type, dim, keys, values, plain.keys, plain.values);
            continue;
        }
        k->kv_give(type, dim, other.keys, other.values, plain.keys, plain.values);
        k->kv_convert(dim, type, other.keys, other.values, pool_kv(s->pool), keys, values);
    }
}

static void decode_kind(struct feed *in, struct state *s, enum kv_type type, uint32_t kind, uint32_t first,
                        uint32_t end)
{
    const struct state_kind *shape = &pool_shape(s->pool)->kind[kind];
    for (uint32_t i = 0; i < shape->layers * shape->kv_heads && !in->status; i++)
        decode_head(in, s, type, kind, i / shape->kv_heads, i % shape->kv_heads, first, end);
}

static void decode_keys_values(struct feed *in, struct state *s, const struct extent *e)
{
    const struct state_shape *shape = pool_shape(s->pool);
    for (uint32_t i = 0; i < shape->kinds && !in->status; i++)
        decode_kind(in, s, e->kv, i, first_encoded(&shape->kind[i], e->tokens), e->tokens);
    if (s->headless) return;
    decode_kind(in, s, e->kv, shape->kinds, 0, e->entries);
    feed_take(in, s->waiting, (size_t)(e->tokens - e->entries) * e->width * sizeof(float));
}

/* The pages that the file has, in an empty state. */
static tdm_status make_room(struct state *s, const struct extent *e, tdm_error *err)
{
    const struct state_shape *shape = pool_shape(s->pool);
    struct crossing x = {.kept = 0};
    if (e->tokens > s->pool->context) return state_make_room(s, e->tokens, err);
    for (uint32_t i = 0; i < shape->kinds; i++) x.first[i] = x.start[i] = state_kind_seen(&shape->kind[i], e->tokens);
    return state_host_prepare(s, &x, e->tokens, e->entries, e->width == 0, err);
}

static void check_tokens(struct feed *in, const struct state *s, uint32_t from, uint32_t end)
{
    uint32_t vocab = pool_shape(s->pool)->vocab;
    for (uint32_t i = from; i < end && !in->status; i++)
        if (s->tokens[i] < 0 || (uint32_t)s->tokens[i] >= vocab)
            in->status = error_set(in->err, TDM_E_FORMAT, "%s: token %u is %d, expected 0 to %u", in->name, i,
                                   (int)s->tokens[i], vocab - 1);
}

/* The next picture's ids go to its place, at `from` or behind it; returns where it ends. */
static uint32_t decode_picture(struct feed *in, struct state *s, uint32_t from, uint32_t tokens)
{
    enum { SIDE = 1 << 14, LIMIT = 1 << 20 }; /* of a grid, and tokens in it */
    uint32_t field[PICTURE_FIELDS];
    uint64_t hash[2];
    struct pads *pads;
    feed_take(in, field, sizeof field);
    feed_take(in, hash, sizeof hash);
    uint32_t place = field[0], n = field[1], rows = field[2], columns = field[3];
    if (in->status) return tokens;
    bool grid = rows && columns && rows <= SIDE && columns <= SIDE && rows * columns <= LIMIT;
    bool fits = grid && place >= from && place < tokens && n && n <= tokens - place && n <= rows * columns &&
                (n == rows * columns || n == tokens - place);
    if (!fits) {
        in->status = error_set(in->err, TDM_E_FORMAT, "%s: %u tokens of a picture of %u x %u at %u don't fit %u tokens",
                               in->name, n, columns, rows, place, tokens);
        return tokens;
    }
    check_tokens(in, s, from, place);
    if (!in->status) in->status = pads_of(&pads, hash, rows, columns, in->err);
    for (uint32_t i = 0; i < n && !in->status; i++) s->tokens[place + i] = pads->first - (tdm_id)i;
    return place + n;
}

static void decode_tokens(struct feed *in, struct state *s, const struct extent *e)
{
    uint32_t at = 0;
    feed_take(in, s->tokens, e->tokens * sizeof *s->tokens);
    for (uint32_t i = 0; i < e->pictures && !in->status; i++) at = decode_picture(in, s, at, e->tokens);
    check_tokens(in, s, at, e->tokens);
}

static tdm_status decode(struct feed *in, struct state *s, uint64_t fingerprint)
{
    const struct state_shape *shape = pool_shape(s->pool);
    struct extent e = {.kv = KV_F32};
    if (in->size < HEADER_BYTES + CHECKSUM_BYTES)
        return error_set(in->err, TDM_E_FORMAT, "%s: %llu bytes, too short for a state", in->name,
                         (unsigned long long)in->size);
    decode_header(in, s, fingerprint, &e);
    if (!in->status) in->status = make_room(s, &e, in->err);
    if (!in->status) decode_tokens(in, s, &e);
    if (!in->status) decode_keys_values(in, s, &e);
    if (!in->status) move_recurrent(s, take_floats, in);
    if (!in->status && e.logits) feed_take(in, s->logits, shape->vocab * sizeof *s->logits);
    uint64_t sum = 0;
    if (!in->status && feed_raw(in, &sum, sizeof sum) && sum != checksum_end(&in->checksum))
        in->status = error_set(in->err, TDM_E_FORMAT, "%s: damaged (checksum %016llx, expected %016llx)", in->name,
                               (unsigned long long)checksum_end(&in->checksum), (unsigned long long)sum);
    if (in->status) {
        state_clear(s);
        return in->status;
    }
    s->broken = false;
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

/* The most bytes that a state of this pool takes: of the longest ones, as windows begin at whole pages. */
static uint64_t most_bytes(const struct pool *p)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < KV_PAGE && i < p->context; i++) {
        const struct extent whole = {
            .kv = KV_F32, .tokens = p->context - i, .pictures = p->context - i, .logits = true};
        uint64_t bytes = encoded_bytes(&p->shape, whole);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Likewise back: *in is at the file's beginning. */
static tdm_status read_bytes(struct feed *in, struct state *s, uint64_t fingerprint)
{
    uint64_t most = most_bytes(s->pool);
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
