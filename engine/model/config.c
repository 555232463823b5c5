#include "engine/model/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/model/gguf.h"
#include "engine/model/json.h"

/* Generous bounds: far beyond every released model, small enough that products of two fit into 64 bits and of sizes in
 * bytes stay sane. */
enum { MAX_WIDTH = 1 << 20, MAX_HEADS = 4096, MAX_CONTEXT = 1 << 30 };

/* Untrusted text becomes a printable name. */
static void set_name(struct config *c, const char *bytes, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < sizeof c->name; i++) {
        unsigned char b = (unsigned char)bytes[i];
        c->name[n++] = b >= 0x20 && b < 0x7f ? (char)b : '?';
    }
    c->name[n] = 0;
}

void config_add_stop(struct config *c, int64_t id)
{
    if (id < 0 || id > INT32_MAX || c->stop_count == CONFIG_MAX_STOPS) return;
    for (uint32_t i = 0; i < c->stop_count; i++)
        if (c->stops[i] == id) return;
    c->stops[c->stop_count++] = (int32_t)id;
}

/* The released models' split of the rotated pairs over the axes (32: 11, 11, 10). */
static void default_sections(struct config *c)
{
    for (uint32_t i = 0; i < 3; i++) c->rope_sections[i] = (c->rope_dims / 2 + 2 - i) / 3;
}

/* Every `interval`-th layer is full attention. */
static void set_interval(struct config *c, uint64_t interval)
{
    for (uint32_t i = 0; i < c->layers; i++) c->full_attention[i] = (i + 1) % interval == 0;
}

/* ---- GGUF -------------------------------------------------------------------------------------------------------- */

/* A run of look-ups; after the first error the others do nothing. Keys that begin with a dot are the architecture's. */
struct keys {
    const struct gguf *gguf;
    const char *architecture;
    tdm_status status;
    tdm_error *err;
};

enum { KEY_ROOM = 96 };

static const char *key_name(const struct keys *k, const char *key, char room[KEY_ROOM])
{
    if (key[0] != '.') return key;
    snprintf(room, KEY_ROOM, "%s%s", k->architecture, key);
    return room;
}

static uint32_t key_u32(struct keys *k, const char *key, uint64_t low, uint64_t high)
{
    char room[KEY_ROOM];
    uint64_t v = 0;
    bool found = false;
    if (k->status) return 0;
    key = key_name(k, key, room);
    k->status = gguf_get_u64(k->gguf, key, low, high, &v, &found, k->err);
    if (!k->status && !found)
        k->status = error_set(k->err, TDM_E_FORMAT, "%s: key %s is missing", gguf_path(k->gguf), key);
    return (uint32_t)v;
}

static uint32_t key_u32_or(struct keys *k, const char *key, uint64_t low, uint64_t high, uint32_t otherwise)
{
    char room[KEY_ROOM];
    uint64_t v = otherwise;
    if (!k->status) k->status = gguf_get_u64(k->gguf, key_name(k, key, room), low, high, &v, NULL, k->err);
    return (uint32_t)v;
}

static float key_float(struct keys *k, const char *key)
{
    char room[KEY_ROOM];
    float v = 0;
    bool found = false;
    if (k->status) return 0;
    key = key_name(k, key, room);
    k->status = gguf_get_float(k->gguf, key, &v, &found, k->err);
    if (!k->status && !found)
        k->status = error_set(k->err, TDM_E_FORMAT, "%s: key %s is missing", gguf_path(k->gguf), key);
    return v;
}

/* The ids that end a reply: the two that the file names, and the end markers of the family wherever they are control
 * tokens, since files name only one of them. */
static tdm_status gguf_stops(struct config *c, const struct gguf *g, tdm_error *err)
{
    static const char *const markers[] = {"<|im_end|>", "<|endoftext|>"};
    struct keys k = {g, c->architecture, TDM_OK, err};
    uint32_t none = UINT32_MAX;
    uint32_t eos = key_u32_or(&k, "tokenizer.ggml.eos_token_id", 0, none, none);
    uint32_t eot = key_u32_or(&k, "tokenizer.ggml.eot_token_id", 0, none, none);
    if (k.status) return k.status;
    if (eos != none) config_add_stop(c, eos);
    if (eot != none) config_add_stop(c, eot);

    struct span *tokens = NULL;
    int32_t *types = NULL;
    uint64_t count = 0, type_count = 0;
    tdm_status status = gguf_get_strings(g, "tokenizer.ggml.tokens", &tokens, &count, NULL, err);
    if (!status) status = gguf_get_i32s(g, "tokenizer.ggml.token_type", &types, &type_count, NULL, err);
    for (uint64_t i = 0; !status && i < count && i < type_count; i++)
        for (size_t m = 0; m < sizeof markers / sizeof *markers; m++)
            if (types[i] == 3 && span_is(tokens[i], markers[m])) config_add_stop(c, (int64_t)i);
    free(tokens);
    free(types);
    return status;
}

static tdm_status gguf_sections(struct config *c, struct keys *k)
{
    const struct gguf *g = k->gguf;
    tdm_error *err = k->err;
    char room[KEY_ROOM];
    const char *key = key_name(k, ".rope.dimension_sections", room);
    int32_t *sections = NULL;
    uint64_t count = 0;
    default_sections(c);
    tdm_status status = gguf_get_i32s(g, key, &sections, &count, NULL, err);
    for (uint64_t i = 0; !status && i < count; i++) {
        if (i >= 4 || sections[i] < 0)
            status = error_set(err, TDM_E_FORMAT, "%s: key %s: expected up to 4 sizes", gguf_path(g), key);
        else
            c->rope_sections[i] = (uint32_t)sections[i];
    }
    free(sections);
    return status;
}

/* What a mixture's keys may say of how its experts are chosen, where they say it: this engine knows one way. */
static void gguf_gating(struct keys *k)
{
    enum { SOFTMAX = 1 };
    const struct {
        const char *key;
        uint32_t value;
        const char *what;
    } only[] = {
        {".expert_gating_func", SOFTMAX, "1 (softmax)"},
        {".leading_dense_block_count", 0, "0"},
        {".expert_shared_count", 1, "1"},
        {".expert_group_count", 1, "1"},
    };
    for (size_t i = 0; i < sizeof only / sizeof *only; i++) {
        char room[KEY_ROOM];
        uint32_t found = key_u32_or(k, only[i].key, 0, UINT32_MAX, only[i].value);
        if (!k->status && found != only[i].value)
            k->status = error_set(k->err, TDM_E_UNSUPPORTED, "%s: key %s: expected %s, found %u", gguf_path(k->gguf),
                                  key_name(k, only[i].key, room), only[i].what, found);
    }
}

static void gguf_feed_forward(struct config *c, struct keys *k)
{
    if (strcmp(c->architecture, "qwen35moe")) {
        c->intermediate = key_u32(k, ".feed_forward_length", 1, MAX_WIDTH);
        return;
    }
    c->experts = key_u32(k, ".expert_count", 1, CONFIG_MAX_EXPERTS);
    c->experts_used = key_u32(k, ".expert_used_count", 1, CONFIG_MAX_USED);
    c->expert_intermediate = key_u32(k, ".expert_feed_forward_length", 1, MAX_WIDTH);
    c->intermediate = key_u32(k, ".expert_shared_feed_forward_length", 1, MAX_WIDTH);
    gguf_gating(k);
}

static tdm_status gguf_attention(struct config *c, struct keys *k)
{
    c->heads = key_u32(k, ".attention.head_count", 1, MAX_HEADS);
    c->kv_heads = key_u32(k, ".attention.head_count_kv", 1, MAX_HEADS);
    c->rms_eps = key_float(k, ".attention.layer_norm_rms_epsilon");
    c->head_dim = key_u32(k, ".attention.key_length", 1, MAX_WIDTH);
    uint32_t value_length = key_u32_or(k, ".attention.value_length", 1, MAX_WIDTH, c->head_dim);
    c->rope_theta = key_float(k, ".rope.freq_base");
    c->rope_dims = key_u32_or(k, ".rope.dimension_count", 0, MAX_WIDTH, c->head_dim);
    c->conv_kernel = key_u32(k, ".ssm.conv_kernel", 1, 64);
    c->lin_key_dim = key_u32(k, ".ssm.state_size", 1, MAX_WIDTH);
    c->lin_key_heads = key_u32(k, ".ssm.group_count", 1, MAX_HEADS);
    c->lin_value_heads = key_u32(k, ".ssm.time_step_rank", 1, MAX_HEADS);
    uint32_t inner = key_u32(k, ".ssm.inner_size", 1, MAX_WIDTH);
    uint32_t interval = key_u32_or(k, ".full_attention_interval", 1, 2 * CONFIG_MAX_LAYERS, 4);
    if (k->status) return k->status;
    if (value_length != c->head_dim)
        return error_set(k->err, TDM_E_UNSUPPORTED,
                         "%s: key %s.attention.value_length: expected key_length (%u), found %u", gguf_path(k->gguf),
                         c->architecture, c->head_dim, value_length);
    if (inner % c->lin_value_heads)
        return error_set(k->err, TDM_E_FORMAT,
                         "%s: key %s.ssm.inner_size: expected a multiple of time_step_rank (%u), "
                         "found %u",
                         gguf_path(k->gguf), c->architecture, c->lin_value_heads, inner);
    c->lin_value_dim = inner / c->lin_value_heads;
    c->value_heads_tiled = c->lin_value_heads > c->lin_key_heads;
    set_interval(c, interval);
    return TDM_OK;
}

static tdm_status gguf_architecture(struct config *c, const struct gguf *g, tdm_error *err)
{
    struct span s = {"", 0};
    bool found;
    tdm_status status = gguf_get_string(g, "general.architecture", &s, &found, err);
    if (status) return status;
    if (!found) return error_set(err, TDM_E_FORMAT, "%s: key general.architecture is missing", gguf_path(g));
    if (!span_is(s, "qwen35") && !span_is(s, "qwen35moe"))
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: unsupported architecture %.*s (this engine runs qwen35 and qwen35moe)", gguf_path(g),
                         (int)(s.length < 40 ? s.length : 40), s.bytes);
    memcpy(c->architecture, s.bytes, s.length);
    c->architecture[s.length] = 0;
    s.length = 0;
    status = gguf_get_string(g, "general.name", &s, NULL, err);
    if (!status) set_name(c, s.bytes, s.length);
    return status;
}

tdm_status config_from_gguf(struct config *c, const struct gguf *g, tdm_error *err)
{
    *c = (struct config){0};
    tdm_status status = gguf_architecture(c, g, err);
    if (status) return status;

    struct keys k = {g, c->architecture, TDM_OK, err};
    uint32_t blocks = key_u32(&k, ".block_count", 1, 2 * CONFIG_MAX_LAYERS);
    c->mtp_layers = key_u32_or(&k, ".nextn_predict_layers", 0, CONFIG_MAX_LAYERS, 0);
    if (!k.status && c->mtp_layers >= blocks)
        return error_set(err, TDM_E_FORMAT,
                         "%s: key %s.nextn_predict_layers: expected fewer than the %u blocks, found %u",
                         gguf_path(g), c->architecture, blocks, c->mtp_layers);
    c->layers = c->whole_layers = blocks - c->mtp_layers;
    if (!k.status && c->layers > CONFIG_MAX_LAYERS)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: key %s.block_count: expected at most %d layers, found %u",
                         gguf_path(g), c->architecture, CONFIG_MAX_LAYERS, c->layers);
    c->context_length = key_u32(&k, ".context_length", 1, MAX_CONTEXT);
    c->hidden = key_u32(&k, ".embedding_length", 1, MAX_WIDTH);
    gguf_feed_forward(c, &k);
    status = gguf_attention(c, &k);
    if (status) return status;

    char room[KEY_ROOM];
    struct span s = {"none", 4};
    status = gguf_get_string(g, key_name(&k, ".rope.scaling.type", room), &s, NULL, err);
    if (!status && !span_is(s, "none"))
        status = error_set(err, TDM_E_UNSUPPORTED, "%s: key %s: %.*s is not supported", gguf_path(g),
                           key_name(&k, ".rope.scaling.type", room), (int)(s.length < 40 ? s.length : 40), s.bytes);
    if (!status) status = gguf_sections(c, &k);
    return status ? status : gguf_stops(c, g, err);
}

/* ---- config.json ------------------------------------------------------------------------------------------------- */

struct fields {
    struct json_object *json;
    const char *file;
    tdm_status status;
    tdm_error *err;
};

static uint32_t field_u32(struct fields *f, const char *key, uint64_t low, uint64_t high)
{
    uint64_t v = 0;
    bool found = false;
    if (f->status) return 0;
    f->status = json_get_u64(f->json, key, low, high, &v, &found, f->file, f->err);
    if (!f->status && !found) f->status = error_set(f->err, TDM_E_FORMAT, "%s: field %s is missing", f->file, key);
    return (uint32_t)v;
}

static uint32_t field_u32_or(struct fields *f, const char *key, uint64_t low, uint64_t high, uint32_t otherwise)
{
    uint64_t v = otherwise;
    if (!f->status) f->status = json_get_u64(f->json, key, low, high, &v, NULL, f->file, f->err);
    return (uint32_t)v;
}

static double field_double(struct fields *f, const char *key, double otherwise)
{
    double v = otherwise;
    if (!f->status) f->status = json_get_double(f->json, key, &v, NULL, f->file, f->err);
    return v;
}

/* A switch of the architecture that has one value in every released model. */
static void field_must_be(struct fields *f, const char *key, bool wanted)
{
    bool v = wanted;
    if (f->status) return;
    f->status = json_get_bool(f->json, key, &v, NULL, f->file, f->err);
    if (!f->status && v != wanted)
        f->status = error_set(f->err, TDM_E_UNSUPPORTED, "%s: field %s: only %s is supported", f->file, key,
                              wanted ? "true" : "false");
}

static tdm_status json_layer_kinds(struct config *c, struct fields *f)
{
    struct json_object *types = NULL;
    uint32_t interval = field_u32_or(f, "full_attention_interval", 1, 2 * CONFIG_MAX_LAYERS, 4);
    if (!f->status) f->status = json_get_array(f->json, "layer_types", &types, NULL, f->file, f->err);
    if (f->status) return f->status;
    set_interval(c, interval);
    if (!types) return TDM_OK;
    if (json_object_array_length(types) != c->layers)
        return error_set(f->err, TDM_E_FORMAT,
                         "%s: field layer_types: expected %u entries (num_hidden_layers), found %zu", f->file,
                         c->layers, json_object_array_length(types));
    for (uint32_t i = 0; i < c->layers; i++) {
        struct json_object *v = json_object_array_get_idx(types, i);
        const char *kind = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "another type";
        c->full_attention[i] = !strcmp(kind, "full_attention");
        if (!c->full_attention[i] && strcmp(kind, "linear_attention"))
            return error_set(f->err, TDM_E_UNSUPPORTED,
                             "%s: field layer_types: expected full_attention or "
                             "linear_attention, found %.40s",
                             f->file, kind);
    }
    return TDM_OK;
}

static tdm_status json_rope(struct config *c, struct fields *f)
{
    struct fields r = *f;
    struct json_object *o = NULL;
    const char *type = "default";
    double theta = field_double(f, "rope_theta", 10000), part = field_double(f, "partial_rotary_factor", 0.25);
    if (!f->status) f->status = json_get_object(f->json, "rope_parameters", &o, NULL, f->file, f->err);
    if (!f->status && !o) f->status = json_get_object(f->json, "rope_scaling", &o, NULL, f->file, f->err);
    if (f->status) return f->status;
    if (o) {
        r.json = o;
        theta = field_double(&r, "rope_theta", theta);
        part = field_double(&r, "partial_rotary_factor", part);
        if (!r.status) r.status = json_get_string(o, "rope_type", &type, NULL, NULL, r.file, r.err);
        if (r.status) return r.status;
    }
    if (strcmp(type, "default"))
        return error_set(f->err, TDM_E_UNSUPPORTED, "%s: field rope_type: expected default, found %.40s", f->file,
                         type);
    if (!(part > 0 && part <= 1))
        return error_set(f->err, TDM_E_FORMAT,
                         "%s: field partial_rotary_factor: expected more than 0 and at most 1, "
                         "found %g",
                         f->file, part);
    c->rope_theta = (float)theta;
    c->rope_dims = (uint32_t)(c->head_dim * part);
    default_sections(c);
    struct json_object *sections = NULL;
    if (o) r.status = json_get_array(o, "mrope_section", &sections, NULL, r.file, r.err);
    for (size_t i = 0; !r.status && sections && i < json_object_array_length(sections); i++) {
        struct json_object *v = json_object_array_get_idx(sections, i);
        if (i >= 4 || !json_object_is_type(v, json_type_int) || json_object_get_int(v) < 0)
            return error_set(f->err, TDM_E_FORMAT, "%s: field mrope_section: expected up to 4 sizes", f->file);
        c->rope_sections[i] = (uint32_t)json_object_get_int(v);
    }
    return r.status;
}

/* eos_token_id: an id or a list of ids. */
static tdm_status json_stops(struct config *c, struct json_object *json, const char *file, tdm_error *err)
{
    struct json_object *v = NULL;
    json_object_object_get_ex(json, "eos_token_id", &v);
    if (!v) return TDM_OK;
    bool list = json_object_is_type(v, json_type_array);
    size_t n = list ? json_object_array_length(v) : 1;
    for (size_t i = 0; i < n; i++) {
        struct json_object *id = list ? json_object_array_get_idx(v, i) : v;
        if (!json_object_is_type(id, json_type_int) || json_object_get_int64(id) < 0 ||
            json_object_get_int64(id) > INT32_MAX)
            return error_set(err, TDM_E_FORMAT, "%s: field eos_token_id: expected token ids", file);
        config_add_stop(c, json_object_get_int64(id));
    }
    return TDM_OK;
}

tdm_status config_stops_from_json(struct config *c, struct json_object *json, const char *file, tdm_error *err)
{
    struct config old = *c;
    c->stop_count = 0;
    tdm_status status = json_stops(c, json, file, err);
    /* Those of generation_config.json come first; config.json names the end of a turn alone. */
    for (uint32_t i = 0; i < old.stop_count; i++) config_add_stop(c, old.stops[i]);
    return status;
}

/* Every layer of a mixture has experts, and the weights of the chosen ones are divided by their sum. */
static void json_feed_forward(struct config *c, struct fields *f)
{
    if (strcmp(c->architecture, "qwen35moe")) {
        c->intermediate = field_u32(f, "intermediate_size", 1, MAX_WIDTH);
        return;
    }
    c->experts = field_u32(f, "num_experts", 1, CONFIG_MAX_EXPERTS);
    c->experts_used = field_u32(f, "num_experts_per_tok", 1, CONFIG_MAX_USED);
    c->expert_intermediate = field_u32(f, "moe_intermediate_size", 1, MAX_WIDTH);
    c->intermediate = field_u32(f, "shared_expert_intermediate_size", 1, MAX_WIDTH);
    field_must_be(f, "norm_topk_prob", true);
    uint32_t step = field_u32_or(f, "decoder_sparse_step", 0, CONFIG_MAX_LAYERS, 1);
    struct json_object *dense = NULL;
    if (!f->status) f->status = json_get_array(f->json, "mlp_only_layers", &dense, NULL, f->file, f->err);
    if (!f->status && (step != 1 || (dense && json_object_array_length(dense))))
        f->status = error_set(f->err, TDM_E_UNSUPPORTED, "%s: field %s: only mixtures in every layer are supported",
                              f->file, step != 1 ? "decoder_sparse_step" : "mlp_only_layers");
}

tdm_status config_from_json(struct config *c, struct json_object *json, const char *file, tdm_error *err)
{
    *c = (struct config){0};
    struct fields f = {json, file, TDM_OK, err};
    struct json_object *text = NULL;
    const char *model_type = NULL, *activation = "silu";
    bool tied = false;
    f.status = json_get_string(json, "model_type", &model_type, NULL, NULL, file, err);
    if (!f.status) f.status = json_get_object(json, "text_config", &text, NULL, file, err);
    if (!f.status) f.status = json_get_bool(json, "tie_word_embeddings", &tied, NULL, file, err);
    if (f.status) return f.status;
    if (!model_type) return error_set(err, TDM_E_FORMAT, "%s: field model_type is missing", file);
    bool mixture = !strcmp(model_type, "qwen3_5_moe") || !strcmp(model_type, "qwen3_5_moe_text");
    if (!mixture && strcmp(model_type, "qwen3_5") && strcmp(model_type, "qwen3_5_text"))
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: unsupported architecture %.40s (this engine runs qwen3_5 and qwen3_5_moe)", file,
                         model_type);
    strcpy(c->architecture, mixture ? "qwen35moe" : "qwen35");
    if (text) f.json = text;

    c->layers = c->whole_layers = field_u32(&f, "num_hidden_layers", 1, CONFIG_MAX_LAYERS);
    c->hidden = field_u32(&f, "hidden_size", 1, MAX_WIDTH);
    json_feed_forward(c, &f);
    c->vocab = field_u32(&f, "vocab_size", 1, INT32_MAX);
    c->context_length = field_u32(&f, "max_position_embeddings", 1, MAX_CONTEXT);
    c->rms_eps = (float)field_double(&f, "rms_norm_eps", 1e-6);
    c->heads = field_u32(&f, "num_attention_heads", 1, MAX_HEADS);
    c->kv_heads = field_u32(&f, "num_key_value_heads", 1, MAX_HEADS);
    c->head_dim = field_u32(&f, "head_dim", 1, MAX_WIDTH);
    c->lin_key_heads = field_u32(&f, "linear_num_key_heads", 1, MAX_HEADS);
    c->lin_value_heads = field_u32(&f, "linear_num_value_heads", 1, MAX_HEADS);
    c->lin_key_dim = field_u32(&f, "linear_key_head_dim", 1, MAX_WIDTH);
    c->lin_value_dim = field_u32(&f, "linear_value_head_dim", 1, MAX_WIDTH);
    c->conv_kernel = field_u32(&f, "linear_conv_kernel_dim", 1, 64);
    c->mtp_layers = field_u32_or(&f, "mtp_num_hidden_layers", 0, CONFIG_MAX_LAYERS, 0);
    field_must_be(&f, "attn_output_gate", true);
    field_must_be(&f, "attention_bias", false);
    if (!f.status) f.status = json_get_bool(f.json, "tie_word_embeddings", &tied, NULL, file, err);
    if (!f.status) f.status = json_get_string(f.json, "hidden_act", &activation, NULL, NULL, file, err);
    if (f.status) return f.status;
    if (strcmp(activation, "silu"))
        return error_set(err, TDM_E_UNSUPPORTED, "%s: field hidden_act: expected silu, found %.40s", file, activation);
    c->tied = tied;
    tdm_status status = json_layer_kinds(c, &f);
    if (!status) status = json_rope(c, &f);
    if (!status) status = json_stops(c, f.json, file, err);
    return status;
}

/* ---- Validation -------------------------------------------------------------------------------------------------- */

tdm_status config_validate(const struct config *c, const char *file, tdm_error *err)
{
    const struct {
        const char *what;
        uint32_t value, low, high;
        bool even;
    } ranges[] = {
        {"layers", c->layers, 1, CONFIG_MAX_LAYERS, false},
        {"hidden size", c->hidden, 1, MAX_WIDTH, false},
        {"intermediate size", c->intermediate, 1, MAX_WIDTH, false},
        {"experts", c->experts, 0, CONFIG_MAX_EXPERTS, false},
        {"experts used", c->experts_used, c->experts > 0, c->experts < CONFIG_MAX_USED ? c->experts : CONFIG_MAX_USED,
         false},
        {"expert size", c->expert_intermediate, c->experts > 0, MAX_WIDTH, false},
        {"vocabulary", c->vocab, 1, INT32_MAX, false},
        {"context length", c->context_length, 1, MAX_CONTEXT, false},
        {"attention heads", c->heads, 1, MAX_HEADS, false},
        {"key/value heads", c->kv_heads, 1, MAX_HEADS, false},
        {"head size", c->head_dim, 16, CONFIG_MAX_HEAD, true},
        {"rotated elements", c->rope_dims, 2, c->head_dim, true},
        {"linear key heads", c->lin_key_heads, 1, MAX_HEADS, false},
        {"linear value heads", c->lin_value_heads, 1, MAX_HEADS, false},
        {"linear key head size", c->lin_key_dim, 16, CONFIG_MAX_HEAD, true},
        {"linear value head size", c->lin_value_dim, 16, CONFIG_MAX_HEAD, true},
        {"convolution kernel", c->conv_kernel, 2, 8, false},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].value < ranges[i].low || ranges[i].value > ranges[i].high ||
            (ranges[i].even && ranges[i].value % 2))
            return error_set(err, TDM_E_UNSUPPORTED, "%s: %s: expected %s%u to %u, found %u", file, ranges[i].what,
                             ranges[i].even ? "an even number from " : "", ranges[i].low, ranges[i].high,
                             ranges[i].value);
    if (c->heads % c->kv_heads)
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: attention heads: expected a multiple of the %u key/value heads, found "
                         "%u",
                         file, c->kv_heads, c->heads);
    if (c->lin_value_heads % c->lin_key_heads)
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: linear value heads: expected a multiple of the %u key heads, found %u", file,
                         c->lin_key_heads, c->lin_value_heads);
    if (!(c->rms_eps > 0 && c->rms_eps < 1))
        return error_set(err, TDM_E_FORMAT, "%s: RMS norm epsilon: expected a value between 0 and 1, found %g", file,
                         (double)c->rms_eps);
    if (!(c->rope_theta >= 1 && c->rope_theta <= 1e12f))
        return error_set(err, TDM_E_FORMAT, "%s: RoPE theta: expected 1 to 1e12, found %g", file,
                         (double)c->rope_theta);
    for (uint32_t i = 0; i < c->stop_count; i++)
        if ((uint32_t)c->stops[i] >= c->vocab)
            return error_set(err, TDM_E_FORMAT, "%s: end token: expected an id below %u, found %d", file, c->vocab,
                             c->stops[i]);
    return TDM_OK;
}
