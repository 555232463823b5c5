/* engine/gpu in a program that was built without glslc or Vulkan's headers: no device can be listed or opened, so
 * nothing else is ever called. The other files of this folder are left out then. */
#include "engine/base/error.h"
#include "engine/gpu/gpu.h"

const char *gpu_absence(void)
{
    return "no GPU: this program was built without glslc or Vulkan's headers (make deps)";
}

uint64_t gpu_shaders_hash(void)
{
    return 0;
}

int gpu_list(struct gpu_info *out, int room)
{
    (void)out, (void)room;
    return 0;
}

tdm_status gpu_open(struct gpu **out, const char *name, const struct gpu_options *options, tdm_error *err)
{
    (void)name, (void)options;
    *out = NULL;
    return error_set(err, TDM_E_NOT_FOUND, "%s", gpu_absence());
}

/* What follows takes a device, a model or a state, of which there is none. */
#define NEVER(result, name, ...)                                                                                       \
    result name(__VA_ARGS__)                                                                                           \
    {                                                                                                                  \
        panic(#name " without a GPU");                                                                                 \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"

void gpu_close(struct gpu *g)
{
    assert_always(!g);
}

void gpu_model_free(struct gpu_model *m)
{
    assert_always(!m);
}

void gpu_state_free(struct gpu_state *s)
{
    assert_always(!s);
}

NEVER(const char *, gpu_matrix_units, struct gpu *g)
NEVER(void, gpu_about, struct gpu *g, struct gpu_info *out)
NEVER(size_t, gpu_choices, struct gpu *g, char *out, size_t room)
NEVER(void, gpu_take_choices, struct gpu *g, const char *text)
NEVER(uint64_t, gpu_used, struct gpu *g)
NEVER(bool, gpu_is_lost, struct gpu *g)
NEVER(uint32_t, gpu_complaints, struct gpu *g)
NEVER(const char *, gpu_first_complaint, struct gpu *g)
NEVER(void, gpu_model_needs, const struct source *source, const struct gpu_model_options *options,
      struct gpu_needs *out)
NEVER(tdm_status, gpu_model_new, struct gpu_model **out, struct gpu *g, const struct source *source,
      const struct gpu_model_options *options, tdm_error *err)
NEVER(const struct config *, gpu_model_config, const struct gpu_model *m)
NEVER(uint32_t, gpu_model_together, const struct gpu_model *m)
NEVER(double *, gpu_model_frequencies, struct gpu_model *m)
NEVER(tdm_status, gpu_state_new, struct gpu_state **out, struct gpu_model *m, tdm_error *err)
NEVER(void, gpu_state_clear, struct gpu_state *s)
NEVER(tdm_status, gpu_state_fork, struct gpu_state **out, const struct gpu_state *s, tdm_error *err)
NEVER(tdm_status, gpu_state_copy, struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
NEVER(const struct gpu_model *, gpu_state_model, const struct gpu_state *s)
NEVER(tdm_status, gpu_state_make_room, struct gpu_state *s, uint32_t n, tdm_error *err)
NEVER(uint32_t, gpu_state_shared_pages, const struct gpu_state *a, const struct gpu_state *b)
NEVER(uint32_t, gpu_state_length, const struct gpu_state *s)
NEVER(bool, gpu_state_broken, const struct gpu_state *s)
NEVER(const tdm_id *, gpu_state_tokens, const struct gpu_state *s)
NEVER(bool, gpu_state_has_logits, const struct gpu_state *s)
NEVER(const float *, gpu_state_logits, const struct gpu_state *s)
NEVER(tdm_status, gpu_state_fetch_logits, const struct gpu_state *s, const float **out, tdm_error *err)
NEVER(uint32_t, gpu_state_best, const struct gpu_state *s, struct gpu_candidate out[GPU_BEST_MOST], float *from)
NEVER(size_t, gpu_kv_bytes, enum kv_type kv, uint32_t head_dim)
NEVER(size_t, gpu_page_bytes, const struct gpu_model *m)
NEVER(size_t, gpu_recurrent_floats, const struct gpu_model *m)
NEVER(size_t, gpu_conv_floats, const struct gpu_model *m)
NEVER(tdm_status, gpu_state_save, const struct gpu_state *s, struct gpu_image *image, uint32_t first_page,
      tdm_error *err)
NEVER(tdm_status, gpu_state_load, struct gpu_state *s, const struct gpu_image *image, uint32_t first_page,
      tdm_error *err)
NEVER(tdm_status, gpu_forward, struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs,
      const struct gpu_pass_options *options, tdm_error *err)
NEVER(uint32_t, gpu_model_several, const struct gpu_model *m)
NEVER(tdm_status, gpu_reply, const struct gpu_reply *r, tdm_id drawn[GPU_SEVERAL], uint32_t *appended, tdm_error *err)
NEVER(bool, gpu_state_headless, const struct gpu_state *s)
NEVER(size_t, gpu_head_page_bytes, const struct gpu_model *m)
NEVER(tdm_status, gpu_kept_new, struct gpu_kept **out, struct gpu_model *m, tdm_error *err)
NEVER(tdm_status, gpu_accept, const struct gpu_run *run, uint32_t rows, tdm_error *err)
NEVER(tdm_status, gpu_draft, struct gpu_state *s, tdm_id next, uint32_t n, tdm_id *drafts, float *logits,
      tdm_error *err)

void gpu_kept_free(struct gpu_kept *k)
{
    assert_always(!k);
}
