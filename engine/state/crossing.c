#include "engine/state/crossing.h"

#include "engine/base/error.h"
#include "engine/state/layout.h"

#include <string.h>

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

/* The blocks of keys in a page of a kind. */
static uint32_t blocks_of(const struct state_kind *kind)
{
    return kind->layers * kind->kv_heads;
}

/* Room for the keys, or the values, of one head in a page, of any type. */
struct converted {
    unsigned char keys[KV_PAGE * CONFIG_MAX_HEAD * sizeof(float)] __attribute__((aligned(64)));
    unsigned char values[KV_PAGE * CONFIG_MAX_HEAD * sizeof(float)] __attribute__((aligned(64)));
};

void crossing_take_block(const struct state *host, uint32_t kind, uint32_t index, uint32_t block, enum kv_type type,
                         void *plain)
{
    const struct pool *pool = host->pool;
    const struct state_kind *shape = &pool->shape.kind[kind];
    const struct page *page = state_pages(host, kind)[index];
    uint32_t dim = shape->head_dim, layer = block / shape->kv_heads, head = block % shape->kv_heads;
    size_t bytes = kv_plain_bytes(type, dim);
    char *at = (char *)plain + 2 * bytes * block;
    struct converted other;
    const void *keys = pool_keys(pool, kind, page, layer, head);
    const void *values = pool_values(pool, kind, page, layer, head);
    if (type != pool->kv) {
        pool->kernels->kv_convert(dim, pool->kv, keys, values, type, other.keys, other.values);
        keys = other.keys;
        values = other.values;
    }
    pool->kernels->kv_take(type, dim, keys, values, at, at + bytes);
}

void crossing_give_block(struct state *host, uint32_t kind, uint32_t index, uint32_t block, enum kv_type type,
                         const void *plain)
{
    const struct pool *pool = host->pool;
    const struct state_kind *shape = &pool->shape.kind[kind];
    const struct page *page = state_pages(host, kind)[index];
    uint32_t dim = shape->head_dim, layer = block / shape->kv_heads, head = block % shape->kv_heads;
    size_t bytes = kv_plain_bytes(type, dim);
    const char *at = (const char *)plain + 2 * bytes * block;
    struct converted other;
    void *keys = pool_keys(pool, kind, page, layer, head);
    void *values = pool_values(pool, kind, page, layer, head);
    if (type == pool->kv) {
        pool->kernels->kv_give(type, dim, keys, values, at, at + bytes);
        return;
    }
    pool->kernels->kv_give(type, dim, other.keys, other.values, at, at + bytes);
    pool->kernels->kv_convert(dim, type, other.keys, other.values, pool->kv, keys, values);
}

/* Blocks of all kernel sets are laid out alike. */
static void copy_page(struct state *to, const struct state *from, uint32_t kind, uint32_t index)
{
    const struct pool *a = from->pool, *b = to->pool;
    const struct state_kind *shape = &b->shape.kind[kind];
    const struct page *page = state_pages(from, kind)[index];
    struct page *other = state_pages(to, kind)[index];
    if (a->kv == b->kv) {
        pool_copy_page(b, kind, other, page);
        return;
    }
    for (uint32_t i = 0; i < blocks_of(shape); i++) {
        uint32_t layer = i / shape->kv_heads, head = i % shape->kv_heads;
        b->kernels->kv_convert(shape->head_dim, a->kv, pool_keys(a, kind, page, layer, head),
                               pool_values(a, kind, page, layer, head), b->kv, pool_keys(b, kind, other, layer, head),
                               pool_values(b, kind, other, layer, head));
    }
}

/* ---- Recurrent and convolution states ---------------------------------------------------------------------------- */

/* The head that a model of this shape keeps where one of shape `other` has `head`. */
static uint32_t head_here(const struct state_shape *s, const struct state_shape *other, uint32_t head)
{
    return s->value_heads_tiled == other->value_heads_tiled
               ? head
               : state_shape_own_head(s, state_shape_original_head(other, head));
}

/* Between [slab][key dim][slab width] and [key dim][value dim]. */
static void move_slabs(const struct state_shape *s, float *slabs, float *rows, bool to_rows)
{
    for (uint32_t slab = 0; slab < state_shape_slabs(s); slab++) {
        uint32_t width = state_shape_width(s, slab);
        float *row = rows + (size_t)slab * DELTA_SLAB;
        for (uint32_t d = 0; d < s->key_dim; d++, slabs += width, row += s->value_dim)
            memcpy(to_rows ? row : slabs, to_rows ? slabs : row, width * sizeof *row);
    }
}

void crossing_take_head(const struct state *host, uint32_t layer, const struct state_shape *other, uint32_t head,
                        float *plain)
{
    const struct state_shape *s = &host->pool->shape;
    move_slabs(s, state_slab(host, layer, head_here(s, other, head), 0), plain, true);
}

void crossing_give_head(struct state *host, uint32_t layer, const struct state_shape *other, uint32_t head,
                        const float *plain)
{
    const struct state_shape *s = &host->pool->shape;
    move_slabs(s, state_slab(host, layer, head_here(s, other, head), 0), (float *)plain, false);
}

static void move_conv(const struct state *host, uint32_t layer, const struct state_shape *other, float *plain,
                      bool to_plain)
{
    const struct state_shape *s = &host->pool->shape;
    uint32_t values = 2 * s->key_heads * s->key_dim;
    float *own = state_conv(host, layer);
    if (s->value_heads_tiled == other->value_heads_tiled) {
        size_t bytes = (size_t)(s->conv_taps - 1) * s->conv_channels * sizeof *own;
        memcpy(to_plain ? plain : own, to_plain ? own : plain, bytes);
        return;
    }
    for (uint32_t tap = 0; tap + 1 < s->conv_taps; tap++, own += s->conv_channels, plain += s->conv_channels) {
        memcpy(to_plain ? plain : own, to_plain ? own : plain, values * sizeof *own);
        for (uint32_t head = 0; head < s->value_heads; head++) {
            float *here = own + values + (size_t)head_here(s, other, head) * s->value_dim;
            float *there = plain + values + (size_t)head * s->value_dim;
            memcpy(to_plain ? there : here, to_plain ? here : there, s->value_dim * sizeof *own);
        }
    }
}

void crossing_take_conv(const struct state *host, uint32_t layer, const struct state_shape *other, float *plain)
{
    move_conv(host, layer, other, plain, true);
}

void crossing_give_conv(struct state *host, uint32_t layer, const struct state_shape *other, const float *plain)
{
    move_conv(host, layer, other, (float *)plain, false);
}

/* ---- Within the host's memory ------------------------------------------------------------------------------------ */

uint32_t crossing_length(const struct state *from, const struct crossing *x)
{
    return x->sealed ? from->length / KV_PAGE * KV_PAGE : from->length;
}

tdm_status crossing_prepare(struct state *host, const struct state *from, uint32_t entries, const struct crossing *x,
                            tdm_error *err)
{
    bool headless = from->headless || x->sealed || !host->pool->shape.head_width;
    return state_host_prepare(host, x, crossing_length(from, x), headless ? 0 : entries, headless, err);
}

static uint32_t page_count(uint32_t tokens)
{
    return (tokens + KV_PAGE - 1) / KV_PAGE;
}

struct host_crossing {
    struct state *to;
    const struct state *from;
    const uint32_t *start;
    uint32_t pages[STATE_PAGES], items; /* of each kind; of all, and layers */
};

static void copy_layer(const struct host_crossing *c, uint32_t layer)
{
    const struct state_shape *from = &c->from->pool->shape;
    size_t head = (size_t)from->key_dim * from->value_dim;
    for (uint32_t h = 0; h < from->value_heads; h++)
        memcpy(state_slab(c->to, layer, head_here(&c->to->pool->shape, from, h), 0), state_slab(c->from, layer, h, 0),
               head * sizeof(float));
    crossing_give_conv(c->to, layer, from, state_conv(c->from, layer));
}

/* Pages of all kinds, then layers: each an item. */
static void host_copy(void *ctx, struct member *m)
{
    const struct host_crossing *c = ctx;
    uint32_t begin, end;
    while (member_claim(m, c->items, 1, &begin, &end)) {
        uint32_t i = begin, kind = 0, kinds = c->to->pool->kinds;
        for (; kind < kinds && i >= c->pages[kind]; kind++) i -= c->pages[kind];
        if (kind < kinds)
            copy_page(c->to, c->from, kind, c->start[kind] + i);
        else
            copy_layer(c, i);
    }
}

tdm_status crossing_host_receive(struct state *to, const struct state *host, struct crossing *x, tdm_error *err)
{
    tdm_status status = crossing_prepare(to, host, host->entries, x, err);
    if (status) return status;
    const struct state_shape *shape = &to->pool->shape;
    struct host_crossing c = {.to = to, .from = host, .start = x->start, .items = x->sealed ? 0 : shape->linear_layers};
    size_t waiting = to->headless ? 0 : (size_t)(to->length - to->entries) * shape->head_width * sizeof(float);
    size_t layer = (size_t)shape->value_heads * shape->key_dim * shape->value_dim +
                   (size_t)(shape->conv_taps ? shape->conv_taps - 1 : 0) * shape->conv_channels;
    x->bytes = c.items * (uint64_t)layer * sizeof(float) + waiting;
    for (uint32_t kind = 0; kind < to->pool->kinds; kind++) {
        c.pages[kind] = page_count(kind == shape->kinds ? to->entries : to->length) - x->start[kind];
        c.items += c.pages[kind];
        x->bytes += c.pages[kind] * (uint64_t)pool_kind_bytes(to->pool, kind);
    }
    team_run(x->team, host_copy, &c);
    if (waiting) memcpy(to->waiting, host->waiting, waiting);
    return TDM_OK;
}

/* ---- Any memory -------------------------------------------------------------------------------------------------- */

/* What is on the host in any case; logits: those of `from`. */
static tdm_status finish_host(struct state *to, const struct state *from, const struct crossing *x, tdm_error *err)
{
    const float *logits;
    uint32_t vocab = to->pool->shape.vocab;
    tdm_status status = TDM_OK;
    memcpy(to->tokens, from->tokens, to->length * sizeof *to->tokens);
    to->broken = x->sealed;
    if (x->sealed || !from->logits_valid) return TDM_OK;
    status = state_logits((struct state *)from, &logits, err);
    if (status == TDM_OK) memcpy(to->logits, logits, vocab * sizeof *logits);
    to->logits_valid = status == TDM_OK;
    return status;
}

/* Plans which pages of each kind `to` keeps and which cross. `to` may lack pages of a kind with a window among those
 * that it should keep, if `from` was longer and was cut back. Then it gets all pages that `from` has. */
static void plan_pages(const struct state *to, const struct state *from, struct crossing *x)
{
    const struct state_shape *shape = &from->pool->shape;
    uint32_t length = crossing_length(from, x);
    for (uint32_t kind = 0; kind < shape->kinds; kind++) {
        uint32_t first = state_kind_kept(&shape->kind[kind], length);
        if (first < from->first[kind]) first = from->first[kind];
        x->first[kind] = first;
        x->start[kind] = to->first[kind] <= first && first <= x->kept ? x->kept : first;
    }
    x->first[shape->kinds] = x->start[shape->kinds] = 0;
}

/* From one memory to another, of which the caller's host has none. */
static tdm_status cross_by_host(struct state *to, const struct state *from, struct crossing *x, tdm_error *err)
{
    struct state *between;
    struct crossing whole = {.team = x->team, .sealed = x->sealed};
    tdm_status status = state_new(&between, from->pool->memory->beside(from->pool), err);
    if (status) return status;
    status = state_cross(between, from, &whole, err);
    if (status == TDM_OK) status = to->pool->memory->receive(to, between, x, err);
    state_free(between);
    return status;
}

/* Between devices that need not convert anything. */
static bool goes_across(const struct state *to, const struct state *from)
{
    const struct pool *a = from->pool, *b = to->pool;
    return a != b && a->memory == b->memory && b->memory->across && a->kv == b->kv &&
           a->shape.value_heads_tiled == b->shape.value_heads_tiled;
}

tdm_status state_cross(struct state *to, const struct state *from, struct crossing *x, tdm_error *err)
{
    struct team solo;
    struct crossing own = *x;
    const struct state_memory *host = &state_host_memory;
    assert_always(to != from && !from->broken && x->kept * KV_PAGE <= to->length);
    assert_always(x->kept * KV_PAGE <= crossing_length(from, x));
    if (from->length > to->pool->context) {
        state_clear(to);
        return error_set(err, TDM_E_CONTEXT, "a state of %u tokens in a context of %u", from->length,
                         to->pool->context);
    }
    plan_pages(to, from, &own);
    if (!own.team) {
        team_solo(&solo);
        own.team = &solo;
    }
    tdm_status status;
    if (from->pool->memory == host)
        status = to->pool->memory->receive(to, from, &own, err);
    else if (to->pool->memory == host)
        status = from->pool->memory->send(from, to, &own, err);
    else if (goes_across(to, from))
        status = to->pool->memory->across(to, from, &own, err);
    else
        status = cross_by_host(to, from, &own, err);
    if (status == TDM_OK && to->pool->memory == host) status = finish_host(to, from, &own, err);
    if (status) state_clear(to);
    x->bytes = own.bytes;
    return status;
}

tdm_status crossing_link_ms(struct state *s, uint64_t bytes, bool to_device, double *ms, tdm_error *err)
{
    *ms = 0;
    return s->pool->memory->link_ms ? s->pool->memory->link_ms(s, bytes, to_device, ms, err) : TDM_OK;
}
