#include "engine/model/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/model/half.h"
#include "engine/model/source_private.h"

uint64_t synthetic_hash(const char *name)
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
    struct recipe r = {.hash = synthetic_hash(name), .kind = RECIPE_LINEAR, .base = 0, .scale = 1, .divisor = 1};
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
} sizes[] = {
    {"0.8b", 1024, 24, 3584, 8, 2, 16, true},
    {"2b", 2048, 24, 6144, 8, 2, 16, true},
    {"4b", 2560, 32, 9216, 16, 4, 32, true},
    {"9b", 4096, 32, 12288, 16, 4, 32, false},
};

static tdm_status parse_name(const char *name, const struct size **size, enum type *type, tdm_error *err)
{
    const char *p = strchr(name, ':') + 1, *colon = strchrnul(p, ':');
    *size = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strlen(sizes[i].name) == (size_t)(colon - p) && !strncasecmp(sizes[i].name, p, (size_t)(colon - p)))
            *size = &sizes[i];
    *type = *colon ? type_from_name(colon + 1) : TYPE_BF16;
    if (!*size || *type == TYPE_COUNT || !type_info(*type)->narrows)
        return error_set(err, TDM_E_ARG,
                         "%.80s: expected synthetic:SIZE[:TYPE] with SIZE 0.8b, 2b, 4b or 9b and TYPE f32, "
                         "bf16, f16, q8_0, q4_0, q4_k or q6_k",
                         name);
    return TDM_OK;
}

static void set_config(struct config *c, const struct size *size, const char *name)
{
    *c = (struct config){
        .architecture = "qwen35",
        .hidden = size->hidden,
        .layers = size->layers,
        .intermediate = size->intermediate,
        .vocab = 248320,
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
    snprintf(c->name, sizeof c->name, "%s", name);
    for (uint32_t i = 0; i < c->layers; i++) c->full_attention[i] = i % 4 == 3;
}

static tdm_status add_tensor(struct source *s, enum role role, uint32_t layer, enum type type, char *name,
                             tdm_error *err)
{
    struct tensor t = {.name = name, .role = role, .layer = layer};
    role_shape(&s->config, role, &t.rows, &t.cols);
    enum type stored = role_is_matrix(role) ? matrix_type(role, type) : type == TYPE_F32 ? TYPE_F32 : TYPE_BF16;
    return source_add(s, t, stored, NULL, synthetic_recipe(name, t.cols), err);
}

tdm_status source_open_synthetic(struct source *s, const char *name, tdm_error *err)
{
    enum { NAME_ROOM = 80 };
    const struct size *size;
    enum type type;
    struct config builtin;
    tdm_status status = parse_name(name, &size, &type, err);
    if (status) return status;
    s->format = SOURCE_SYNTHETIC;
    if (!s->options.builtin)
        return error_set(err, TDM_E_NOT_FOUND,
                         "%.80s: synthetic models use the built-in model's tokenizer, and that model "
                         "is missing",
                         name);
    status = gguf_open(&s->gguf, s->options.builtin, err);
    if (!status) status = config_from_gguf(&builtin, s->gguf, err);
    if (!status) status = source_take_text(s, s->gguf, err);
    if (status) return status;
    set_config(&s->config, size, name);
    for (uint32_t i = 0; i < builtin.stop_count; i++) config_add_stop(&s->config, builtin.stops[i]);

    size_t room = (size_t)ROLE_COUNT * s->config.layers;
    status = source_reserve(s, room, err);
    if (status) return status;
    s->names = malloc(room * NAME_ROOM);
    if (!s->names) return error_set(err, TDM_E_NOMEM, "%.80s: out of memory", name);
    for (uint32_t layer = 0; layer < s->config.layers; layer++) {
        for (int role = 0; !status && role < ROLE_COUNT; role++) {
            if (!role_exists(&s->config, (enum role)role, layer)) continue;
            char *p = s->names + s->count * NAME_ROOM;
            role_hf_name(p, NAME_ROOM, (enum role)role, layer);
            status = add_tensor(s, (enum role)role, layer, type, p, err);
        }
    }
    return status;
}
