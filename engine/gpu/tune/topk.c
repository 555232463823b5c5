/* The best logits of a token: listed by the device, so that the host samples from a few of them, and the others stay
 * where they are until they are asked for. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/device/fused.h"

/* What a dispatch of topk.comp does. */
enum { TOPS, LISTS, DRAWS };

/* Pieces that the blocks are made of: larger ones are read faster, smaller ones divide a small vocabulary better. */
enum { PIECE_SHIFT = 5, PIECES_A_BLOCK = 4 };

static uint32_t piece_shift(uint32_t vocab)
{
    uint32_t shift = PIECE_SHIFT;
    while (shift && vocab >> shift < TOPK_BLOCKS * PIECES_A_BLOCK) shift--;
    return shift;
}

void record_topk(struct recording *r, const struct fused *p, bool lists)
{
    const struct scratch *s = r->s;
    const struct gpu_tuning *t = &r->model->gpu->tuning;
    uint64_t table = s->table.address;
    /* Each workgroup finds the bound for itself; on cores that is what takes time. */
    uint32_t groups = r->model->gpu->info.kind == GPU_SOFTWARE ? 4 : TOPK_BLOCKS;
    uint32_t rows = r->shape.head_rows, vocab = r->model->config.vocab;
    struct topk push = {
        .runs = table + s->tables.runs, .tops = s->at.tops, .vocab = vocab, .shift = piece_shift(vocab)};
    if (p) {
        push.sampled = s->read.address + s->read_at.sampled + p->list_at * sizeof(uint32_t);
        push.next = table + s->tables.rows + sizeof(struct table_row) + offsetof(struct table_row, token);
        push.stops = table + s->tables.stops;
        push.stopped = fused_stopped(p);
    } else {
        push.rows = table + s->tables.rows;
        push.index = table + s->tables.index + 4 * (uint64_t)r->shape.head_first;
        push.from = s->at.logits;
    }
    uint32_t constants[] = {t->lanes, lists ? TOPS : DRAWS, t->lanes > TOPK_BLOCKS ? t->lanes : TOPK_BLOCKS};
    record_step(r, REGION(LOGITS), REGION(PARTIALS), SHADER_TOPK, constants, 3, &push, sizeof push, TOPK_BLOCKS, rows,
                1);
    if (!lists) return;
    constants[1] = LISTS;
    record_step(r, REGION(PARTIALS), REGION(READ), SHADER_TOPK, constants, 3, &push, sizeof push, groups, rows, 1);
}

/* The logit in that place of the order of all (topk.comp). */
static float logit_of(uint32_t order)
{
    uint32_t bits = order >> 31 ? order & 0x7FFFFFFFu : ~order;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

uint32_t gpu_state_topk(const struct gpu_state *s, struct gpu_candidate out[GPU_TOPK_MAX], float *from)
{
    _Static_assert(GPU_TOPK_MAX == TOPK_BLOCKS * TOPK_ROOM, "room for full lists");
    const struct buffer *b = s->buffer;
    const uint32_t *list = (const uint32_t *)((const char *)b->logits.mapped + model_topk_at(s->model));
    uint32_t n = 0, order = list[1];
    if (!s->logits_valid || !b->listed) return 0;
    *from = order == 1 ? -INFINITY : logit_of(order);
    for (uint32_t block = 0; block < TOPK_BLOCKS; block++, list += 2 * (1 + TOPK_ROOM)) {
        if (list[0] > TOPK_ROOM) return 0; /* more than there is room for */
        for (uint32_t i = 1; i <= list[0]; i++, n++) {
            out[n].id = (tdm_id)list[2 * i];
            memcpy(&out[n].logit, &list[2 * i + 1], sizeof out[n].logit);
        }
    }
    return n;
}

tdm_status state_fetch_logits(const struct gpu_state *s, tdm_error *err)
{
    struct buffer *b = s->buffer;
    struct copy copy = {&b->block, &b->logits, model_logits_at(s->model), 0, s->model->config.vocab * sizeof(float)};
    if (!s->logits_valid || !b->away) return TDM_OK;
    tdm_status status = device_copy(s->model->gpu, &copy, 1, err);
    if (!status) b->away = false;
    return status;
}

tdm_status gpu_state_fetch_logits(const struct gpu_state *s, const float **out, tdm_error *err)
{
    assert_always(s->logits_valid);
    tdm_status status = state_fetch_logits(s, err);
    *out = status ? NULL : s->logits;
    return status;
}
