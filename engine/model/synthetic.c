#include "engine/model/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/model/half.h"
#include "engine/model/source_private.h"

static uint64_t hash_of(const char *name)
{
    return fnv_bytes(FNV_START, name, strlen(name));
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

struct recipe synthetic_recipe(const char *name, uint64_t cols)
{
    struct recipe r = {.hash = hash_of(name), .kind = RECIPE_LINEAR, .base = 0, .scale = 1, .divisor = 1};
    if (ends_with(name, "linear_attn.norm.weight"))
        r.base = 1, r.scale = 0.1f;
    else if (ends_with(name, "norm.weight"))
        r.scale = 0.1f;
    else if (ends_with(name, "A_log"))
        r.kind = RECIPE_LOG;
    else if (ends_with(name, "dt_bias"))
        r.base = -2;
    else if (ends_with(name, "conv1d.weight"))
        r.scale = 0.4f;
    else if (ends_with(name, "embed_tokens.weight") || ends_with(name, "lm_head.weight"))
        r.scale = 0.04f;
    else
        r.divisor = sqrtf((float)cols);
    if (ends_with(name, "mlp.gate.weight")) r.scale = 4; /* a router's choices shall be clear */
    return r;
}

/* GROUP elements at a time: loops of constant length are what compilers vectorise at -O2. */
enum { GROUP = 64 };

/* u 2^24 of the elements whose states are start, start + step, ... */
static void uniform(uint64_t start, int32_t out[GROUP])
{
    const uint64_t step = 0x9E3779B97F4A7C15;
    for (uint64_t i = 0; i < GROUP; i++) {
        uint64_t z = start + i * step;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
        z = (z ^ z >> 27) * 0x94D049BB133111EB;
        out[i] = (int32_t)((z ^ z >> 31) >> 40);
    }
}

static void fill_group(const struct recipe *r, uint64_t first, float out[GROUP])
{
    int32_t u[GROUP];
    uniform((first + 1) * 0x9E3779B97F4A7C15 + r->hash, u);
    if (r->kind == RECIPE_LOG) {
        for (int i = 0; i < GROUP; i++)
            out[i] = bf16_widen(bf16_narrow(logf(0.01f + 15.99f * ((float)u[i] * 0x1p-24f))));
        return;
    }
    float base = r->base, scale = r->scale, divisor = r->divisor;
    for (int i = 0; i < GROUP; i++) {
        float v = (base + scale * (((float)u[i] * 0x1p-24f - 0.5f) * 3.4641016f)) / divisor;
        /* Finite, so that rounding to bfloat16 needs no case for NaN. */
        uint32_t bits = bits_of_float(v);
        out[i] = float_of_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
    }
}

void synthetic_fill(const struct recipe *r, uint64_t first, float *out, size_t n)
{
    for (; n >= GROUP; n -= GROUP, first += GROUP, out += GROUP) fill_group(r, first, out);
    if (n) {
        float last[GROUP];
        fill_group(r, first, last);
        memcpy(out, last, n * sizeof *out);
    }
}

/* ---- The models -------------------------------------------------------------------------------------------------- */

static const struct size {
    const char *name;
    uint32_t hidden, layers, intermediate, heads, kv_heads, lin_value_heads;
    bool tied;
    uint32_t experts, experts_used, expert_intermediate;
    uint32_t vocab; /* 0: that of the real models */
} sizes[] = {
    {"0.8b", 1024, 24, 3584, 8, 2, 16, true, 0, 0, 0, 0},
    {"2b", 2048, 24, 6144, 8, 2, 16, true, 0, 0, 0, 0},
    {"4b", 2560, 32, 9216, 16, 4, 32, true, 0, 0, 0, 0},
    {"9b", 4096, 32, 12288, 16, 4, 32, false, 0, 0, 0, 0},
    {"35b-a3b", 2048, 40, 512, 16, 2, 32, false, 256, 8, 512, 0},
    /* without a tokenizer, for checking arithmetic in moments */
    {"small", 256, 2, 768, 4, 2, 32, false, 0, 0, 0, 1024},
    {"small-moe", 256, 2, 256, 4, 2, 16, true, 8, 2, 256, 1024},
};

/* SIZE[/LAYERS][:TYPE] */
static tdm_status parse_name(const char *name, bool has_text, const struct size **size, uint32_t *layers,
                             enum type *type, tdm_error *err)
{
    const char *p = strchr(name, ':') + 1, *end = p + strcspn(p, "/:"), *colon = strchrnul(p, ':');
    *size = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (has_text == !sizes[i].vocab && strlen(sizes[i].name) == (size_t)(end - p) &&
            !strncasecmp(sizes[i].name, p, (size_t)(end - p)))
            *size = &sizes[i];
    *layers = *size ? (*size)->layers : 0;
    bool good = true;
    if (*end == '/') {
        *layers = 0;
        const char *digit = end + 1;
        while (digit < colon && *digit >= '0' && *digit <= '9' && *layers <= CONFIG_MAX_LAYERS)
            *layers = 10 * *layers + (uint32_t)(*digit++ - '0');
        good = digit == colon && *layers >= 1 && *size && *layers <= (*size)->layers;
    }
    *type = *colon ? type_from_name(colon + 1) : TYPE_BF16;
    if (!*size || !good || *type == TYPE_COUNT || !type_info(*type)->narrows)
        return error_set(
            err, TDM_E_ARG,
            "%.80s: expected synthetic:SIZE[/LAYERS][:TYPE] with SIZE 0.8b, 2b, 4b, 9b or 35b-a3b, at most "
            "its layers, and TYPE f32, bf16, f16, q8_0, q4_0, q4_k or q6_k",
            name);
    return TDM_OK;
}

static void set_config(struct config *c, const struct size *size, uint32_t layers, const char *name)
{
    *c = (struct config){
        .hidden = size->hidden,
        .layers = layers,
        .whole_layers = size->layers,
        .intermediate = size->intermediate,
        .experts = size->experts,
        .experts_used = size->experts_used,
        .expert_intermediate = size->expert_intermediate,
        .vocab = size->vocab ? size->vocab : 248320,
        .context_length = 262144,
        .tied = size->tied,
        .rms_eps = 1e-6f,
        .heads = size->heads,
        .kv_heads = size->kv_heads,
        .head_dim = 256,
        .rope_dims = 64,
        .rope_sections = {11, 11, 10},
        .rope_theta = 1e7f,
        .lin_key_heads = 16,
        .lin_value_heads = size->lin_value_heads,
        .lin_key_dim = 128,
        .lin_value_dim = 128,
        .conv_kernel = 4,
    };
    strcpy(c->architecture, size->experts ? "qwen35moe" : "qwen35");
    snprintf(c->name, sizeof c->name, "%s", name);
    for (uint32_t i = 0; i < c->layers; i++) c->full_attention[i] = i % 4 == 3 || (size->vocab && i % 2);
    c->mtp_layers = 1;
    c->mtp = c->mtp_norm = c->full_attention[layers] = true;
}

static tdm_status add_tensor(struct source *s, enum role role, uint32_t layer, enum type type, char *name, size_t room,
                             tdm_error *err)
{
    struct tensor t = {.name = name, .role = role, .layer = layer};
    enum type stored = role < ROLE_COUNT && !role_is_matrix(role) ? type == TYPE_F32 ? TYPE_F32 : TYPE_BF16
                                                                  : matrix_type(role, type);
    role_shape(&s->config, role, &t.rows, &t.cols);
    role_hf_name(name, room, &s->config, role, layer);
    bool experts = role_is_experts(role) || role == ROLE_EXPERTS_GATE_UP;
    if (experts) strncat(name, ".weight", room - strlen(name) - 1); /* which checkpoints leave out */
    struct recipe recipe = synthetic_recipe(name, t.cols);
    if (role == ROLE_EXPERTS_GATE_UP) return source_add_fused(s, t, stored, NULL, recipe, err);
    return source_add(s, t, stored, NULL, recipe, err);
}

/* The tensors of a layer; those that are there once come with the first. */
static tdm_status add_layer(struct source *s, uint32_t layer, enum type type, size_t room, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int role = 0; !status && role < ROLE_COUNT; role++) {
        if (!role_exists(&s->config, (enum role)role, layer)) continue;
        if (role == ROLE_EXPERTS_UP) continue; /* comes with the gate */
        enum role stored = role == ROLE_EXPERTS_GATE ? ROLE_EXPERTS_GATE_UP : (enum role)role;
        status = add_tensor(s, stored, layer, type, s->names + s->count * room, room, err);
    }
    return status;
}

/* The tokenizer and the stop tokens of the built-in model. */
static tdm_status take_builtin(struct source *s, tdm_error *err)
{
    struct config builtin;
    tdm_status status = gguf_open(&s->gguf, s->options.builtin, err);
    if (!status) status = config_from_gguf(&builtin, s->gguf, err);
    if (!status) status = source_take_text(s, s->gguf, err);
    for (uint32_t i = 0; !status && i < builtin.stop_count; i++) config_add_stop(&s->config, builtin.stops[i]);
    return status;
}

tdm_status source_open_synthetic(struct source *s, const char *name, tdm_error *err)
{
    enum { NAME_ROOM = 80 };
    const struct size *size;
    uint32_t layers;
    enum type type;
    bool small = !strncmp(name, "synthetic:small", strlen("synthetic:small"));
    tdm_status status = parse_name(name, !small || s->options.builtin, &size, &layers, &type, err);
    if (status) return status;
    s->format = SOURCE_SYNTHETIC;
    if (!s->options.builtin && !small)
        return error_set(err, TDM_E_NOT_FOUND,
                         "%.80s: synthetic models use the built-in model's tokenizer, and that model "
                         "is missing",
                         name);
    set_config(&s->config, size, layers, name);
    if (!small) status = take_builtin(s, err);
    if (status) return status;

    size_t room = (size_t)ROLE_COUNT * config_blocks(&s->config);
    status = source_reserve(s, room, err);
    if (status) return status;
    s->names = malloc(room * NAME_ROOM);
    if (!s->names) return error_set(err, TDM_E_NOMEM, "%.80s: out of memory", name);
    for (uint32_t layer = 0; !status && layer < config_blocks(&s->config); layer++)
        status = add_layer(s, layer, type, NAME_ROOM, err);
    return status;
}
