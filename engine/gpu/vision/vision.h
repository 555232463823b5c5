/* Pictures on a GPU: a vision tower's weights in device memory, and encodings there, step by step as those of the cores
 * (engine/vision/encoder.h). Weights and activations are half floats, sums are floats.
 *
 * Exactness: on one device and driver a picture's rows have the same bits, whatever else runs there. The cores' differ.
 *
 * Errors and threads as in gpu.h. Any number of encodings may run beside each other, each its caller's; a call is a
 * submission of a layer, or of a part of it where that takes long, so a reply's tokens are computed between two of
 * them. */
#ifndef TANDEM_GPU_VISION_H
#define TANDEM_GPU_VISION_H

#include "engine/gpu/gpu.h"
#include "engine/thread/team.h"
#include "engine/vision/resize.h"
#include "engine/vision/tower.h"

struct gpu_tower;

/* Bytes of device memory for the weights, and for an encoding of a picture of usual size. */
uint64_t gpu_tower_bytes(const struct tower *t);
/* Takes the memory. TDM_E_UNSUPPORTED: dimensions that the shaders don't take. */
tdm_status gpu_tower_new(struct gpu_tower **out, struct gpu *g, const struct tower *t, tdm_error *err);
/* Copies the weights, and compiles the shaders of encodings. *done: bytes so far, which it increases; progress (may be
 * NULL) is called with them and with `total`; non-zero from it: TDM_E_CANCELLED. */
struct gpu_tower_loading {
    struct team *team;
    tdm_progress progress;
    void *progress_ctx;
    uint64_t *done, total;
};
tdm_status gpu_tower_load(struct gpu_tower *t, const struct tower *from, const struct gpu_tower_loading *l,
                          tdm_error *err);
/* The one that a model was loaded with; NULL: none. */
struct gpu_tower *gpu_model_tower(const struct gpu_model *m);
void gpu_tower_free(struct gpu_tower *t); /* after its encodings; NULL is allowed */

struct gpu_encoding;

/* p: of fitted sides (patches_fit); its pixels are copied. */
tdm_status gpu_encoding_new(struct gpu_encoding **out, struct gpu_tower *t, const struct picture *p, tdm_error *err);
void gpu_encoding_free(struct gpu_encoding *e); /* waits for what was submitted; NULL is allowed */
/* The next step, or a part of it; *more: false when all are done. */
tdm_status gpu_encoding_step(struct gpu_encoding *e, bool *more, tdm_error *err);
uint32_t gpu_encoding_done(const struct gpu_encoding *e); /* steps, of as many as the cores have */
uint32_t gpu_encoding_tokens(const struct gpu_encoding *e);
/* [tokens][shape.out], once all steps are done; the encoding's. */
const float *gpu_encoding_rows(const struct gpu_encoding *e);

#endif
