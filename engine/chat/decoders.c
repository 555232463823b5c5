/* The decoders of a chat: there is always the first; others come when several answers are wanted. */
#include "engine/chat/chat.h"

#include <stdlib.h>

#include "engine/base/error.h"

tdm_status chat_add_decoder(struct tdm_chat *c, int at, tdm_error *err)
{
    if (c->decoders[at]) return TDM_OK;
    struct decoder *d = calloc(1, sizeof *d);
    if (!d) return error_set(err, TDM_E_NOMEM, "no memory for an answer");
    uint32_t known = (uint32_t)tokenizer_count(c->model->tokenizer), rows = c->model->weights->config.vocab;
    tdm_status status = sampler_new(&d->sampler, known < rows ? known : rows, err);
    if (status) {
        free(d);
        return status;
    }
    reply_init(&d->reply, c->model->tokenizer, false, NULL);
    c->decoders[at] = d;
    if (!c->decoder) c->decoder = d;
    return TDM_OK;
}

void chat_remove_decoder(struct tdm_chat *c, int at)
{
    struct decoder *d = c->decoders[at];
    if (!d) return;
    c->decoders[at] = NULL;
    state_free(d->state);
    sampler_free(d->sampler);
    reply_free(&d->reply);
    free(d);
}
