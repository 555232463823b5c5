#include "engine/state/state.h"

#include "engine/base/error.h"
#include "engine/state/layout.h"
#include "engine/state/memory.h"

#include <string.h>

_Static_assert(sizeof(struct state) <= LAYOUT_STATE_BYTES, "a struct state fits its place in a buffer");

static uint32_t page_count(uint32_t tokens)
{
    return (tokens + KV_PAGE - 1) / KV_PAGE;
}

static tdm_status host_make(struct state **out, struct pool *pool, tdm_error *err)
{
    char *buffer = blocks_take(&pool->buffer_blocks);
    struct state *s = *out = (struct state *)buffer;
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for a state of %zu bytes", pool_buffer_bytes(pool));
    *s = (struct state){
        .pool = pool,
        .tokens = (tdm_id *)(buffer + pool->tokens),
        .pages = (struct page **)(buffer + pool->pages),
        .recurrent = (float *)(buffer + pool->recurrent),
        .conv = (float *)(buffer + pool->conv),
        .logits = (float *)(buffer + pool->logits),
        .head_pages = (struct page **)(buffer + pool->head_pages),
        .waiting = (float *)(buffer + pool->waiting),
    };
    memset(s->pages, 0, page_count(pool->context) * sizeof *s->pages);
    if (pool->shape.head_width) memset(s->head_pages, 0, page_count(pool->context) * sizeof *s->head_pages);
    return TDM_OK;
}

static struct page **pages_of(const struct state *s, enum page_kind kind)
{
    return kind == PAGE_HEAD ? s->head_pages : s->pages;
}

/* The positions that pages of this kind hold. */
static uint32_t filled(const struct state *s, enum page_kind kind)
{
    return kind == PAGE_HEAD ? s->entries : s->length;
}

/* The kinds of pages that states of this pool have. */
static int kinds_of(const struct pool *p)
{
    return p->shape.head_width ? 2 : 1;
}

/* Pages are set without gaps, so the first empty place ends them: a dispatch that failed may have left one more than
 * length needs. */
static void drop_pages(struct state *s, enum page_kind kind, uint32_t from)
{
    struct page **pages = pages_of(s, kind);
    uint32_t room = page_count(s->pool->context);
    for (uint32_t i = from; i < room && pages[i]; i++) {
        pool_drop_page(s->pool, kind, pages[i]);
        pages[i] = NULL;
    }
}

static void drop_all_pages(struct state *s)
{
    for (int kind = 0; kind < kinds_of(s->pool); kind++) drop_pages(s, (enum page_kind)kind, 0);
}

static void host_drop(struct state *s)
{
    drop_all_pages(s);
    blocks_put(&s->pool->buffer_blocks, s);
}

static void host_clear(struct state *s)
{
    drop_all_pages(s);
    s->length = s->entries = 0;
    s->headless = s->pool->shape.head_width == 0;
    s->logits_valid = s->broken = false;
    memset(s->recurrent, 0, state_shape_recurrent_floats(&s->pool->shape) * sizeof(float));
    memset(s->conv, 0, state_shape_conv_floats(&s->pool->shape) * sizeof(float));
}

/* All but the pages. */
static void copy_contents(struct state *dst, const struct state *src)
{
    const struct state_shape *shape = &src->pool->shape;
    dst->length = src->length;
    dst->entries = src->entries;
    dst->logits_valid = src->logits_valid;
    dst->broken = false;
    memcpy(dst->tokens, src->tokens, src->length * sizeof(tdm_id));
    memcpy(dst->recurrent, src->recurrent, state_shape_recurrent_floats(shape) * sizeof(float));
    memcpy(dst->conv, src->conv, state_shape_conv_floats(shape) * sizeof(float));
    if (!src->headless)
        memcpy(dst->waiting, src->waiting, (size_t)(src->length - src->entries) * shape->head_width * sizeof(float));
    if (src->logits_valid) memcpy(dst->logits, src->logits, shape->vocab * sizeof(float));
}

/* The partial page that dst gets; the one that dst owns at that place serves again. NULL: there is none, or no
 * memory. */
static struct page *partial_page(struct state *dst, const struct state *src, enum page_kind kind)
{
    uint32_t tokens = filled(src, kind);
    if (tokens % KV_PAGE == 0) return NULL;
    struct page *own = pages_of(dst, kind)[tokens / KV_PAGE];
    if (!own || page_is_shared(own)) return pool_take_page(dst->pool, kind);
    page_hold(own);
    return own;
}

/* The sealed pages are shared, the partial one, if there is one, is copied. */
static void copy_pages(struct state *dst, const struct state *src, enum page_kind kind, struct page *partial)
{
    struct page **to = pages_of(dst, kind), **from = pages_of(src, kind);
    uint32_t sealed = filled(src, kind) / KV_PAGE;
    for (uint32_t i = 0; i < sealed; i++) {
        if (to[i] == from[i]) continue;
        page_hold(from[i]);
        if (to[i]) pool_drop_page(dst->pool, kind, to[i]);
        to[i] = from[i];
    }
    drop_pages(dst, kind, sealed);
    if (!partial) return;
    pool_copy_page(dst->pool, kind, partial, from[sealed]);
    to[sealed] = partial;
}

static tdm_status host_copy(struct state *dst, const struct state *src, tdm_error *err)
{
    /* The partial pages are taken before anything changes. */
    struct page *partial[2] = {NULL, NULL};
    int kinds = kinds_of(src->pool);
    for (int kind = 0; kind < kinds; kind++) {
        partial[kind] = partial_page(dst, src, (enum page_kind)kind);
        if (partial[kind] || filled(src, (enum page_kind)kind) % KV_PAGE == 0) continue;
        if (kind && partial[0]) pool_drop_page(dst->pool, PAGE_LAYERS, partial[0]);
        return error_set(err, TDM_E_NOMEM, "no memory for a page of %zu bytes", pool_page_bytes(dst->pool));
    }
    for (int kind = 0; kind < kinds; kind++) copy_pages(dst, src, (enum page_kind)kind, partial[kind]);
    copy_contents(dst, src);
    return TDM_OK;
}

static tdm_status host_make_room(struct state *s, uint32_t n, tdm_error *err)
{
    for (int kind = 0; kind < (s->headless ? 1 : 2); kind++) {
        struct page **pages = pages_of(s, (enum page_kind)kind);
        for (uint32_t i = filled(s, (enum page_kind)kind) / KV_PAGE; i < page_count(s->length + n); i++) {
            if (!pages[i]) pages[i] = pool_take_page(s->pool, (enum page_kind)kind);
            if (!pages[i])
                return error_set(err, TDM_E_NOMEM, "no memory for a page of %zu bytes", pool_page_bytes(s->pool));
        }
    }
    return TDM_OK;
}

/* A shared page implies that those before it are shared, so bisect. */
static uint32_t host_shared_pages(const struct state *a, const struct state *b)
{
    uint32_t low = 0, high = (a->length < b->length ? a->length : b->length) / KV_PAGE;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (a->pages[middle - 1] == b->pages[middle - 1])
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

bool state_is_prefix(const struct state *s, const tdm_id *ids, uint32_t n)
{
    return s->length <= n && !memcmp(s->tokens, ids, s->length * sizeof(tdm_id));
}

size_t state_own_bytes(const struct state *s)
{
    return pool_buffer_bytes(s->pool) + (s->length % KV_PAGE ? pool_page_bytes(s->pool) : 0);
}

float *state_slab(const struct state *s, uint32_t layer, uint32_t value_head, uint32_t slab)
{
    const struct state_shape *shape = &s->pool->shape;
    size_t head = ((size_t)layer * shape->value_heads + value_head) * shape->key_dim * shape->value_dim;
    return s->recurrent + head + (size_t)slab * shape->key_dim * DELTA_SLAB;
}

float *state_conv(const struct state *s, uint32_t layer)
{
    const struct state_shape *shape = &s->pool->shape;
    return s->conv + (size_t)layer * (shape->conv_taps - 1) * shape->conv_channels;
}

/* splitmix64's step and finaliser (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
static float next_float(uint64_t *seed)
{
    uint64_t z = *seed += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return (float)((z ^ z >> 31) >> 40) * 0x1p-24f - 0.5f;
}

/* Made-up keys and values of a layer at a position. */
static void fill_position(const struct state *s, const struct page *page, uint32_t layer, uint32_t position,
                          uint64_t *seed)
{
    const struct state_shape *shape = &s->pool->shape;
    float k[CONFIG_MAX_HEAD], v[CONFIG_MAX_HEAD];
    for (uint32_t head = 0; head < shape->kv_heads; head++) {
        for (uint32_t d = 0; d < shape->head_dim; d++) k[d] = next_float(seed), v[d] = next_float(seed);
        s->pool->kernels->kv_store(s->pool->kv, shape->head_dim, pool_keys(s->pool, page, layer, head),
                                   pool_values(s->pool, page, layer, head), position % KV_PAGE, k, v);
    }
}

static tdm_status host_fill(struct state *s, uint32_t length, uint64_t seed, tdm_error *err)
{
    const struct state_shape *shape = &s->pool->shape;
    host_clear(s);
    tdm_status status = state_make_room(s, length, err);
    if (status) return status;
    for (uint32_t position = 0; position < length; position++) {
        s->tokens[position] = (tdm_id)(((uint64_t)position * 2654435761u + seed) % shape->vocab);
        for (uint32_t layer = 0; layer < shape->attention_layers; layer++)
            fill_position(s, s->pages[position / KV_PAGE], layer, position, &seed);
    }
    for (size_t i = 0; i < state_shape_recurrent_floats(shape); i++) s->recurrent[i] = 0.1f * next_float(&seed);
    for (size_t i = 0; i < state_shape_conv_floats(shape); i++) s->conv[i] = next_float(&seed);
    s->length = length;
    if (s->headless || !length) return TDM_OK;
    s->entries = length - 1;
    for (uint32_t position = 0; position < s->entries; position++)
        fill_position(s, s->head_pages[position / KV_PAGE], 0, position, &seed);
    for (uint32_t i = 0; i < shape->head_width; i++) s->waiting[i] = next_float(&seed);
    return TDM_OK;
}

static tdm_status host_logits(struct state *s, const float **out, tdm_error *err)
{
    (void)err;
    *out = s->logits;
    return TDM_OK;
}

/* ---- Any memory -------------------------------------------------------------------------------------------------- */

const struct state_memory state_host_memory = {
    .make = host_make,
    .drop = host_drop,
    .clear = host_clear,
    .copy = host_copy,
    .make_room = host_make_room,
    .shared_pages = host_shared_pages,
    .fill = host_fill,
    .logits = host_logits,
    .save = statefile_host_save,
    .load = statefile_host_load,
    .warm = pool_host_warm,
    .stats = pool_host_stats,
    .close = pool_host_close,
};

tdm_status state_new(struct state **out, struct pool *pool, tdm_error *err)
{
    tdm_status status = pool->memory->make(out, pool, err);
    if (status == TDM_OK) state_clear(*out);
    return status;
}

void state_free(struct state *s)
{
    if (s) s->pool->memory->drop(s);
}

void state_clear(struct state *s)
{
    s->headless = s->pool->shape.head_width == 0;
    s->pool->memory->clear(s);
}

tdm_status state_fork(struct state **out, const struct state *s, tdm_error *err)
{
    tdm_status status = s->pool->memory->make(out, s->pool, err);
    if (status) return status;
    status = state_copy(*out, s, err);
    if (status == TDM_OK) return TDM_OK;
    state_free(*out);
    *out = NULL;
    return status;
}

tdm_status state_copy(struct state *dst, const struct state *src, tdm_error *err)
{
    assert_always(dst->pool == src->pool && !src->broken);
    if (dst == src) return TDM_OK;
    tdm_status status = dst->pool->memory->copy(dst, src, err);
    if (status == TDM_OK) dst->headless = src->headless;
    return status;
}

tdm_status state_make_room(struct state *s, uint32_t n, tdm_error *err)
{
    uint32_t context = s->pool->context;
    if (n > context - s->length)
        return error_set(err, TDM_E_CONTEXT, "the context of %u tokens is full: %u are there, %u more wanted", context,
                         s->length, n);
    return s->pool->memory->make_room(s, n, err);
}

uint32_t state_shared_pages(const struct state *a, const struct state *b)
{
    return a->pool->memory->shared_pages(a, b);
}

tdm_status state_logits(struct state *s, const float **out, tdm_error *err)
{
    assert_always(s->logits_valid);
    return s->pool->memory->logits(s, out, err);
}

tdm_status state_fill(struct state *s, uint32_t length, uint64_t seed, tdm_error *err)
{
    return s->pool->memory->fill(s, length, seed, err);
}
