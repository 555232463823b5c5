/* tdm_sequence: one timeline of tokens on one unit, driven by its caller. */
#include "engine/backend/server.h"
#include "engine/object/machine.h"
#include "engine/object/model.h"
#include "engine/object/residence.h"

#include <stdlib.h>
#include <string.h>

#include "engine/api/options.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/state/crossing.h"
#include "engine/state/statefile.h"
#include "engine/tandem/measure.h"

struct tdm_sequence {
    const struct tdm_model *model;
    struct unit *unit;
    struct machine *machine;
    struct residence residence;
    struct pool *pool;
    struct state *state;
    struct evaluator *evaluator;
    struct sampler *sampler;
    struct state_bytes bytes;
    struct session_pictures {
        struct pads **pads; /* of the pictures that it was shown, whose rows are held */
        size_t n, at;       /* those before `at` have been evaluated */
        uint32_t cell;      /* tokens of the next one that are */
        bool behind;        /* the last token was the last one of a picture */
        tdm_id pad;
    } pictures;
    uint32_t dispatch;
    uint32_t prompt; /* tokens before the reply that is being sampled */
};

struct evaluation {
    struct tdm_sequence *s;
    struct forward_run run;
    tdm_status status;
    tdm_error *err;
};

static tdm_status open_sequence(tdm_sequence **out, const tdm_model *m, tdm_machine *machine,
                                const tdm_sequence_options *o, tdm_error *err)
{
    const enum kv_type kv = residence_kv(o->kv);
    if (m->server)
        return error_set(err, TDM_E_UNSUPPORTED, "the model is on a server (%s): this works with local models only",
                         m->server->host);
    if (!m->weights) return error_set(err, TDM_E_ARG, "the model was opened without its weights");
    if ((unsigned)o->unit >= TDM_UNITS) return error_set(err, TDM_E_ARG, "no unit %d", o->unit);
    if ((unsigned)o->kv >= TDM_KV_TYPES) return error_set(err, TDM_E_ARG, "no such type of keys and values");
    int tokens = o->context;
    tdm_status status = residence_context(&tokens, m, kv, err);
    if (status) return status;
    if (o->dispatch < 0)
        return error_set(err, TDM_E_ARG, "dispatch: expected 0, automatic, or more tokens, found %d", o->dispatch);
    struct tdm_sequence *s = calloc(1, sizeof *s);
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for a session");
    uint32_t context = (uint32_t)tokens, known = (uint32_t)tokenizer_count(m->tokenizer);
    uint32_t rows = m->weights->config.vocab;
    s->model = m;
    s->pictures.pad = m->vision ? m->vision->pad : -1;
    s->unit = machine->units[o->unit];
    s->machine = machine->machine;
    struct evaluator_form form = {.max_runs = 1, .context = context,
                                  .max_members = (uint32_t)machine_workers(machine->machine)};
    struct residence_form where = {.kv = kv, .context = context};
    status = residence_open(&s->residence, machine, o->unit, m, &where, err);
    if (status == TDM_OK) {
        s->dispatch = o->dispatch ? (uint32_t)o->dispatch : backend_dispatch(s->residence.model);
        if (s->dispatch > context) s->dispatch = context;
        form.max_tokens = s->dispatch;
    }
    if (status == TDM_OK) status = backend_pool(&s->pool, s->residence.model, kv, context, err);
    if (status == TDM_OK) status = state_new(&s->state, s->pool, err);
    if (status == TDM_OK) status = evaluator_new(&s->evaluator, s->residence.model, &form, err);
    if (status == TDM_OK) status = sampler_new(&s->sampler, known < rows ? known : rows, err);
    if (status) {
        tdm_sequence_close(s);
        return status;
    }
    *out = s;
    return TDM_OK;
}

TDM_API tdm_status tdm_sequence_open_sized(tdm_sequence **out, const tdm_model *m, tdm_machine *machine,
                                           const tdm_sequence_options *options, size_t size, tdm_error *err)
{
    tdm_sequence_options own = {0};
    *out = NULL;
    tdm_status status = options_take(&own, sizeof own, options, size, err);
    return status ? status : open_sequence(out, m, machine, &own, err);
}

/* But the first `kept`. */
static void forget_pictures(struct tdm_sequence *s, size_t kept)
{
    while (s->pictures.n > kept) vision_release(s->model->vision, s->pictures.pads[--s->pictures.n]);
}

TDM_API void tdm_sequence_close(tdm_sequence *s)
{
    if (!s) return;
    forget_pictures(s, 0);
    free(s->pictures.pads);
    state_bytes_free(&s->bytes);
    sampler_free(s->sampler);
    evaluator_free(s->evaluator);
    state_free(s->state);
    pool_free(s->pool);
    residence_close(&s->residence);
    free(s);
}

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

struct showing {
    struct vision_job *job;
    bool done;
    tdm_error *err;
};

static void job_encode(void *ctx, struct team *team, struct activity_span *span)
{
    struct showing *s = ctx;
    (void)span;
    while (vision_job_step(s->job, team, &s->done, s->err)) continue;
}

static tdm_status show(struct tdm_sequence *s, const tdm_picture *picture, uint32_t most_tokens, tdm_error *err)
{
    struct vision *vision = s->model->vision;
    struct pads *pads;
    struct showing showing = {.err = err};
    tdm_status status = vision_pads(vision, s->residence.model, picture, most_tokens, &pads, err);
    if (!status && !vision_hold(vision, pads)) {
        status =
            vision_job_new(&showing.job, vision, s->residence.model, picture, pads, machine_workers(s->machine), err);
        struct work work = {.fn = job_encode,
                            .ctx = &showing,
                            .kind = SPAN_PICTURE,
                            .tokens = pads->tokens,
                            .on_borrowed_cores = !vision_offloaded(vision, s->residence.model)};
        if (!status) unit_call(s->unit, &work);
        if (!status && !showing.done) status = err ? err->code : TDM_E_NOMEM;
        vision_job_free(showing.job);
    }
    if (!status) s->pictures.pads[s->pictures.n++] = pads;
    return status;
}

TDM_API tdm_status tdm_sequence_pictures(tdm_sequence *s, tdm_picture *const *pictures, size_t n, uint32_t most_tokens,
                                         tdm_error *err)
{
    tdm_picture_fit fit;
    tdm_error why;
    size_t before = s->pictures.n;
    tdm_status status = tdm_picture_fit_of(s->model, 1, 1, most_tokens, &fit, err); /* it sees */
    if (status) return status;
    struct pads **pads = realloc(s->pictures.pads, (before + n) * sizeof(struct pads *) + 1);
    if (!pads) return error_set(err, TDM_E_NOMEM, "no memory for %zu pictures", n);
    s->pictures.pads = pads;
    for (size_t i = 0; i < n && !status; i++) status = show(s, pictures[i], most_tokens, err ? err : &why);
    if (status) forget_pictures(s, before);
    return status;
}

/* out: the ids, with those of pictures where they stand. */
static tdm_status place_pictures(struct tdm_sequence *s, const tdm_id *ids, size_t n, tdm_id *out, tdm_error *err)
{
    struct session_pictures now = s->pictures;
    for (size_t i = 0; i < n; i++) {
        struct pads *p = now.at < now.n ? now.pads[now.at] : NULL;
        bool pad = ids[i] == now.pad;
        if (pad ? now.behind : now.cell > 0)
            return error_set(err, TDM_E_ARG, "picture %zu has %u tokens: %s pads stand for it", now.at + !pad,
                             now.pads[now.at - pad]->tokens, pad ? "more" : "fewer");
        if (ids[i] < 0 && !p) return error_set(err, TDM_E_ARG, "token id %d: no picture is left for it", (int)ids[i]);
        out[i] = pad && p ? p->first - (tdm_id)now.cell++ : ids[i];
        now.behind = pad && p && now.cell == p->tokens;
        if (now.behind) now.at++, now.cell = 0;
    }
    s->pictures = now;
    return TDM_OK;
}

/* ---- Evaluating -------------------------------------------------------------------------------------------------- */

static void job_evaluate(void *ctx, struct team *team, struct activity_span *span)
{
    struct evaluation *e = ctx;
    struct tdm_sequence *s = e->s;
    e->status = evaluator_forward(team, s->evaluator, &e->run, 1, NULL, &span->bytes, e->err);
    if (e->status) span->tokens = 0;
}

static tdm_status evaluate(struct tdm_sequence *s, const tdm_id *ids, size_t n, bool want_last, float *all_logits,
                           tdm_error *err)
{
    uint32_t vocab = pool_shape(s->pool)->vocab;
    for (size_t at = 0; at < n;) {
        uint32_t piece = n - at < s->dispatch ? (uint32_t)(n - at) : s->dispatch;
        struct evaluation e = {.s = s, .err = err};
        e.run = (struct forward_run){.state = s->state, .tokens = ids + at, .n = piece};
        if (all_logits) {
            e.run.logits = LOGITS_ALL;
            e.run.all = all_logits + at * vocab;
        } else if (want_last && at + piece == n) {
            e.run.logits = LOGITS_LAST;
        }
        struct work work = {.fn = job_evaluate, .ctx = &e, .kind = n == 1 ? SPAN_DECODE : SPAN_PROMPT,
                            .tokens = piece};
        unit_call(s->unit, &work);
        if (e.status) return e.status;
        at += piece;
    }
    return TDM_OK;
}

TDM_API tdm_status tdm_sequence_eval(tdm_sequence *s, const tdm_id *ids, size_t n, bool want_last, float *all_logits,
                                     tdm_error *err)
{
    uint32_t context = pool_context(s->pool);
    if (n > context - s->state->length)
        return error_set(err, TDM_E_CONTEXT, "the context is full: %u tokens are there, %zu more do not fit in %u",
                         s->state->length, n, context);
    /* Before anything is evaluated: a dispatch would find it when those before have been. */
    tdm_id vocabulary = (tdm_id)pool_shape(s->pool)->vocab;
    for (size_t i = 0; i < n; i++)
        if ((ids[i] < 0 || ids[i] >= vocabulary) && !(s->pictures.n && ids[i] == s->pictures.pad))
            return error_set(err, TDM_E_ARG, "token id %d: expected 0 to %d", (int)ids[i], (int)vocabulary - 1);
    if (!s->pictures.n) return evaluate(s, ids, n, want_last, all_logits, err);
    tdm_id *placed = malloc(n * sizeof *placed + 1);
    if (!placed) return error_set(err, TDM_E_NOMEM, "no memory for %zu tokens", n);
    tdm_status status = place_pictures(s, ids, n, placed, err);
    if (!status) status = evaluate(s, placed, n, want_last, all_logits, err);
    free(placed);
    return status;
}

TDM_API const float *tdm_sequence_logits(const tdm_sequence *s)
{
    const float *logits;
    return s->state->logits_valid && state_logits(s->state, &logits, NULL) == TDM_OK ? logits : NULL;
}

TDM_API tdm_status tdm_sequence_sample(tdm_sequence *s, const tdm_sampling *sampling, uint32_t turn, uint32_t attempt,
                                       uint32_t index, tdm_id *out, tdm_error *err)
{
    const tdm_sampling own = sampler_complete(sampling, &s->model->info.sampling);
    tdm_status status = sampler_check(&own, err);
    if (!status && !s->state->logits_valid)
        status = error_set(err, TDM_E_ARG, "there are no logits to sample from: evaluate with want_last first");
    if (status) return status;
    if (index == 0) {
        s->prompt = s->state->length;
        sampler_start(s->sampler, s->state->tokens, s->prompt);
    }
    tdm_id id = -1;
    struct sampling_request request = {s->sampler, &own, turn, attempt, index};
    status = evaluator_sample(s->evaluator, s->state, &request, &id, err);
    if (!status && id < 0) status = error_set(err, TDM_E_UNSUPPORTED, "the model gave no finite logit");
    if (status) return status;
    sampler_accept(s->sampler, id);
    *out = id;
    return TDM_OK;
}

TDM_API size_t tdm_sequence_length(const tdm_sequence *s)
{
    return s->state->length;
}

TDM_API void tdm_sequence_clear(tdm_sequence *s)
{
    state_clear(s->state);
    forget_pictures(s, 0);
    s->pictures.at = s->pictures.cell = s->pictures.behind = 0;
}

TDM_API tdm_status tdm_sequence_save(tdm_sequence *s, void **bytes, size_t *n, tdm_error *err)
{
    tdm_status status = state_save_memory(s->state, s->model->info.fingerprint, &s->bytes, err);
    if (status) return status;
    void *copy = malloc(s->bytes.size);
    if (!copy) return error_set(err, TDM_E_NOMEM, "no memory for a state of %zu bytes", s->bytes.size);
    memcpy(copy, s->bytes.data, s->bytes.size);
    *bytes = copy;
    *n = s->bytes.size;
    return TDM_OK;
}

TDM_API tdm_status tdm_sequence_load(tdm_sequence *s, const void *bytes, size_t n, tdm_error *err)
{
    return state_load_memory(s->state, s->model->info.fingerprint, bytes, n, err);
}

TDM_API tdm_status tdm_sequence_fill(tdm_sequence *s, size_t length, uint64_t seed, tdm_error *err)
{
    if (length > pool_context(s->pool))
        return error_set(err, TDM_E_CONTEXT, "%zu tokens do not fit in %u", length, pool_context(s->pool));
    state_clear(s->state);
    return state_fill(s->state, (uint32_t)length, seed, err);
}

TDM_API tdm_status tdm_sequence_handover(tdm_sequence *dst, tdm_sequence *s, tdm_error *err)
{
    const struct backend_model *to = dst->residence.model, *from = s->residence.model;
    bool same = to == from || (!to->device && !from->device && to->weights == from->weights);
    if (!same || pool_kv(dst->pool) != pool_kv(s->pool) || pool_context(dst->pool) != pool_context(s->pool))
        return error_set(err, TDM_E_ARG, "a hand-over in memory needs the same model, key/value type and context");
    /* The states change places with their pools, as in a chat; nothing is copied. */
    struct pool *pool = dst->pool;
    struct state *state = dst->state;
    dst->pool = s->pool;
    dst->state = s->state;
    s->pool = pool;
    s->state = state;
    return TDM_OK;
}

struct crossed {
    const struct state *from;
    struct state *to;
    uint64_t bytes;
    tdm_status status;
    tdm_error *err;
};

static void job_cross(void *ctx, struct team *team, struct activity_span *span)
{
    struct crossed *c = ctx;
    struct crossing x = {.team = team};
    c->status = state_cross(c->to, c->from, &x, c->err);
    c->bytes = span->bytes = x.bytes;
}

TDM_API tdm_status tdm_sequence_cross(tdm_sequence *dst, const tdm_sequence *s, size_t *bytes, tdm_error *err)
{
    if (dst->model != s->model || pool_context(dst->pool) != pool_context(s->pool))
        return error_set(err, TDM_E_ARG, "to cross, a state needs the same model and context on both sides");
    struct crossed c = {.from = s->state, .to = dst->state, .err = err};
    unit_call(s->unit, &(struct work){.fn = job_cross, .ctx = &c, .kind = SPAN_HANDOVER, .on_borrowed_cores = true});
    *bytes = c.bytes;
    return c.status;
}

TDM_API tdm_status tdm_sequence_link_ms(tdm_sequence *s, size_t bytes, bool to_device, double *ms, tdm_error *err)
{
    return crossing_link_ms(s->state, bytes, to_device, ms, err);
}

enum { COPY_CHUNK = 1 << 18 };

struct copied {
    char *to, *from;
    size_t bytes;
    double ms;
};

static void copy_chunks(void *ctx, struct member *m)
{
    const struct copied *c = ctx;
    uint32_t begin, end, chunks = (uint32_t)((c->bytes + COPY_CHUNK - 1) / COPY_CHUNK);
    while (member_claim(m, chunks, 1, &begin, &end)) {
        size_t at = (size_t)begin * COPY_CHUNK, n = c->bytes - at < COPY_CHUNK ? c->bytes - at : COPY_CHUNK;
        memcpy(c->to + at, c->from + at, n);
    }
}

static void job_copy(void *ctx, struct team *team, struct activity_span *span)
{
    struct copied *c = ctx;
    int64_t start = clock_ns();
    (void)span;
    team_run(team, copy_chunks, c);
    c->ms = 1e-6 * (double)(clock_ns() - start);
}

TDM_API tdm_status tdm_sequence_copy_ms(const tdm_sequence *s, size_t bytes, double *ms, tdm_error *err)
{
    struct copied c = {malloc(bytes + 1), malloc(bytes + 1), bytes, 0};
    if (c.to && c.from) { /* touched before, as states are */
        memset(c.to, 1, bytes + 1);
        memset(c.from, 2, bytes + 1);
        unit_call(s->unit, &(struct work){.fn = job_copy, .ctx = &c, .kind = SPAN_NONE, .on_borrowed_cores = true});
    }
    tdm_status status = c.to && c.from ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for %zu bytes", bytes);
    free(c.to);
    free(c.from);
    *ms = c.ms;
    return status;
}
