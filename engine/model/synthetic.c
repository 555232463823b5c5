#include "engine/model/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/base/span.h"
#include "engine/model/half.h"
#include "engine/model/schema/rotary.h"
#include "engine/model/source_private.h"

static uint64_t hash_of(const char *name)
{
    return fnv_bytes(FNV_START, name, strlen(name));
}

struct recipe synthetic_recipe(const char *tensor, uint64_t cols)
{
    struct span name = span_text(tensor);
    struct recipe r = {.hash = hash_of(tensor), .kind = RECIPE_LINEAR, .base = 0, .scale = 1, .divisor = 1};
    if (span_ends(name, "linear_attn.norm.weight"))
        r.base = 1, r.scale = 0.1f;
    else if (span_ends(name, "norm.weight"))
        r.scale = 0.1f;
    else if (span_ends(name, "A_log"))
        r.kind = RECIPE_LOG;
    else if (span_ends(name, "dt_bias"))
        r.base = -2;
    else if (span_ends(name, "conv1d.weight"))
        r.scale = 0.4f;
    else if (span_ends(name, "embed_tokens.weight") || span_ends(name, "lm_head.weight"))
        r.scale = 0.04f;
    else
        r.divisor = sqrtf((float)cols);
    if (span_ends(name, "mlp.gate.weight")) r.scale = 4; /* separates the router's scores */
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

#define SHAPE(width, depth, inner, query_heads, key_heads, head, words, positions)                                     \
    .hidden = width, .layers = depth, .intermediate = inner, .heads = query_heads, .kv_heads = key_heads,              \
    .head_dim = head, .vocab = words, .context = positions
#define QWEN35(width, depth, inner, query_heads, key_heads, value_heads)                                               \
    SHAPE(width, depth, inner, query_heads, key_heads, 256, 248320, 262144), .theta = 1e7f, .eps = 1e-6f,              \
                                                                             .lin_value_heads = value_heads
#define MIXTURE(all, used, width) .experts = all, .experts_used = used, .expert_intermediate = width

/* Heads of 256 in windows. */
#define GEMMA4(span, key_heads)                                                                                        \
    .window = span, .window_kv_heads = key_heads, .window_head_dim = 256, .tied = true, .theta = 1e6f, .eps = 1e-6f

static const struct size {
    const char *name;
    const struct schema *schema;
    uint32_t hidden, layers, intermediate, heads, kv_heads, head_dim, vocab, context;
    bool tied;
    float theta, eps;
    uint32_t lin_value_heads;                            /* 0: no DeltaNets */
    uint32_t experts, experts_used, expert_intermediate; /* 0: no mixture */
    uint32_t scaled_from;                                /* original positions, and 32 times as many: llama3, or yarn */
    bool yarn;
    uint32_t window, window_kv_heads, window_head_dim;   /* 0: none, or as in the others */
    uint32_t shared, layer_input;                        /* as in struct config */
    bool small;                                          /* without a tokenizer, for checking arithmetic in moments */
} sizes[] = {
    {.name = "0.8b", .schema = &schema_qwen35, QWEN35(1024, 24, 3584, 8, 2, 16), .tied = true},
    {.name = "2b", .schema = &schema_qwen35, QWEN35(2048, 24, 6144, 8, 2, 16), .tied = true},
    {.name = "4b", .schema = &schema_qwen35, QWEN35(2560, 32, 9216, 16, 4, 32), .tied = true},
    {.name = "9b", .schema = &schema_qwen35, QWEN35(4096, 32, 12288, 16, 4, 32)},
    {.name = "35b-a3b", .schema = &schema_qwen35moe, QWEN35(2048, 40, 512, 16, 2, 32), MIXTURE(256, 8, 512)},
    {.name = "llama-3.2-3b",
     .schema = &schema_llama,
     SHAPE(3072, 28, 8192, 24, 8, 128, 128256, 131072),
     .tied = true,
     .theta = 5e5f,
     .eps = 1e-5f,
     .scaled_from = 8192},
    {.name = "qwen3-4b",
     .schema = &schema_qwen3,
     SHAPE(2560, 36, 9728, 32, 8, 128, 151936, 40960),
     .tied = true,
     .theta = 1e6f,
     .eps = 1e-6f},
    {.name = "qwen3-30b-a3b",
     .schema = &schema_qwen3moe,
     SHAPE(2048, 48, 0, 32, 4, 128, 151936, 40960),
     MIXTURE(128, 8, 768),
     .theta = 1e6f,
     .eps = 1e-6f},
    {.name = "mistral-small-24b",
     .schema = &schema_llama,
     SHAPE(5120, 40, 32768, 32, 8, 128, 131072, 32768),
     .theta = 1e8f,
     .eps = 1e-5f},
    {.name = "smollm3-3b",
     .schema = &schema_smollm3,
     SHAPE(2048, 36, 11008, 16, 4, 128, 128256, 65536),
     .tied = true,
     .theta = 5e6f,
     .eps = 1e-6f},
    {.name = "gemma4-e4b",
     .schema = &schema_gemma4,
     SHAPE(2560, 42, 10240, 8, 2, 512, 262144, 131072),
     GEMMA4(512, 2),
     .shared = 18,
     .layer_input = 256},
    {.name = "gemma4-12b",
     .schema = &schema_gemma4,
     SHAPE(3840, 48, 15360, 16, 1, 512, 262144, 262144),
     GEMMA4(1024, 8)},
    {.name = "gemma4-26b-a4b",
     .schema = &schema_gemma4,
     SHAPE(2816, 30, 2112, 16, 2, 512, 262144, 262144),
     GEMMA4(1024, 8),
     MIXTURE(128, 8, 704)},
    {.name = "gpt-oss-20b",
     .schema = &schema_gpt_oss,
     SHAPE(2880, 24, 0, 64, 8, 64, 201088, 131072),
     MIXTURE(32, 4, 2880),
     .theta = 150000,
     .eps = 1e-5f,
     .window = 128,
     .scaled_from = 4096,
     .yarn = true},
    {.name = "gpt2", .schema = &schema_gpt2, SHAPE(768, 12, 3072, 12, 12, 64, 50257, 1024), .tied = true, .eps = 1e-5f},
    {.name = "small",
     .schema = &schema_qwen35,
     SHAPE(256, 2, 768, 4, 2, 256, 1024, 262144),
     .theta = 1e7f,
     .eps = 1e-6f,
     .lin_value_heads = 32,
     .small = true},
    {.name = "small-moe",
     .schema = &schema_qwen35moe,
     SHAPE(256, 2, 256, 4, 2, 256, 1024, 262144),
     .theta = 1e7f,
     .eps = 1e-6f,
     .lin_value_heads = 16,
     MIXTURE(8, 2, 256),
     .tied = true,
     .small = true},
};

/* SIZE[/LAYERS][:TYPE] */
static tdm_status parse_name(const char *name, bool has_text, const struct size **size, uint32_t *layers,
                             enum type *type, tdm_error *err)
{
    const char *p = strchr(name, ':') + 1, *end = p + strcspn(p, "/:"), *colon = strchrnul(p, ':');
    *size = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (has_text != sizes[i].small && strlen(sizes[i].name) == (size_t)(end - p) &&
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
            "%.80s: expected synthetic:SIZE[/LAYERS][:TYPE] with SIZE 0.8b, 2b, 4b, 9b, 35b-a3b, llama-3.2-3b, "
            "qwen3-4b, "
            "qwen3-30b-a3b, mistral-small-24b, smollm3-3b, gemma4-e4b, gemma4-12b, gemma4-26b-a4b, gpt-oss-20b or "
            "gpt2, at "
            "most its layers, and TYPE f32, bf16, f16, q8_0, q4_0, q4_k, q6_k or (of experts) mxfp4",
            name);
    return TDM_OK;
}

/* Where layers with windows have another shape. Of fewer layers the first ones keep what they are. */
static void set_shapes(struct config *c, const struct size *size)
{
    struct config_rope *rope = &c->rope;
    struct config_attention *a = &c->attention;
    uint32_t own = size->layers - size->shared;
    a->window_kv_heads = size->window_kv_heads;
    a->window_head_dim = size->window_head_dim;
    a->shared_layers = c->layers > own ? c->layers - own : 0;
    c->layer_input = size->layer_input;
    a->values_are_keys = !size->shared;
    c->scales.logit_cap = 30;
    rope->window_theta = 10000;
    rope->scaling.kind = CONFIG_SCALING_PROPORTIONAL;
    rope->scaling.turning = rope->dims / 8;
}

static void set_config(struct config *c, const struct size *size, uint32_t layers, const char *name)
{
    struct config_rope_scaling *scaling = &c->rope.scaling;
    bool recurrent = size->lin_value_heads;
    *c = (struct config){
        .schema = size->schema,
        .hidden = size->hidden,
        .layers = layers,
        .whole_layers = size->layers,
        .feed.intermediate = size->intermediate,
        .experts.count = size->experts,
        .experts.used = size->experts_used,
        .experts.intermediate = size->expert_intermediate,
        .vocab = size->vocab,
        .context_length = size->context,
        .rms_eps = size->eps,
        .attention.heads = size->heads,
        .attention.kv_heads = size->kv_heads,
        .attention.head_dim = size->head_dim,
        .rope.dims = (uint32_t)(size->head_dim * size->schema->rotated),
        .rope.theta = size->theta,
        .delta.key_heads = recurrent ? 16 : 0,
        .delta.value_heads = size->lin_value_heads,
        .delta.key_dim = recurrent ? 128 : 0,
        .delta.value_dim = recurrent ? 128 : 0,
        .delta.conv_kernel = recurrent ? 4 : 0,
    };
    schema_begin(c);
    c->tied = size->tied;
    snprintf(c->name, sizeof c->name, "%s", name);
    if (c->schema->sections) config_set_sections(c);
    if (size->scaled_from) {
        scaling->kind = size->yarn ? CONFIG_SCALING_YARN : CONFIG_SCALING_LLAMA3;
        scaling->factor = 32;
        scaling->fast = size->yarn ? 32 : 4;
        scaling->original = size->scaled_from;
        if (size->yarn) scaling->amplitude = rotary_yarn_amplitude(32, 0, 0);
    }
    if (c->schema->shapes) set_shapes(c, size);
    config_set_windows(c, size->window, c->schema->pattern);
    config_set_interval(c, c->schema->interval);
    for (uint32_t i = 0; i < c->layers; i++) {
        if (size->small) c->full_attention[i] = i % 2;
        if (c->schema->unrotated) c->unrotated[i] = (i + 1) % c->schema->unrotated == 0;
    }
    if (recurrent) {
        c->mtp.layers = 1;
        c->mtp.there = c->mtp.norm = c->full_attention[layers] = true;
    }
    config_complete(c);
    rotary_set(&c->rope);
}

/* The name that a checkpoint would have, with the ".weight" that it leaves out of experts'. */
static void end_name(char *name, size_t room)
{
    if (!span_ends(span_text(name), ".weight") && strstr(name, ".experts."))
        strncat(name, ".weight", room - strlen(name) - 1);
}

/* A tensor that others are multiplied with: its values are near 1. */
static bool is_multiplier(enum role role)
{
    static const enum role roles[] = {
        ROLE_INPUT_NORM,     ROLE_POST_NORM,   ROLE_FINAL_NORM,       ROLE_Q_NORM,           ROLE_K_NORM,
        ROLE_ATTENTION_NORM, ROLE_FEED_NORM,   ROLE_INPUT_TABLE_NORM, ROLE_INPUT_OUT_NORM,   ROLE_LAYER_SCALE,
        ROLE_DENSE_NORM,     ROLE_ROUTER_NORM, ROLE_EXPERTS_IN_NORM,  ROLE_EXPERTS_OUT_NORM, ROLE_EXPERTS_SCALE};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (roles[i] == role) return true;
    return false;
}

/* The recipe of the name, but for what only some families have. */
static struct recipe recipe_of(const struct source *s, enum role role, const char *name, uint64_t cols)
{
    struct recipe r = synthetic_recipe(name, cols);
    if (is_multiplier(role) && schema_tensor(s->config.schema, role)->form == FORM_SAME)
        r.base = 1, r.scale = 0.1f, r.divisor = 1;
    else if (cols == 1)
        r.scale = 0.02f; /* biases */
    else if (role == ROLE_ROUTER)
        r.scale = 4;
    return r;
}

static tdm_status add_tensor(struct source *s, enum role role, uint32_t layer, enum type type, char *name, size_t room,
                             tdm_error *err)
{
    struct tensor t = {.name = name, .role = role, .layer = layer};
    enum type stored = !role_is_matrix(role) ? type == TYPE_F32 ? TYPE_F32 : TYPE_BF16 : matrix_type(role, type);
    role_shape(&s->config, role, layer, &t.rows, &t.cols);
    role_file_name(name, room, &s->config, SCHEMA_HF, role, layer);
    end_name(name, room);
    const struct origin from = {.stored = stored, .recipe = recipe_of(s, role, name, t.cols)};
    return source_add(s, t, &from, err);
}

/* Gate and up of the experts, which lie together. */
static tdm_status add_several(struct source *s, const struct schema_pieces *pieces, uint32_t layer, enum type type,
                              char *name, size_t room, tdm_error *err)
{
    struct tensor t = {.name = name, .layer = layer};
    uint64_t rows;
    for (int i = 0; i < pieces->n_parts; i++) {
        role_shape(&s->config, pieces->parts[i], layer, &rows, &t.cols);
        t.rows += rows;
    }
    role_pieces_name(name, room, &s->config, SCHEMA_HF, pieces, layer);
    end_name(name, room);
    const struct origin from = {.stored = matrix_type(pieces->parts[0], type),
                                .recipe = synthetic_recipe(name, t.cols)};
    return source_add_several(s, t, pieces, &from, err);
}

static const struct schema_pieces *experts_together(const struct config *c)
{
    const struct schema_pieces *p = c->schema->pieces;
    while (p->n_parts && (p->parts[0] != ROLE_EXPERTS_GATE || p->rows != SIZE_NONE)) p++;
    return p;
}

/* The tensors of a layer; those that are there once come with the first. */
static tdm_status add_layer(struct source *s, uint32_t layer, enum type type, size_t room, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int role = 0; !status && role < ROLE_COUNT; role++) {
        if (!role_exists(&s->config, (enum role)role, layer)) continue;
        if (role == ROLE_EXPERTS_UP) continue; /* comes with the gate */
        char *name = s->files.names + s->tensors.count * room;
        status = role == ROLE_EXPERTS_GATE
                     ? add_several(s, experts_together(&s->config), layer, type, name, room, err)
                     : add_tensor(s, (enum role)role, layer, type, name, room, err);
    }
    return status;
}

/* The tokenizer and the stop tokens of the built-in model. */
static tdm_status take_builtin(struct source *s, tdm_error *err)
{
    tdm_status status = gguf_open(&s->files.gguf, s->options.builtin, err);
    return status ? status : source_take_text(s, s->files.gguf, err);
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
    s->forms[FORM_ADD_ONE] = s->forms[FORM_RATE] = true;
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
    s->files.names = malloc(room * NAME_ROOM);
    if (!s->files.names) return error_set(err, TDM_E_NOMEM, "%.80s: out of memory", name);
    for (uint32_t layer = 0; !status && layer < config_blocks(&s->config); layer++)
        status = add_layer(s, layer, type, NAME_ROOM, err);
    return status;
}
