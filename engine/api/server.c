/* tdm_model for a model on a server. Tokenizer and configuration are those of a local model if the options name one,
 * else those of model_open_counting(). */
#include "engine/backend/server.h"
#include "engine/object/model.h"

#include <stdlib.h>
#include <string.h>

#include "engine/api/options.h"
#include "engine/base/error.h"

enum { CONTEXT_UNKNOWN = 32768, CONTEXT_MAX = 1 << 20 };

/* A configuration without matrices. Properties that the model on the server may lack must not seem to be there. */
static tdm_status make_weights(struct tdm_model *m, int context, tdm_error *err)
{
    struct weights *w = m->weights = calloc(1, sizeof *w);
    if (!w) return error_set(err, TDM_E_NOMEM, "no memory for a model");
    w->config = *source_config(m->source);
    w->config.mtp.there = false;
    w->config.context_length = context <= 0 ? CONTEXT_UNKNOWN : context > CONTEXT_MAX ? CONTEXT_MAX : (uint32_t)context;
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
        .notices = m->notices,
        .begins_with = m->begins_with,
        .vocabulary = own.vocabulary,
        .tokens = own.tokens,
        .trained_context = (int)m->weights->config.context_length,
        .on_server = true,
        .thinkings = own.thinkings,
        .always_thinks = own.always_thinks,
        .can_keep_thinking = own.can_keep_thinking,
        .can_drop_thinking = own.can_drop_thinking,
        .keeps_thinking = own.keeps_thinking,
        .no_system = own.no_system,
        .template_name = own.template_name,
        .sampling = sampler_complete(o->sampling, &own.sampling),
        .fingerprint = 0,
    };
}

/* Whether it is the template of the model that counts here: then its vocabulary is, too. Servers may leave the line's
 * end out. */
static bool is_same(struct span own, const char *served)
{
    size_t n = served ? strlen(served) : 0;
    while (own.length && own.bytes[own.length - 1] == '\n') own.length--;
    while (n && served[n - 1] == '\n') n--;
    return n && n == own.length && !memcmp(own.bytes, served, n);
}

static tdm_status open_server(tdm_model **out, const tdm_server_options *o, tdm_error *err)
{
    tdm_model_options text = {.path = o->tokenizer, .text_only = true};
    tdm_model *m;
    tdm_status status = o->tokenizer ? tdm_model_open(&m, &text, err) : model_open_counting(&m, err);
    if (status) return status;
    bool same = is_same(source_text(m->source)->chat_template, o->chat_template);
    status = model_serve_template(m, o->chat_template, err);
    if (!status) status = make_weights(m, o->context, err);
    if (!status) status = server_link_new(&m->server, o, m->weights, m->tokenizer, err);
    if (!status) m->server->same_words = same;
    if (!status) m->server->renders = template_facts(m->template)->kind != TEMPLATE_GIVEN;
    if (status) {
        tdm_model_close(m);
        return status;
    }
    fill_info(m, o);
    *out = m;
    return TDM_OK;
}

TDM_API tdm_status tdm_model_open_server_sized(tdm_model **out, const tdm_server_options *options, size_t size,
                                               tdm_error *err)
{
    tdm_server_options own = {0};
    *out = NULL;
    tdm_status status = options_take(&own, sizeof own, options, size, err);
    return status ? status : open_server(out, &own, err);
}
