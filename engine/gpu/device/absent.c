/* engine/gpu in a program that was built without glslc or Vulkan's headers: no device can be listed or opened, so
 * nothing else is ever called. The other files of this folder are left out then. */
#include "engine/base/error.h"
#include "engine/gpu/vision/vision.h"

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

/* The functions below take a device, a model or a state; there is none, so they are never called. */
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
NEVER(uint32_t, gpu_validation_messages, struct gpu *g)
NEVER(const char *, gpu_first_validation_message, struct gpu *g)
NEVER(void, gpu_model_needs, const struct source *source, const struct gpu_model_options *options,
      struct gpu_needs *out)
NEVER(tdm_status, gpu_model_new, struct gpu_model **out, struct gpu *g, const struct source *source,
      const struct gpu_model_options *options, tdm_error *err)
NEVER(const struct config *, gpu_model_config, const struct gpu_model *m)
NEVER(uint64_t, gpu_model_states_used, const struct gpu_model *m)
NEVER(uint32_t, gpu_model_fused_workgroups, const struct gpu_model *m)
NEVER(double *, gpu_model_frequencies, struct gpu_model *m)
NEVER(tdm_status, gpu_state_new, struct gpu_state **out, struct gpu_model *m, tdm_error *err)
NEVER(void, gpu_state_clear, struct gpu_state *s)
NEVER(tdm_status, gpu_state_fork, struct gpu_state **out, const struct gpu_state *s, tdm_error *err)
NEVER(tdm_status, gpu_state_copy, struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
NEVER(tdm_status, gpu_state_cut, struct gpu_state *s, uint32_t length, tdm_error *err)
NEVER(void, gpu_state_share, struct gpu_state *dst, const struct gpu_state *src, uint32_t pages)
NEVER(const struct gpu_model *, gpu_state_model, const struct gpu_state *s)
NEVER(tdm_status, gpu_state_make_room, struct gpu_state *s, uint32_t n, tdm_error *err)
NEVER(uint32_t, gpu_state_shared_pages, const struct gpu_state *a, const struct gpu_state *b)
NEVER(uint32_t, gpu_state_length, const struct gpu_state *s)
NEVER(const uint32_t *, gpu_state_first, const struct gpu_state *s)
NEVER(bool, gpu_state_broken, const struct gpu_state *s)
NEVER(const tdm_id *, gpu_state_tokens, const struct gpu_state *s)
NEVER(bool, gpu_state_has_logits, const struct gpu_state *s)
NEVER(const float *, gpu_state_logits, const struct gpu_state *s)
NEVER(tdm_status, gpu_state_fetch_logits, const struct gpu_state *s, const float **out, tdm_error *err)
NEVER(uint32_t, gpu_state_topk, const struct gpu_state *s, struct gpu_candidate out[GPU_TOPK_MAX], float *from)
NEVER(uint64_t, gpu_part_bytes, const struct gpu_model *m, enum gpu_part part)
NEVER(tdm_status, gpu_port_new, struct gpu_port **out, struct gpu_model *m, uint64_t bytes, tdm_error *err)
NEVER(void *, gpu_port_memory, const struct gpu_port *p)
NEVER(tdm_status, gpu_port_start, struct gpu_port *p, const struct gpu_state *s, const struct gpu_piece *pieces,
      uint32_t n, bool to_device, tdm_error *err)
NEVER(tdm_status, gpu_port_wait, struct gpu_port *p, tdm_error *err)
NEVER(tdm_status, gpu_state_prepare, struct gpu_state *s, const struct gpu_content *content, tdm_error *err)
NEVER(bool, gpu_state_is_host_visible, const struct gpu_state *s, const uint32_t start[STATE_PAGES])
NEVER(void *, gpu_state_pointer, const struct gpu_state *s, enum gpu_part part, uint32_t i)
NEVER(tdm_status, gpu_state_make_visible, const struct gpu_state *s, tdm_error *err)
NEVER(void, gpu_state_finish, struct gpu_state *s, const float *logits)
NEVER(uint32_t, gpu_state_entries, const struct gpu_state *s)
NEVER(tdm_status, gpu_forward, struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs,
      const struct gpu_pass_options *options, tdm_error *err)
NEVER(uint32_t, gpu_model_burst, const struct gpu_model *m)
NEVER(tdm_status, gpu_reply, const struct gpu_reply *r, tdm_id sampled[GPU_BURST], uint32_t *appended, tdm_error *err)
NEVER(bool, gpu_state_headless, const struct gpu_state *s)
NEVER(tdm_status, gpu_kept_new, struct gpu_kept **out, struct gpu_model *m, tdm_error *err)
NEVER(tdm_status, gpu_accept, const struct gpu_run *run, uint32_t rows, tdm_error *err)
NEVER(tdm_status, gpu_draft, struct gpu_state *s, tdm_id next, uint32_t n, tdm_id *drafts, float *logits,
      tdm_error *err)

NEVER(struct gpu_tower *, gpu_model_tower, const struct gpu_model *m)
NEVER(tdm_status, gpu_tower_new, struct gpu_tower **out, struct gpu *g, const struct tower *t, tdm_error *err)
NEVER(tdm_status, gpu_tower_load, struct gpu_tower *t, const struct tower *from, const struct gpu_tower_loading *l,
      tdm_error *err)
NEVER(tdm_status, gpu_encoding_new, struct gpu_encoding **out, struct gpu_tower *t, const struct picture *p,
      tdm_error *err)
NEVER(tdm_status, gpu_encoding_step, struct gpu_encoding *e, bool *more, tdm_error *err)
NEVER(uint32_t, gpu_encoding_done, const struct gpu_encoding *e)
NEVER(uint32_t, gpu_encoding_tokens, const struct gpu_encoding *e)
NEVER(const float *, gpu_encoding_rows, const struct gpu_encoding *e)
NEVER(uint64_t, gpu_tower_bytes, const struct tower *t)

void gpu_tower_free(struct gpu_tower *t)
{
    assert_always(!t);
}

void gpu_encoding_free(struct gpu_encoding *e)
{
    assert_always(!e);
}

void gpu_kept_free(struct gpu_kept *k)
{
    assert_always(!k);
}

void gpu_port_free(struct gpu_port *p)
{
    assert_always(!p);
}
