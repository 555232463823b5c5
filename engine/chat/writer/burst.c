#include "engine/chat/writer/burst.h"

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Both units on one device: each waits for no more than a token of the other's. */
static bool shares_device(const struct tdm_chat *c)
{
    const struct backend_device *own = c->side[TDM_DECODE_UNIT].residence.model->device;
    return own && own == c->side[TDM_PREFILL_UNIT].residence.model->device;
}

static uint32_t wanted(const struct tdm_chat *c, const struct decoder *d)
{
    const struct evaluator *e = c->side[d->unit].evaluator;
    uint32_t there = d->prompt + d->index, context = pool_context(d->state->pool);
    if (!e->model->backend->burst || shares_device(c)) return 1;
    /* A stop string, a hash of the logits or the pace has to be looked at after each. */
    if ((c->options.stops && c->options.stops[0]) || d->hashes || c->options.pace_tps > 0) return 1;
    uint32_t most = lower(e->model->backend->burst(e, &d->sampling), context > there ? context - there : 1);
    /* With the last of them the reply may end, and not before. */
    if (d->max_tokens) most = lower(most, d->max_tokens - d->stats.reply_tokens);
    uint32_t answer = d->stats.reply_tokens - d->stats.thinking_tokens;
    return d->max_answer ? lower(most, d->max_answer - answer) : most;
}

void burst_plan(struct tdm_chat *c)
{
    struct decode_pass *p = &c->writer.pass;
    struct decoder *d = p->decoder[0];
    const struct config *config = &c->side[d->unit].weights->config;
    p->burst = (struct burst){.state = d->state,
                              .next = d->next,
                              .n = wanted(c, d),
                              .stops = config->stops.ids,
                              .n_stops = c->options.ignore_eos ? 0 : config->stops.count};
    d->max_added = p->burst.n;
}

tdm_status burst_sample(struct tdm_chat *c, uint64_t *bytes, tdm_error *err)
{
    struct decode_pass *p = &c->writer.pass;
    struct decoder *d = p->decoder[0];
    struct sampled *sampled = &p->sampled[0];
    struct evaluator *e = c->side[d->unit].evaluator;
    struct sampling_request request = {d->sampler, &d->sampling, d->turn, d->attempt, d->index};
    tdm_status status = e->model->backend->reply(e, &p->burst, &request, sampled->id, &sampled->n, bytes, err);
    for (uint32_t i = 0; i < sampled->n && !status; i++) {
        sampled->hash[i] = d->logits_hash;
        if (sampled->id[i] >= 0) sampler_accept(d->sampler, sampled->id[i]);
    }
    return status;
}
