/* tdm_session: one timeline of tokens on one unit, driven by its caller. */
#include "engine/backend/server.h"
#include "engine/object/machine.h"
#include "engine/object/model.h"
#include "engine/object/place.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/state/statefile.h"

struct tdm_session {
    const struct tdm_model *model;
    struct unit *unit;
    struct place place;
    struct pool *pool;
    struct state *state;
    struct evaluator *evaluator;
    struct sampler *sampler;
    struct state_bytes bytes;
    uint32_t dispatch;
    uint32_t prompt; /* tokens before the reply that is being sampled */
};

struct evaluation {
    struct tdm_session *s;
    struct forward_run run;
    tdm_status status;
    tdm_error *err;
};

TDM_API tdm_status tdm_session_open(tdm_session **out, const tdm_model *m, tdm_machine *machine,
                                    const tdm_session_options *o, tdm_error *err)
{
    if (m->server)
        return error_set(err, TDM_E_UNSUPPORTED, "the model is on a server (%s): this works with local models only",
                         m->server->host);
    if (!m->weights) return error_set(err, TDM_E_ARG, "the model was opened without its weights");
    if ((unsigned)o->unit >= TDM_UNITS) return error_set(err, TDM_E_ARG, "no unit %d", o->unit);
    if (o->context < 1) return error_set(err, TDM_E_ARG, "context: expected 1 or more tokens, found %d", o->context);
    if (o->dispatch < 0)
        return error_set(err, TDM_E_ARG, "dispatch: expected 0, automatic, or more tokens, found %d", o->dispatch);
    struct tdm_session *s = calloc(1, sizeof *s);
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for a session");
    uint32_t context = (uint32_t)o->context, known = (uint32_t)tokenizer_count(m->tokenizer);
    uint32_t rows = m->weights->config.vocab;
    s->model = m;
    s->unit = machine->units[o->unit];
    struct evaluator_form form = {.max_runs = 1, .context = context,
                                  .max_members = (uint32_t)machine_workers(machine->machine)};
    struct place_form place = {.kv = (enum kv_type)o->kv, .context = context};
    tdm_status status = place_open(&s->place, machine, o->unit, m, &place, err);
    if (status == TDM_OK) {
        s->dispatch = o->dispatch ? (uint32_t)o->dispatch : backend_dispatch(s->place.model);
        if (s->dispatch > context) s->dispatch = context;
        form.max_tokens = s->dispatch;
    }
    if (status == TDM_OK) status = backend_pool(&s->pool, s->place.model, (enum kv_type)o->kv, context, err);
    if (status == TDM_OK) status = state_new(&s->state, s->pool, err);
    if (status == TDM_OK) status = evaluator_new(&s->evaluator, s->place.model, &form, err);
    if (status == TDM_OK) status = sampler_new(&s->sampler, known < rows ? known : rows, err);
    if (status) {
        tdm_session_close(s);
        return status;
    }
    *out = s;
    return TDM_OK;
}

TDM_API void tdm_session_close(tdm_session *s)
{
    if (!s) return;
    state_bytes_free(&s->bytes);
    sampler_free(s->sampler);
    evaluator_free(s->evaluator);
    state_free(s->state);
    pool_free(s->pool);
    place_close(&s->place);
    free(s);
}

static void job_evaluate(void *ctx, struct team *team, struct activity_span *span)
{
    struct evaluation *e = ctx;
    struct tdm_session *s = e->s;
    e->status = evaluator_forward(team, s->evaluator, &e->run, 1, NULL, &span->bytes, e->err);
    if (e->status) span->tokens = 0;
}

TDM_API tdm_status tdm_session_eval(tdm_session *s, const tdm_id *ids, size_t n, bool want_last, float *all_logits,
                                    tdm_error *err)
{
    uint32_t context = pool_context(s->pool), vocab = pool_shape(s->pool)->vocab;
    if (n > context - s->state->length)
        return error_set(err, TDM_E_CONTEXT, "the context is full: %u tokens are there, %zu more do not fit in %u",
                         s->state->length, n, context);
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

TDM_API const float *tdm_session_logits(const tdm_session *s)
{
    const float *logits;
    return s->state->logits_valid && state_logits(s->state, &logits, NULL) == TDM_OK ? logits : NULL;
}

TDM_API tdm_id tdm_session_sample(tdm_session *s, const tdm_sampling *sampling, uint32_t turn, uint32_t attempt,
                                  uint32_t index)
{
    assert_always(s->state->logits_valid);
    if (index == 0) {
        s->prompt = s->state->length;
        sampler_start(s->sampler, s->state->tokens, s->prompt);
    }
    tdm_id id = -1;
    struct draw draw = {s->sampler, sampling, turn, attempt, index};
    if (evaluator_draw(s->evaluator, s->state, &draw, &id, NULL)) return -1;
    if (id >= 0) sampler_accept(s->sampler, id);
    return id;
}

TDM_API size_t tdm_session_length(const tdm_session *s)
{
    return s->state->length;
}

TDM_API void tdm_session_clear(tdm_session *s)
{
    state_clear(s->state);
}

TDM_API tdm_status tdm_session_save(tdm_session *s, void **bytes, size_t *n, tdm_error *err)
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

TDM_API tdm_status tdm_session_load(tdm_session *s, const void *bytes, size_t n, tdm_error *err)
{
    return state_load_memory(s->state, s->model->info.fingerprint, bytes, n, err);
}

TDM_API tdm_status tdm_session_fill(tdm_session *s, size_t length, uint64_t seed, tdm_error *err)
{
    if (length > pool_context(s->pool))
        return error_set(err, TDM_E_CONTEXT, "%zu tokens do not fit in %u", length, pool_context(s->pool));
    state_clear(s->state);
    return state_fill(s->state, (uint32_t)length, seed, err);
}

TDM_API tdm_status tdm_session_handover(tdm_session *dst, tdm_session *s, tdm_error *err)
{
    const struct backend_model *to = dst->place.model, *from = s->place.model;
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
