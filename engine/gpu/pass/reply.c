/* Several tokens of a reply in one submission: each dispatch samples the best one, which the next one reads from its
 * table. So a token costs no more than the time of its pass. */
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/device/fused.h"

/* As many tokens of a run, each as if it were the first. */
static tdm_status fill_tables(struct gpu_model *m, struct scratch *s, const struct gpu_reply *r, tdm_error *err)
{
    const struct gpu_state *state = r->state;
    const struct gpu_run run = {.state = r->state, .tokens = &r->next, .n = 1, .logits = GPU_LOGITS_TOPK};
    uint64_t base = state->buffer->block.address;
    uint32_t *stops = (uint32_t *)((char *)s->table.mapped + s->tables.stops);
    tdm_status status = TDM_OK;
    for (uint32_t i = 0; i < r->n && !status; i++) {
        uint64_t h = pass_waiting_place(s, state, state->length + i);
        struct table_source source = {false, state->length + i, &h};
        struct table_run *own = (struct table_run *)((char *)s->table.mapped + s->tables.runs) + i;
        struct shape unused;
        scratch_move_tables(s, &m->config, (int)i);
        status = pass_tables(m, s, &run, 1, &source, &unused, err);
        scratch_move_tables(s, &m->config, -(int)i);
        own->conv_in = base + model_conv_at(m, state->conv ^ (i & 1));
        own->conv_out = base + model_conv_at(m, !(state->conv ^ (i & 1)));
        if (r->limit) own->limit = r->limit;
    }
    *(uint32_t *)((char *)s->table.mapped + s->tables.index) = 0;
    stops[0] = r->n_stops;
    for (uint32_t i = 0; i < r->n_stops; i++) stops[1 + i] = (uint32_t)r->stops[i];
    return status;
}

static tdm_status prepare(struct gpu_model *m, struct scratch *s, const struct gpu_reply *r, struct recorded **out,
                          tdm_error *err)
{
    struct shape shape = {
        .rows = 1, .runs = 1, .tiles = 1, .fused = 1, .head_rows = 1, .topk = 1, .burst = r->n > 1 ? r->n : 0};
    tdm_status status = device_check(m->gpu, err);
    if (!status && (r->next < 0 || (uint32_t)r->next >= m->config.vocab))
        status = error_set(err, TDM_E_ARG, "token id %d: expected 0 to %u", (int)r->next, m->config.vocab - 1);
    if (!status) status = state_make_pages(r->state, r->n, err);
    if (!status) status = fill_tables(m, s, r, err);
    return status ? status : pass_commands(out, m, s, &shape, false, 0, err);
}

static bool ends(const struct gpu_reply *r, tdm_id id)
{
    for (uint32_t i = 0; i < r->n_stops; i++)
        if (r->stops[i] == id) return true;
    return id < 0;
}

/* What the device did. */
static void append(const struct gpu_reply *r, const tdm_id *sampled, uint32_t n)
{
    struct gpu_state *state = r->state;
    state->tokens[state->length] = r->next;
    memcpy(state->tokens + state->length + 1, sampled, (n - 1) * sizeof *sampled);
    state->length += n;
    state->conv ^= n & 1;
    state->logits_valid = state->buffer->away = state->buffer->listed = true;
    state->broken = false;
}

tdm_status gpu_reply(const struct gpu_reply *r, tdm_id sampled[GPU_BURST], uint32_t *appended, tdm_error *err)
{
    struct gpu_state *state = r->state;
    struct gpu_model *m = state->model;
    struct scratch *s = m->scratch[SCRATCH_SHORT];
    struct recorded *recorded;
    int64_t took = 0;
    assert_always(r->n >= 1 && r->n <= gpu_model_burst(m) && gpu_model_fused_workgroups(m) && !state->broken);
    assert_always(r->n_stops <= CONFIG_MAX_STOPS);
    pthread_mutex_lock(&s->busy);
    tdm_status status = prepare(m, s, r, &recorded, err);
    if (!status) {
        state->logits_valid = false;
        state->broken = true;
        status = pass_run(m, s, recorded->commands, 1, r->n, &took, err);
    }
    if (!status) status = fused_check(m, s, err);
    if (!status) {
        memcpy(sampled, (char *)s->read.mapped + s->read_at.sampled, r->n * sizeof *sampled);
        *appended = 1;
        while (*appended < r->n && !ends(r, sampled[*appended - 1])) ++*appended;
        if (took) pass_count_token(m, took / *appended);
        append(r, sampled, *appended);
    }
    pthread_mutex_unlock(&s->busy);
    if (status) return status;
    status = head_catch_up(state, err);
    if (status) state->length -= *appended; /* roll back tokens that were not returned */
    return status;
}
