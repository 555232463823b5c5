/* The shape of a state: the dimensions of a model that decide how large its states are and whether two states fit each
 * other. It is copied from the configuration, so that states need to know nothing else about models. Pure functions. */
#ifndef TANDEM_STATE_SHAPE_H
#define TANDEM_STATE_SHAPE_H

#include "engine/kernel/kernel.h"
#include "engine/model/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state_shape {
    uint32_t attention_layers, kv_heads, head_dim;
    uint32_t linear_layers, key_heads, value_heads, key_dim, value_dim;
    uint32_t conv_channels, conv_taps;
    uint32_t vocab;         /* logits of a position */
    uint32_t head_width;    /* floats of the trunk's output at a position, where the model has an MTP head; else 0 */
    bool value_heads_tiled; /* config.h; state files use the order of the original checkpoints */
};

struct state_shape state_shape_of(const struct config *c);
/* Can a model of shape b use states of shape a? The order of value heads may differ, and one may lack an MTP head. */
bool state_shape_equal(const struct state_shape *a, const struct state_shape *b);

/* Slabs of a head's recurrent state, and the columns of one (the last may be narrower). */
static inline uint32_t state_shape_slabs(const struct state_shape *s)
{
    return (s->value_dim + DELTA_SLAB - 1) / DELTA_SLAB;
}

static inline uint32_t state_shape_width(const struct state_shape *s, uint32_t slab)
{
    uint32_t left = s->value_dim - slab * DELTA_SLAB;
    return left < DELTA_SLAB ? left : DELTA_SLAB;
}

/* Floats in the recurrent states, and in the convolution states, of all layers. */
size_t state_shape_recurrent_floats(const struct state_shape *shape);
size_t state_shape_conv_floats(const struct state_shape *shape);

#endif
