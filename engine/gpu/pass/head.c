/* Drafts: the MTP head (engine/forward/head.h has its formulas), and runs that are verified.
 *
 * A row of the head is made of a token and of an h, which lies in the state's ring of rows that wait, or is the head's
 * own last output. The trunk's passes put their outputs into that ring; what a verified run puts there lies behind the
 * state's length, and counts when its tokens are accepted.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/pass/pass.h"
#include "engine/state/pads.h"

/* ---- Rows of the head ----------------------------------------------------------------------------------------- */

/* Some rows of one state, each made of the token of the next position: `behind` is that of the last row. */
struct head_rows {
    struct gpu_state *state;
    uint32_t first, n;
    tdm_id behind;
    uint64_t h; /* of the only row; 0: the rows wait */
    enum pass_kind kind;
    enum logits_kind logits; /* of the last row, of a draft */
};

static tdm_status prepare(struct scratch *s, const struct head_rows *rows, VkCommandBuffer *commands, uint32_t *n,
                          tdm_error *err)
{
    struct gpu_state *state = rows->state;
    struct gpu_model *m = state->model;
    tdm_id tokens[GPU_WAITING + SHORT_TOKENS];
    uint64_t h[GPU_WAITING + SHORT_TOKENS];
    assert_always(rows->n <= GPU_WAITING + SHORT_TOKENS && rows->n <= s->tokens);
    for (uint32_t i = 0; i < rows->n; i++) {
        uint32_t next = rows->first + i + 1;
        tokens[i] = next < state->length ? state->tokens[next] : rows->behind;
        h[i] = rows->h ? rows->h : state_waiting_row(state, rows->first + i);
    }
    struct gpu_run run = {.state = state, .tokens = tokens, .n = rows->n};
    struct table_source source = {true, rows->first, h};
    struct shape shape, logits = {.head_rows = 1, .logits = rows->logits};
    struct recorded *recorded;
    tdm_status status = pass_tables(m, s, &run, 1, &source, &shape, err);
    shape.kind = rows->kind;
    *(uint32_t *)((char *)s->table.mapped + s->tables.index) = rows->n - 1;
    if (!status) status = pass_commands(&recorded, m, s, &shape, false, 0, err);
    if (!status) commands[(*n)++] = recorded->commands[0];
    if (!status && rows->kind == PASS_DRAFT) {
        status = pass_commands(&recorded, m, s, &logits, false, 0, err);
        if (!status) commands[(*n)++] = recorded->commands[0];
    }
    return status;
}

/* With the scratch. */
static tdm_status evaluate(struct scratch *s, const struct head_rows *rows, tdm_error *err)
{
    struct gpu_model *m = rows->state->model;
    VkCommandBuffer commands[2];
    uint32_t n = 0;
    tdm_status status = device_check(m->gpu, err);
    if (!status) status = prepare(s, rows, commands, &n, err);
    return status ? status : pass_run(m, s, commands, n, 0, NULL, err);
}

/* Entries of all positions below `end` of the state. */
static tdm_status make_entries(struct scratch *s, struct gpu_state *state, uint32_t end, tdm_error *err)
{
    uint32_t most = s->tokens < GPU_WAITING ? s->tokens : GPU_WAITING;
    tdm_status status = TDM_OK;
    while (state->entries < end && !status) {
        uint32_t n = end - state->entries < most ? end - state->entries : most;
        status = evaluate(s, &(struct head_rows){.state = state, .first = state->entries, .n = n, .kind = PASS_ENTRIES},
                          err);
        if (!status) state->entries += n;
    }
    return status;
}

tdm_status head_catch_up(struct gpu_state *state, tdm_error *err)
{
    struct scratch *s = state->model->scratch[SCRATCH_SHORT];
    uint32_t next = state->entries + 1;
    if (state->headless || state->length <= next) return TDM_OK;
    /* What has to be made of a picture is made while its rows are there for sure. */
    bool pads = pads_among(state->tokens + next, state->length - next);
    if (state->length - state->entries <= GPU_WAITING && !pads) return TDM_OK;
    pthread_mutex_lock(&s->busy);
    tdm_status status = make_entries(s, state, state->length - 1, err);
    pthread_mutex_unlock(&s->busy);
    if (status) state->broken = true;
    return status;
}

/* ---- Drafts ---------------------------------------------------------------------------------------------------- */

static tdm_id best_of(const float *logits, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return (tdm_id)best;
}

/* With the scratch. */
static tdm_status draft(struct scratch *s, struct gpu_state *state, tdm_id next, uint32_t n, tdm_id *drafts,
                        float *logits, tdm_error *err)
{
    struct gpu_model *m = state->model;
    uint32_t vocab = m->config.vocab, rows = logits ? m->mtp.lm_head->rows : m->mtp.drafted.rows;
    tdm_status status = TDM_OK;
    if (s->tokens <= state->length - state->entries) status = make_entries(s, state, state->length - 1, err);
    for (uint32_t j = 0; j < n && !status; j++) {
        struct head_rows r = {.state = state,
                              .first = j ? state->length - 1 + j : state->entries,
                              .n = j ? 1 : state->length - state->entries,
                              .behind = j ? drafts[j - 1] : next,
                              .h = j ? s->draft.h : 0,
                              .kind = PASS_DRAFT,
                              .logits = logits ? LOGITS_DRAFT : LOGITS_DRAFTED};
        status = evaluate(s, &r, err);
        if (status) break;
        const float *row = s->read.mapped;
        if (logits) memcpy(logits + (size_t)j * vocab, row, vocab * sizeof *row);
        drafts[j] = best_of(row, rows);
        state->entries = state->length - 1;
    }
    return status;
}

tdm_status gpu_draft(struct gpu_state *state, tdm_id next, uint32_t n, tdm_id *drafts, float *logits, tdm_error *err)
{
    struct scratch *s = state->model->scratch[SCRATCH_SHORT];
    assert_always(state->length && !state->broken && !state->headless);
    tdm_status status = gpu_state_make_room(state, 1 + n, err);
    if (status) return status;
    pthread_mutex_lock(&s->busy);
    status = draft(s, state, next, n, drafts, logits, err);
    pthread_mutex_unlock(&s->busy);
    return status;
}

/* ---- Verified runs --------------------------------------------------------------------------------------------- */

tdm_status gpu_kept_new(struct gpu_kept **out, struct gpu_model *m, tdm_error *err)
{
    struct gpu_kept *k = *out = calloc(1, sizeof *k);
    if (!k) return error_set(err, TDM_E_NOMEM, "no memory for drafts");
    k->model = m;
    tdm_status status = device_check(m->gpu, err);
    if (!status)
        status =
            block_new(&k->inputs, m->gpu, BLOCK_DEVICE, 256 + pass_kept_bytes(&m->config, m->shape.linear_layers), err);
    if (!status)
        status = block_new(&k->after, m->gpu, BLOCK_DEVICE,
                           256 + sizeof(float) * state_shape_recurrent_floats(&m->shape), err);
    device_lock(m->gpu);
    if (!status) status = device_commands(&k->copy, m->gpu, m->gpu->pool, err);
    device_unlock(m->gpu);
    if (!status) return TDM_OK;
    gpu_kept_free(k);
    *out = NULL;
    return status;
}

void gpu_kept_free(struct gpu_kept *k)
{
    if (!k) return;
    struct gpu *g = k->model->gpu;
    device_lock(g);
    if (k->copy) g->vk.FreeCommandBuffers(g->device, g->pool, 1, &k->copy);
    device_unlock(g);
    block_free(&k->inputs, g);
    block_free(&k->after, g);
    free(k);
}

/* The recurrent states after the first rows: those that the run left, where it is all of them; else what is kept of
 * those rows goes through them. */
static tdm_status bring_up(struct scratch *s, const struct gpu_run *run, uint32_t rows, tdm_error *err)
{
    struct gpu_model *m = run->state->model;
    struct copy all = {&run->kept->after, &run->state->buffer->block, 0, 0,
                       sizeof(float) * state_shape_recurrent_floats(&m->shape)};
    struct gpu_run some = {.state = run->state, .tokens = run->tokens, .n = rows};
    struct recorded *recorded;
    struct shape shape;
    if (!m->shape.linear_layers) return TDM_OK;
    tdm_status status = device_check(m->gpu, err);
    if (status) return status;
    if (rows == run->n) return device_copy(m->gpu, &all, 1, err);
    status = pass_tables(m, s, &some, 1, NULL, &shape, err);
    if (status) return status;
    shape = (struct shape){.rows = rows, .runs = 1, .kind = PASS_REPLAY, .kept = run->kept->inputs.address};
    status = pass_commands(&recorded, m, s, &shape, false, 0, err);
    return status ? status : pass_run(m, s, recorded->commands, 1, 0, NULL, err);
}

tdm_status gpu_accept(const struct gpu_run *run, uint32_t rows, tdm_error *err)
{
    struct gpu_state *state = run->state;
    struct gpu_model *m = state->model;
    struct scratch *s = m->scratch[SCRATCH_SHORT];
    if (!rows) return TDM_OK;
    pthread_mutex_lock(&s->busy);
    tdm_status status = bring_up(s, run, rows, err);
    pthread_mutex_unlock(&s->busy);
    memcpy(state->tokens + state->length, run->tokens, rows * sizeof *state->tokens);
    memcpy(state->logits, run->all + (size_t)(rows - 1) * m->config.vocab, m->config.vocab * sizeof *state->logits);
    state->length += rows;
    state->conv = !state->conv;
    state->logits_valid = true;
    state->buffer->away = state->buffer->listed = false;
    if (!status) status = head_catch_up(state, err);
    if (!status) return TDM_OK;
    state->broken = true;
    if (!m->gpu->faults.lost) status = device_failed(m->gpu, VK_ERROR_UNKNOWN, "accepting drafts", err);
    return status;
}
