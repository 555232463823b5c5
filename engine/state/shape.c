#include "engine/state/shape.h"

struct state_shape state_shape_of(const struct config *c)
{
    struct state_shape s = {
        .kv_heads = c->kv_heads,
        .head_dim = c->head_dim,
        .key_heads = c->lin_key_heads,
        .value_heads = c->lin_value_heads,
        .key_dim = c->lin_key_dim,
        .value_dim = c->lin_value_dim,
        .conv_channels = config_conv_channels(c),
        .conv_taps = c->conv_kernel,
        .vocab = c->vocab,
        .head_width = c->mtp ? c->hidden : 0,
        .value_heads_tiled = c->value_heads_tiled,
    };
    for (uint32_t i = 0; i < c->layers; i++) {
        if (c->full_attention[i])
            s.attention_layers++;
        else
            s.linear_layers++;
    }
    return s;
}

bool state_shape_equal(const struct state_shape *a, const struct state_shape *b)
{
    return a->attention_layers == b->attention_layers && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
           a->linear_layers == b->linear_layers && a->key_heads == b->key_heads && a->value_heads == b->value_heads &&
           a->key_dim == b->key_dim && a->value_dim == b->value_dim && a->conv_channels == b->conv_channels &&
           a->conv_taps == b->conv_taps && a->vocab == b->vocab;
}

size_t state_shape_recurrent_floats(const struct state_shape *shape)
{
    return (size_t)shape->linear_layers * shape->value_heads * shape->key_dim * shape->value_dim;
}

size_t state_shape_conv_floats(const struct state_shape *shape)
{
    return (size_t)shape->linear_layers * (shape->conv_taps - 1) * shape->conv_channels;
}
