#include "engine/object/vision.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* A hash of the shape, and of each tensor's form, beginning and end, by which conversions differ. */
static uint64_t identity_of(const struct tower *t, const struct kernels *k)
{
    enum { SOME = 256 };
    const struct vision_shape *s = tower_shape(t);
    uint64_t hash = fnv_bytes(FNV_START, k->name, strlen(k->name));
    hash = fnv_bytes(fnv_bytes(hash, s->mean, sizeof s->mean), s->deviation, sizeof s->deviation);
    for (uint32_t block = 0; block < s->depth; block++)
        for (int role = 0; role < VISION_ROLES; role++) {
            const struct vision_tensor *x = tower_tensor(t, (enum vision_role)role, block);
            if (!x->data) continue;
            size_t bytes = (size_t)(x->rows * type_row_bytes(x->type, x->cols)), n = bytes < SOME ? bytes : SOME;
            hash = fnv_step(fnv_step(fnv_step(hash, x->rows), x->cols), (uint64_t)x->type);
            hash = fnv_bytes(fnv_bytes(hash, x->data, n), x->data + bytes - n, n);
        }
    return hash;
}

tdm_status vision_open(struct vision **out, const char *path, const struct kernels *kernels, uint32_t width, tdm_id pad,
                       tdm_error *err)
{
    struct vision *e = *out = calloc(1, sizeof *e);
    if (!e) return error_set(err, TDM_E_NOMEM, "no memory for a vision tower");
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->packing, NULL);
    e->figures.budget = VISION_BUDGET;
    e->kernels = kernels;
    tdm_status status = tower_open(&e->tower, path, err);
    if (!status && tower_shape(e->tower)->out != width)
        status = error_set(err, TDM_E_UNSUPPORTED, "%s: a vision tower of width %u, and the model's is %u", path,
                           tower_shape(e->tower)->out, width);
    if (status) {
        vision_close(e);
        *out = NULL;
        return status;
    }
    e->pad = pad < 0 ? tower_shape(e->tower)->pad : pad;
    e->identity = identity_of(e->tower, kernels);
    return TDM_OK;
}

void vision_close(struct vision *e)
{
    if (!e) return;
    for (size_t i = 0; i < e->n; i++) pads_drop(e->seen[i].pads);
    free(e->seen);
    vision_weights_free(e->weights);
    tower_close(e->tower);
    pthread_mutex_destroy(&e->lock);
    pthread_mutex_destroy(&e->packing);
    free(e);
}

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

tdm_status vision_fit(const struct vision *e, uint32_t width, uint32_t height, uint32_t most_tokens,
                      tdm_picture_fit *out, tdm_error *err)
{
    struct vision_shape s = *tower_shape(e->tower);
    uint64_t side = (uint64_t)s.patch * s.merge, most = most_tokens * side * side;
    if (most_tokens && most < s.max_pixels) s.max_pixels = most;
    if (s.min_pixels > s.max_pixels) s.min_pixels = s.max_pixels;
    tdm_status status = patches_fit(&s, width, height, &out->width, &out->height, err);
    if (status) return status;
    out->columns = out->width / (uint32_t)side;
    out->rows = out->height / (uint32_t)side;
    out->tokens = out->columns * out->rows;
    return TDM_OK;
}

bool vision_offloaded(const struct vision *e, const struct backend_model *reads)
{
    return reads->tower && !strcmp(tower_path(reads->tower), tower_path(e->tower));
}

tdm_status vision_pads(const struct vision *e, const struct backend_model *reads, const tdm_picture *p,
                       uint32_t most_tokens, struct pads **out, tdm_error *err)
{
    tdm_picture_fit fit;
    tdm_status status = vision_fit(e, p->pixels.width, p->pixels.height, most_tokens, &fit, err);
    if (status) return status;
    uint64_t hash[2], identity = e->identity;
    if (vision_offloaded(e, reads)) identity = fnv_step(identity, reads->device->identity);
    for (int i = 0; i < 2; i++) hash[i] = fnv_step(fnv_step(fnv_step(p->hash[i], identity), fit.width), fit.height);
    return pads_of(out, hash, fit.rows, fit.columns, err);
}

/* ---- Rows that are kept ------------------------------------------------------------------------------------------ */

static struct seen *find(struct vision *e, const struct pads *pads)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->seen[i].pads == pads) return &e->seen[i];
    return NULL;
}

static uint64_t bytes_of(const struct vision *e, const struct pads *pads)
{
    return (uint64_t)pads->tokens * tower_shape(e->tower)->out * sizeof(float);
}

/* Drops rows that the budget has no room for and that are not held. */
static void trim(struct vision *e)
{
    while (e->figures.kept_bytes > e->figures.budget) {
        struct seen *oldest = NULL;
        for (size_t i = 0; i < e->n; i++)
            if (!e->seen[i].holders && (!oldest || e->seen[i].used < oldest->used)) oldest = &e->seen[i];
        if (!oldest) return;
        pads_drop(oldest->pads);
        e->figures.kept_bytes -= bytes_of(e, oldest->pads);
        e->figures.dropped++;
        *oldest = e->seen[--e->n];
    }
}

void vision_set_budget(struct vision *e, uint64_t bytes)
{
    pthread_mutex_lock(&e->lock);
    e->figures.budget = bytes ? bytes : VISION_BUDGET;
    trim(e);
    pthread_mutex_unlock(&e->lock);
}

/* One more, whose pads are held: NULL without memory. */
static struct seen *add(struct vision *e, struct pads *pads)
{
    if (e->n == e->room) {
        size_t room = e->room ? 2 * e->room : 16;
        struct seen *grown = realloc(e->seen, room * sizeof *grown);
        if (!grown) return NULL;
        e->seen = grown;
        e->room = room;
    }
    e->figures.kept_bytes += bytes_of(e, pads);
    e->seen[e->n] = (struct seen){.pads = pads};
    return &e->seen[e->n++];
}

bool vision_hold(struct vision *e, struct pads *pads)
{
    pthread_mutex_lock(&e->lock);
    struct seen *s = find(e, pads);
    if (!s && pads_hold(pads)) { /* another model with the same tower has encoded it */
        s = add(e, pads);
        if (!s) pads_drop(pads);
    }
    if (s) s->holders++, s->used = ++e->clock;
    pthread_mutex_unlock(&e->lock);
    return s;
}

void vision_release(struct vision *e, struct pads *pads)
{
    pthread_mutex_lock(&e->lock);
    struct seen *s = find(e, pads);
    assert_always(s && s->holders);
    s->holders--;
    trim(e);
    pthread_mutex_unlock(&e->lock);
}

bool vision_has(struct vision *e, const struct pads *pads)
{
    pthread_mutex_lock(&e->lock);
    bool there = find(e, pads);
    pthread_mutex_unlock(&e->lock);
    return there;
}

/* Takes the rows, which are held then. */
static tdm_status keep(struct vision *e, struct pads *pads, float *rows, int64_t took_ns, tdm_error *err)
{
    pads_give(pads, rows, tower_shape(e->tower)->out);
    bool held = vision_hold(e, pads);
    pads_drop(pads); /* the reference that pads_give made */
    if (!held) return error_set(err, TDM_E_NOMEM, "no memory for a picture's rows");
    pthread_mutex_lock(&e->lock);
    e->figures.encoded++;
    e->figures.encode_ns += took_ns;
    trim(e);
    pthread_mutex_unlock(&e->lock);
    return TDM_OK;
}

/* ---- Encoding ---------------------------------------------------------------------------------------------------- */

struct vision_job {
    struct vision *vision;
    tdm_picture *picture;
    struct pads *pads;
    int members;
    uint8_t *rgb;                      /* of fitted sides; NULL: the picture's own are */
    struct encoding *encoding;         /* on cores, */
    const struct backend_model *reads; /* or with this model; */
    struct backend_encoding *there;    /* NULL, both: nothing is done yet */
    uint32_t steps;                    /* done on cores */
    bool done;
    int64_t took_ns;
};

tdm_status vision_job_new(struct vision_job **out, struct vision *e, const struct backend_model *reads,
                          const tdm_picture *p, struct pads *pads, int members, tdm_error *err)
{
    struct vision_job *s = *out = calloc(1, sizeof *s);
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory to encode a picture");
    s->vision = e;
    s->picture = picture_hold((tdm_picture *)p);
    s->pads = pads;
    s->members = members;
    s->reads = vision_offloaded(e, reads) ? reads : NULL;
    return TDM_OK;
}

static tdm_status pack_weights(struct vision *e, struct team *team, tdm_error *err)
{
    pthread_mutex_lock(&e->packing);
    tdm_status status = e->weights ? TDM_OK : vision_weights_new(&e->weights, e->tower, e->kernels, team, err);
    pthread_mutex_unlock(&e->packing);
    return status;
}

/* The picture as it is seen. */
static tdm_status begin(struct vision_job *s, struct team *team, tdm_error *err)
{
    const struct vision_shape *shape = tower_shape(s->vision->tower);
    uint32_t side = shape->patch * shape->merge;
    struct picture seen = {s->pads->columns * side, s->pads->rows * side, s->picture->pixels.rgb};
    tdm_status status = s->reads ? TDM_OK : pack_weights(s->vision, team, err);
    if (status) return status;
    if (seen.width != s->picture->pixels.width || seen.height != s->picture->pixels.height) {
        s->rgb = malloc((size_t)3 * seen.width * seen.height);
        if (!s->rgb) return error_set(err, TDM_E_NOMEM, "no memory to encode a picture");
        status = resize_bicubic(&s->picture->pixels, seen.width, seen.height, s->rgb, err);
        seen.rgb = s->rgb;
    }
    if (!status && s->reads) return s->reads->backend->encoding_new(&s->there, s->reads, &seen, err);
    return status ? status : encoding_new(&s->encoding, s->vision->weights, &seen, s->members, err);
}

static tdm_status end(struct vision_job *s, tdm_error *err)
{
    size_t bytes = bytes_of(s->vision, s->pads);
    float *rows = malloc(bytes);
    if (!rows) return error_set(err, TDM_E_NOMEM, "no memory for a picture's rows");
    memcpy(rows, s->there ? s->reads->backend->encoding_rows(s->there) : encoding_rows(s->encoding), bytes);
    return keep(s->vision, s->pads, rows, s->took_ns, err);
}

uint32_t vision_job_steps(const struct vision *e)
{
    return tower_shape(e->tower)->depth + 2;
}

bool vision_job_step(struct vision_job *s, struct team *team, bool *done, tdm_error *err)
{
    int64_t start = clock_ns();
    bool more = false;
    *done = false;
    tdm_status status = s->encoding || s->there ? TDM_OK : begin(s, team, err);
    if (!status && s->there)
        status = s->reads->backend->encoding_step(s->there, &more, err);
    else if (!status)
        more = encoding_step(s->encoding, team), s->steps += more;
    s->took_ns += clock_ns() - start;
    if (!status && !more) status = end(s, err);
    *done = s->done = !status && !more;
    return more;
}

uint32_t vision_job_done(const struct vision_job *s)
{
    return s->there ? s->reads->backend->encoding_done(s->there) : s->steps;
}

void vision_job_free(struct vision_job *s)
{
    if (!s) return;
    if (!s->done) {
        pthread_mutex_lock(&s->vision->lock);
        s->vision->figures.cancelled++;
        pthread_mutex_unlock(&s->vision->lock);
    }
    encoding_free(s->encoding);
    if (s->there) s->reads->backend->encoding_free(s->there);
    picture_drop(s->picture);
    free(s->rgb);
    free(s);
}

struct pads *vision_job_pads(const struct vision_job *s)
{
    return s->pads;
}
