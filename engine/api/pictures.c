/* The functions of pictures and of a model's vision tower, and the size that a picture has for the model. */
#include "engine/object/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/vision/tower.h"

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

TDM_API tdm_status tdm_picture_new(tdm_picture **out, const uint8_t *rgb, uint32_t width, uint32_t height,
                                   tdm_error *err)
{
    return picture_new(out, rgb, width, height, err);
}

TDM_API tdm_picture *tdm_picture_hold(tdm_picture *p)
{
    return picture_hold(p);
}

TDM_API void tdm_picture_drop(tdm_picture *p)
{
    picture_drop(p);
}

TDM_API void tdm_picture_describe(const tdm_picture *p, tdm_picture_facts *out)
{
    _Static_assert(sizeof out->hash == sizeof p->hash, "all of it");
    *out = (tdm_picture_facts){.width = p->pixels.width, .height = p->pixels.height, .rgb = p->pixels.rgb};
    memcpy(out->hash, p->hash, sizeof out->hash);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static tdm_status open_at(struct tdm_model *m, const char *path, const char *set, tdm_error *err)
{
    tdm_id pad = tokenizer_find(m->tokenizer, "<|image_pad|>");
    const struct kernels *kernels;
    tdm_status status = kernels_find(&kernels, set, err);
    return status ? status : vision_open(&m->vision, path, kernels, source_config(m->source)->hidden, pad, err);
}

tdm_status model_open_vision(struct tdm_model *m, const tdm_model_options *options, tdm_error *err)
{
    const char *given = options->mmproj;
    tdm_error why = {0};
    errno = 0;
    if (given && *given) return open_at(m, given, options->kernels, err);
    char *found = given || source_format(m->source) == SOURCE_SYNTHETIC ? NULL : tower_beside(m->path);
    if (!given && !found && errno == ENOMEM) return error_set(err, TDM_E_NOMEM, "no memory to look for a vision tower");
    tdm_status status = found ? open_at(m, found, options->kernels, &why) : TDM_OK;
    free(found);
    if (status == TDM_E_NOMEM) return error_set(err, status, "%s", why.text);
    if (m->vision) return TDM_OK;
    m->vision_left_out = status && status != TDM_E_NOT_FOUND;
    if (given)
        snprintf(m->no_vision, sizeof m->no_vision, "it was opened without its vision tower");
    else if (m->vision_left_out)
        snprintf(m->no_vision, sizeof m->no_vision, "%.230s", why.text);
    else if (source_format(m->source) == SOURCE_GGUF)
        snprintf(m->no_vision, sizeof m->no_vision, "no projector (mmproj-*.gguf) lies beside it");
    else
        snprintf(m->no_vision, sizeof m->no_vision, "its files have no vision tower");
    return TDM_OK;
}

/* ---- What it sees ------------------------------------------------------------------------------------------------ */

TDM_API void tdm_model_vision(const tdm_model *m, tdm_vision *out)
{
    *out =
        (tdm_vision){.left_out = m->vision_left_out, .pad = -1, .why = m->server ? "it is on a server" : m->no_vision};
    if (!m->vision) return;
    const struct tower *t = m->vision->tower;
    const struct vision_shape *s = tower_shape(t);
    uint32_t side = s->patch * s->merge;
    *out = (tdm_vision){.there = true,
                        .path = tower_path(t),
                        .format = tower_format(t),
                        .name = s->name,
                        .parameters = tower_parameters(t),
                        .file_bytes = tower_bytes(t),
                        .depth = s->depth,
                        .width = s->width,
                        .heads = s->heads,
                        .side = side,
                        .least_tokens = (uint32_t)(s->min_pixels / side / side),
                        .most_tokens = (uint32_t)(s->max_pixels / side / side),
                        .pad = m->vision->pad};
}

TDM_API tdm_status tdm_picture_fit_of(const tdm_model *m, uint32_t width, uint32_t height, uint32_t most_tokens,
                                      tdm_picture_fit *out, tdm_error *err)
{
    if (!m->vision)
        return error_set(err, TDM_E_UNSUPPORTED, "the model sees no pictures: %s",
                         m->server ? "it is on a server" : m->no_vision);
    return vision_fit(m->vision, width, height, most_tokens, out, err);
}
