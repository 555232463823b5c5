#include "engine/forward/experts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/os/pages.h"

/* A place of the cache, in a list from the least to the most recently used. */
struct place {
    uint32_t older, newer; /* NONE at the ends */
    uint32_t layer, expert;
    uint32_t leases;
    bool filled, loaded;
    bool failed; /* what it was leased for could not be read: it has no expert */
};

enum { NONE = UINT32_MAX };

struct experts {
    const struct source *source;
    uint32_t layers, count;    /* count: experts of a layer */
    struct expert_form *forms; /* [layers] */
    unsigned char *memory;
    size_t bytes, all_bytes, scratch;
    size_t *base; /* [layers] all in memory: where a layer's experts begin */

    /* The cache. */
    size_t place_bytes;
    uint32_t places; /* 0: all in memory */
    struct place *place;
    uint32_t *place_of; /* [layers][count], NONE: not in the cache */
    uint32_t oldest, newest;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a lease ended, or an expert was loaded, or could not be */
    tdm_error why;          /* of the last that could not be */
    struct experts_stats stats;
};

const enum role experts_roles[EXPERT_PARTS] = {ROLE_EXPERTS_GATE, ROLE_EXPERTS_UP, ROLE_EXPERTS_DOWN};

static uint32_t tiles_of(const struct matrix *m)
{
    return (m->rows + MATRIX_TILE - 1) / MATRIX_TILE;
}

static void set_form(struct experts *e, const struct kernels *kernels, uint32_t layer)
{
    struct expert_form *f = &e->forms[layer];
    for (int i = 0; i < EXPERT_PARTS; i++) {
        const struct tensor *t = source_tensor(e->source, experts_roles[i], layer);
        assert_always(t && t->rows <= UINT32_MAX && t->cols <= UINT32_MAX);
        struct matrix *m = &f->part[i];
        *m = (struct matrix){
            .kernels = kernels, .type = t->type, .rows = (uint32_t)t->rows / e->count, .cols = (uint32_t)t->cols};
        m->bytes = kernels->packed_bytes(t->type, m->rows, m->cols);
        f->offset[i] = f->bytes;
        f->bytes += (m->bytes + 63) & ~(size_t)63;
        f->tiles += tiles_of(m);
        if (e->scratch < MATRIX_TILE * t->row_bytes) e->scratch = MATRIX_TILE * t->row_bytes;
    }
    e->base[layer] = e->all_bytes;
    e->all_bytes += e->count * f->bytes;
}

static tdm_status make_places(struct experts *e, uint64_t budget, uint32_t least, tdm_error *err)
{
    for (uint32_t l = 0; l < e->layers; l++)
        if (e->forms[l].bytes > e->place_bytes) e->place_bytes = e->forms[l].bytes;
    uint64_t places = budget / e->place_bytes;
    if (places < least)
        return error_set(err, TDM_E_NOMEM, "memory for experts: expected at least %llu MB (%u experts), found %llu MB",
                         (unsigned long long)(((uint64_t)least * e->place_bytes + 999999) / 1000000), least,
                         (unsigned long long)(budget / 1000000));
    e->places = (uint32_t)places;
    e->place = malloc(e->places * sizeof *e->place);
    e->place_of = malloc((size_t)e->layers * e->count * sizeof *e->place_of);
    if (!e->place || !e->place_of) return error_set(err, TDM_E_NOMEM, "no memory for a cache of experts");
    memset(e->place_of, 0xff, (size_t)e->layers * e->count * sizeof *e->place_of);
    for (uint32_t i = 0; i < e->places; i++)
        e->place[i] = (struct place){.older = i ? i - 1 : NONE, .newer = i + 1 < e->places ? i + 1 : NONE};
    e->newest = e->places - 1;
    return TDM_OK;
}

tdm_status experts_new(struct experts **out, const struct source *source, const struct kernels *kernels,
                       uint64_t budget, tdm_error *err)
{
    const struct config *c = source_config(source);
    *out = NULL;
    struct experts *e = calloc(1, sizeof *e);
    if (!e) return error_set(err, TDM_E_NOMEM, "no memory for experts");
    *e = (struct experts){.source = source,
                          .layers = config_blocks(c),
                          .count = c->experts.count,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER};
    e->forms = calloc(e->layers, sizeof *e->forms);
    e->base = calloc(e->layers, sizeof *e->base);
    tdm_status status = e->forms && e->base ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for experts");
    for (uint32_t l = 0; !status && l < e->layers; l++) set_form(e, kernels, l);
    if (!status && budget && budget < e->all_bytes) status = make_places(e, budget, c->experts.used, err);
    if (!status) {
        e->bytes = e->places ? e->places * e->place_bytes : e->all_bytes;
        e->memory = pages_map(e->bytes);
        if (!e->memory) status = error_set(err, TDM_E_NOMEM, "no memory for %zu bytes of experts", e->bytes);
    }
    if (status) {
        experts_free(e);
        return status;
    }
    *out = e;
    return TDM_OK;
}

void experts_free(struct experts *e)
{
    if (!e) return;
    pages_unmap(e->memory, e->bytes);
    free(e->forms);
    free(e->base);
    free(e->place);
    free(e->place_of);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->changed);
    free(e);
}

const struct expert_form *experts_form(const struct experts *e, uint32_t layer)
{
    return &e->forms[layer];
}

bool experts_resident(const struct experts *e)
{
    return e->places == 0;
}

uint64_t experts_bytes(const struct experts *e)
{
    return e->bytes;
}

const unsigned char *experts_memory(const struct experts *e)
{
    return e->memory;
}

uint64_t experts_all_bytes(const struct experts *e)
{
    return e->all_bytes;
}

uint32_t experts_held(const struct experts *e)
{
    return e->places ? e->places / e->layers : e->count;
}

size_t experts_scratch(const struct experts *e)
{
    return e->scratch;
}

struct experts_stats experts_stats(struct experts *e)
{
    pthread_mutex_lock(&e->lock);
    struct experts_stats stats = e->stats;
    pthread_mutex_unlock(&e->lock);
    return stats;
}

/* ---- Leases ------------------------------------------------------------------------------------------------------ */

static void unlink_place(struct experts *e, uint32_t i)
{
    struct place *p = &e->place[i];
    if (p->older != NONE)
        e->place[p->older].newer = p->newer;
    else
        e->oldest = p->newer;
    if (p->newer != NONE)
        e->place[p->newer].older = p->older;
    else
        e->newest = p->older;
}

/* It is the most recently used one from now on. */
static void touch(struct experts *e, uint32_t i)
{
    if (e->newest == i) return;
    unlink_place(e, i);
    e->place[i].older = e->newest;
    e->place[i].newer = NONE;
    e->place[e->newest].newer = i;
    e->newest = i;
}

static void hold(struct experts *e, struct expert_lease *lease, uint32_t place, bool load)
{
    e->place[place].leases++;
    touch(e, place);
    lease->held = true;
    lease->load = load;
    lease->place = place;
    lease->data = e->memory + place * e->place_bytes;
    e->stats.leases++;
    e->stats.loads += load;
}

/* The least recently used place that is not leased, for another expert; NONE: all are leased. */
static uint32_t take_place(struct experts *e, uint32_t layer, uint32_t expert)
{
    uint32_t i = e->oldest;
    while (i != NONE && e->place[i].leases) i = e->place[i].newer;
    if (i == NONE) return i;
    struct place *p = &e->place[i];
    if (p->filled) e->place_of[(size_t)p->layer * e->count + p->expert] = NONE;
    p->layer = layer;
    p->expert = expert;
    p->filled = true;
    p->loaded = p->failed = false;
    e->place_of[(size_t)layer * e->count + expert] = i;
    return i;
}

/* Those in the cache first, so that none of them makes room for another. */
static uint32_t lease_some(struct experts *e, uint32_t layer, struct expert_lease *leases, uint32_t n, uint32_t *loads)
{
    uint32_t held = 0;
    for (int missing = 0; missing < 2; missing++)
        for (uint32_t i = 0; i < n; i++) {
            if (leases[i].held || leases[i].done) continue;
            uint32_t place = e->place_of[(size_t)layer * e->count + leases[i].expert];
            bool there = place != NONE;
            if (!there && missing) place = take_place(e, layer, leases[i].expert);
            if (place == NONE) continue;
            hold(e, &leases[i], place, !there);
            *loads += !there;
            held++;
        }
    return held;
}

static void will_read(const struct experts *e, uint32_t layer, uint32_t expert)
{
    for (int i = 0; i < EXPERT_PARTS; i++) {
        uint64_t rows = e->forms[layer].part[i].rows;
        source_will_read(e->source, source_tensor(e->source, experts_roles[i], layer), expert * rows, rows);
    }
}

uint32_t experts_lease(struct experts *e, uint32_t layer, struct expert_lease *leases, uint32_t n)
{
    uint32_t loads = 0;
    if (!e->places) {
        for (uint32_t i = 0; i < n; i++) {
            leases[i].held = true;
            leases[i].data = e->memory + e->base[layer] + leases[i].expert * e->forms[layer].bytes;
        }
        return 0;
    }
    pthread_mutex_lock(&e->lock);
    while (!lease_some(e, layer, leases, n, &loads)) pthread_cond_wait(&e->changed, &e->lock);
    e->stats.loaded_bytes += loads * e->forms[layer].bytes;
    pthread_mutex_unlock(&e->lock);
    /* The next waves' ones, too: the more the system is asked for at once, the faster it reads. */
    for (uint32_t i = 0; loads && i < n; i++)
        if (leases[i].held ? leases[i].load : !leases[i].done) will_read(e, layer, leases[i].expert);
    return loads;
}

tdm_status experts_load(const struct experts *e, uint32_t layer, const struct expert_lease *lease, uint32_t tile,
                        unsigned char *scratch, tdm_error *err)
{
    const struct expert_form *f = &e->forms[layer];
    int part = 0;
    while (tile >= tiles_of(&f->part[part])) tile -= tiles_of(&f->part[part++]);
    struct matrix m = experts_matrix(f, lease->data, (enum expert_part)part);
    const struct tensor *t = source_tensor(e->source, experts_roles[part], layer);
    uint32_t row = tile * MATRIX_TILE, n = m.rows - row < MATRIX_TILE ? m.rows - row : MATRIX_TILE;
    uint64_t from = (uint64_t)lease->expert * m.rows + row;
    tdm_status status = source_copy_rows(e->source, t, from, n, scratch, err);
    if (!status) matrix_pack(&m, scratch, row, n);
    return status;
}

/* Passes that wait for the expert get the error; a later pass reads it anew, into another slot. */
static void give_up(struct experts *e, struct place *p)
{
    e->place_of[(size_t)p->layer * e->count + p->expert] = NONE;
    p->filled = false;
    p->failed = true;
}

tdm_status experts_loaded(struct experts *e, const struct expert_lease *leases, uint32_t n, const tdm_error *failed,
                          tdm_error *err)
{
    if (!e->places) return failed ? error_set(err, failed->code, "%s", failed->text) : TDM_OK;
    bool all = !failed;
    pthread_mutex_lock(&e->lock);
    if (failed) e->why = *failed;
    for (uint32_t i = 0; i < n; i++) {
        if (!leases[i].held || !leases[i].load) continue;
        struct place *p = &e->place[leases[i].place];
        if (failed)
            give_up(e, p);
        else
            p->loaded = true;
    }
    pthread_cond_broadcast(&e->changed);
    for (uint32_t i = 0; i < n; i++) {
        if (!leases[i].held) continue;
        const struct place *p = &e->place[leases[i].place];
        while (!p->loaded && !p->failed) pthread_cond_wait(&e->changed, &e->lock);
        all = all && !p->failed;
    }
    tdm_status status = all ? TDM_OK : error_set(err, e->why.code, "%s", e->why.text);
    pthread_mutex_unlock(&e->lock);
    return status;
}

void experts_release(struct experts *e, struct expert_lease *leases, uint32_t n)
{
    if (e->places) pthread_mutex_lock(&e->lock);
    for (uint32_t i = 0; i < n; i++) {
        if (!leases[i].held) continue;
        if (e->places) e->place[leases[i].place].leases--;
        leases[i].held = false;
        leases[i].done = true;
    }
    if (!e->places) return;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}
