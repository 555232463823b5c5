/* States of a model that is not there, with two kinds of attention layers: what a token leaves behind is made of all
 * tokens before it, so that a state's contents follow from its tokens and can be looked after. */
#ifndef TANDEM_TESTS_STATE_PRETEND_H
#define TANDEM_TESTS_STATE_PRETEND_H

#include "engine/state/state.h"

enum { PRETEND_WINDOW = 24, PRETEND_CONTEXT = 400, PRETEND_VOCAB = 11 };

/* Layers with a window and without one, with heads of different sizes, the last of them without keys and values of its
 * own; no recurrent layers. With an MTP head or without. */
struct state_shape pretend_shape(bool head);
struct pool *pretend_pool(enum kv_type kv, bool head);
/* As pool_stats, but the bytes of all pages and buffers that are in use. */
uint64_t pretend_used(struct pool *p);

/* Appends tokens as a forward pass does; s has room for them. */
void pretend_grow(struct state *s, const tdm_id *ids, uint32_t n);
/* Is all there that must be, and right? Of each position in the pages of a kind one layer and head, by `salt`. */
bool pretend_holds(const struct state *s, uint32_t salt);

#endif
