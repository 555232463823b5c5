#include "tests/engine/state/equal.h"

#include <string.h>

#include "engine/base/error.h"
#include "engine/state/layout.h"

/* The keys and values of a kind at positions that both have, of the first n. */
static bool pages_equal(const struct state *a, const struct state *b, uint32_t kind, uint32_t n)
{
    const struct state_kind *shape = &pool_shape(a->pool)->kind[kind];
    const struct kernels *kernels = pool_kernels(a->pool);
    float ka[CONFIG_MAX_HEAD], va[CONFIG_MAX_HEAD], kb[CONFIG_MAX_HEAD], vb[CONFIG_MAX_HEAD];
    size_t bytes = shape->head_dim * sizeof(float);
    uint32_t first = a->first[kind] > b->first[kind] ? a->first[kind] : b->first[kind];
    for (uint32_t position = first * KV_PAGE; position < n; position++) {
        const struct page *pa = state_pages(a, kind)[position / KV_PAGE],
                          *pb = state_pages(b, kind)[position / KV_PAGE];
        for (uint32_t i = 0; pa != pb && i < shape->layers * shape->kv_heads; i++) {
            uint32_t layer = i / shape->kv_heads, head = i % shape->kv_heads;
            kernels->kv_load(pool_kv(a->pool), shape->head_dim, pool_keys(a->pool, kind, pa, layer, head),
                             pool_values(a->pool, kind, pa, layer, head), position % KV_PAGE, ka, va);
            kernels->kv_load(pool_kv(b->pool), shape->head_dim, pool_keys(b->pool, kind, pb, layer, head),
                             pool_values(b->pool, kind, pb, layer, head), position % KV_PAGE, kb, vb);
            if (memcmp(ka, kb, bytes) || memcmp(va, vb, bytes)) return false;
        }
    }
    return true;
}

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What both have of the MTP head: one may have made entries of rows that still wait in the other. */
static bool heads_equal(const struct state *a, const struct state *b)
{
    size_t width = pool_shape(a->pool)->head_width;
    if (a->headless || b->headless) return a->headless == b->headless;
    uint32_t from = a->entries > b->entries ? a->entries : b->entries;
    return pages_equal(a, b, pool_shape(a->pool)->kinds, lower(a->entries, b->entries)) &&
           !memcmp(a->waiting + (from - a->entries) * width, b->waiting + (from - b->entries) * width,
                   (a->length - from) * width * sizeof(float));
}

bool state_equal(const struct state *a, const struct state *b)
{
    const struct state_shape *shape = pool_shape(a->pool);
    assert_always(pool_kernels(a->pool) == pool_kernels(b->pool) && state_shape_equal(shape, pool_shape(b->pool)));
    for (uint32_t kind = 0; kind < shape->kinds; kind++)
        if (a->length != b->length || !pages_equal(a, b, kind, a->length)) return false;
    return a->length == b->length && !memcmp(a->tokens, b->tokens, a->length * sizeof(tdm_id)) &&
           !memcmp(a->recurrent, b->recurrent, state_shape_recurrent_floats(shape) * sizeof(float)) &&
           !memcmp(a->conv, b->conv, state_shape_conv_floats(shape) * sizeof(float)) &&
           (!a->logits_valid || !b->logits_valid || !memcmp(a->logits, b->logits, shape->vocab * sizeof(float))) &&
           heads_equal(a, b);
}
