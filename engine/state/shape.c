#include "engine/state/shape.h"

#include <string.h>

#include "engine/base/error.h"

/* The number of the kind of these layers; it is added where there is none yet. */
static uint16_t kind_like(struct state_shape *s, uint32_t window, uint32_t kv_heads, uint32_t head_dim)
{
    uint32_t i = 0;
    for (; i < s->kinds; i++)
        if (s->kind[i].window == window && s->kind[i].kv_heads == kv_heads && s->kind[i].head_dim == head_dim) break;
    assert_always(i < STATE_KINDS);
    if (i == s->kinds) s->kind[s->kinds++] = (struct state_kind){window, kv_heads, head_dim, 0};
    return (uint16_t)i;
}

struct state_shape state_shape_of(const struct config *c)
{
    const struct config_delta *d = &c->delta;
    struct state_shape s = {
        .key_heads = d->key_heads,
        .value_heads = d->value_heads,
        .key_dim = d->key_dim,
        .value_dim = d->value_dim,
        .conv_channels = config_conv_channels(d),
        .conv_taps = d->conv_kernel,
        .vocab = c->vocab,
        .head_width = c->mtp.there ? c->hidden : 0,
        .value_heads_tiled = d->value_heads_tiled,
    };
    struct state_place place[CONFIG_MAX_LAYERS]; /* by layers of any kind */
    for (uint32_t i = 0; i < c->layers; i++) {
        if (!c->full_attention[i]) {
            s.linear_layers++;
            continue;
        }
        uint32_t keys = config_keys_of(c, i);
        if (keys == i) {
            uint16_t kind = kind_like(&s, c->window[i], config_kv_heads(c, i), config_head_dim(c, i));
            place[i] = (struct state_place){kind, (uint16_t)s.kind[kind].layers++};
        }
        s.place[s.attention_layers++] = place[keys];
    }
    s.place[s.attention_layers] = (struct state_place){(uint16_t)s.kinds, 0};
    s.kind[s.kinds] = (struct state_kind){0, c->attention.kv_heads, c->attention.head_dim, 1};
    return s;
}

bool state_shape_equal(const struct state_shape *a, const struct state_shape *b)
{
    return a->attention_layers == b->attention_layers && a->kinds == b->kinds &&
           !memcmp(a->kind, b->kind, a->kinds * sizeof *a->kind) &&
           !memcmp(a->place, b->place, a->attention_layers * sizeof *a->place) &&
           a->linear_layers == b->linear_layers && a->key_heads == b->key_heads && a->value_heads == b->value_heads &&
           a->key_dim == b->key_dim && a->value_dim == b->value_dim && a->conv_channels == b->conv_channels &&
           a->conv_taps == b->conv_taps && a->vocab == b->vocab;
}

uint32_t state_shape_own_head(const struct state_shape *s, uint32_t head)
{
    uint32_t served = s->value_heads / s->key_heads;
    return s->value_heads_tiled ? head / served + head % served * s->key_heads : head;
}

uint32_t state_shape_original_head(const struct state_shape *s, uint32_t head)
{
    uint32_t served = s->value_heads / s->key_heads;
    return s->value_heads_tiled ? head % s->key_heads * served + head / s->key_heads : head;
}

size_t state_shape_recurrent_floats(const struct state_shape *shape)
{
    return (size_t)shape->linear_layers * shape->value_heads * shape->key_dim * shape->value_dim;
}

size_t state_shape_conv_floats(const struct state_shape *shape)
{
    return (size_t)shape->linear_layers * (shape->conv_taps - 1) * shape->conv_channels;
}

uint64_t state_shape_kv_bytes(const struct state_shape *shape, enum kv_type kv, uint32_t tokens)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < shape->kinds; i++) {
        const struct state_kind *k = &shape->kind[i];
        uint64_t pages = (tokens + KV_PAGE - 1) / KV_PAGE - state_kind_kept(k, tokens);
        bytes += 2 * pages * k->layers * k->kv_heads * kv_plain_bytes(kv, k->head_dim);
    }
    return bytes;
}
