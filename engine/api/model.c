/* tdm_model: opening a model's files, and the facts about it. */
#include "engine/backend/server.h"
#include "engine/object/model.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/api/options.h"
#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/model/schema/describe.h"
#include "engine/model/schema/schema.h"
#include "engine/model/locate.h"
#include "engine/unit/topology.h"

static tdm_status load_tokenizer(struct tdm_model *m, tdm_error *err)
{
    const struct source_text *text = source_text(m->source);
    const struct config *c = source_config(m->source);
    const struct ends *ends = source_ends(m->source);
    struct marks marks;
    marks_init(&marks);
    marks_read_template(&marks, text->chat_template);
    for (size_t i = 0; i < ends->n; i++) {
        struct span end = span_text(ends->texts[i]);
        if (marks_look(end)) marks_add(&marks, end, true);
    }
    marks.stops = c->stops.ids;
    marks.n_stops = c->stops.count;
    if (text->tokenizer_json) {
        tdm_status status = tokenizer_load_json(&m->tokenizer, text->tokenizer_json, &marks, err);
        if (!status && text->bos.length) tokenizer_add_bos(m->tokenizer, text->bos);
        return status;
    }
    struct tokenizer_parts parts = {
        .name = m->path,
        .tokens = text->tokens,
        .token_count = text->token_count,
        .types = text->types,
        .merges = text->merges,
        .merge_count = text->merge_count,
        .pre = text->pre,
        .pieces = text->pieces,
        .scores = text->scores,
        .before = text->blank_before ? TOKENIZER_BLANK : TOKENIZER_NOTHING,
        .bos = text->bos,
        .marks = &marks,
    };
    return tokenizer_load_parts(&m->tokenizer, &parts, err);
}

/* The ends of a reply that the files give by their text, what the template writes behind one, and those of the family,
 * since files name only one of them. */
static void take_ends(struct tdm_model *m)
{
    static const char *const family[] = {"<|im_end|>", "<|endoftext|>"};
    const struct ends *ends = source_ends(m->source);
    for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
        tdm_id id = tokenizer_find(m->tokenizer, family[i]);
        if (id >= 0) source_add_stop(m->source, id);
    }
    tdm_id behind = template_facts(m->template)->stop;
    if (behind >= 0) source_add_stop(m->source, behind);
    for (size_t i = 0; i < ends->n; i++) {
        tdm_id id = tokenizer_find(m->tokenizer, ends->texts[i]);
        if (id >= 0)
            source_add_stop(m->source, id);
        else
            notes_add(source_notes(m->source), "%s: the end token %s is left out: the vocabulary doesn't have it",
                      m->path, ends->texts[i]);
    }
}

/* How much memory the packed experts get, when the rest of what a conversation needs is left free; 0: all that they
 * need. A model that does not fit is refused, before it costs this or another process its life. */
static tdm_status plan_memory(const struct tdm_model *m, const struct kernels *kernels, uint64_t wanted,
                              struct weights_options *options, tdm_error *err)
{
    enum { STATES = 1 << 30, SHARE = 16 }; /* left free: this and one part in this many */
    uint64_t experts, others, free_bytes = memory_available();
    weights_packed_bytes(m->source, kernels, options, &experts, &others);
    options->expert_bytes = wanted;
    bool scarce = free_bytes && others + experts + STATES > free_bytes - free_bytes / SHARE;
    if (scarce && experts && !wanted) {
        uint64_t taken = others + STATES + free_bytes / SHARE;
        options->expert_bytes = taken < free_bytes ? free_bytes - taken : 1; /* experts_new reports too little */
        if (options->expert_bytes >= experts) options->expert_bytes = 0;
    }
    /* Files are about as large as what is packed of them. Of experts in files some are read again and again. */
    options->forget_files = free_bytes && !options->expert_bytes && 2 * (others + experts) > free_bytes;
    if (!scarce) return TDM_OK;
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

/* Whether the packed weights of another model are also this one's. */
static bool shares_weights(const struct tdm_model *m, const struct kernels *kernels,
                           const struct weights_options *options, const struct tdm_model *of)
{
    if (!of || !of->weights || of->weights->kernels->pack != kernels->pack) return false;
    const struct tensor *head = source_tensor(m->source, source_config(m->source)->tied ? ROLE_EMBED : ROLE_LM_HEAD, 0);
    return source_fingerprint(of->source) == source_fingerprint(m->source) &&
           source_stamp(of->source) == source_stamp(m->source) &&
           of->weights->lm_head->type == (options->lm_head != TYPE_COUNT ? options->lm_head : head->type);
}

static tdm_status load_weights(struct tdm_model *m, const tdm_model_options *o, tdm_error *err)
{
    enum { MAX_SPECIAL = 256 };
    tdm_id special[MAX_SPECIAL];
    struct weights_options options = {
        .lm_head = TYPE_COUNT, .progress = o->progress, .progress_ctx = o->progress_ctx, .pack_folder = o->pack_folder};
    options.special = special;
    options.n_special = special_ids(m->tokenizer, special, MAX_SPECIAL);
    if (o->lm_head && strcmp(o->lm_head, "as-is")) {
        options.lm_head = type_from_name(o->lm_head);
        if (options.lm_head != TYPE_Q8_0 && options.lm_head != TYPE_Q6_K)
            return error_set(err, TDM_E_ARG, "lm-head: expected q8_0, q6_k or as-is, found %s", o->lm_head);
    }
    const struct kernels *kernels;
    tdm_status status = kernels_find(&kernels, o->kernels, err);
    if (!status && shares_weights(m, kernels, &options, o->weights_of))
        return weights_share(&m->weights, o->weights_of->weights, kernels, err);
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

/* The sampling that Qwen publishes for its Qwen3.5 models without thinking; the small ones have their own. For other
 * models the usual values. */
static tdm_sampling published_sampling(const struct config *c)
{
    bool small = c->hidden <= 2048;
    if (!c->schema->penalised)
        return (tdm_sampling){.temperature = 0.7f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .repeat_penalty = 1};
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
    const struct sampling *f = source_sampling(m->source);
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

/* The set that computes with the weights, or would if they had been loaded; NULL: it isn't known. */
static const struct kernels *kernels_of(const struct tdm_model *m, const char *wanted)
{
    const struct kernels *k = NULL;
    if (m->weights) return m->weights->kernels;
    return kernels_find(&k, wanted, NULL) ? NULL : k;
}

static void list_types(struct tdm_model *m, const struct kernels *kernels)
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
        if (round == 0 && kernels) m->arithmetic = (tdm_arithmetic)kernels->panel_of((enum type)most);
        if (bytes[most] == 0 || at >= sizeof m->weight_types - 24) break;
        at += (size_t)snprintf(m->weight_types + at, sizeof m->weight_types - at, "%s%s %.1f%%", at ? ", " : "",
                               type_info((enum type)most)->name, 100.0 * (double)bytes[most] / (double)all);
        bytes[most] = 0;
    }
}

static void list_skipped(struct tdm_model *m)
{
    const struct source_skipped *s = source_skipped(m->source);
    bool own_tower = m->vision && !strcmp(tower_path(m->vision->tower), m->path); /* of its own files */
    const struct { struct source_count n; const char *what;
    } rows[] = {{s->mtp, "MTP"},
                {own_tower ? (struct source_count){0} : s->vision, "vision"},
                {s->audio, "audio"},
                {s->other, "other"}};
    size_t at = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n.tensors)
            at += (size_t)snprintf(m->skipped + at, sizeof m->skipped - at, "%s%u %s tensors (%.1f MB)", at ? ", " : "",
                                   rows[i].n.tensors, rows[i].what, (double)rows[i].n.bytes / 1e6);
}

/* Without memory the list stays empty: it is for `info` alone. */
static void list_left_out(struct tdm_model *m)
{
    const struct unknown_item *items;
    size_t n = source_left_out(m->source, &items);
    m->left_out = n ? malloc(n * sizeof *m->left_out) : NULL;
    for (size_t i = 0; m->left_out && i < n; i++)
        m->left_out[i] = (tdm_left_out){items[i].name, items[i].value, items[i].why};
    m->info.left_out = m->left_out;
    m->info.n_left_out = m->left_out ? (int)n : 0;
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
        if (role_stays(t->role)) m->info.table_bytes += t->bytes;
        if (t->role == ROLE_POSITIONS || role_stays(t->role)) continue;
        bool experts = role_is_experts(t->role);
        /* Rows that a token is multiplied with. */
        uint64_t part = experts ? t->rows / c->experts.count * c->experts.used : t->rows;
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

static void fill_template(struct tdm_model *m)
{
    static const char *const names[] = {
        [TEMPLATE_GIVEN] = "own", [TEMPLATE_CHATML] = "chatml", [TEMPLATE_PLAIN] = "none"};
    const struct template_facts *f = template_facts(m->template);
    tdm_model_info *i = &m->info;
    i->template_name = m->template_given ? "given" : names[f->kind];
    i->template_note = m->template_note[0] ? m->template_note : NULL;
    i->thinkings = f->thinkings;
    i->always_thinks = f->always_thinks;
    i->can_keep_thinking = f->can_keep;
    i->can_drop_thinking = f->can_drop;
    i->keeps_thinking = f->keeps;
    i->no_system = f->no_system;
}

/* If the model has no template that can be run, it gets ChatML's, or completes plain text. */
static tdm_status make_template(struct tdm_model *m, struct template_source *source, tdm_error *err)
{
    tdm_error why = {0};
    bool has_one = source->text.length;
    tdm_status status = template_new(&m->template, source, &why);
    if (status == TDM_E_NOMEM) return error_set(err, status, "%s", why.text);
    source->text = (struct span){0};
    if (status) status = template_new(&m->template, source, err);
    if (status) return status;
    enum template_kind kind = template_facts(m->template)->kind;
    const char *used = kind == TEMPLATE_CHATML ? "ChatML is used instead" : "it completes plain text";
    if (why.text[0])
        snprintf(m->template_note, sizeof m->template_note, "the model's chat template can't be used (%.160s): %s",
                 why.text, used);
    else if (!has_one && kind == TEMPLATE_PLAIN)
        snprintf(m->template_note, sizeof m->template_note, "the model has no chat template: %s", used);
    return TDM_OK;
}

/* A given template is to be used or refused; NULL: the model's own. */
static tdm_status take_template(struct tdm_model *m, const char *given, tdm_error *err)
{
    const struct source_text *text = source_text(m->source);
    struct template_source source = {
        .text = text->chat_template, .bos = text->bos_token, .eos = text->eos_token, .tokenizer = m->tokenizer};
    if (m->vision) source.pad = tokenizer_bytes(m->tokenizer, m->vision->pad);
    if (!given) return make_template(m, &source, err);
    m->template_given = true;
    source.text = strcmp(given, "chatml") ? span_text(given) : template_chatml();
    tdm_error why;
    tdm_status status = template_new(&m->template, &source, &why);
    return status ? error_set(err, status, "the chat template that was given: %.400s", why.text) : TDM_OK;
}

tdm_status model_serve_template(struct tdm_model *m, const char *text, tdm_error *err)
{
    struct template *own = m->template;
    struct template_source source = {.text = {text, text ? strlen(text) : 0}, .served = true};
    m->template = NULL;
    m->template_note[0] = 0;
    tdm_status status = make_template(m, &source, err);
    template_free(own);
    if (!status) fill_template(m);
    return status;
}

static void take_beginning(struct tdm_model *m)
{
    struct span text = tokenizer_bytes(m->tokenizer, tokenizer_bos(m->tokenizer));
    snprintf(m->begins_with, sizeof m->begins_with, "%.*s", (int)text.length, text.bytes);
}

/* The heads of layers with a window, where they are others. */
static void fill_window_heads(tdm_model_info *i, const struct config *c)
{
    uint32_t layer = 0;
    while (layer < c->layers && !c->window[layer]) layer++;
    uint32_t kv_heads = config_kv_heads(c, layer), head_dim = config_head_dim(c, layer);
    if (layer == c->layers || (kv_heads == c->attention.kv_heads && head_dim == c->attention.head_dim)) return;
    i->window_kv_heads = (int)kv_heads;
    i->window_head_dim = (int)head_dim;
}

static void fill_info(struct tdm_model *m, const struct kernels *kernels)
{
    static const char *const formats[] = {[SOURCE_GGUF] = "GGUF", [SOURCE_HF] = "Hugging Face directory",
                                          [SOURCE_SYNTHETIC] = "made-up weights"};
    const struct config *c = source_config(m->source);
    const struct config_experts *e = &c->experts;
    const struct config_attention *a = &c->attention;
    const struct config_delta *d = &c->delta;
    tdm_model_info *i = &m->info;
    list_types(m, kernels);
    list_skipped(m);
    const struct notes *notes = source_notes(m->source);
    for (size_t k = 0; k < notes->n; k++) m->notices[k] = notes->lines[k];
    describe_positions(c, m->positions, sizeof m->positions);
    describe_layers(c, m->features, sizeof m->features);
    take_beginning(m);
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
        .intermediate = (int)c->feed.intermediate,
        .experts = (int)e->count,
        .experts_used = (int)e->used,
        .expert_intermediate = (int)e->intermediate,
        .dense_beside = role_exists(c, ROLE_DENSE_NORM, 0),
        .heads = (int)a->heads,
        .kv_heads = (int)a->kv_heads,
        .head_dim = (int)a->head_dim,
        .positions = m->positions,
        .features = m->features,
        .lin_key_heads = (int)d->key_heads,
        .lin_value_heads = (int)d->value_heads,
        .lin_key_dim = (int)d->key_dim,
        .lin_value_dim = (int)d->value_dim,
        .conv_kernel = (int)d->conv_kernel,
        .vocabulary = (int)c->vocab,
        .tokens = (int)tokenizer_count(m->tokenizer),
        .trained_context = (int)c->context_length,
        .tied = c->tied,
        .synthetic = source_format(m->source) == SOURCE_SYNTHETIC,
        .skipped = m->skipped,
        .notices = m->notices,
        .fingerprint = source_fingerprint(m->source),
        .begins_with = m->begins_with,
    };
    fill_window_heads(i, c);
    for (uint32_t l = 0; l < c->layers; l++) i->full_layers += c->full_attention[l];
    i->full_interval = (int)config_interval(c);
    struct state_shape shape = state_shape_of(c);
    i->kv_bytes_per_token = state_shape_kv_bytes(&shape, KV_F16, KV_PAGE) / KV_PAGE;
    i->kv_bytes_at_context = state_shape_kv_bytes(&shape, KV_F16, c->context_length);
    fill_template(m);
    i->sampling = sampling_of(m, &i->sampling_from_file);
    count_work(m);
    list_left_out(m);
}

static tdm_status open_model(tdm_model **out, const tdm_model_options *o, tdm_error *err)
{
    struct source_options options = {
        .quant = TYPE_F32, .builtin = o->builtin, .accept_unknown = o->accept_unknown};
    if (!o->path) return error_set(err, TDM_E_ARG, "no path of a model is given");
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
    if (status == TDM_OK) status = model_open_vision(m, o, err);
    if (status == TDM_OK) status = take_template(m, o->chat_template, err);
    if (status == TDM_OK) {
        take_ends(m);
        status = o->text_only ? source_check(m->source, err) : load_weights(m, o, err);
    }
    if (status) {
        tdm_model_close(m);
        return status;
    }
    fill_info(m, kernels_of(m, o->kernels));
    *out = m;
    return TDM_OK;
}

tdm_status model_open_counting(struct tdm_model **out, tdm_error *err)
{
    static const char name[] = "synthetic:small";
    struct tdm_model *m = calloc(1, sizeof *m);
    if (!m || !(m->path = strdup(name))) {
        free(m);
        return error_set(err, TDM_E_NOMEM, "no memory for a model");
    }
    tdm_status status = source_open(&m->source, name, NULL, err);
    if (!status) status = tokenizer_counting(&m->tokenizer, err);
    if (!status) status = make_template(m, &(struct template_source){.text = template_chatml()}, err);
    if (status) {
        tdm_model_close(m);
        return status;
    }
    fill_info(m, kernels_of(m, NULL));
    /* No file recommends any: a server is asked for the usual values of chat models. */
    m->info.sampling = (tdm_sampling){.temperature = 0.6f, .top_k = 20, .top_p = 0.8f};
    *out = m;
    return TDM_OK;
}

TDM_API tdm_status tdm_model_open_sized(tdm_model **out, const tdm_model_options *options, size_t size, tdm_error *err)
{
    tdm_model_options own = {0};
    *out = NULL;
    tdm_status status = options_take(&own, sizeof own, options, size, err);
    return status ? status : open_model(out, &own, err);
}

TDM_API tdm_status tdm_tokenizer_open(tdm_model **out, const char *tokenizer_json, tdm_error *err)
{
    struct tdm_model *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m || !(m->path = strdup(tokenizer_json))) {
        free(m);
        return error_set(err, TDM_E_NOMEM, "no memory for a tokenizer");
    }
    struct marks marks;
    marks_init(&marks);
    tdm_status status = tokenizer_load_json(&m->tokenizer, tokenizer_json, &marks, err);
    if (status) {
        tdm_model_close(m);
        return status;
    }
    status = make_template(m, &(struct template_source){.tokenizer = m->tokenizer}, err);
    if (status) {
        tdm_model_close(m);
        return status;
    }
    take_beginning(m);
    m->info = (tdm_model_info){.name = m->path,
                               .path = m->path,
                               .format = "tokenizer.json",
                               .architecture = "",
                               .kernels = "",
                               .weight_types = "",
                               .skipped = "",
                               .notices = m->notices,
                               .begins_with = m->begins_with,
                               .tokens = (int)tokenizer_count(m->tokenizer)};
    fill_template(m);
    *out = m;
    return TDM_OK;
}

TDM_API void tdm_model_close(tdm_model *m)
{
    if (!m) return;
    packed_writer_stop(m->packed);
    server_link_free(m->server);
    vision_close(m->vision);
    weights_free(m->weights);
    template_free(m->template);
    tokenizer_free(m->tokenizer);
    source_close(m->source);
    free(m->left_out);
    free(m->path);
    free(m);
}

TDM_API const char *tdm_model_text(const tdm_model *m, const char *what, size_t *length)
{
    const struct source_text *text = m->source ? source_text(m->source) : NULL;
    const struct span *s = !text                        ? NULL
                           : !strcmp(what, "bos_token") ? &text->bos_token
                           : !strcmp(what, "eos_token") ? &text->eos_token
                                                        : &text->chat_template;
    if (!s || !s->length) return NULL;
    *length = s->length;
    return s->bytes;
}

TDM_API void tdm_model_describe(const tdm_model *m, tdm_model_info *out)
{
    *out = m->info;
}
