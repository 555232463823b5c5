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
        .waiting = (float *)(buffer + pool->waiting),
    };
    memset(s->pages, 0, (size_t)pool->kinds * pool->places * sizeof *s->pages);
    return TDM_OK;
}

/* Is this the kind of the MTP head's pages? */
static bool is_head(const struct state *s, uint32_t kind)
{
    return kind == s->pool->shape.kinds;
}

/* The positions that pages of this kind hold, or would if the first ones were there. */
static uint32_t filled(const struct state *s, uint32_t kind)
{
    return is_head(s, kind) ? s->entries : s->length;
}

/* Pages are set without gaps, so an empty place ends them: a dispatch that failed may have left one more than length
 * needs. */
static void drop_pages(struct state *s, uint32_t kind, uint32_t from)
{
    struct page **pages = state_pages(s, kind);
    for (uint32_t i = from > s->first[kind] ? from : s->first[kind]; i < s->pool->places && pages[i]; i++) {
        pool_drop_page(s->pool, kind, pages[i]);
        pages[i] = NULL;
    }
    if (!from) s->first[kind] = 0;
}

/* Gives the pages before number `first` back. */
static void give_back(struct state *s, uint32_t kind, uint32_t first)
{
    struct page **pages = state_pages(s, kind);
    for (; s->first[kind] < first; s->first[kind]++) {
        struct page **page = &pages[s->first[kind]];
        if (*page) pool_drop_page(s->pool, kind, *page);
        *page = NULL;
    }
}

static void drop_all_pages(struct state *s)
{
    for (uint32_t kind = 0; kind < s->pool->kinds; kind++) drop_pages(s, kind, 0);
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
static struct page *partial_page(struct state *dst, const struct state *src, uint32_t kind)
{
    uint32_t tokens = filled(src, kind);
    if (tokens % KV_PAGE == 0) return NULL;
    struct page *own = state_pages(dst, kind)[tokens / KV_PAGE];
    if (!own || page_is_shared(own)) return pool_take_page(dst->pool, kind);
    page_hold(own);
    return own;
}

/* Shares src's pages of a kind from `first` to n; all others that dst had are dropped. */
static void take_pages(struct state *dst, const struct state *src, uint32_t kind, uint32_t first, uint32_t n)
{
    struct page **to = state_pages(dst, kind), **from = state_pages(src, kind);
    drop_pages(dst, kind, n);
    give_back(dst, kind, first);
    dst->first[kind] = first;
    for (uint32_t i = first; i < n; i++) {
        if (to[i] == from[i]) continue;
        page_hold(from[i]);
        if (to[i]) pool_drop_page(dst->pool, kind, to[i]);
        to[i] = from[i];
    }
}

/* The sealed pages are shared, the partial one, if there is one, is copied. */
static void copy_pages(struct state *dst, const struct state *src, uint32_t kind, struct page *partial)
{
    uint32_t sealed = filled(src, kind) / KV_PAGE;
    take_pages(dst, src, kind, state_first_copied(src, kind), sealed);
    if (!partial) return;
    pool_copy_page(dst->pool, kind, partial, state_pages(src, kind)[sealed]);
    state_pages(dst, kind)[sealed] = partial;
}

static tdm_status no_page(const struct pool *p, tdm_error *err)
{
    return error_set(err, TDM_E_NOMEM, "no memory for a page of %zu bytes", pool_page_bytes(p));
}

static tdm_status host_copy(struct state *dst, const struct state *src, tdm_error *err)
{
    /* The partial pages are taken before anything changes. */
    struct page *partial[STATE_PAGES] = {NULL};
    struct pool *pool = src->pool;
    for (uint32_t kind = 0; kind < pool->kinds; kind++) {
        partial[kind] = partial_page(dst, src, kind);
        if (partial[kind] || filled(src, kind) % KV_PAGE == 0) continue;
        while (kind-- > 0)
            if (partial[kind]) pool_drop_page(pool, kind, partial[kind]);
        return no_page(pool, err);
    }
    for (uint32_t kind = 0; kind < pool->kinds; kind++) copy_pages(dst, src, kind, partial[kind]);
    copy_contents(dst, src);
    return TDM_OK;
}

/* Those pages of a kind from `from` to `end` that are not there yet. */
static tdm_status take_room(struct state *s, uint32_t kind, uint32_t from, uint32_t end, tdm_error *err)
{
    struct page **pages = state_pages(s, kind);
    for (uint32_t i = from; i < end; i++) {
        if (!pages[i]) pages[i] = pool_take_page(s->pool, kind);
        if (!pages[i]) return no_page(s->pool, err);
    }
    return TDM_OK;
}

static tdm_status host_make_room(struct state *s, uint32_t n, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (uint32_t kind = 0; kind < s->pool->kinds && !status; kind++) {
        if (is_head(s, kind) && s->headless) continue;
        give_back(s, kind, state_first_copied(s, kind));
        status = take_room(s, kind, filled(s, kind) / KV_PAGE, page_count(s->length + n), err);
    }
    return status;
}

static void host_share(struct state *dst, const struct state *src, uint32_t pages)
{
    for (uint32_t kind = 0; kind < dst->pool->kinds; kind++) {
        uint32_t first = src->first[kind] < pages ? src->first[kind] : pages;
        if (is_head(dst, kind))
            drop_pages(dst, kind, 0);
        else
            take_pages(dst, src, kind, first, pages);
    }
    dst->length = pages * KV_PAGE;
    dst->entries = 0;
    dst->headless = dst->broken = true;
    dst->logits_valid = false;
}

tdm_status state_host_prepare(struct state *s, const struct crossing *x, uint32_t length, uint32_t entries,
                              bool headless, tdm_error *err)
{
    tdm_status status = TDM_OK;
    s->length = x->kept * KV_PAGE;
    s->entries = 0;
    s->headless = headless;
    s->logits_valid = false;
    s->broken = true;
    for (uint32_t kind = 0; kind < s->pool->kinds && !status; kind++) {
        bool stays = x->first[kind] < x->start[kind];
        drop_pages(s, kind, stays ? x->start[kind] : 0);
        give_back(s, kind, x->first[kind]);
        if (!is_head(s, kind) || !headless) status = take_room(s, kind, x->start[kind], page_count(length), err);
    }
    if (status) return status;
    s->length = length;
    s->entries = entries;
    return TDM_OK;
}

/* The cut is in a shared page of a kind: an own one with the same contents in its place. */
static tdm_status own_pages(struct state *s, uint32_t index, tdm_error *err)
{
    struct page *own[STATE_PAGES] = {NULL};
    struct pool *pool = s->pool;
    for (uint32_t kind = 0; kind < pool->shape.kinds; kind++) {
        if (!page_is_shared(state_pages(s, kind)[index])) continue;
        own[kind] = pool_take_page(pool, kind);
        if (own[kind]) continue;
        while (kind-- > 0)
            if (own[kind]) pool_drop_page(pool, kind, own[kind]);
        return no_page(pool, err);
    }
    for (uint32_t kind = 0; kind < pool->shape.kinds; kind++) {
        struct page **page = &state_pages(s, kind)[index];
        if (!own[kind]) continue;
        pool_copy_page(pool, kind, own[kind], *page);
        pool_drop_page(pool, kind, *page);
        *page = own[kind];
    }
    return TDM_OK;
}

static tdm_status host_cut(struct state *s, uint32_t length, tdm_error *err)
{
    tdm_status status = length % KV_PAGE ? own_pages(s, length / KV_PAGE, err) : TDM_OK;
    if (status) return status;
    for (uint32_t kind = 0; kind < s->pool->shape.kinds; kind++) drop_pages(s, kind, page_count(length));
    s->length = length;
    s->logits_valid = false;
    return TDM_OK;
}

/* A shared page implies that those before it are shared where both have them, so bisect. */
static uint32_t host_shared_pages(const struct state *a, const struct state *b)
{
    for (uint32_t kind = 0; kind < a->pool->shape.kinds; kind++) {
        struct page **of_a = state_pages(a, kind), **of_b = state_pages(b, kind);
        uint32_t first = a->first[kind] > b->first[kind] ? a->first[kind] : b->first[kind], low = first;
        uint32_t high = (a->length < b->length ? a->length : b->length) / KV_PAGE;
        while (low < high) {
            uint32_t middle = (low + high + 1) / 2;
            if (of_a[middle - 1] == of_b[middle - 1])
                low = middle;
            else
                high = middle - 1;
        }
        if (low > first || first == 0) return low;
    }
    return 0;
}

bool state_is_prefix(const struct state *s, const tdm_id *ids, uint32_t n)
{
    return s->length <= n && !memcmp(s->tokens, ids, s->length * sizeof(tdm_id));
}

uint32_t state_first_copied(const struct state *s, uint32_t kind)
{
    uint32_t kept = state_kind_kept(&s->pool->shape.kind[kind], s->length);
    return kept > s->first[kind] ? kept : s->first[kind];
}

size_t state_own_bytes(const struct state *s)
{
    return pool_buffer_bytes(s->pool) + (s->length % KV_PAGE ? pool_page_bytes(s->pool) : 0);
}

void *state_keys(const struct state *s, uint32_t layer, uint32_t page, uint32_t kv_head)
{
    struct state_place at = s->pool->shape.place[layer];
    return pool_keys(s->pool, at.kind, state_pages(s, at.kind)[page], at.index, kv_head);
}

void *state_values(const struct state *s, uint32_t layer, uint32_t page, uint32_t kv_head)
{
    return (unsigned char *)state_keys(s, layer, page, kv_head) +
           s->pool->block_bytes[s->pool->shape.place[layer].kind];
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

/* Made-up keys and values of all layers of a kind at a position. */
static void fill_position(const struct state *s, uint32_t kind, uint32_t position, uint64_t *seed)
{
    const struct pool *pool = s->pool;
    const struct state_kind *shape = &pool->shape.kind[kind];
    const struct page *page = state_pages(s, kind)[position / KV_PAGE];
    float k[CONFIG_MAX_HEAD], v[CONFIG_MAX_HEAD];
    for (uint32_t i = 0; i < shape->layers * shape->kv_heads; i++) {
        uint32_t layer = i / shape->kv_heads, head = i % shape->kv_heads;
        for (uint32_t d = 0; d < shape->head_dim; d++) k[d] = next_float(seed), v[d] = next_float(seed);
        pool->kernels->kv_store(pool->kv, shape->head_dim, pool_keys(pool, kind, page, layer, head),
                                pool_values(pool, kind, page, layer, head), position % KV_PAGE, k, v);
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
        for (uint32_t kind = 0; kind < shape->kinds; kind++) fill_position(s, kind, position, &seed);
    }
    for (size_t i = 0; i < state_shape_recurrent_floats(shape); i++) s->recurrent[i] = 0.1f * next_float(&seed);
    for (size_t i = 0; i < state_shape_conv_floats(shape); i++) s->conv[i] = next_float(&seed);
    s->length = length;
    if (!s->headless && length) {
        s->entries = length - 1;
        for (uint32_t position = 0; position < s->entries; position++) fill_position(s, shape->kinds, position, &seed);
        for (uint32_t i = 0; i < shape->head_width; i++) s->waiting[i] = next_float(&seed);
    }
    return host_make_room(s, 0, err);
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
    .share = host_share,
    .make_room = host_make_room,
    .cut = host_cut,
    .shared_pages = host_shared_pages,
    .fill = host_fill,
    .logits = host_logits,
    .save = statefile_host_save,
    .load = statefile_host_load,
    .receive = crossing_host_receive,
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

void state_begin_with(struct state *dst, const struct state *src, uint32_t pages)
{
    assert_always(dst != src && dst->pool == src->pool && pages * KV_PAGE <= src->length);
    dst->pool->memory->share(dst, src, pages);
    memcpy(dst->tokens, src->tokens, dst->length * sizeof *dst->tokens);
}

tdm_status state_make_room(struct state *s, uint32_t n, tdm_error *err)
{
    uint32_t context = s->pool->context;
    if (n > context - s->length)
        return error_set(err, TDM_E_CONTEXT, "the context of %u tokens is full: %u are there, %u more wanted", context,
                         s->length, n);
    return s->pool->memory->make_room(s, n, err);
}

bool state_can_cut(const struct state *s, uint32_t length)
{
    const struct state_shape *shape = &s->pool->shape;
    if (s->broken || length >= s->length) return !s->broken && length == s->length;
    if (!s->pool->memory->cut || shape->linear_layers || (!s->headless && length <= s->entries)) return false;
    for (uint32_t kind = 0; kind < shape->kinds; kind++)
        if (state_kind_seen(&shape->kind[kind], length) < s->first[kind]) return false;
    return true;
}

tdm_status state_cut(struct state *s, uint32_t length, tdm_error *err)
{
    assert_always(state_can_cut(s, length));
    return length == s->length ? TDM_OK : s->pool->memory->cut(s, length, err);
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
