/* The decoders of a chat: there is always the first; others come when several answers are wanted. */
#include "engine/chat/chat.h"

#include <stdlib.h>

#include "engine/base/error.h"

tdm_status chat_add_decoder(const struct tdm_chat *c, struct decoder **at, tdm_error *err)
{
    if (*at) return TDM_OK;
    struct decoder *d = calloc(1, sizeof *d);
    if (!d) return error_set(err, TDM_E_NOMEM, "no memory for an answer");
    uint32_t known = (uint32_t)tokenizer_count(c->model->tokenizer), rows = c->model->weights->config.vocab;
    tdm_status status = sampler_new(&d->sampler, known < rows ? known : rows, err);
    if (status) {
        free(d);
        return status;
    }
    reply_init(&d->reply, c->model->tokenizer, false, NULL);
    *at = d;
    return TDM_OK;
}

void chat_arrange_decoders(struct tdm_chat *c, int answers)
{
    int looked = 0;
    while (c->decoders[looked] != c->decoder) looked++;
    c->decoders[looked] = c->decoders[0];
    c->decoders[0] = c->decoder;
    c->answers = 1;
    for (int i = 0; i < TDM_ANSWERS_MAX && c->decoders[i]; i++) c->decoders[i]->node = 0;
    if (stage_uses_decoder(c->stage)) return;
    for (int i = answers; i < TDM_ANSWERS_MAX; i++) chat_remove_decoder(&c->decoders[i]);
}

struct decoder *chat_decoder_of(const struct tdm_chat *c, int node)
{
    for (int i = 0; node && i < c->answers; i++)
        if (c->decoders[i]->node == node) return c->decoders[i];
    return NULL;
}

int chat_writing(const struct tdm_chat *c)
{
    int n = 0;
    for (int i = 0; i < c->answers; i++) n += c->decoders[i]->writing;
    return n;
}

void chat_remove_decoder(struct decoder **at)
{
    struct decoder *d = *at;
    if (!d) return;
    *at = NULL;
    state_free(d->state);
    sampler_free(d->sampler);
    reply_free(&d->reply);
    free(d->own.ids);
    free(d);
}
