/* The shape of a state: the dimensions of a model that decide how large its states are and whether two states fit each
 * other. It is copied from the configuration, so that states need to know nothing else about models. Pure functions.
 *
 * Attention layers with the same window and the same shape of keys and values are a kind. Each kind has pages of its
 * own, numbered as in `kind`; those of the MTP head are one kind more, number `kinds`. A layer that reads the keys and
 * values of an earlier one shares that one's place, and takes no memory.
 */
#ifndef TANDEM_STATE_SHAPE_H
#define TANDEM_STATE_SHAPE_H

#include "engine/kernel/kernel.h"
#include "engine/model/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATE_KINDS = 8, STATE_PAGES = STATE_KINDS + 1 }; /* kinds of layers; of pages, the MTP head's too */
/* Pages stay for this many positions after the window has passed them, so that a state can be cut back that far
 * (state_cut). */
enum { STATE_BACK = 128 };

struct state_kind {
    uint32_t window; /* positions that a token sees, up to and including its own; 0: all from the first on */
    uint32_t kv_heads, head_dim;
    uint32_t layers; /* that keep keys and values */
};

/* Where a layer's keys and values are: its number among the layers of a kind. */
struct state_place {
    uint16_t kind, index;
};

struct state_shape {
    uint32_t attention_layers, kinds; /* kinds: at most STATE_KINDS; 0 where there are no such layers */
    struct state_kind kind[STATE_PAGES];
    struct state_place place[CONFIG_MAX_LAYERS + 1]; /* of each attention layer, then of the MTP head's */
    uint32_t linear_layers;                          /* 0: states can be cut (state_cut), and the next six are unused */
    uint32_t key_heads, value_heads, key_dim, value_dim;
    uint32_t conv_channels, conv_taps;
    uint32_t vocab;         /* logits of a position */
    uint32_t head_width;    /* floats of the trunk's output at a position, where the model has an MTP head; else 0 */
    bool value_heads_tiled; /* config.h; state files use the order of the original checkpoints */
};

struct state_shape state_shape_of(const struct config *c);
/* Can a model of shape b use states of shape a? The order of value heads may differ, and one may lack an MTP head. */
bool state_shape_equal(const struct state_shape *a, const struct state_shape *b);

/* For a state of this many tokens: the first page of a kind that the next token sees, and the first page that is
 * kept. */
static inline uint32_t state_kind_seen(const struct state_kind *k, uint32_t length)
{
    return k->window && length >= k->window ? (length - (k->window - 1)) / KV_PAGE : 0;
}

static inline uint32_t state_kind_kept(const struct state_kind *k, uint32_t length)
{
    return length > STATE_BACK ? state_kind_seen(k, length - STATE_BACK) : 0;
}

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

/* The number, in a model of this shape, of the value head that the original checkpoint numbers `head`; and the
 * inverse. */
uint32_t state_shape_own_head(const struct state_shape *s, uint32_t head);
uint32_t state_shape_original_head(const struct state_shape *s, uint32_t head);

/* Floats in the recurrent states, and in the convolution states, of all layers. */
size_t state_shape_recurrent_floats(const struct state_shape *shape);
size_t state_shape_conv_floats(const struct state_shape *shape);

/* Bytes of keys and values in the layers' pages of a state of this many tokens, in their plain form. */
uint64_t state_shape_kv_bytes(const struct state_shape *shape, enum kv_type kv, uint32_t tokens);

#endif
