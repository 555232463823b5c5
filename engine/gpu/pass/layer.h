/* The common parts of layers: the beginning and end of sublayers, and everything after attention. Called while a pass
 * is recorded (record.c). */
#ifndef TANDEM_GPU_PASS_LAYER_H
#define TANDEM_GPU_PASS_LAYER_H

#include "engine/gpu/pass/products.h"

/* The address of offset `at` in the tables. */
uint64_t layer_table(const struct recording *r, uint64_t at);

/* The activations of a sublayer's input: the residual stream, normalised. */
struct act layer_norm(const struct recording *r, uint64_t multipliers, uint64_t bias);
struct act layer_norm_of(const struct recording *r, const struct gpu_layer *layer, enum role norm, enum role bias);
enum act_mode layer_norm_mode(const struct recording *r);

/* The output of a sublayer's last product: it is added to the residual stream, directly or, if the layer has a norm for
 * it, by layer_add_normed. scale: of the layer's whole output; 0: none. */
struct output layer_output(const struct recording *r, const struct gpu_layer *layer, enum role matrix, enum role bias,
                           enum role norm);
void layer_add_normed(struct recording *r, const struct gpu_layer *layer, enum role norm, uint64_t scale);

/* The inputs of all layers from the token, made before the first layer, if the model has any. */
void layer_tell(struct recording *r);
/* The part of a layer after attention: feed-forward network, experts, its input from the token. */
void layer_feed(struct recording *r, const struct gpu_layer *layer);

#endif
