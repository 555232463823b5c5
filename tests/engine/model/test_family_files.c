/* Files of other families: a checkpoint, the public converter's GGUF file of it, and what convert makes of both are the
 * same model, tensor by tensor; fields fill the table of a configuration, and what has no place in it is refused. */
#include <json-c/json_tokener.h>

#include "engine/json/json.h"
#include "engine/model/convert/convert.h"
#include "engine/model/source.h"
#include "tests/check.h"
#include "tests/engine/model/family.h"

static struct source *open_model(const char *path)
{
    struct source *s;
    tdm_error err;
    if (!source_open(&s, path, NULL, &err)) return s;
    CHECK_FAIL("%s", err.text);
    return NULL;
}

static bool close_to(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-6 * fabs(a); /* both may be infinite */
}

static void check_configs(const struct config *a, const struct config *b)
{
    CHECK(a->norm == b->norm && a->feed.kind == b->feed.kind && a->attention.gated == b->attention.gated &&
          a->positions == b->positions);
    CHECK(a->attention.heads == b->attention.heads && a->attention.kv_heads == b->attention.kv_heads &&
          a->attention.head_dim == b->attention.head_dim);
    CHECK(a->attention.window_kv_heads == b->attention.window_kv_heads &&
          a->attention.window_head_dim == b->attention.window_head_dim);
    CHECK(a->attention.shared_layers == b->attention.shared_layers &&
          a->feed.shared_intermediate == b->feed.shared_intermediate);
    CHECK(a->layer_input == b->layer_input && a->attention.values_are_keys == b->attention.values_are_keys);
    CHECK(a->rope.scaling.turning == b->rope.scaling.turning && a->attention.value_norm == b->attention.value_norm);
    CHECK(a->rope.dims == b->rope.dims && a->optional == b->optional && a->tied == b->tied);
    CHECK(a->experts.count == b->experts.count && a->feed.intermediate == b->feed.intermediate &&
          a->layers == b->layers);
    CHECK(a->experts.norm_topk == b->experts.norm_topk);
    CHECK(close_to(a->rope.theta, b->rope.theta) && close_to(a->rms_eps, b->rms_eps));
    CHECK(close_to(a->scales.embedding, b->scales.embedding) && close_to(a->scales.residual, b->scales.residual));
    CHECK(close_to(a->scales.logit_divisor, b->scales.logit_divisor) &&
          close_to(a->attention.scale, b->attention.scale));
    CHECK(close_to(a->rope.scaling.amplitude, b->rope.scaling.amplitude) &&
          close_to(a->rope.scaling.attention, b->rope.scaling.attention));
    CHECK(a->rope.scaling.attention == 0 || a->rope.scaling.original == b->rope.scaling.original);
    CHECK(!memcmp(a->full_attention, b->full_attention, sizeof a->full_attention));
    CHECK(!memcmp(a->window, b->window, sizeof a->window));
    CHECK(!memcmp(a->unrotated, b->unrotated, sizeof a->unrotated));
    for (uint32_t i = 0; i < a->rope.dims; i++)
        CHECK(close_to(a->rope.scaling.divisors[i % 2][i / 2], b->rope.scaling.divisors[i % 2][i / 2]));
}

static void check_tensor(const struct source *a, const struct source *b, const struct tensor *t)
{
    const struct tensor *u = source_tensor(b, t->role, t->layer);
    REQUIRE(u);
    size_t n = t->rows * t->cols;
    if (t->rows != u->rows || t->cols != u->cols) {
        CHECK_FAIL("%s has another shape", t->name);
        return;
    }
    float *x = malloc(2 * n * sizeof *x), *y = x + n;
    if (role_is_matrix(t->role)) {
        uint8_t *row = malloc(t->row_bytes + u->row_bytes);
        for (uint64_t r = 0; r < t->rows; r++) {
            type_widen(t->type, source_rows(a, t, r, 1, row), x + r * t->cols, t->cols);
            type_widen(u->type, source_rows(b, u, r, 1, row), y + r * t->cols, t->cols);
        }
        free(row);
    } else {
        source_vector(a, t->role, t->layer, x, n);
        source_vector(b, t->role, t->layer, y, n);
    }
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(x[i] - y[i]) <= (role_is_matrix(t->role) ? 0 : 0x1p-8f * fabsf(x[i])))) {
            CHECK_FAIL("%s differs at %zu of %zu", t->name, i, n);
            break;
        }
    free(x);
}

static void check_same(const struct source *a, const struct source *b)
{
    const struct tensor *const *list;
    REQUIRE(a && b);
    check_configs(source_config(a), source_config(b));
    size_t n = source_tensors(a, &list);
    for (size_t i = 0; i < n; i++) check_tensor(a, b, list[i]);
}

static tdm_status convert(const struct source *s, char path[400], tdm_error *err)
{
    snprintf(path, 400, "%s/model.gguf", check_tmp());
    return convert_to_gguf(s, path, &(struct convert_options){.type = TYPE_BF16}, err);
}

/* What convert makes of it. */
static void check_converted(const struct source *a)
{
    char path[400];
    tdm_error err;
    if (convert(a, path, &err)) {
        CHECK_FAIL("%s", err.text);
        return;
    }
    struct source *b = open_model(path);
    check_same(a, b);
    source_close(b);
}

static void check_family(const char *name)
{
    char folder[FAMILY_ROOM], file[FAMILY_ROOM];
    if (!family_find(name, folder)) return;
    struct source *a = open_model(folder), *b = NULL;
    REQUIRE(a);
    check_converted(a);
    snprintf(file, sizeof file, "goldens/families/gguf/%s-bf16.gguf", name);
    const char *path = check_shared(file);
    if (path) b = open_model(path);
    if (b) check_same(a, b);
    if (b) check_converted(b);
    check_skipped = NULL;
    source_close(b);
    source_close(a);
}

TEST(checkpoints_and_gguf_files_are_the_same)
{
    static const char *const names[] = {"gpt2",      "llama", "llama-tied", "mistral",       "ministral3",
                                        "qwen2",     "qwen3", "smollm3",    "granite",       "qwen3moe",
                                        "qwen3next", "phi3",  "qwen3-yarn", "phi3-longrope", "qwen3moe-plain"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int before = check_failures;
        check_family(names[i]);
        if (check_failures > before) printf("# of %s\n", names[i]);
    }
}

TEST(gemma_4_and_gpt_oss_are_the_same)
{
    check_family("gpt-oss");
    check_family("gemma4-dense");
    check_family("gemma4-e");
    check_family("gemma4-moe");
}

/* Its GGUF file leaves out the scale of attention, which isn't the usual one in this golden. */
TEST(gemma_3_is_the_same)
{
    const struct tensor *const *list;
    char folder[FAMILY_ROOM];
    const char *path;
    if (!family_find("gemma3", folder) || !(path = check_shared("goldens/families/gguf/gemma3-bf16.gguf"))) return;
    struct source *a = open_model(folder), *b = open_model(path);
    REQUIRE(a && b);
    struct config c = *source_config(b);
    CHECK(close_to(1 / sqrt(32.0), c.attention.scale) && source_text(b)->pieces && !source_text(b)->scores);
    c.attention.scale = source_config(a)->attention.scale;
    check_configs(source_config(a), &c);
    size_t n = source_tensors(a, &list);
    for (size_t i = 0; i < n; i++) check_tensor(a, b, list[i]);
    source_close(a);
    source_close(b);
}

/* Layers that share keys may have projections of keys and values all the same, as the released files have. */
TEST(projections_that_nothing_reads)
{
    struct config c;
    char folder[FAMILY_ROOM];
    struct role_place place;
    if (!family_find("gemma4-e", folder)) return;
    struct source *s = open_model(folder);
    REQUIRE(s);
    c = *source_config(s);
    role_find(&c, SCHEMA_GGUF, (struct span){"blk.8.attn_k.weight", 19}, &place);
    CHECK_INT(ROLE_HARMLESS, place.kind);
    role_find(&c, SCHEMA_HF, (struct span){"model.layers.8.self_attn.v_proj.weight", 38}, &place);
    CHECK_INT(ROLE_HARMLESS, place.kind);
    role_find(&c, SCHEMA_HF, (struct span){"model.layers.5.self_attn.v_proj.weight", 38}, &place);
    CHECK_INT(ROLE_KNOWN, place.kind);
    CHECK_INT(5, config_keys_of(&c, 8));
    CHECK_INT(4, config_keys_of(&c, 9));
    source_close(s);
}

static struct config read_config(const char *text)
{
    struct config c = {0};
    struct unknowns u = {0};
    struct json_object *json = NULL;
    tdm_error err = {0};
    if (json_parse_object(&json, "text", text, strlen(text), &err) ||
        config_from_json(&c, json, "config.json", &u, &err) || config_validate(&c, "config.json", &err))
        CHECK_FAIL("%s", err.text);
    json_free(json);
    unknowns_free(&u);
    return c;
}

/* What released checkpoints say, in their own words. */
TEST(released_configurations)
{
    static const char gemma[] =
        "{\"model_type\":\"gemma4%s\",\"vision_config\":{},\"vision_soft_tokens_per_image\":280,\"eos_token_id\":[1,"
        "106],"
        "\"text_config\":{\"model_type\":\"gemma4%s_text\",\"global_head_dim\":512,\"head_dim\":256,\"hidden_size\":%d,"
        "\"hidden_activation\":\"gelu_pytorch_tanh\",\"final_logit_softcapping\":30.0,\"rms_norm_eps\":1e-6,"
        "\"num_hidden_layers\":%d,\"intermediate_size\":%d,\"num_attention_heads\":%d,\"num_key_value_heads\":%d,"
        "\"num_global_key_value_heads\":%s,\"attention_k_eq_v\":%s,\"num_kv_shared_layers\":%d,\"sliding_window\":512,"
        "\"hidden_size_per_layer_input\":%d,\"use_bidirectional_attention\":\"vision\",\"num_experts\":null,"
        "\"use_double_wide_mlp\":%s,\"enable_moe_block\":false,\"vocab_size\":262144,\"rope_parameters\":"
        "{\"full_attention\":{\"partial_rotary_factor\":0.25,\"rope_theta\":1e6,\"rope_type\":\"proportional\"},"
        "\"sliding_attention\":{\"rope_theta\":1e4,\"rope_type\":\"default\"}}}}";
    static const char oss[] =
        "{\"model_type\":\"gpt_oss\",\"attention_bias\":true,\"experts_per_token\":4,\"head_dim\":64,\"hidden_act\":"
        "\"silu\",\"hidden_size\":2880,\"initial_context_length\":4096,\"intermediate_size\":2880,\"num_hidden_"
        "layers\":24,"
        "\"max_position_embeddings\":131072,\"num_attention_heads\":64,\"num_experts_per_tok\":4,\"num_key_value_"
        "heads\":8,"
        "\"num_local_experts\":32,\"quantization_config\":{\"quant_method\":\"mxfp4\"},\"rms_norm_eps\":1e-5,"
        "\"rope_scaling\":{\"beta_fast\":32.0,\"beta_slow\":1.0,\"factor\":32.0,\"rope_type\":\"yarn\",\"truncate\":"
        "false,"
        "\"original_max_position_embeddings\":4096},\"rope_theta\":150000,\"router_aux_loss_coef\":0.9,"
        "\"sliding_window\":128,\"swiglu_limit\":7.0,\"tie_word_embeddings\":false,\"vocab_size\":201088}";
    char text[2000];
    struct config c;
    snprintf(text, sizeof text, gemma, "", "", 1536, 30, 6144, 8, 1, "null", "false", 12, 256, "true");
    c = read_config(text);
    CHECK(c.attention.head_dim == 512 && c.attention.window_head_dim == 256 && c.attention.kv_heads == 1 &&
          c.layer_input == 256);
    CHECK(config_intermediate(&c, 17) == 6144 && config_intermediate(&c, 18) == 12288 && !c.attention.values_are_keys);
    CHECK(config_keys_of(&c, 29) == 17 && config_keys_of(&c, 28) == 16 && c.rope.scaling.turning == 64);
    CHECK(c.rope.dims == 512 && config_rope_dims(&c, 0) == 256 && c.attention.scale == 1 && c.scales.logit_cap == 30);
    snprintf(text, sizeof text, gemma, "_unified", "_unified", 3840, 48, 15360, 16, 8, "1", "true", 0, 0, "false");
    c = read_config(text);
    CHECK(c.attention.kv_heads == 1 && c.attention.window_kv_heads == 8 && c.attention.values_are_keys &&
          !c.layer_input && !c.feed.shared_intermediate);
    CHECK(!c.window[5] && c.window[4] == 512 && !c.experts.count);
    c = read_config(oss);
    CHECK(c.experts.count == 32 && c.experts.used == 4 && !c.feed.intermediate && c.experts.intermediate == 2880);
    CHECK(c.window[0] == 128 && !c.window[1] && c.rope.scaling.kind == CONFIG_SCALING_YARN && !c.rope.scaling.whole);
    CHECK(c.feed.kind == CONFIG_FEED_CLAMPED && c.feed.limit == 7 &&
          close_to(1 + 0.1 * log(32), c.rope.scaling.amplitude));
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

/* Opens a configuration in which one field has another value; part: of the line that refuses it, NULL: it opens. */
static struct config with_fields(const char *field, const char *value, const char *second, const char *its,
                                 const char *part)
{
    static const char base[] =
        "{\"model_type\":\"mistral\",\"hidden_size\":128,\"intermediate_size\":256,\"num_hidden_layers\":4,"
        "\"num_attention_heads\":8,\"num_key_value_heads\":2,\"vocab_size\":512,\"max_position_embeddings\":4096,"
        "\"sliding_window\":24,\"rope_theta\":10000.0}";
    struct config c = {0};
    struct unknowns u = {0};
    struct json_object *json = NULL;
    tdm_error err = {0};
    if (json_parse_object(&json, "base", base, strlen(base), &err)) abort();
    json_object_object_add(json, field, json_tokener_parse(value));
    if (second) json_object_object_add(json, second, json_tokener_parse(its));
    tdm_status status = config_from_json(&c, json, "config.json", &u, &err);
    if (!status) status = config_validate(&c, "config.json", &err);
    if (!part && status) CHECK_FAIL("%s %s: %s", field, value, err.text);
    if (part && (!status || !strstr(err.text, part)))
        CHECK_FAIL("%s %s: expected \"%s\", found \"%s\"", field, value, part, err.text);
    json_free(json);
    unknowns_free(&u);
    return c;
}

static struct config with_field(const char *field, const char *value, const char *part)
{
    return with_fields(field, value, NULL, NULL, part);
}

TEST(fields_fill_the_table)
{
    struct config c = with_field("hidden_act", "\"silu\"", NULL);
    CHECK_INT(16, c.attention.head_dim);
    CHECK_INT(24, c.window[0]);
    CHECK_INT(24, c.window[3]);
    c = with_field("sliding_window", "null", NULL);
    CHECK_INT(0, c.window[0]);
    c = with_field("max_window_layers", "3", NULL);
    CHECK(!c.window[2] && c.window[3] == 24);
    c = with_field("layer_types", "[\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_attention\"]",
                   NULL);
    CHECK(c.window[0] == 24 && !c.window[1] && c.window[2] == 24 && !c.window[3]);
    c = with_field("num_key_value_heads", "null", NULL);
    CHECK_INT(8, c.attention.kv_heads);
    c = with_field("rope_scaling", "{\"type\":\"linear\",\"factor\":4.0}", NULL);
    CHECK(c.rope.scaling.kind == CONFIG_SCALING_LINEAR && c.rope.scaling.divisors[0][7] == 4);
    c = with_field("rope_scaling", "{\"rope_type\":\"linear\",\"type\":\"linear\",\"factor\":4.0}", NULL);
    CHECK(c.rope.scaling.kind == CONFIG_SCALING_LINEAR && c.rope.scaling.divisors[0][7] == 4);
    c = with_fields("rope_scaling", "{\"type\":\"linear\",\"factor\":4.0}", "rope_parameters",
                    "{\"rope_type\":\"default\"}", NULL);
    CHECK(c.rope.scaling.kind == CONFIG_SCALING_LINEAR && c.rope.scaling.divisors[0][7] == 4);
    c = with_field("rope_scaling", "{\"rope_type\":\"yarn\",\"factor\":4.0,\"attention_factor\":1.5}", NULL);
    CHECK(c.rope.scaling.kind == CONFIG_SCALING_YARN && c.rope.scaling.amplitude == 1.5f &&
          c.rope.scaling.original == 4096);
}

TEST(fields_that_change_numbers_are_refused)
{
    with_field("hidden_act", "\"gelu\"", "hidden_act: expected silu, found gelu");
    with_field("attn_logit_softcapping", "50.0", "attn_logit_softcapping: 50.0 is not known");
    with_field("residual_multiplier", "0.22", "residual_multiplier: 0.22 is not known");
    with_field("rope_scaling", "{\"rope_type\":\"dynamic\",\"factor\":2.0}",
               "rope_scaling.rope_type: expected default, found dynamic");
    with_field("rope_scaling", "{\"rope_type\":\"linear\",\"factor\":0.0}", "RoPE factor: expected more than 0");
    with_field("rope_scaling", "{\"rope_type\":\"llama3\",\"factor\":8.0,\"odd_factor\":3}",
               "rope_scaling.odd_factor: 3 is not known");
    with_field("rope_scaling", "{\"type\":\"linear\"}", "field rope_scaling.factor is missing");
    with_field("rope_scaling", "{\"type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0}",
               "field rope_scaling.high_freq_factor is missing");
    with_field("rope_scaling", "{\"rope_type\":\"yarn\",\"type\":\"linear\",\"factor\":4.0}",
               "rope_scaling.type: expected yarn, found linear");
    with_fields("rope_scaling", "{\"type\":\"linear\",\"factor\":4.0}", "rope_parameters",
                "{\"rope_type\":\"linear\",\"factor\":2.0}",
                "field rope_scaling: expected positions scaled as elsewhere");
    with_fields("rope_scaling", "{\"rope_type\":\"default\"}", "rope_parameters",
                "{\"rope_type\":\"linear\",\"factor\":2.0}",
                "field rope_scaling: expected positions scaled as elsewhere");
    with_field("layer_types", "[\"linear_attention\",\"full_attention\",\"full_attention\",\"full_attention\"]",
               "layer_types: expected full_attention or sliding_attention, found linear_attention");
    with_field("num_attention_heads", "7", "attention heads");
    with_field("partial_rotary_factor", "0.01", "rotated elements");
}

TEST(a_window_has_no_key_in_gguf)
{
    char folder[FAMILY_ROOM], path[400];
    tdm_error err;
    if (!family_find("mistral-window", folder)) return;
    struct source *s = open_model(folder);
    REQUIRE(s && source_config(s)->window[3] == 24);
    CHECK_INT(TDM_E_UNSUPPORTED, convert(s, path, &err));
    CHECK(strstr(err.text, "windows of attention have no key in GGUF files of llama"));
    source_close(s);
}

TEST_MAIN(T(checkpoints_and_gguf_files_are_the_same), T(gemma_4_and_gpt_oss_are_the_same), T(gemma_3_is_the_same),
          T(released_configurations), T(projections_that_nothing_reads), T(a_window_has_no_key_in_gguf),
          T(fields_fill_the_table), T(fields_that_change_numbers_are_refused))
