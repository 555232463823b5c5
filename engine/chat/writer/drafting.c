#include "engine/chat/writer/drafting.h"

#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/chat/policy/pace.h"
#include "engine/base/fnv.h"

_Static_assert(1 + DRAFTS_MAX <= BACKEND_KEPT, "every backend verifies this many tokens");
_Static_assert(1 + DRAFTS_MAX <= SAMPLED_MAX, "there is room for what is sampled");

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
    if (!w->config.mtp.there) return 0;
    double rows = (double)(w->drafted.first_tiles + w->drafted.n_more) * MATRIX_TILE / w->config.vocab;
    double draft = (double)w->head.bytes + rows * (double)w->head.lm_head->bytes;
    return draft / (weights_pass_bytes(w, 1) + (double)w->lm_head->bytes);
}

bool drafting_fits(const struct tdm_chat *c)
{
    const struct side *side = decode_side(c);
    const struct backend_model *own = c->writer.drafting.model;
    if (!verifies(side)) return !own;
    const struct backend_model *m = side->evaluator->model;
    return own && own->backend == m->backend && (!m->device || own == m);
}

void drafting_prepare(struct tdm_chat *c)
{
    struct drafting *d = &c->writer.drafting;
    const struct side *side = decode_side(c);
    if (drafting_fits(c)) return;
    drafting_free(d);
    if (!verifies(side)) return;
    const struct backend_model *m = side->evaluator->model;
    if (m->backend->kept_new(&d->kept, m, 1 + DRAFTS_MAX, NULL)) return;
    d->model = m;
    d->logits = malloc((1 + DRAFTS_MAX) * (size_t)side->weights->config.vocab * sizeof *d->logits);
    if (!d->logits) drafting_free(d);
    drafts_init(&d->drafts, expected_cost(side->weights));
}

void drafting_free(struct drafting *d)
{
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

uint32_t drafting_wanted(const struct tdm_chat *c, const struct decoder *d)
{
    uint32_t there = d->prompt + d->index, context = pool_context(d->state->pool), most = DRAFTS_MAX;
    if (!c->writer.drafting.kept || !drafting_fits(c) || c->options.mtp == TDM_MTP_OFF) return 0;
    /* The pass gives up to `most` tokens and one more; nothing is drafted that the reply has no room for. */
    most = lower(most, there < context ? context - there - 1 : 0);
    /* A reply that is held back needs none; where the model is slower than the pace they come no sooner than due. */
    if (c->options.pace_tps > 0)
        most = lower(most, pace_late(c->writer.not_before_ns, clock_ns(), c->options.pace_tps));
    if (d->max_tokens) most = lower(most, d->max_tokens - d->stats.reply_tokens - 1);
    return c->options.mtp > 0 ? lower(most, (uint32_t)c->options.mtp) : drafts_choose(&c->writer.drafting.drafts, most);
}

void drafting_make(struct tdm_chat *c, struct team *team)
{
    struct decode_pass *p = &c->writer.pass;
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
    p->run[0] = (struct forward_run){.state = d->state,
                                     .tokens = p->tokens,
                                     .n = 1 + p->drafts,
                                     .logits = LOGITS_ALL,
                                     .all = c->writer.drafting.logits,
                                     .kept = c->writer.drafting.kept};
}

/* What the draft of a row would have had to be. accept: the share that is made right, to measure. */
static tdm_id as_wanted(const struct decoder *d, double accept, tdm_id sampled, tdm_id draft, uint32_t index)
{
    if (accept <= 0 || sampled < 0) return sampled;
    if (sampler_random(d->sampling.seed ^ UINT64_C(0x6d7470), d->turn, d->attempt, index) < accept) return draft;
    return sampled != draft ? sampled : draft ? draft - 1 : 1;
}

void drafting_sample(const struct tdm_chat *c, struct decoder *d, const struct forward_run *run, struct sampled *out)
{
    uint32_t vocab = c->side[d->unit].weights->config.vocab;
    uint64_t hash = d->logits_hash;
    for (out->n = 0; out->n < run->n;) {
        uint32_t row = out->n++, index = d->index + row;
        const float *logits = run->all + (size_t)row * vocab;
        tdm_id id = sampler_sample(d->sampler, &d->sampling, logits, d->turn, d->attempt, index);
        bool last = row + 1 == run->n;
        if (!last) id = as_wanted(d, d->pretended_share, id, run->tokens[row + 1], index);
        if (d->hashes) hash = fnv_floats(hash, logits, vocab);
        out->id[row] = id;
        out->hash[row] = hash;
        if (id < 0) return;
        sampler_accept(d->sampler, id);
        if (!last && id != run->tokens[row + 1]) return;
    }
}

void drafting_accept(struct tdm_chat *c, struct team *team)
{
    struct decode_pass *p = &c->writer.pass;
    struct evaluator *e = c->side[p->decoder[0]->unit].evaluator;
    e->model->backend->accept(team, e, p->run, &p->sampled[0].taken, 1);
}

void drafting_count(struct writer *w, double took, bool timed)
{
    const struct decode_pass *p = &w->pass;
    uint32_t right = p->drafts ? p->sampled[0].n - 1 : 0;
    drafts_count(&w->drafting.drafts, p->drafts, right, took - p->draft_s, p->draft_s, timed);
}
