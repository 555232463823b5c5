/* Tokens drafted by the MTP head, or from the context, and verified by one pass (engine/forward/head.h, forward.h).
 * Each row's token is drawn from its own logits, with the random number of its index and the penalties as of that row,
 * and the next row counts only if its draft is that token: so the text is what single tokens make. */
#include "engine/chat/chat.h"

#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/chat/pace.h"
#include "engine/forward/logits.h"

_Static_assert(1 + DRAFTS_MOST <= BACKEND_KEPT, "every backend verifies so many tokens");
_Static_assert(1 + DRAFTS_MOST <= DRAWN_MOST, "there is room for what is drawn");

static const struct side *decode_side(const struct tdm_chat *c)
{
    return &c->side[chat_pipeline(c)->decode_unit];
}

static bool verifies(const struct side *side)
{
    return side->evaluator && side->evaluator->model->backend->accept;
}

/* The bytes that a draft reads to those that a token does. */
static double expected_cost(const struct weights *w)
{
    if (!w->config.mtp) return 0;
    double rows = (double)(w->drafted.first_tiles + w->drafted.n_more) * MATRIX_TILE / w->config.vocab;
    double draft = (double)w->head.bytes + rows * (double)w->head.lm_head->bytes;
    return draft / (weights_pass_bytes(w, 1) + (double)w->lm_head->bytes);
}

bool chat_drafting_fits(const struct tdm_chat *c)
{
    const struct side *side = decode_side(c);
    const struct backend_model *own = c->drafting.model;
    if (!verifies(side)) return !own;
    const struct backend_model *m = side->evaluator->model;
    return own && own->backend == m->backend && (!m->device || own == m);
}

void chat_prepare_drafting(struct tdm_chat *c)
{
    struct drafting *d = &c->drafting;
    const struct side *side = decode_side(c);
    if (chat_drafting_fits(c)) return;
    chat_free_drafting(c);
    if (!verifies(side)) return;
    const struct backend_model *m = side->evaluator->model;
    if (m->backend->kept_new(&d->kept, m, 1 + DRAFTS_MOST, NULL)) return;
    d->model = m;
    d->logits = malloc((1 + DRAFTS_MOST) * (size_t)side->weights->config.vocab * sizeof *d->logits);
    if (!d->logits) chat_free_drafting(c);
    drafts_init(&d->drafts, expected_cost(side->weights));
}

void chat_free_drafting(struct tdm_chat *c)
{
    struct drafting *d = &c->drafting;
    if (d->kept) d->model->backend->kept_free(d->kept);
    free(d->logits);
    d->model = NULL;
    d->kept = NULL;
    d->logits = NULL;
}

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t chat_drafts_wanted(const struct tdm_chat *c, const struct decoder *d)
{
    uint32_t there = d->prompt + d->index, context = pool_context(d->state->pool), most = DRAFTS_MOST;
    if (!c->drafting.kept || !chat_drafting_fits(c) || c->options.mtp == TDM_MTP_OFF) return 0;
    /* The pass gives up to `most` tokens and one more; nothing is drafted that the reply has no room for. */
    most = lower(most, there < context ? context - there - 1 : 0);
    /* A reply that is held back needs none; where the model is slower than the pace they come no sooner than due. */
    if (c->options.pace_tps > 0) most = lower(most, pace_late(c->not_before_ns, clock_ns(), c->options.pace_tps));
    if (d->max_tokens) most = lower(most, d->max_tokens - d->stats.reply_tokens - 1);
    return c->options.mtp > 0 ? lower(most, (uint32_t)c->options.mtp) : drafts_choose(&c->drafting.drafts, most);
}

void chat_make_drafts(struct tdm_chat *c, struct team *team)
{
    struct decode_pass *p = &c->pass;
    struct decoder *d = p->decoder[0];
    struct evaluator *e = c->side[d->unit].evaluator;
    int64_t start = clock_ns();
    if (!p->drafts) return;
    p->tokens[0] = d->next;
    if (d->state->headless) {
        p->drafts = drafts_from_context(d->state->tokens, d->state->length, d->next, p->tokens + 1, p->drafts);
    } else {
        struct draft_run run = {.state = d->state, .next = d->next, .n = p->drafts, .drafts = p->tokens + 1};
        if (e->model->backend->draft(team, e, &run, 1, NULL, NULL)) p->drafts = 0; /* the pass will say why */
    }
    p->draft_s = 1e-9 * (double)(clock_ns() - start);
    if (!p->drafts) return;
    p->run[0] = (struct forward_run){.state = d->state, .tokens = p->tokens, .n = 1 + p->drafts, .logits = LOGITS_ALL,
                                     .all = c->drafting.logits, .kept = c->drafting.kept};
}

/* What the draft of a row would have had to be. accept: the share that is made right, for measuring (tandem.h). */
static tdm_id as_wanted(const struct decoder *d, double accept, tdm_id drawn, tdm_id draft, uint32_t index)
{
    if (accept <= 0 || drawn < 0) return drawn;
    if (sampler_random(d->sampling.seed ^ UINT64_C(0x6d7470), d->turn, d->attempt, index) < accept) return draft;
    return drawn != draft ? drawn : draft ? draft - 1 : 1;
}

void chat_draw_rows(const struct tdm_chat *c, struct decoder *d, const struct forward_run *run, struct drawn *out)
{
    uint32_t vocab = c->side[d->unit].weights->config.vocab;
    uint64_t hash = d->logits_hash;
    for (out->n = 0; out->n < run->n;) {
        uint32_t row = out->n++, index = d->index + row;
        const float *logits = run->all + (size_t)row * vocab;
        tdm_id id = sampler_draw(d->sampler, &d->sampling, logits, d->turn, d->attempt, index);
        bool last = row + 1 == run->n;
        if (!last) id = as_wanted(d, d->mtp_accept, id, run->tokens[row + 1], index);
        if (d->hashes) hash = logits_hash(hash, logits, vocab);
        out->id[row] = id;
        out->hash[row] = hash;
        if (id < 0) return;
        sampler_accept(d->sampler, id);
        if (!last && id != run->tokens[row + 1]) return;
    }
}

void chat_accept_drafts(struct tdm_chat *c, struct team *team)
{
    struct decode_pass *p = &c->pass;
    struct evaluator *e = c->side[p->decoder[0]->unit].evaluator;
    e->model->backend->accept(team, e, p->run, &p->drawn[0].taken, 1);
}

void chat_count_drafts(struct tdm_chat *c, double took, bool timed)
{
    struct decode_pass *p = &c->pass;
    uint32_t right = p->drafts ? p->drawn[0].n - 1 : 0;
    drafts_count(&c->drafting.drafts, p->drafts, right, took - p->draft_s, p->draft_s, timed);
}
