#include "engine/chat/dialogue/dialogue.h"

#include <stdlib.h>

#include "engine/base/error.h"

tdm_status dialogue_add_decoder(struct dialogue *d, int i, const struct tdm_model *m, tdm_error *err)
{
    if (d->decoders[i]) return TDM_OK;
    struct decoder *one = calloc(1, sizeof *one);
    if (!one) return error_set(err, TDM_E_NOMEM, "no memory for an answer");
    uint32_t known = (uint32_t)tokenizer_count(m->tokenizer), rows = m->weights->config.vocab;
    tdm_status status = sampler_new(&one->sampler, known < rows ? known : rows, err);
    if (status) {
        free(one);
        return status;
    }
    reply_init(&one->reply, m->tokenizer, template_facts(m->template), REPLY_ANSWERS, NULL);
    one->dialogue = d;
    d->decoders[i] = one;
    return TDM_OK;
}

static void remove_decoder(struct decoder **at)
{
    struct decoder *d = *at;
    if (!d) return;
    *at = NULL;
    state_free(d->state);
    sampler_free(d->sampler);
    reply_free(&d->reply);
    free(d->prefix_ids.ids);
    free(d);
}

tdm_status dialogue_open(struct dialogue *d, const struct tdm_model *m, tdm_pipeline pipeline, tdm_error *err)
{
    d->pipeline = pipeline;
    tdm_status status = conversation_init(&d->conversation, err);
    if (!status) status = dialogue_add_decoder(d, 0, m, err);
    d->decoder = d->decoders[0];
    return status;
}

void dialogue_close(struct dialogue *d)
{
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) remove_decoder(&d->decoders[i]);
    conversation_free(&d->conversation);
    buffer_free(&d->queued);
    picture_list_free(&d->queued_pictures);
    free(d->last_prompt.ids);
    *d = (struct dialogue){0};
}

void dialogue_drop_queued(struct dialogue *d)
{
    buffer_clear(&d->queued);
    picture_list_free(&d->queued_pictures);
    d->has_queued = false;
    d->queued_answers = 0;
}

void dialogue_empty(struct dialogue *d)
{
    conversation_clear(&d->conversation);
    dialogue_drop_queued(d);
    for (int i = 1; i < TDM_ANSWERS_MAX; i++) remove_decoder(&d->decoders[i]);
    dialogue_drop_states(d);
    d->decoder = d->decoders[0];
    d->decoder->node = 0;
    d->decoder->prompt = d->decoder->index = 0;
    d->answers = 0;
    d->path_start = d->editing = d->user_node = d->reply_node = d->turns_since_load = 0;
    d->is_left = d->was_loaded = d->context_warned = d->forks_pending = false;
    d->last_prompt.n = 0;
    d->stats = (tdm_turn_stats){0};
}

void dialogue_arrange(struct dialogue *d, int answers)
{
    int looked = 0;
    while (d->decoders[looked] != d->decoder) looked++;
    d->decoders[looked] = d->decoders[0];
    d->decoders[0] = d->decoder;
    d->answers = 1;
    for (int i = 0; i < TDM_ANSWERS_MAX && d->decoders[i]; i++) d->decoders[i]->node = 0;
    if (stage_uses_decoder(d->stage)) return;
    for (int i = answers; i < TDM_ANSWERS_MAX; i++) remove_decoder(&d->decoders[i]);
}

struct decoder *dialogue_decoder_of(const struct dialogue *d, int node)
{
    for (int i = 0; node && i < d->answers; i++)
        if (d->decoders[i]->node == node) return d->decoders[i];
    return NULL;
}

int dialogue_writing(const struct dialogue *d)
{
    int n = 0;
    for (int i = 0; i < d->answers; i++) n += d->decoders[i]->writing;
    return n;
}

void dialogue_drop_states(struct dialogue *d)
{
    for (int i = 0; i < TDM_ANSWERS_MAX && d->decoders[i]; i++) {
        state_free(d->decoders[i]->state);
        d->decoders[i]->state = NULL;
        d->decoders[i]->state_tokens = 0;
    }
}

struct span decoder_message(const struct decoder *d)
{
    const struct conversation *all = &d->dialogue->conversation;
    const struct buffer *text = &all->nodes[all->nodes[d->node].parent].text;
    return (struct span){text->bytes, text->n};
}

uint32_t decoder_filled(const struct decoder *d)
{
    const tdm_turn_stats *s = &d->stats;
    return s->counted ? s->prompt_tokens + s->reply_tokens : d->prompt + d->index;
}
