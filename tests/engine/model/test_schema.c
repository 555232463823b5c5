/* What other people's files have: every key that changes numbers is used, or refused by its name and value; other
 * names, shapes and forms of the same weights give the same model. */
#include "engine/model/map.h"
#include "tests/check.h"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/json/write.h"
#include "engine/model/convert/convert.h"
#include "engine/model/half.h"
#include "engine/model/source.h"
#include "tests/engine/model/made.h"

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static struct source *open_accepting(const char *path, const char *accepted)
{
    const char *const accept[] = {accepted, NULL};
    const struct source_options options = {.accept_unknown = accept};
    struct source *s;
    tdm_error err;
    if (!source_open(&s, path, &options, &err)) return s;
    CHECK_FAIL("%s", err.text);
    return NULL;
}

static void check_refused(const char *path, const char *part)
{
    struct source *s;
    tdm_error err = {0};
    if (!source_open(&s, path, NULL, &err)) {
        CHECK_FAIL("expected \"%s\", and it was opened", part);
        source_close(s);
        return;
    }
    if (!strstr(err.text, part)) CHECK_FAIL("expected \"%s\", found \"%s\"", part, err.text);
}

/* A status that differs tells which value was dropped, or refused without need. part NULL: it opens. */
static void check_opens(const char *path, const char *part)
{
    if (part) {
        check_refused(path, part);
    } else {
        source_close(open_accepting(path, NULL));
    }
}

/* The same weights under the same roles, and the same vectors. */
static void check_same(const struct source *a, const struct source *b)
{
    const struct tensor *const *list;
    REQUIRE(a && b);
    size_t n = source_tensors(a, &list);
    const struct config *x = source_config(a), *y = source_config(b);
    CHECK(x->rope.theta == y->rope.theta && x->rope.dims == y->rope.dims && x->rms_eps == y->rms_eps);
    CHECK(x->attention.heads == y->attention.heads && x->attention.kv_heads == y->attention.kv_heads &&
          x->delta.value_heads_tiled == y->delta.value_heads_tiled);
    CHECK(!memcmp(x->full_attention, y->full_attention, sizeof x->full_attention));
    for (size_t i = 0; i < n; i++) {
        const struct tensor *t = list[i], *u = source_tensor(b, t->role, t->layer);
        REQUIRE(u);
        if (t->rows != u->rows || t->cols != u->cols || t->type != u->type)
            CHECK_FAIL("%s has another shape or type", t->name);
        size_t elements = t->rows * t->cols;
        if (role_is_matrix(t->role)) {
            void *p = malloc(t->bytes), *q = malloc(t->bytes);
            if (memcmp(source_rows(a, t, 0, t->rows, p), source_rows(b, u, 0, u->rows, q), t->bytes))
                CHECK_FAIL("%s differs", t->name);
            free(p), free(q);
        } else {
            float *p = malloc(elements * sizeof *p), *q = malloc(elements * sizeof *q);
            source_vector(a, t->role, t->layer, p, elements);
            source_vector(b, t->role, t->layer, q, elements);
            for (size_t k = 0; k < elements; k++) /* a 1 that is added before rounding costs half a step of BF16 */
                if (fabsf(p[k] - q[k]) > 0x1p-8f * fabsf(p[k])) CHECK_FAIL("%s differs at %zu", t->name, k);
            free(p), free(q);
        }
    }
}

/* golden: below the data, or a path. */
static void check_same_files(const char *golden, const char *path)
{
    struct source *a = open_accepting(golden[0] == '/' ? golden : check_data(golden), NULL);
    struct source *b = open_accepting(path, NULL);
    check_same(a, b);
    source_close(a);
    source_close(b);
}

/* ---- Keys of GGUF ------------------------------------------------------------------------------------------------ */

static const struct key_case {
    const char *key;
    enum gguf_value type;
    double value;
    const char *part; /* of the line that refuses it; NULL: it opens */
} *key_case;

static void add_case(struct gguf_writer *w)
{
    char key[100];
    snprintf(key, sizeof key, "%s", key_case->key);
    if (key_case->type == GGUF_F32)
        gguf_add_f32(w, key, (float)key_case->value);
    else if (key_case->type == GGUF_BOOL)
        gguf_add_bool(w, key, key_case->value != 0);
    else
        gguf_add_u32(w, key, (uint32_t)key_case->value);
}

static void check_keys(const char *golden, const struct key_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *const without[] = {cases[i].key, NULL};
        key_case = &cases[i];
        char *path = made_gguf("key.gguf", golden, without, add_case);
        check_opens(path, cases[i].part);
        free(path);
    }
}

TEST(keys_that_change_numbers_are_not_dropped)
{
    static const struct key_case cases[] = {
        {"qwen35.attention.clamp_kqv", GGUF_F32, 8,
         "key qwen35.attention.clamp_kqv: 8 is not known, and may change replies "
         "(--accept-unknown qwen35.attention.clamp_kqv loads it without)"},
        {"qwen35.attention.clamp_kqv", GGUF_F32, 0, NULL},
        {"qwen35.final_logit_softcapping", GGUF_F32, 30, "final_logit_softcapping: 30 is not known"},
        {"qwen35.logit_scale", GGUF_F32, 0.5, "logit_scale: 0.5 is not known"},
        {"qwen35.logit_scale", GGUF_F32, 1, NULL},
        {"qwen35.embedding_scale", GGUF_F32, 12, "embedding_scale: 12"},
        {"qwen35.attention.sliding_window", GGUF_U32, 512, "sliding_window: 512"},
        {"qwen35.use_parallel_residual", GGUF_BOOL, 1, "use_parallel_residual: true"},
        {"qwen35.use_parallel_residual", GGUF_BOOL, 0, NULL},
        {"qwen35.attention.causal", GGUF_BOOL, 0, "attention.causal: expected true, found false"},
        {"qwen35.attention.causal", GGUF_BOOL, 1, NULL},
        {"qwen35.attention.value_length", GGUF_U32, 16, "value_length: expected 32, found 16"},
        {"qwen35.embedding_length_out", GGUF_U32, 64, NULL},
        {"qwen35.embedding_length_out", GGUF_U32, 32, "embedding_length_out: expected 64, found 32"},
        {"qwen35.vocab_size", GGUF_U32, 512, NULL},
        {"qwen35.vision.block_count", GGUF_U32, 27, NULL},
        {"qwen35.image_token_id", GGUF_U32, 500, NULL},
        {"qwen35.rope.mrope_interleaved", GGUF_BOOL, 1, NULL},
        {"qwen35.ssm.v_head_reordered", GGUF_BOOL, 1, NULL},
        {"llama.logit_scale", GGUF_F32, 3, NULL}, /* of another architecture */
    };
    check_keys("tiny-a-q8_0", cases, sizeof cases / sizeof *cases);
}

TEST(positions_that_are_scaled_are_refused_in_gguf)
{
    static const struct key_case cases[] = {
        {"qwen35.rope.scaling.factor", GGUF_F32, 4, "rope.scaling.factor: expected 1, found 4"},
        {"qwen35.rope.scaling.factor", GGUF_F32, 1, NULL},
        {"qwen35.rope.scaling.attn_factor", GGUF_F32, 0.5, "attn_factor: expected 1, found 0.5"},
        {"qwen35.rope.scale_linear", GGUF_F32, 2, "rope.scale_linear: expected 1, found 2"},
        {"qwen35.rope.scaling.original_context_length", GGUF_U32, 4096, NULL},
        {"qwen35.rope.scaling.finetuned", GGUF_BOOL, 1, NULL},
        {"qwen35.rope.scaling.yarn_beta_fast", GGUF_F32, 32, NULL},
        {"qwen35.rope.freq_base_swa", GGUF_F32, 1e4, "freq_base_swa: 10000 is not known"},
    };
    check_keys("tiny-a-q8_0", cases, sizeof cases / sizeof *cases);
}

TEST(keys_of_mixtures)
{
    static const struct key_case cases[] = {
        {"qwen35moe.expert_weights_scale", GGUF_F32, 2.5, "expert_weights_scale: expected 1, found 2.5"},
        {"qwen35moe.expert_weights_scale", GGUF_F32, 1, NULL},
        {"qwen35moe.expert_weights_norm", GGUF_BOOL, 0, "expert_weights_norm: expected true, found false"},
        {"qwen35moe.expert_weights_norm", GGUF_BOOL, 1, NULL},
        {"qwen35moe.norm_top_k_prob", GGUF_BOOL, 0, "norm_top_k_prob: expected true, found false"},
        {"qwen35moe.expert_gating_func", GGUF_U32, 2, "expert_gating_func: expected 1, found 2"},
        {"qwen35moe.expert_gating_func", GGUF_U32, 1, NULL},
        {"qwen35moe.expert_group_count", GGUF_U32, 4, "expert_group_count: expected 1, found 4"},
        {"qwen35moe.leading_dense_block_count", GGUF_U32, 1, "leading_dense_block_count: expected 0, found 1"},
        {"qwen35moe.expert_shared_count", GGUF_U32, 2, "expert_shared_count: expected 1, found 2"},
        {"qwen35moe.feed_forward_length", GGUF_U32, 77, NULL},
    };
    check_keys("tiny-d-q8_0", cases, sizeof cases / sizeof *cases);
}

/* An array in place of a number, and a text. */
static void add_strange(struct gguf_writer *w)
{
    gguf_add_i32s(w, "qwen35.swiglu_limits", (const int32_t[]){0, 7, 0}, 3);
}

static void add_yarn(struct gguf_writer *w)
{
    gguf_add_string(w, "qwen35.rope.scaling.type", (struct span){"yarn", 4});
}

static void add_none(struct gguf_writer *w)
{
    gguf_add_string(w, "qwen35.rope.scaling.type", (struct span){"none", 4});
    gguf_add_i32s(w, "qwen35.swiglu_limits", (const int32_t[]){0, 0}, 2);
    gguf_add_string(w, "qwen35.tensor_data_layout", (struct span){"reference", 9});
}

TEST(arrays_and_texts_are_looked_at_too)
{
    char *path = made_gguf("strange.gguf", "tiny-a-q8_0", NULL, add_strange);
    check_refused(path, "key qwen35.swiglu_limits: [0,7,0] is not known");
    free(path);
    path = made_gguf("yarn.gguf", "tiny-a-q8_0", NULL, add_yarn);
    check_refused(path, "key qwen35.rope.scaling.type: expected none, found yarn");
    free(path);
    path = made_gguf("none.gguf", "tiny-a-q8_0", NULL, add_none);
    check_opens(path, NULL);
    free(path);
}

static void check_left_out(const struct source *s, const char *name, bool accepted)
{
    const struct unknown_item *items;
    size_t n = source_left_out(s, &items);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(items[i].name, name)) {
            CHECK_INT(accepted, !items[i].why);
            return;
        }
    CHECK_FAIL("%s is not in the list", name);
}

TEST(what_is_accepted_is_left_out_and_listed)
{
    char *path = made_gguf("strange.gguf", "tiny-a-q8_0", NULL, add_strange);
    struct source *s = open_accepting(path, "qwen35.swiglu_limits");
    REQUIRE(s);
    check_left_out(s, "qwen35.swiglu_limits", true);
    source_close(s);
    s = open_accepting(path, "qwen35.swiglu*");
    REQUIRE(s);
    source_close(s);
    check_refused(path, "swiglu_limits");
    free(path);
    s = open_accepting(check_data("goldens/tiny-a"), NULL);
    REQUIRE(s);
    check_left_out(s, "transformers_version", false);
    source_close(s);
}

/* ---- Fields of config.json --------------------------------------------------------------------------------------- */

/* A folder as the golden one, with a field of config.json (of an object in it, if `in` is not NULL) that has this
 * JSON. */
static char *folder_with(const char *golden, const char *in, const char *field, const char *value)
{
    static int count;
    char name[40], path[300], text[4096];
    struct json_object *json, *o, *v;
    tdm_error err;
    snprintf(name, sizeof name, "folder-%d", count++);
    char *folder = made_folder(name, golden);
    snprintf(path, sizeof path, "%s/config.json", folder);
    if (map_json(&json, path, &err)) abort();
    if (!(o = in ? json_get(json, in) : json)) abort();
    snprintf(text, sizeof text, "{\"v\":%s}", value);
    if (json_parse_object(&v, "value", text, strlen(text), &err)) abort();
    json_add_shared(o, field, json_get(v, "v"));
    made_text(folder, "config.json", json_shown(json));
    json_free(v);
    json_free(json);
    return folder;
}

struct field_case {
    const char *in, *field, *value, *part;
};

static void check_fields(const char *golden, const struct field_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *folder = folder_with(golden, cases[i].in, cases[i].field, cases[i].value);
        check_opens(folder, cases[i].part);
        free(folder);
    }
}

TEST(fields_that_change_numbers_are_not_dropped)
{
    static const struct field_case flat[] = {
        {NULL, "attn_logit_softcapping", "50.0",
         "field attn_logit_softcapping: 50.0 is not known, and may change replies "
         "(--accept-unknown attn_logit_softcapping loads it without)"},
        {NULL, "attn_logit_softcapping", "null", NULL},
        {NULL, "logits_scaling", "8.0", "logits_scaling: 8.0"},
        {NULL, "logits_scaling", "1.0", NULL},
        {NULL, "residual_multiplier", "0.22", "residual_multiplier: 0.22"},
        {NULL, "mlp_bias", "true", "mlp_bias: true"},
        {NULL, "mlp_bias", "false", NULL},
        {NULL, "attention_dropout", "0.1", NULL},
        {NULL, "sparse_attention", "{\"block\": 64}", "sparse_attention: {\"block\":64}"},
        {NULL, "sparse_attention", "{\"block\": 0, \"on\": false}", NULL},
        {NULL, "no_rope_layers", "[0, 0, 1]", "no_rope_layers: [0,0,1]"},
        {NULL, "norm_type", "\"layernorm\"", "norm_type: layernorm"},
        {NULL, "output_gate_type", "\"swish\"", NULL},
        {NULL, "output_gate_type", "\"sigmoid\"", "output_gate_type: expected swish, found sigmoid"},
        {NULL, "use_sliding_window", "true", "use_sliding_window: expected false, found true"},
        {NULL, "sliding_window", "128", "sliding_window: expected null, found 128"},
        {NULL, "sliding_window", "4096", NULL}, /* as long as the context */
        {NULL, "quantization_config", "{\"quant_method\": \"gptq\", \"bits\": 4}",
         "expected an unquantised language model, found a GPTQ checkpoint"},
        {NULL, "quantization", "{\"group_size\": 64, \"bits\": 4}",
         "expected an unquantised language model, found a quantised MLX checkpoint"},
    };
    static const struct field_case nested[] = {
        {"text_config", "query_pre_attn_scalar", "48", "query_pre_attn_scalar: 48"},
        {NULL, "embedding_multiplier", "12.0", "embedding_multiplier: 12.0"},
        {NULL, "video_token_id", "5", NULL},
        {"vision_config", "depth", "3", NULL},
        {"text_config", "model_type", "\"qwen3_next\"", "unsupported architecture qwen3_next"},
    };
    check_fields("tiny-a", flat, sizeof flat / sizeof *flat);
    check_fields("tiny-b", nested, sizeof nested / sizeof *nested);
}

TEST(positions_that_are_scaled_are_refused_in_every_spelling)
{
    static const struct field_case flat[] = {
        {"rope_parameters", "rope_type", "\"yarn\"", "field rope_parameters.rope_type: expected default, found yarn"},
        {"rope_parameters", "type", "\"yarn\"", "field rope_parameters.type: expected default, found yarn"},
        {"rope_parameters", "type", "\"mrope\"", NULL},
        {"rope_parameters", "factor", "4.0", "field rope_parameters.factor: 4.0 is not known"},
        {"rope_parameters", "factor", "1.0", NULL},
        {NULL, "rope_scaling", "{\"rope_type\":\"linear\",\"factor\":8.0}", "field rope_scaling.rope_type"},
        {NULL, "rope_scaling", "{\"type\":\"dynamic\",\"factor\":2.0}", "field rope_scaling.type: expected default"},
        {NULL, "rope_scaling", "{\"factor\":2.0}", "field rope_scaling.factor: 2.0"},
        {NULL, "rope_scaling", "{\"rope_theta\":5000.0}", "rope_theta: expected 1e+07 as elsewhere"},
        {NULL, "rope_scaling", "{}", NULL},
        {NULL, "rope_scaling", "null", NULL},
        {NULL, "rope_type", "\"llama3\"", "field rope_type: expected none, found llama3"},
        {NULL, "rope_parameters",
         "{\"full_attention\":{\"rope_type\":\"proportional\",\"rope_theta\":1e7,\"partial_rotary_factor\":0.25}}",
         "field rope_parameters.full_attention.rope_type: expected default, found proportional"},
        {NULL, "rope_parameters",
         "{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":1e7,\"partial_rotary_factor\":0.25}}", NULL},
    };
    static const struct field_case nested[] = {
        {NULL, "rope_scaling", "{\"type\":\"yarn\",\"factor\":4.0}", "field rope_scaling.type: expected default"},
        {"text_config", "rope_scaling", "{\"type\":\"longrope\"}", "field rope_scaling.type: expected default"},
    };
    check_fields("tiny-a", flat, sizeof flat / sizeof *flat);
    check_fields("tiny-b", nested, sizeof nested / sizeof *nested);
}

TEST(positions_by_kind_of_layer_are_read)
{
    char *folder = folder_with("tiny-a", NULL, "rope_parameters",
                               "{\"full_attention\":{\"rope_theta\":10000000.0,\"partial_rotary_factor\":0.25}}");
    check_same_files("goldens/tiny-a", folder);
    free(folder);
}

TEST(fields_of_mixtures)
{
    static const struct field_case cases[] = {
        {NULL, "routed_scaling_factor", "2.5", "routed_scaling_factor: expected 1, found 2.5"},
        {NULL, "routed_scaling_factor", "1.0", NULL},
        {NULL, "scoring_func", "\"sigmoid\"", "scoring_func: expected softmax, found sigmoid"},
        {NULL, "norm_topk_prob", "false", "norm_topk_prob: expected true, found false"},
        {NULL, "norm_topk_prob", "true", NULL},
        {NULL, "n_group", "8", "n_group: expected 1, found 8"},
        {NULL, "first_k_dense_replace", "1", "first_k_dense_replace: expected 0, found 1"},
    };
    check_fields("tiny-d", cases, sizeof cases / sizeof *cases);
}

/* ---- Other forms of the same weights ----------------------------------------------------------------------------- */

/* As mlx-lm writes it: the convolution turned around, the 1 added to the norms but linear_attn.norm. */
static void as_mlx(struct made_tensor *list, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        size_t length = strlen(list[i].name);
        if (strstr(list[i].name, "conv1d")) {
            list[i].shape[1] = list[i].shape[2];
            list[i].shape[2] = 1;
        }
        if (length < 11 || strcmp(list[i].name + length - 11, "norm.weight") || strstr(list[i].name, "linear_attn"))
            continue;
        uint16_t *values = malloc(list[i].bytes);
        memcpy(values, list[i].data, list[i].bytes);
        for (size_t k = 0; k < list[i].bytes / 2; k++) values[k] = bf16_narrow(1 + bf16_widen(values[k]));
        list[i].data = list[i].own = values;
    }
}

static void as_mlx_in_part(struct made_tensor *list, size_t *n)
{
    struct made_tensor *t = made_find(list, *n, "model.layers.5.linear_attn.conv1d.weight");
    t->shape[1] = t->shape[2];
    t->shape[2] = 1;
}

static void quantised(struct made_tensor *list, size_t *n)
{
    list[*n] = *made_find(list, *n, "model.norm.weight");
    snprintf(list[*n].name, sizeof list[*n].name, "model.layers.0.mlp.up_proj.scales");
    ++*n;
}

TEST(mlx_checkpoints_are_the_same_models)
{
    char *folder = made_folder("mlx", "tiny-a"), out[300];
    made_weights(folder, as_mlx);
    check_same_files("goldens/tiny-a", folder);
    struct source *s = open_accepting(folder, NULL);
    tdm_error err = {0};
    REQUIRE(s);
    snprintf(out, sizeof out, "%s/mlx.gguf", check_tmp());
    CHECK_INT(TDM_OK, convert_to_gguf(s, out, &(struct convert_options){.type = TYPE_BF16}, &err));
    source_close(s);
    check_same_files("goldens/gguf/tiny-a-bf16.gguf", out);
    free(folder);

    folder = made_folder("mlx-in-part", "tiny-a");
    made_weights(folder, as_mlx_in_part);
    check_refused(folder, "conv1d.weight: expected [channels][1][kernel] as in other layers");
    free(folder);
    folder = made_folder("mlx-quantised", "tiny-a");
    made_weights(folder, quantised);
    check_refused(folder, "found a quantised MLX, GPTQ or AWQ checkpoint");
    free(folder);
}

static const int32_t kv_heads[] = {0, 0, 0, 2, 0, 0, 0, 2}, more_kv_heads[] = {0, 0, 0, 2, 0, 0, 0, 4};

static void add_arrays(struct gguf_writer *w)
{
    gguf_add_i32s(w, "qwen35.attention.head_count_kv", kv_heads, 8);
    gguf_add_i32s(w, "qwen35.attention.head_count", (const int32_t[]){4, 4, 4, 4, 4, 4, 4, 4}, 8);
    gguf_add_i32s(w, "qwen35.feed_forward_length", (const int32_t[]){160, 160, 160, 160, 160, 160, 160, 160}, 8);
}

static void add_unequal(struct gguf_writer *w)
{
    gguf_add_i32s(w, "qwen35.attention.head_count_kv", more_kv_heads, 8);
}

static void add_few(struct gguf_writer *w)
{
    gguf_add_i32s(w, "qwen35.attention.head_count_kv", kv_heads, 5);
}

static void without_bias(struct made_tensor *list, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        char *end = strstr(list[i].name, "ssm_dt.bias");
        if (end) end[6] = 0;
    }
}

TEST(numbers_may_be_arrays_of_layers)
{
    static const char *const without[] = {"qwen35.attention.head_count_kv", "qwen35.attention.head_count",
                                          "qwen35.feed_forward_length", NULL};
    static const char *const kv[] = {"qwen35.attention.head_count_kv", NULL};
    char *path = made_gguf_edited("ollama.gguf", "tiny-a-q8_0", without, add_arrays, without_bias);
    check_same_files("goldens/gguf/tiny-a-q8_0.gguf", path);
    free(path);
    path = made_gguf("unequal.gguf", "tiny-a-q8_0", kv, add_unequal);
    check_refused(path, "head_count_kv: expected the same number in all layers, found 2, and 4 in layer 7");
    free(path);
    path = made_gguf("few.gguf", "tiny-a-q8_0", kv, add_few);
    check_refused(path, "head_count_kv: expected a number, or one for each of 8 layers, found 5");
    free(path);
}

/* The head under the names that Ollama gives it; the block isn't counted. */
static void head_as_mtp(struct made_tensor *list, size_t *n)
{
    static const char *const names[][2] = {{"nextn.eh_proj.weight", "fc.weight"},
                                           {"nextn.enorm.weight", "pre_fc_norm_embedding.weight"},
                                           {"nextn.hnorm.weight", "pre_fc_norm_hidden.weight"},
                                           {"nextn.shared_head_norm.weight", "norm.weight"}};
    for (size_t i = 0; i < *n; i++) {
        if (strncmp(list[i].name, "blk.8.", 6)) continue;
        char name[96];
        snprintf(name, sizeof name, "mtp.layers.0.%s", list[i].name + 6);
        for (int k = 0; k < 4; k++)
            if (!strcmp(list[i].name + 6, names[k][0])) snprintf(name, sizeof name, "mtp.%s", names[k][1]);
        strcpy(list[i].name, name);
    }
}

static void add_eight_blocks(struct gguf_writer *w)
{
    gguf_add_u32(w, "qwen35moe.block_count", 8);
}

TEST(a_head_under_other_names_is_used)
{
    static const char *const without[] = {"qwen35moe.block_count", "qwen35moe.nextn_predict_layers", NULL};
    char *path = made_gguf_edited("mtp.gguf", "tiny-d-q8_0", without, add_eight_blocks, head_as_mtp);
    check_same_files("goldens/gguf/tiny-d-q8_0.gguf", path);
    free(path);
    char *folder = folder_with("tiny-d", NULL, "mtp_num_hidden_layers", "null");
    check_same_files("goldens/tiny-d", folder);
    free(folder);
}

/* ---- Kinds of layers --------------------------------------------------------------------------------------------- */

static const int32_t linear_ids[] = {0, 1, 2, 4, 5, 6};
static const bool linear_flags[] = {true, true, true, false, true, true, true, false};

static void add_ids(struct gguf_writer *w)
{
    gguf_add_i32s(w, "qwen35.attention.recurrent_layers", linear_ids, 6);
}

static void add_flags(struct gguf_writer *w)
{
    gguf_add_bools(w, "qwen35.attention.recurrent_layers", linear_flags, 8);
}

static void add_beyond(struct gguf_writer *w)
{
    gguf_add_i32s(w, "qwen35.attention.recurrent_layers", (const int32_t[]){0, 1, 8}, 3);
}

static void add_three_flags(struct gguf_writer *w)
{
    gguf_add_bools(w, "qwen35.attention.recurrent_layers", linear_flags, 3);
}

TEST(recurrent_layers_may_be_flags_or_numbers)
{
    static const char *const without[] = {"qwen35.full_attention_interval", NULL};
    void (*const good[])(struct gguf_writer *) = {add_ids, add_flags};
    void (*const bad[])(struct gguf_writer *) = {add_beyond, add_three_flags};
    for (int i = 0; i < 2; i++) {
        char *path = made_gguf("recurrent.gguf", "tiny-a-q8_0", without, good[i]);
        check_same_files("goldens/gguf/tiny-a-q8_0.gguf", path);
        free(path);
        path = made_gguf("recurrent.gguf", "tiny-a-q8_0", without, bad[i]);
        check_refused(path, "recurrent_layers: expected a flag for each of 8 layers, or the numbers of layers");
        free(path);
    }
}

/* Two layers are gone: full attention is the second and the last of six. */
static void prune(struct made_tensor *list, size_t *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        unsigned layer;
        char rest[70], name[96];
        bool in_layer = sscanf(list[i].name, "model.layers.%u.%69s", &layer, rest) == 2;
        if (in_layer && (layer == 1 || layer == 2)) continue;
        snprintf(name, sizeof name, "model.layers.%u.%s", layer ? layer - 2 : 0, rest);
        list[kept] = list[i];
        if (in_layer) strcpy(list[kept].name, name);
        kept++;
    }
    *n = kept;
}

TEST(pruned_models_convert)
{
    char *folder = folder_with("tiny-a", NULL, "layer_types",
                               "[\"linear_attention\",\"full_attention\",\"linear_attention\",\"linear_attention\","
                               "\"linear_attention\",\"full_attention\"]");
    char path[300], out[300], again[300];
    snprintf(path, sizeof path, "%s/config.json", folder);
    snprintf(out, sizeof out, "%s/pruned.gguf", check_tmp());
    snprintf(again, sizeof again, "%s/pruned-again.gguf", check_tmp());
    struct json_object *json;
    tdm_error err = {0};
    REQUIRE(!map_json(&json, path, &err));
    json_add_int(json, "num_hidden_layers", 6);
    made_text(folder, "config.json", json_shown(json));
    json_free(json);
    made_weights(folder, prune);
    const struct convert_options how = {.type = TYPE_BF16};
    struct source *s = open_accepting(folder, NULL), *g;
    REQUIRE(s);
    CHECK_INT(0, config_interval(source_config(s)));
    CHECK_INT(TDM_OK, convert_to_gguf(s, out, &how, &err));
    REQUIRE((g = open_accepting(out, NULL)));
    CHECK(!memcmp(source_config(s)->full_attention, source_config(g)->full_attention, 6));
    CHECK_INT(source_parameter_count(s), source_parameter_count(g));
    CHECK_INT(TDM_OK, convert_to_gguf(g, again, &how, &err));
    check_same_files(out, again);
    source_close(g);
    source_close(s);
    free(folder);
}

/* ---- Projections together and apart ------------------------------------------------------------------------------ */

/* Rows of several tensors as one; they have as many columns. */
static void join_tensors(struct made_tensor *list, size_t *n, const char *const *names, int count, const char *name,
                         int rows_at)
{
    struct made_tensor all = *made_find(list, *n, names[0]);
    uint8_t *data = NULL;
    all.bytes = all.shape[rows_at] = 0;
    for (int i = 0; i < count; i++) {
        const struct made_tensor *t = made_find(list, *n, names[i]);
        data = realloc(data, all.bytes + t->bytes);
        memcpy(data + all.bytes, t->data, t->bytes);
        all.bytes += t->bytes;
        all.shape[rows_at] += t->shape[rows_at];
    }
    for (int i = 0; i < count; i++) made_drop(list, n, names[i]);
    all.data = all.own = data;
    snprintf(all.name, sizeof all.name, "%s", name);
    list[(*n)++] = all;
}

static void fuse_gguf(struct made_tensor *list, size_t *n)
{
    static const char *const qkv[] = {"blk.3.attn_q.weight", "blk.3.attn_k.weight", "blk.3.attn_v.weight"};
    static const char *const both[] = {"blk.1.ffn_gate.weight", "blk.1.ffn_up.weight"};
    join_tensors(list, n, qkv, 3, "blk.3.attn_qkv.weight", 1);
    join_tensors(list, n, both, 2, "blk.1.ffn_gate_up.weight", 1);
}

static void fuse_checkpoint(struct made_tensor *list, size_t *n)
{
    static const char *const qkv[] = {"model.layers.7.self_attn.q_proj.weight",
                                      "model.layers.7.self_attn.k_proj.weight",
                                      "model.layers.7.self_attn.v_proj.weight"};
    static const char *const both[] = {"model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight"};
    join_tensors(list, n, qkv, 3, "model.layers.7.self_attn.qkv_proj.weight", 0);
    join_tensors(list, n, both, 2, "model.layers.0.mlp.gate_up_proj.weight", 0);
}

/* Takes the projection of a DeltaNet apart: 2 x 16 rows of queries, as many of keys, 4 x 16 of values. */
static void split_tensor(struct made_tensor *list, size_t *n, const char *name, const char *const *names, int rows_at)
{
    const struct made_tensor all = *made_find(list, *n, name);
    uint64_t row = all.bytes / all.shape[rows_at], at = 0;
    made_drop(list, n, name);
    for (int i = 0; i < 3; i++) {
        struct made_tensor part = all;
        part.shape[rows_at] = i < 2 ? 32 : 64;
        part.bytes = part.shape[rows_at] * row;
        part.data = all.data + at;
        at += part.bytes;
        snprintf(part.name, sizeof part.name, "%s", names[i]);
        list[(*n)++] = part;
    }
}

static void split_gguf(struct made_tensor *list, size_t *n)
{
    static const char *const names[] = {"blk.2.attn_q.weight", "blk.2.attn_k.weight", "blk.2.attn_v.weight"};
    split_tensor(list, n, "blk.2.attn_qkv.weight", names, 1);
}

static void split_checkpoint(struct made_tensor *list, size_t *n)
{
    static const char *const names[] = {"model.layers.2.linear_attn.in_proj_q.weight",
                                        "model.layers.2.linear_attn.in_proj_k.weight",
                                        "model.layers.2.linear_attn.in_proj_v.weight"};
    split_tensor(list, n, "model.layers.2.linear_attn.in_proj_qkv.weight", names, 0);
}

static void split_and_drop(struct made_tensor *list, size_t *n)
{
    split_gguf(list, n);
    made_drop(list, n, "blk.2.attn_k.weight");
}

TEST(projections_may_be_fused_or_split)
{
    made_edit *const of_gguf[] = {fuse_gguf, split_gguf}, *const of_checkpoint[] = {fuse_checkpoint, split_checkpoint};
    for (int i = 0; i < 2; i++) {
        char *path = made_gguf_edited("projections.gguf", "tiny-a-q8_0", NULL, NULL, of_gguf[i]), name[20];
        check_same_files("goldens/gguf/tiny-a-q8_0.gguf", path);
        free(path);
        snprintf(name, sizeof name, "projections-%d", i);
        char *folder = made_folder(name, "tiny-a");
        made_weights(folder, of_checkpoint[i]);
        check_same_files("goldens/tiny-a", folder);
        free(folder);
    }
    char *path = made_gguf_edited("projections.gguf", "tiny-a-q8_0", NULL, NULL, split_and_drop);
    check_refused(path, "part 1 of tensor blk.2.attn_q.weight is missing");
    free(path);
}

/* ---- Tensors without a place ------------------------------------------------------------------------------------- */

static float factors[4] = {1, 1, 1, 1};
static const char *extra;

static void add_tensor(struct made_tensor *list, size_t *n)
{
    struct made_tensor *t = &list[(*n)++];
    *t = (struct made_tensor){.dims = 1, .shape = {4, 1, 1, 1}, .type = TYPE_F32, .bytes = sizeof factors};
    t->data = (const uint8_t *)factors;
    snprintf(t->name, sizeof t->name, "%s", extra);
}

TEST(tensors_without_a_place)
{
    static const struct {
        const char *name;
        float factor;
        const char *part;
    } cases[] = {
        {"blk.3.attn_sinks.weight", 1, "tensor blk.3.attn_sinks.weight has no place in a qwen35 model of 8 layers "
                                       "(--accept-unknown 'blk.*.attn_sinks.weight' loads it without)"},
        {"blk.3.attn_q.bias", 0, "tensor blk.3.attn_q.bias has no place"},
        {"v.blk.0.attn_q.weight", 1, NULL},
        {"a.blk.0.attn_q.weight", 1, NULL},
        {"mm.0.weight", 1, NULL},
        {"blk.0.ffn_up.weight.in_sum2", 1, NULL},
        {"rope_freqs.weight", 1, NULL},
        {"rope_freqs.weight", 4, "tensor rope_freqs.weight: expected factors of 1, found positions that are scaled"},
        {"rope_factors_long.weight", 1, "tensor rope_factors_long.weight has no place"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        extra = cases[i].name;
        factors[3] = cases[i].factor;
        char *path = made_gguf_edited("extra.gguf", "tiny-a-q8_0", NULL, NULL, add_tensor);
        check_opens(path, cases[i].part);
        free(path);
    }
    extra = "blk.3.attn_sinks.weight";
    char *path = made_gguf_edited("extra.gguf", "tiny-a-q8_0", NULL, NULL, add_tensor);
    struct source *s = open_accepting(path, "blk.*.attn_sinks.weight");
    REQUIRE(s);
    check_left_out(s, extra, true);
    CHECK_INT(1, source_skipped(s)->other.tensors);
    source_close(s);
    free(path);
}

TEST_MAIN(T(keys_that_change_numbers_are_not_dropped), T(positions_that_are_scaled_are_refused_in_gguf),
          T(keys_of_mixtures), T(arrays_and_texts_are_looked_at_too), T(what_is_accepted_is_left_out_and_listed),
          T(fields_that_change_numbers_are_not_dropped), T(positions_that_are_scaled_are_refused_in_every_spelling),
          T(positions_by_kind_of_layer_are_read), T(fields_of_mixtures), T(mlx_checkpoints_are_the_same_models),
          T(numbers_may_be_arrays_of_layers), T(a_head_under_other_names_is_used),
          T(recurrent_layers_may_be_flags_or_numbers), T(pruned_models_convert), T(projections_may_be_fused_or_split),
          T(tensors_without_a_place))
