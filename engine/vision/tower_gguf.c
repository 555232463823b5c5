/* GGUF projectors: keys clip.vision.*, tensors v.* and mm.*. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/vision/tower_private.h"

/* Keys that don't affect what is computed, or repeat what the tensors say; a * stands for any end. */
static const char *const without_effect[] = {
    "general.*",
    "split.*",
    "clip.has_vision_encoder",
    "clip.has_audio_encoder",
    "clip.has_text_encoder",
    "clip.vision.image_size",
};

static bool is_without_effect(struct span key)
{
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++) {
        size_t n = strlen(without_effect[i]);
        bool all = without_effect[i][n - 1] == '*';
        if (all ? key.length >= n - 1 && !memcmp(key.bytes, without_effect[i], n - 1) : span_is(key, without_effect[i]))
            return true;
    }
    return false;
}

/* A whole number that has to be there, unless it has a usual value (*out before). */
static tdm_status number(struct tower *t, const char *key, bool needed, uint64_t high, uint32_t *out, tdm_error *err)
{
    uint64_t value = 0;
    bool found = false;
    tdm_status status = gguf_get_u64(t->gguf, key, 1, high, &value, &found, err);
    if (status) return status;
    if (found) *out = (uint32_t)value;
    return found || !needed ? TDM_OK : error_set(err, TDM_E_FORMAT, "%s: %s: is missing", t->path, key);
}

static tdm_status three(struct tower *t, const char *key, float out[3], tdm_error *err)
{
    float *values = NULL;
    uint64_t n = 0;
    bool found = false;
    tdm_status status = gguf_get_floats(t->gguf, key, &values, &n, &found, err);
    if (!status && found && n != 3)
        status =
            error_set(err, TDM_E_FORMAT, "%s: %s: expected 3 values, found %llu", t->path, key, (unsigned long long)n);
    if (!status && found) memcpy(out, values, 3 * sizeof *out);
    free(values);
    return status;
}

/* Its architecture and the kind of its projector. */
static tdm_status expect_kind(struct tower *t, tdm_error *err)
{
    struct span architecture = {"", 0}, kind = {"", 0};
    tdm_status status = gguf_get_string(t->gguf, "general.architecture", &architecture, NULL, err);
    if (!status && !span_is(architecture, "clip"))
        return error_set(err, TDM_E_UNSUPPORTED, "%s: architecture %.*s: expected clip, a vision projector", t->path,
                         (int)architecture.length, architecture.bytes);
    if (!status) status = gguf_get_string(t->gguf, "clip.projector_type", &kind, NULL, err);
    if (!status && !kind.length) status = gguf_get_string(t->gguf, "clip.vision.projector_type", &kind, NULL, err);
    if (!status && !span_is(kind, "qwen3vl_merger"))
        return error_set(err, TDM_E_UNSUPPORTED, "%s: projector %.*s: expected qwen3vl_merger", t->path,
                         (int)kind.length, kind.bytes);
    return status;
}

/* The value that a key must have, if it is there; each element of an array. */
static tdm_status expect_flag(struct tower *t, const char *key, bool wanted, tdm_error *err)
{
    const struct gguf_key *k = gguf_find(t->gguf, key);
    double value = wanted;
    for (uint64_t i = 0; k && i < k->count; i++)
        if (!gguf_key_number(k, i, &value) || (value != 0) != wanted)
            return error_set(err, TDM_E_UNSUPPORTED, "%s: %s: expected %s: another kind of vision tower", t->path, key,
                             wanted ? "true" : "false");
    return TDM_OK;
}

static tdm_status read_shape(struct tower *t, tdm_error *err)
{
    struct vision_shape *s = &t->shape;
    tdm_status status = number(t, "clip.vision.block_count", true, VISION_MAX_DEPTH, &s->depth, err);
    if (!status) status = number(t, "clip.vision.embedding_length", true, VISION_MAX_WIDTH, &s->width, err);
    if (!status) status = number(t, "clip.vision.feed_forward_length", true, VISION_MAX_WIDTH, &s->intermediate, err);
    if (!status) status = number(t, "clip.vision.attention.head_count", true, VISION_MAX_HEADS, &s->heads, err);
    if (!status) status = number(t, "clip.vision.patch_size", true, VISION_MAX_PATCH, &s->patch, err);
    if (!status) status = number(t, "clip.vision.spatial_merge_size", false, VISION_MAX_MERGE, &s->merge, err);
    if (!status) status = number(t, "clip.vision.projection_dim", true, VISION_MAX_WIDTH, &s->out, err);
    if (!status) status = gguf_get_float(t->gguf, "clip.vision.attention.layer_norm_epsilon", &s->eps, NULL, err);
    if (!status) status = three(t, "clip.vision.image_mean", s->mean, err);
    if (!status) status = three(t, "clip.vision.image_std", s->deviation, err);
    const uint64_t most = (uint64_t)1 << 40;
    if (!status) status = gguf_get_u64(t->gguf, "clip.vision.image_min_pixels", 1, most, &s->min_pixels, NULL, err);
    if (!status) status = gguf_get_u64(t->gguf, "clip.vision.image_max_pixels", 1, most, &s->max_pixels, NULL, err);
    if (!status) status = expect_flag(t, "clip.use_gelu", true, err);
    if (!status) status = expect_flag(t, "clip.use_silu", false, err);
    if (!status) status = expect_flag(t, "clip.vision.is_deepstack_layers", false, err);
    return status;
}

/* What was looked up above. */
static bool is_read(struct span key)
{
    static const char *const read[] = {"clip.projector_type",
                                       "clip.vision.projector_type",
                                       "clip.vision.block_count",
                                       "clip.vision.embedding_length",
                                       "clip.vision.feed_forward_length",
                                       "clip.vision.attention.head_count",
                                       "clip.vision.patch_size",
                                       "clip.vision.spatial_merge_size",
                                       "clip.vision.attention.layer_norm_epsilon",
                                       "clip.vision.image_mean",
                                       "clip.vision.image_std",
                                       "clip.vision.image_min_pixels",
                                       "clip.vision.image_max_pixels",
                                       "clip.use_gelu",
                                       "clip.use_silu",
                                       "clip.vision.is_deepstack_layers",
                                       "clip.vision.projection_dim"};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (span_is(key, read[i])) return true;
    return false;
}

static tdm_status expect_known_keys(struct tower *t, tdm_error *err)
{
    const struct gguf_key *keys;
    size_t n = gguf_keys(t->gguf, &keys);
    for (size_t i = 0; i < n; i++)
        if (!is_read(keys[i].name) && !is_without_effect(keys[i].name))
            return error_set(err, TDM_E_UNSUPPORTED, "%s: %.*s: a key of a vision tower that Tandem doesn't know",
                             t->path, (int)keys[i].name.length, keys[i].name.bytes);
    return TDM_OK;
}

static void take_name(struct tower *t)
{
    struct span name = {"", 0};
    if (gguf_get_string(t->gguf, "general.name", &name, NULL, NULL)) return;
    size_t n = name.length < sizeof t->shape.name - 1 ? name.length : sizeof t->shape.name - 1;
    for (size_t i = 0; i < n; i++)
        t->shape.name[i] = name.bytes[i] < 0x20 || name.bytes[i] > 0x7e ? '?' : name.bytes[i];
    t->shape.name[n] = 0;
}

tdm_status tower_read_gguf(struct tower *t, tdm_error *err)
{
    tdm_status status = expect_kind(t, err);
    if (!status) status = read_shape(t, err);
    if (!status) status = expect_known_keys(t, err);
    if (!status) status = tower_reserve(t, err);
    const struct gguf_tensor *tensors = NULL;
    size_t n = gguf_tensors(t->gguf, &tensors);
    for (size_t i = 0; i < n && !status; i++) {
        struct vision_tensor tensor = {.type = tensors[i].type, .data = tensors[i].data};
        tower_dimensions(&tensor, tensors[i].shape, tensors[i].dims, true);
        status = tower_take(t, TOWER_GGUF, tensors[i].name, tensor, err);
    }
    t->shape.frames = 1; /* a second one is a tensor of its own */
    if (!status) status = tower_finish(t, err);
    take_name(t);
    return status;
}
