/* tdm_model: opening a model's files, and the facts about it. */
#include "engine/backend/server.h"
#include "engine/object/model.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/model/locate.h"
#include "engine/unit/topology.h"

static tdm_status load_tokenizer(struct tdm_model *m, tdm_error *err)
{
    const struct source_text *text = source_text(m->source);
    if (text->tokenizer_json) return tokenizer_load_json(&m->tokenizer, text->tokenizer_json, err);
    struct tokenizer_parts parts = {
        .name = m->path,
        .tokens = text->tokens,
        .token_count = text->token_count,
        .types = text->types,
        .merges = text->merges,
        .merge_count = text->merge_count,
        .pre = text->pre,
    };
    return tokenizer_load_parts(&m->tokenizer, &parts, err);
}

/* How much memory the packed experts get, when the rest of what a conversation needs is left free; 0: all that they
 * need. A model that does not fit is refused, before it costs this or another process its life. */
static tdm_status plan_memory(const struct tdm_model *m, const struct kernels *kernels, uint64_t wanted,
                              struct weights_options *options, tdm_error *err)
{
    enum { STATES = 1 << 30, SHARE = 16 }; /* left free: this and one part in so many */
    uint64_t experts, others, free_bytes = memory_available();
    weights_packed_bytes(m->source, kernels, options, &experts, &others);
    options->expert_bytes = wanted;
    if (!free_bytes || others + experts + STATES <= free_bytes - free_bytes / SHARE) return TDM_OK;
    if (experts && !wanted) {
        uint64_t taken = others + STATES + free_bytes / SHARE;
        options->expert_bytes = taken < free_bytes ? free_bytes - taken : 1; /* too little is said by experts_new */
        if (options->expert_bytes >= experts) options->expert_bytes = 0;
    }
    uint64_t needed =
        others + (options->expert_bytes && options->expert_bytes < experts ? options->expert_bytes : experts);
    if (needed <= free_bytes) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "%s: its weights take %.1f GB, and %.1f GB of memory are free", m->path,
                     1e-9 * (double)needed, 1e-9 * (double)free_bytes);
}

/* The special tokens, ascending, and those that begin and end thinking, which files don't call special. */
static size_t special_ids(const struct tokenizer *t, tdm_id *out, size_t room)
{
    size_t n = 0;
    tdm_id begin = tokenizer_find(t, "<think>"), end = tokenizer_find(t, "</think>");
    for (tdm_id id = 0; id < tokenizer_count(t) && n < room; id++)
        if (tokenizer_is_special(t, id) || id == begin || id == end) out[n++] = id;
    return n;
}

static tdm_status load_weights(struct tdm_model *m, const tdm_model_options *o, tdm_error *err)
{
    enum { MOST_SPECIAL = 256 };
    tdm_id special[MOST_SPECIAL];
    struct weights_options options = {
        .lm_head = TYPE_COUNT, .progress = o->progress, .progress_ctx = o->progress_ctx, .pack_folder = o->pack_folder};
    options.special = special;
    options.n_special = special_ids(m->tokenizer, special, MOST_SPECIAL);
    if (o->lm_head && strcmp(o->lm_head, "as-is")) {
        options.lm_head = type_from_name(o->lm_head);
        if (options.lm_head != TYPE_Q8_0 && options.lm_head != TYPE_Q6_K)
            return error_set(err, TDM_E_ARG, "lm-head: expected q8_0, q6_k or as-is, found %s", o->lm_head);
    }
    const struct kernels *kernels;
    tdm_status status = kernels_find(&kernels, o->kernels, err);
    if (!status) status = plan_memory(m, kernels, o->expert_memory, &options, err);
    if (status) return status;
    struct topology *topology = malloc(sizeof *topology);
    if (!topology) return error_set(err, TDM_E_NOMEM, "no memory for the topology");
    int threads = 1;
    if (topology_read(topology, "", NULL, NULL) == TDM_OK)
        threads = topology->limit && topology->limit < topology->cores ? topology->limit : topology->cores;
    free(topology);
    if (o->threads > 0 && o->threads < threads) threads = o->threads;
    struct team *team;
    status = team_open(&team, threads, NULL, err);
    if (status) return status;
    status = weights_new(&m->weights, m->source, kernels, team, &options, err);
    team_close(team);
    uint64_t limit = o->pack_limit ? o->pack_limit : PACKED_AUTO;
    if (!status && o->pack_folder && !o->pack_read_only)
        status = packed_writer_start(&m->packed, m->weights, o->pack_folder, limit, err);
    return status;
}

/* The sampling that Qwen publishes for its Qwen3.5 models without thinking; the small ones have their own. */
static tdm_sampling published_sampling(const struct config *c)
{
    bool small = c->hidden <= 2048;
    return (tdm_sampling){
        .temperature = small ? 1.0f : 0.7f,
        .top_k = 20,
        .top_p = small ? 1.0f : 0.8f,
        .presence_penalty = small ? 2.0f : 1.5f,
        .repeat_penalty = 1,
    };
}

static tdm_sampling sampling_of(const struct tdm_model *m, bool *from_file)
{
    const struct source_sampling *f = source_sampling(m->source);
    *from_file = !isnan(f->temperature) || f->top_k >= 0 || !isnan(f->top_p);
    tdm_sampling s = published_sampling(source_config(m->source));
    /* A file that says something of sampling is taken at its word: what it leaves out is off. */
    if (*from_file) s = (tdm_sampling){.temperature = 1, .top_p = 1, .repeat_penalty = 1};
    if (!isnan(f->temperature)) s.temperature = f->temperature;
    if (f->top_k >= 0) s.top_k = f->top_k;
    if (!isnan(f->top_p)) s.top_p = f->top_p;
    if (!isnan(f->min_p)) s.min_p = f->min_p;
    if (!isnan(f->presence_penalty)) s.presence_penalty = f->presence_penalty;
    if (!isnan(f->frequency_penalty)) s.frequency_penalty = f->frequency_penalty;
    if (!isnan(f->repeat_penalty)) s.repeat_penalty = f->repeat_penalty;
    return s;
}

static void list_types(struct tdm_model *m)
{
    uint64_t bytes[TYPE_COUNT] = {0}, all = 0;
    const struct tensor *const *list;
    size_t n = source_tensors(m->source, &list);
    for (size_t i = 0; i < n; i++) bytes[list[i]->type] += list[i]->bytes, all += list[i]->bytes;
    size_t at = 0;
    for (int round = 0; round < TYPE_COUNT; round++) {
        int most = 0;
        for (int t = 0; t < TYPE_COUNT; t++)
            if (bytes[t] > bytes[most]) most = t;
        if (round == 0 && m->weights) m->arithmetic = (tdm_arithmetic)m->weights->kernels->panel_of((enum type)most);
        if (bytes[most] == 0 || at >= sizeof m->weight_types - 24) break;
        at += (size_t)snprintf(m->weight_types + at, sizeof m->weight_types - at, "%s%s %.1f%%", at ? ", " : "",
                               type_info((enum type)most)->name, 100.0 * (double)bytes[most] / (double)all);
        bytes[most] = 0;
    }
}

static void list_skipped(struct tdm_model *m)
{
    const struct source_skipped *s = source_skipped(m->source);
    const struct { uint32_t n; uint64_t bytes; const char *what; } rows[] = {
        {s->mtp, s->mtp_bytes, "MTP"}, {s->vision, s->vision_bytes, "vision"}, {s->other, s->other_bytes, "other"}};
    size_t at = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n)
            at += (size_t)snprintf(m->skipped + at, sizeof m->skipped - at, "%s%u %s tensors (%.1f MB)", at ? ", " : "",
                                   rows[i].n, rows[i].what, (double)rows[i].bytes / 1e6);
}

/* Weights of all matrices but the embeddings and the LM head, of a mixture's experts those that are used: two
 * operations each for a prefilled token. */
static void count_work(struct tdm_model *m)
{
    const struct tensor *const *list;
    size_t n = source_tensors(m->source, &list);
    const struct config *c = source_config(m->source);
    uint64_t head = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = list[i];
        if (t->layer >= c->layers) {
            m->info.mtp_parameters += t->rows * t->cols;
            m->info.mtp_bytes += t->bytes;
            continue;
        }
        if (t->role == ROLE_EMBED || t->role == ROLE_LM_HEAD) {
            if (t->role == ROLE_LM_HEAD || c->tied) head = t->bytes;
            continue;
        }
        bool experts = role_is_experts(t->role);
        /* Rows that a token is multiplied with. */
        uint64_t part = experts ? t->rows / c->experts * c->experts_used : t->rows;
        if (role_is_matrix(t->role)) m->info.flops_per_token += 2 * part * t->cols;
        m->info.active_parameters += part * t->cols;
        m->info.bytes_per_token += part * t->row_bytes;
        if (experts) m->info.expert_bytes += t->bytes;
    }
    m->info.active_parameters += (uint64_t)c->vocab * c->hidden;
    m->info.bytes_per_token += head;
    if (m->weights) {
        m->info.packed_bytes = m->weights->bytes;
        m->info.load_seconds = m->weights->load_seconds;
        m->info.was_packed = m->weights->was_packed;
        m->info.bytes_per_token = (uint64_t)weights_pass_bytes(m->weights, 1) + m->weights->lm_head->bytes;
        m->info.from_disk_tps = m->weights->from_disk_tps;
        if (m->weights->experts) {
            m->info.expert_bytes = experts_all_bytes(m->weights->experts);
            m->info.expert_memory = experts_bytes(m->weights->experts);
        }
    }
}

static void fill_template(struct tdm_model *m, bool has_one)
{
    tdm_model_info *i = &m->info;
    i->template_name = has_one ? template_name(m->form) : "none (Qwen3.5 form)";
    i->can_think = m->form.can_think;
    i->has_efforts = m->form.kind == TEMPLATE_QWEN38;
    i->can_keep_thinking = template_check(m->form, TDM_THINK_OFF, TDM_KEEP_ON, NULL) == TDM_OK;
    i->keeps_thinking = template_keeps(m->form, TDM_KEEP_AUTO);
}

void model_take_template(struct tdm_model *m, const char *name, const char *text)
{
    struct template_form form = {.substituted = true};
    if (text && text[0]) form = template_recognise((struct span){text, strlen(text)});
    if (name) template_find(name, &form);
    bool known = !form.substituted;
    m->form = known ? form : (struct template_form){TEMPLATE_BUILTIN, false, true};
    m->info.template_replaced = !known;
    fill_template(m, known);
}

static void fill_info(struct tdm_model *m)
{
    static const char *const formats[] = {[SOURCE_GGUF] = "GGUF", [SOURCE_HF] = "Hugging Face directory",
                                          [SOURCE_SYNTHETIC] = "made-up weights"};
    const struct config *c = source_config(m->source);
    tdm_model_info *i = &m->info;
    list_types(m);
    list_skipped(m);
    *i = (tdm_model_info){
        .name = c->name[0] ? c->name : m->path,
        .path = m->path,
        .format = formats[source_format(m->source)],
        .architecture = c->architecture,
        .kernels = m->weights ? m->weights->kernels->name : "",
        .weight_types = m->weight_types,
        .arithmetic = m->arithmetic,
        .parameters = source_parameter_count(m->source),
        .file_bytes = source_file_bytes(m->source),
        .layers = (int)c->layers,
        .whole_layers = (int)c->whole_layers,
        .hidden = (int)c->hidden,
        .intermediate = (int)c->intermediate,
        .experts = (int)c->experts,
        .experts_used = (int)c->experts_used,
        .expert_intermediate = (int)c->expert_intermediate,
        .heads = (int)c->heads,
        .kv_heads = (int)c->kv_heads,
        .head_dim = (int)c->head_dim,
        .lin_key_heads = (int)c->lin_key_heads,
        .lin_value_heads = (int)c->lin_value_heads,
        .lin_key_dim = (int)c->lin_key_dim,
        .lin_value_dim = (int)c->lin_value_dim,
        .conv_kernel = (int)c->conv_kernel,
        .vocabulary = (int)c->vocab,
        .tokens = (int)tokenizer_count(m->tokenizer),
        .trained_context = (int)c->context_length,
        .tied = c->tied,
        .synthetic = source_format(m->source) == SOURCE_SYNTHETIC,
        .template_replaced = m->form.substituted,
        .skipped = m->skipped,
        .fingerprint = source_fingerprint(m->source),
    };
    for (uint32_t l = 0; l < c->layers; l++) i->full_layers += c->full_attention[l];
    fill_template(m, source_text(m->source)->chat_template.length > 0);
    i->sampling = sampling_of(m, &i->sampling_from_file);
    count_work(m);
}

TDM_API tdm_status tdm_model_open(tdm_model **out, const tdm_model_options *o, tdm_error *err)
{
    struct source_options options = {.quant = TYPE_F32, .builtin = o->builtin};
    if (o->quant) {
        options.quant = type_from_name(o->quant);
        if (options.quant != TYPE_Q8_0 && options.quant != TYPE_Q4_0)
            return error_set(err, TDM_E_ARG, "quant: expected q8_0 or q4_0, found %s", o->quant);
    }
    struct tdm_model *m = calloc(1, sizeof *m);
    if (!m) return error_set(err, TDM_E_NOMEM, "no memory for a model");
    tdm_status status = locate_model(&m->path, o->path, o->hubs, err);
    if (status == TDM_OK) status = source_open(&m->source, m->path, &options, err);
    if (status == TDM_OK) status = load_tokenizer(m, err);
    if (status == TDM_OK) {
        m->form = template_recognise(source_text(m->source)->chat_template);
        if (!o->text_only) status = load_weights(m, o, err);
    }
    if (status) {
        tdm_model_close(m);
        return status;
    }
    fill_info(m);
    *out = m;
    return TDM_OK;
}

TDM_API tdm_status tdm_tokenizer_open(tdm_model **out, const char *tokenizer_json, tdm_error *err)
{
    struct tdm_model *m = calloc(1, sizeof *m);
    if (!m || !(m->path = strdup(tokenizer_json))) {
        free(m);
        return error_set(err, TDM_E_NOMEM, "no memory for a tokenizer");
    }
    tdm_status status = tokenizer_load_json(&m->tokenizer, tokenizer_json, err);
    if (status) {
        tdm_model_close(m);
        return status;
    }
    m->form = template_recognise((struct span){0});
    m->info = (tdm_model_info){.name = m->path, .path = m->path, .format = "tokenizer.json", .architecture = "",
                               .kernels = "", .weight_types = "", .skipped = "",
                               .tokens = (int)tokenizer_count(m->tokenizer)};
    fill_template(m, false);
    *out = m;
    return TDM_OK;
}

TDM_API void tdm_model_close(tdm_model *m)
{
    if (!m) return;
    packed_writer_stop(m->packed);
    server_link_free(m->server);
    weights_free(m->weights);
    tokenizer_free(m->tokenizer);
    source_close(m->source);
    free(m->path);
    free(m);
}

TDM_API void tdm_model_describe(const tdm_model *m, tdm_model_info *out)
{
    *out = m->info;
}
