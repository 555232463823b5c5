/* A model on a GPU, for the tests of engine/gpu: on a machine with lavapipe, that; otherwise the first device. */
#ifndef TANDEM_TESTS_GPU_RIG_H
#define TANDEM_TESTS_GPU_RIG_H

#include "engine/gpu/gpu.h"

enum { GPU_RIG_TOKENS = 256, GPU_RIG_RUNS = 8, GPU_RIG_CONTEXT = 600 };

/* Why no GPU can be tested here, or NULL. */
const char *gpu_rig_absence(void);
/* The name of the device to test: a software one if there is one. */
const char *gpu_rig_name(void);

/* Of a software device whose passes of one token are one dispatch (fused.h), and whose products of six tokens and more
 * use the shaders for many. Tests that need no other share it: a driver that runs on cores compiles the shader of such
 * a pass for ten seconds, for each tuning and for each type of keys and values. */
extern const struct gpu_tuning gpu_rig_fused;

/* NULL when it failed, and the test with it. */
struct gpu *gpu_rig_open(const struct gpu_options *options);
/* The same, but one device for all who ask for the same slice and the same (static) tuning, since a driver that runs on
 * cores takes 60 ms for each pipeline that a device makes. It is closed when the program ends. */
struct gpu *gpu_rig_shared(uint64_t slice, const struct gpu_tuning *tuning);
struct gpu_model *gpu_rig_model(struct gpu *g, const char *model, enum kv_type kv);
/* For states of at most so many tokens. */
struct gpu_model *gpu_rig_model_for(struct gpu *g, const char *model, enum kv_type kv, uint32_t context);
struct gpu_state *gpu_rig_state(struct gpu_model *m);
struct gpu_state *gpu_rig_fork(const struct gpu_state *s);

/* Seconds that a pass of one token, and each layer of a long one, are supposed to have taken so far. */
void gpu_rig_times(struct gpu_model *m, int64_t token_s, int64_t layer_s);

/* Who is told, from now on, how far the model's preparation is. */
void gpu_rig_progress(struct gpu_model *m, tdm_progress progress, void *ctx);

/* Appends tokens in passes of at most `most`; the last token's logits are kept. */
void gpu_rig_eval(struct gpu_model *m, struct gpu_state *s, const tdm_id *ids, uint32_t n, uint32_t most);
/* One pass; out [n][vocab], hidden [layers + 1][hidden]; both may be NULL. */
void gpu_rig_logits(struct gpu_model *m, struct gpu_state *s, const tdm_id *ids, uint32_t n, float *out, float *hidden);

/* Everything that a state holds, as its parts lie one behind the other (gpu.h); pages and so on are malloc'ed. */
struct gpu_image {
    struct gpu_content content;
    void *pages[STATE_KINDS], *head_pages; /* pages: of each kind, from the state's first token on */
    float *recurrent, *conv, *waiting;
    const float *logits; /* [vocab], the state's; NULL: none */
};
/* Brings it from a state, into memory that gpu_rig_image made; and makes a state of it. */
tdm_status gpu_rig_save(const struct gpu_state *s, struct gpu_image *image, tdm_error *err);
tdm_status gpu_rig_load(struct gpu_state *s, const struct gpu_image *image, tdm_error *err);
struct gpu_image gpu_rig_image(const struct gpu_state *s);
void gpu_rig_image_free(struct gpu_image *image);
size_t gpu_rig_floats(const struct gpu_model *m, enum gpu_part part); /* of all layers */
/* Length, tokens, logits, keys and values of the positions there are, recurrent and convolution states. */
bool gpu_rig_equal(const struct gpu_state *a, const struct gpu_state *b);

#endif
