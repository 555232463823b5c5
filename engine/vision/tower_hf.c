/* Towers of Hugging Face directories: vision_config of config.json, tensors model.visual.*, and what the processor does
 * to pictures (preprocessor_config.json). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/json/json.h"
#include "engine/model/map.h"
#include "engine/os/file.h"
#include "engine/vision/tower_private.h"

/* directory/file as an object; *out NULL: there is none. */
static tdm_status read_file(const char *directory, const char *file, struct json_object **out, char path[4096],
                            tdm_error *err)
{
    *out = NULL;
    if (snprintf(path, 4096, "%s/%s", directory, file) >= 4096)
        return error_set(err, TDM_E_ARG, "%s: the path is too long", directory);
    return file_is_there(path) ? map_json(out, path, err) : TDM_OK;
}

static tdm_status number(struct json_object *o, const char *key, bool needed, uint64_t high, uint32_t *out,
                         const char *file, tdm_error *err)
{
    uint64_t value = 0;
    bool found = false;
    tdm_status status = json_get_u64(o, key, 1, high, &value, &found, file, err);
    if (status) return status;
    if (found) *out = (uint32_t)value;
    return found || !needed ? TDM_OK : error_set(err, TDM_E_FORMAT, "%s: %s: is missing", file, key);
}

/* A key must say this number, if it is there. */
static tdm_status expect(struct json_object *o, const char *key, double wanted, const char *file, tdm_error *err)
{
    double value = wanted;
    tdm_status status = json_get_double(o, key, &value, NULL, file, err);
    if (!status && !(fabs(value - wanted) <= 1e-6))
        return error_set(err, TDM_E_UNSUPPORTED, "%s: %s: expected %g, found %g", file, key, wanted, value);
    return status;
}

static tdm_status expect_true(struct json_object *o, const char *key, const char *file, tdm_error *err)
{
    bool value = true;
    tdm_status status = json_get_bool(o, key, &value, NULL, file, err);
    return status || value ? status
                           : error_set(err, TDM_E_UNSUPPORTED, "%s: %s: expected true, found false", file, key);
}

/* ---- The tower --------------------------------------------------------------------------------------------------- */

static const char *const known_keys[] = {"depth", "hidden_size", "intermediate_size", "num_heads", "patch_size",
                                         "spatial_merge_size", "temporal_patch_size", "out_hidden_size",
                                         "num_position_embeddings", "in_channels", "hidden_act",
                                         "deepstack_visual_indexes", "rope_parameters",
                                         /* without effect on what is computed */
                                         "model_type", "dtype", "torch_dtype", "initializer_range",
                                         "transformers_version", "attn_implementation", "_attn_implementation_autoset"};

static tdm_status expect_known_keys(struct json_object *o, const char *file, tdm_error *err)
{
    for (struct json_walk m = json_walk(o); json_next(&m);) {
        bool known = !m.value;
        for (size_t i = 0; i < sizeof known_keys / sizeof *known_keys; i++) known |= !strcmp(m.key, known_keys[i]);
        if (!known)
            return error_set(err, TDM_E_UNSUPPORTED, "%s: vision_config.%s: a key that Tandem doesn't know", file,
                             m.key);
    }
    return TDM_OK;
}

static tdm_status read_rotation(struct vision_shape *s, struct json_object *o, const char *file, tdm_error *err)
{
    struct json_object *rope = NULL;
    double theta = s->theta;
    tdm_status status = json_get_object(o, "rope_parameters", &rope, NULL, file, err);
    if (!status && rope) status = json_get_double(rope, "rope_theta", &theta, NULL, file, err);
    s->theta = (float)theta;
    return status;
}

static tdm_status read_shape(struct vision_shape *s, struct json_object *o, const char *file, tdm_error *err)
{
    const char *act = "gelu_pytorch_tanh";
    size_t length = strlen(act);
    struct json_object *deepstack = NULL;
    tdm_status status = expect_known_keys(o, file, err);
    if (!status) status = number(o, "depth", true, VISION_MAX_DEPTH, &s->depth, file, err);
    if (!status) status = number(o, "hidden_size", true, VISION_MAX_WIDTH, &s->width, file, err);
    if (!status) status = number(o, "intermediate_size", true, VISION_MAX_WIDTH, &s->intermediate, file, err);
    if (!status) status = number(o, "num_heads", true, VISION_MAX_HEADS, &s->heads, file, err);
    if (!status) status = number(o, "out_hidden_size", true, VISION_MAX_WIDTH, &s->out, file, err);
    if (!status) status = number(o, "patch_size", false, VISION_MAX_PATCH, &s->patch, file, err);
    if (!status) status = number(o, "spatial_merge_size", false, VISION_MAX_MERGE, &s->merge, file, err);
    if (!status) status = number(o, "temporal_patch_size", false, 2, &s->frames, file, err);
    if (!status) status = expect(o, "in_channels", 3, file, err);
    if (!status) status = json_get_string(o, "hidden_act", &act, &length, NULL, file, err);
    if (!status && strcmp(act, "gelu_pytorch_tanh") != 0)
        status = error_set(err, TDM_E_UNSUPPORTED,
                           "%s: hidden_act of the vision tower: expected gelu_pytorch_tanh, "
                           "found %.*s",
                           file, (int)length, act);
    if (!status) status = json_get_array(o, "deepstack_visual_indexes", &deepstack, NULL, file, err);
    if (!status && json_length(deepstack))
        status = error_set(err, TDM_E_UNSUPPORTED, "%s: deepstack_visual_indexes: expected an empty list", file);
    return status ? status : read_rotation(s, o, file, err);
}

static tdm_status read_config(struct tower *t, tdm_error *err)
{
    struct json_object *json = NULL, *vision = NULL;
    char path[4096];
    uint64_t pad = 0;
    bool said = false;
    tdm_status status = read_file(t->path, "config.json", &json, path, err);
    if (!status && json) status = json_get_object(json, "vision_config", &vision, NULL, path, err);
    if (!status && json) status = json_get_u64(json, "image_token_id", 0, INT32_MAX, &pad, &said, path, err);
    if (said) t->shape.pad = (int32_t)pad;
    if (!status && !vision) status = error_set(err, TDM_E_NOT_FOUND, "%s: its model has no vision tower", t->path);
    if (!status) status = read_shape(&t->shape, vision, path, err);
    json_free(json);
    return status;
}

tdm_status tower_read_hf(struct tower *t, tdm_error *err)
{
    static const char *const beginnings[] = {"model.visual.", "visual."};
    tdm_status status = read_config(t, err);
    if (!status) status = tower_read_processor(&t->shape, t->path, err);
    if (!status) status = shards_open(&t->shards, t->path, &t->notes, err);
    if (!status) status = tower_reserve(t, err);
    for (size_t i = 0; i < t->shards.n_tensors && !status; i++) {
        const struct safetensors_tensor *from = t->shards.tensors[i].tensor;
        struct vision_tensor tensor = {.type = from->type, .data = from->data};
        size_t skipped = 0;
        for (int b = 0; b < 2 && !skipped; b++)
            if (!strncmp(from->name, beginnings[b], strlen(beginnings[b]))) skipped = strlen(beginnings[b]);
        if (!skipped) continue;
        if (from->type == TYPE_COUNT)
            return error_set(err, TDM_E_UNSUPPORTED, "%s: %s: expected F32, F16 or BF16, found %s", t->path, from->name,
                             from->dtype);
        tower_dimensions(&tensor, from->shape, from->dims, false);
        struct span name = span_text(from->name + skipped);
        status = tower_take(t, TOWER_HF, name, tensor, err);
    }
    return status ? status : tower_finish(t, err);
}

/* ---- The processor ----------------------------------------------------------------------------------------------- */

static tdm_status three(struct json_object *o, const char *key, float out[3], const char *file, tdm_error *err)
{
    struct json_object *list = NULL;
    tdm_status status = json_get_array(o, key, &list, NULL, file, err);
    if (status || !list) return status;
    for (size_t i = 0; i < 3; i++) {
        struct json_object *v = json_at(list, i);
        if (json_length(list) != 3 || !json_is_number(v))
            return error_set(err, TDM_E_FORMAT, "%s: %s: expected 3 numbers", file, key);
        out[i] = (float)json_real_of(v);
    }
    return TDM_OK;
}

/* In `size`, or as older files have them. */
static tdm_status read_limits(struct vision_shape *s, struct json_object *o, const char *file, tdm_error *err)
{
    const uint64_t most = (uint64_t)1 << 40;
    struct json_object *size = NULL;
    tdm_status status = json_get_u64(o, "min_pixels", 1, most, &s->min_pixels, NULL, file, err);
    if (!status) status = json_get_u64(o, "max_pixels", 1, most, &s->max_pixels, NULL, file, err);
    if (!status) status = json_get_object(o, "size", &size, NULL, file, err);
    if (!status && size) status = json_get_u64(size, "shortest_edge", 1, most, &s->min_pixels, NULL, file, err);
    if (!status && size) status = json_get_u64(size, "longest_edge", 1, most, &s->max_pixels, NULL, file, err);
    return status;
}

static tdm_status read_steps(struct vision_shape *s, struct json_object *o, const char *file, tdm_error *err)
{
    static const char *const steps[] = {"do_resize", "do_rescale", "do_normalize"};
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !status; i++) status = expect_true(o, steps[i], file, err);
    if (!status) status = expect(o, "rescale_factor", 1 / 255.0, file, err);
    if (!status) status = expect(o, "resample", 3, file, err); /* bicubic */
    if (!status) status = expect(o, "patch_size", s->patch, file, err);
    if (!status) status = expect(o, "merge_size", s->merge, file, err);
    if (!status) status = expect(o, "temporal_patch_size", s->frames, file, err);
    if (!status) status = three(o, "image_mean", s->mean, file, err);
    if (!status) status = three(o, "image_std", s->deviation, file, err);
    return status ? status : read_limits(s, o, file, err);
}

tdm_status tower_read_processor(struct vision_shape *s, const char *directory, tdm_error *err)
{
    struct json_object *json = NULL;
    char path[4096];
    tdm_status status = read_file(directory, "preprocessor_config.json", &json, path, err);
    if (!status && json) status = read_steps(s, json, path, err);
    json_free(json);
    return status;
}
