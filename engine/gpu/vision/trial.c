/* Whether matrix units yield what the shaders without them do: a made-up picture is encoded by both. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/vision/private.h"

enum { SIDE = 9 }; /* tokens: patches that fill no block */

/* *out: malloc'ed; *n: floats of it. */
static tdm_status encode(struct gpu_tower *t, const struct picture *p, float **out, size_t *n, tdm_error *err)
{
    struct gpu_encoding *e;
    bool more = true;
    tdm_status status = gpu_encoding_new(&e, t, p, err);
    if (status) return status;
    while (more && !status) status = gpu_encoding_step(e, &more, err);
    *n = (size_t)gpu_encoding_tokens(e) * t->shape.out;
    *out = status ? NULL : malloc(*n * sizeof **out);
    if (*out) memcpy(*out, gpu_encoding_rows(e), *n * sizeof **out);
    if (!status && !*out) status = error_set(err, TDM_E_NOMEM, "no memory to encode a picture");
    gpu_encoding_free(e);
    return status;
}

static tdm_status encode_made_up(struct gpu_tower *t, float **rows, size_t *n, tdm_error *err)
{
    uint32_t side = SIDE * t->shape.patch * t->shape.merge;
    size_t bytes = (size_t)3 * side * side;
    uint8_t *rgb = malloc(bytes);
    *rows = NULL;
    if (!rgb) return error_set(err, TDM_E_NOMEM, "no memory to encode a picture");
    for (size_t i = 0; i < bytes; i++) rgb[i] = (uint8_t)(i * 2654435761u >> 24);
    tdm_status status = encode(t, &(struct picture){side, side, rgb}, rows, n, err);
    free(rgb);
    return status;
}

tdm_status vision_trial_plain(struct gpu_tower *t, float **rows, tdm_error *err)
{
    const struct gpu_tower units = *t;
    size_t n;
    t->tilings = 0;
    t->attention = (struct vision_attention){0};
    tdm_status status = encode_made_up(t, rows, &n, err);
    t->tilings = units.tilings;
    t->attention = units.attention;
    return status;
}

tdm_status vision_trial(struct gpu_tower *t, const float *plain, double *differs, tdm_error *err)
{
    float *rows;
    size_t n = 0;
    double squares = 0, all = 0;
    tdm_status status = encode_made_up(t, &rows, &n, err);
    for (size_t i = 0; i < n && !status; i++) {
        double d = (double)rows[i] - (double)plain[i];
        squares += d * d;
        all += (double)plain[i] * (double)plain[i];
    }
    *differs = sqrt(squares / all);
    free(rows);
    return status;
}
