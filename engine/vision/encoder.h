/* From a picture to rows of the language model's embeddings, on cores: the patches through the tower's blocks and its
 * merger.
 *
 * An encoding runs step by step (its patches, each block, the merger), so that the caller can stop or do other work
 * between two steps. The rows have the same bits whatever the number of threads: the order in which a product, softmax
 * or norm takes its elements depends on the picture's size alone. */
#ifndef TANDEM_VISION_ENCODER_H
#define TANDEM_VISION_ENCODER_H

#include "engine/vision/patches.h"
#include "engine/vision/weights.h"

struct encoding;

/* p: of fitted sides (patches_fit); its pixels are read in the first step. Weights and pixels outlive the encoding.
 * members: of the largest team that will run its steps. */
tdm_status encoding_new(struct encoding **out, const struct vision_weights *w, const struct picture *p, int members,
                        tdm_error *err);
void encoding_free(struct encoding *e); /* NULL is allowed */

/* encoding_steps: the number of steps. encoding_step: runs the next one; false: all are done. */
uint32_t encoding_steps(const struct encoding *e);
bool encoding_step(struct encoding *e, struct team *t);

uint32_t encoding_tokens(const struct encoding *e);
/* [tokens][shape.out], once all steps are done; the encoding's. */
const float *encoding_rows(const struct encoding *e);

/* Operations (a multiply-add is two) of all products of a picture with this many patches. */
double encoding_operations(const struct vision_shape *s, uint32_t patches);

#endif
