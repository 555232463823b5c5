/* tdm_model: a model on a server. Its tokenizer and shape are another model's, which is here. */
#include "engine/backend/server.h"
#include "engine/object/model.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

enum { CONTEXT_UNKNOWN = 32768, CONTEXT_MOST = 1 << 20 };

/* A configuration without matrices. What is no part of it here must not seem to be. */
static tdm_status make_weights(struct tdm_model *m, int context, tdm_error *err)
{
    struct weights *w = m->weights = calloc(1, sizeof *w);
    if (!w) return error_set(err, TDM_E_NOMEM, "no memory for a model");
    w->config = *source_config(m->source);
    w->config.mtp = false;
    w->config.context_length = context <= 0             ? CONTEXT_UNKNOWN
                               : context > CONTEXT_MOST ? CONTEXT_MOST
                                                        : (uint32_t)context;
    return kernels_find(&w->kernels, NULL, err);
}

static void fill_info(struct tdm_model *m, const tdm_server_options *o)
{
    tdm_model_info own = m->info;
    m->info = (tdm_model_info){
        .name = m->server->name,
        .path = m->server->host,
        .format = "server",
        .architecture = "",
        .kernels = m->weights->kernels->name, /* of this machine: nothing is computed with them */
        .weight_types = "",
        .skipped = "",
        .vocabulary = own.vocabulary,
        .tokens = own.tokens,
        .trained_context = (int)m->weights->config.context_length,
        .on_server = true,
        .can_think = own.can_think,
        .has_efforts = own.has_efforts,
        .can_keep_thinking = own.can_keep_thinking,
        .keeps_thinking = own.keeps_thinking,
        .template_name = own.template_name,
        .template_replaced = own.template_replaced,
        .sampling = o->sampling ? *o->sampling : own.sampling,
        .fingerprint = 0,
    };
}

TDM_API tdm_status tdm_model_open_server(tdm_model **out, const tdm_server_options *o, tdm_error *err)
{
    tdm_model_options text = {.path = o->tokenizer, .text_only = true};
    tdm_model *m;
    *out = NULL;
    tdm_status status = tdm_model_open(&m, &text, err);
    if (status) return status;
    model_take_template(m, o->template_name, o->chat_template);
    status = make_weights(m, o->context, err);
    if (!status) status = server_link_new(&m->server, o, m->weights, m->tokenizer, err);
    if (status) {
        tdm_model_close(m);
        return status;
    }
    fill_info(m, o);
    *out = m;
    return TDM_OK;
}
