/* What layers have in common: how their sublayers begin and end, and all that stands behind attention. Called while a
 * pass is recorded (record.c). */
#ifndef TANDEM_GPU_PASS_LAYER_H
#define TANDEM_GPU_PASS_LAYER_H

#include "engine/gpu/pass/products.h"

/* The address of a place in the tables. */
uint64_t layer_table(const struct recording *r, uint64_t at);

/* The activations of a sublayer's input: the residual stream, normalised. */
struct act layer_norm(const struct recording *r, uint64_t multipliers, uint64_t bias);
struct act layer_norm_of(const struct recording *r, const struct gpu_layer *layer, enum role norm, enum role bias);
enum act_mode layer_norm_mode(const struct recording *r);

/* Where a sublayer's last product goes: it is added to the residual stream, at once or after a norm, which
 * layer_add_normed does where the layer has one. scale: of all that the layer yields; 0: none. */
struct output layer_output(const struct recording *r, const struct gpu_layer *layer, enum role matrix, enum role bias,
                           enum role norm);
void layer_add_normed(struct recording *r, const struct gpu_layer *layer, enum role norm, uint64_t scale);

/* The inputs of all layers by the token, made before the first layer; where the model has such. */
void layer_tell(struct recording *r);
/* All of a layer behind its attention: feed-forward network, experts, its input of the token. */
void layer_feed(struct recording *r, const struct gpu_layer *layer);

#endif
