#include "tests/engine/state/pretend.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/state/layout.h"

enum { ROW = 3, TAG_ROW = 100, TAG_LOGITS }; /* width of the MTP head; what is made, beside the kinds */

struct state_shape pretend_shape(bool head)
{
    return (struct state_shape){.attention_layers = 6,
                                .kinds = 2,
                                .kind = {{.window = PRETEND_WINDOW, .kv_heads = 2, .head_dim = 16, .layers = 3},
                                         {.kv_heads = 1, .head_dim = 40, .layers = 2},
                                         {.kv_heads = 1, .head_dim = 8, .layers = 1}},
                                .place = {{0, 0}, {0, 1}, {1, 0}, {0, 2}, {1, 1}, {0, 2}, {2, 0}},
                                .vocab = PRETEND_VOCAB,
                                .head_width = head ? ROW : 0};
}

struct pool *pretend_pool(enum kv_type kv, bool head)
{
    const struct kernels *set;
    struct pool *pool;
    struct state_shape shape = pretend_shape(head);
    if (kernels_find(&set, NULL, NULL) || pool_new(&pool, &shape, set, kv, PRETEND_CONTEXT, NULL)) abort();
    return pool;
}

uint64_t pretend_used(struct pool *p)
{
    uint64_t bytes = (p->buffer_blocks.total - p->buffer_blocks.ready) * (uint64_t)p->buffer_bytes;
    for (uint32_t kind = 0; kind < p->kinds; kind++)
        bytes += (p->page_blocks[kind].total - p->page_blocks[kind].ready) * (uint64_t)p->page_bytes[kind];
    return bytes;
}

/* made[i] is made of the first i tokens. */
static void make_all(const struct state *s, uint32_t n, uint64_t *made)
{
    made[0] = FNV_START;
    for (uint32_t i = 0; i < n; i++) made[i + 1] = fnv_step(made[i], (uint64_t)s->tokens[i] + 1);
}

/* Whole numbers that float16 has as well. */
static void make_row(uint64_t made, uint32_t tag, uint32_t layer, uint32_t head, float *out, uint32_t n)
{
    uint64_t seed = fnv_step(made, tag * 1000 + layer * 100 + head);
    for (uint32_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        out[i] = (float)((int)(seed >> 53) - 1024);
    }
}

/* What entry or token number `position` puts into a kind: an entry of the MTP head knows the next token. */
static uint64_t made_for(const struct state *s, uint32_t kind, const uint64_t *made, uint32_t position)
{
    return made[position + (kind == s->pool->shape.kinds ? 2 : 1)];
}

static void store(struct state *s, uint32_t kind, const uint64_t *made, uint32_t position)
{
    const struct state_kind *shape = &s->pool->shape.kind[kind];
    struct page *page = state_pages(s, kind)[position / KV_PAGE];
    for (uint32_t i = 0; i < shape->layers * shape->kv_heads; i++) {
        float row[2 * CONFIG_MAX_HEAD];
        uint32_t layer = i / shape->kv_heads, head = i % shape->kv_heads, dim = shape->head_dim;
        make_row(made_for(s, kind, made, position), kind, layer, head, row, 2 * dim);
        s->pool->kernels->kv_store(s->pool->kv, dim, pool_keys(s->pool, kind, page, layer, head),
                                   pool_values(s->pool, kind, page, layer, head), position % KV_PAGE, row, row + dim);
    }
}

/* As forward.c: entries are made when more rows would wait than there is room for. */
static void grow_head(struct state *s, const uint64_t *made, uint32_t n)
{
    uint32_t length = s->length + n;
    if (length - s->entries > STATE_WAITING)
        for (; s->entries + 1 < length; s->entries++) store(s, s->pool->shape.kinds, made, s->entries);
    for (uint32_t i = s->entries; i < length; i++)
        make_row(made[i + 1], TAG_ROW, 0, 0, s->waiting + (size_t)(i - s->entries) * ROW, ROW);
}

void pretend_grow(struct state *s, const tdm_id *ids, uint32_t n)
{
    uint64_t made[PRETEND_CONTEXT + 1];
    if (state_make_room(s, n, NULL)) abort();
    memcpy(s->tokens + s->length, ids, n * sizeof *ids);
    make_all(s, s->length + n, made);
    for (uint32_t position = s->length; position < s->length + n; position++)
        for (uint32_t kind = 0; kind < s->pool->shape.kinds; kind++) store(s, kind, made, position);
    if (!s->headless) grow_head(s, made, n);
    s->length += n;
    make_row(made[s->length], TAG_LOGITS, 0, 0, s->logits, PRETEND_VOCAB);
    s->logits_valid = s->length > 0;
}

static bool holds_position(const struct state *s, uint32_t kind, const uint64_t *made, uint32_t position, uint32_t salt)
{
    const struct state_kind *shape = &s->pool->shape.kind[kind];
    float row[2 * CONFIG_MAX_HEAD], found[2 * CONFIG_MAX_HEAD];
    uint32_t i = (position + salt) % (shape->layers * shape->kv_heads), dim = shape->head_dim;
    uint32_t layer = i / shape->kv_heads, head = i % shape->kv_heads;
    const struct page *page = state_pages(s, kind)[position / KV_PAGE];
    make_row(made_for(s, kind, made, position), kind, layer, head, row, 2 * dim);
    s->pool->kernels->kv_load(s->pool->kv, dim, pool_keys(s->pool, kind, page, layer, head),
                              pool_values(s->pool, kind, page, layer, head), position % KV_PAGE, found, found + dim);
    return !memcmp(row, found, 2 * dim * sizeof *row);
}

static bool holds_kind(const struct state *s, uint32_t kind, const uint64_t *made, uint32_t n, uint32_t salt)
{
    struct page **pages = state_pages(s, kind);
    if (s->first[kind] > state_kind_seen(&s->pool->shape.kind[kind], s->length)) return false;
    for (uint32_t i = 0; i < s->first[kind]; i++)
        if (pages[i]) return false;
    for (uint32_t position = s->first[kind] * KV_PAGE; position < n; position++)
        if (!pages[position / KV_PAGE] || !holds_position(s, kind, made, position, salt)) return false;
    return n % KV_PAGE == 0 || !page_is_shared(pages[n / KV_PAGE]);
}

static bool holds_head(const struct state *s, const uint64_t *made, uint32_t salt)
{
    float row[ROW];
    if (s->length ? s->entries >= s->length || s->length - s->entries > STATE_WAITING : s->entries) return false;
    for (uint32_t i = s->entries; i < s->length; i++) {
        make_row(made[i + 1], TAG_ROW, 0, 0, row, ROW);
        if (memcmp(row, s->waiting + (size_t)(i - s->entries) * ROW, sizeof row)) return false;
    }
    return holds_kind(s, s->pool->shape.kinds, made, s->entries, salt);
}

bool pretend_holds(const struct state *s, uint32_t salt)
{
    uint64_t made[PRETEND_CONTEXT + 1];
    float logits[PRETEND_VOCAB];
    make_all(s, s->length, made);
    for (uint32_t kind = 0; kind < s->pool->shape.kinds; kind++)
        if (!holds_kind(s, kind, made, s->length, salt)) return false;
    make_row(made[s->length], TAG_LOGITS, 0, 0, logits, PRETEND_VOCAB);
    if (s->logits_valid && memcmp(logits, s->logits, sizeof logits)) return false;
    return s->headless || holds_head(s, made, salt);
}
