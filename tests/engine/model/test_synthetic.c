/* Synthetic models: elements against values computed outside this program from the formula, and the whole models. */
#include "tests/check.h"

#include "engine/model/half.h"
#include "engine/model/source.h"
#include "engine/model/synthetic.h"

TEST(elements_follow_the_formula)
{
    enum { ELEMENTS = 5 };
    static const uint64_t index[ELEMENTS] = {0, 1, 2, 3, 15};
    static const struct {
        const char *name;
        uint64_t cols;
        uint16_t bf16[ELEMENTS]; /* of the elements above */
    } cases[] = {
        {"model.embed_tokens.weight", 1024, {0xbc92, 0xbccc, 0x3af1, 0xbd0f, 0xbc32}},
        {"model.layers.0.mlp.gate_proj.weight", 1024, {0xbd41, 0xbcd7, 0xbd50, 0x3d36, 0x3d54}},
        {"model.layers.0.mlp.down_proj.weight", 3584, {0xbb7a, 0x3cd6, 0xbc94, 0x3c1b, 0xbbb2}},
        {"model.layers.0.linear_attn.norm.weight", 128, {0x3f60, 0x3f88, 0x3f84, 0x3f64, 0x3f8f}},
        {"model.norm.weight", 1024, {0xbe20, 0xbe00, 0xbd0b, 0x3d48, 0xbe21}},
        {"model.layers.3.self_attn.q_norm.weight", 256, {0xbe14, 0x3d52, 0xbb47, 0xbe16, 0x3d63}},
        {"model.layers.1.linear_attn.A_log", 16, {0x3e41, 0x3f9e, 0x3f8d, 0x3fee, 0x3fab}},
        {"model.layers.1.linear_attn.dt_bias", 16, {0xc044, 0xbf1c, 0xbf9c, 0xc026, 0xbfbc}},
        {"model.layers.1.linear_attn.conv1d.weight", 4, {0x3e8b, 0xbf2c, 0x3f06, 0x3f21, 0x3e24}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct recipe r = synthetic_recipe(cases[k].name, cases[k].cols);
        for (int i = 0; i < ELEMENTS; i++) {
            float v;
            synthetic_fill(&r, index[i], &v, 1);
            if (v != bf16_widen(cases[k].bf16[i]))
                CHECK_FAIL("%s[%d]: expected %04x, found %g", cases[k].name, (int)index[i], cases[k].bf16[i],
                           (double)v);
        }
    }
    struct recipe r = synthetic_recipe("model.embed_tokens.weight", 1024);
    float v;
    synthetic_fill(&r, 248319 * 1024 + 1023, &v, 1);
    CHECK_NEAR(bf16_widen(0x3d8a), v, 0);
}

TEST(filling_does_not_depend_on_the_start)
{
    struct recipe r = synthetic_recipe("model.layers.0.mlp.up_proj.weight", 3584);
    float all[700], part[700];
    synthetic_fill(&r, 1000, all, 700);
    for (uint64_t at = 0; at < 700; at += 53) {
        size_t n = 700 - at < 53 ? (size_t)(700 - at) : 53;
        synthetic_fill(&r, 1000 + at, part, n);
        CHECK(!memcmp(part, all + at, n * sizeof *part));
    }
}

static struct source *open_model(const char *name, tdm_error *err)
{
    struct source *s = NULL;
    const struct source_options options = {.builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    source_open(&s, name, &options, err);
    return s;
}

TEST(models_have_the_published_shapes)
{
    static const struct {
        const char *name;
        uint32_t hidden, layers, value_heads;
        double parameters;
        bool tied;
    } cases[] = {{"synthetic:0.8b", 1024, 24, 16, 752393024, true},
                 {"synthetic:2B:q8_0", 2048, 24, 16, 1.88e9, true},
                 {"synthetic:4b:f16", 2560, 32, 32, 4.2e9, true},
                 {"synthetic:9b:q4_k", 4096, 32, 32, 8.95e9, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tdm_error err = {0};
        struct source *s = open_model(cases[k].name, &err);
        if (!s) CHECK_FAIL("%s", err.text);
        REQUIRE(s);
        const struct config *c = source_config(s);
        CHECK_INT(cases[k].hidden, c->hidden);
        CHECK_INT(cases[k].layers, c->layers);
        CHECK_INT(cases[k].value_heads, c->delta.value_heads);
        CHECK_INT(cases[k].tied, c->tied);
        CHECK(!c->delta.value_heads_tiled);
        CHECK_INT(248320, c->vocab);
        CHECK(c->full_attention[3] && !c->full_attention[4]);
        CHECK_NEAR(cases[k].parameters, (double)source_parameter_count(s), 0.01 * cases[k].parameters);
        CHECK_INT(8192, source_text(s)->token_count);
        CHECK(source_text(s)->chat_template.length > 0);
        CHECK_INT(8189, c->stops.ids[0]);
        CHECK_INT(0, source_file_bytes(s));
        source_close(s);
    }
}

/* Of other families: parameters as published, and what of the table is theirs. */
TEST(other_families_have_the_published_shapes)
{
    static const struct {
        const char *name, *architecture;
        double parameters;
    } cases[] = {{"synthetic:llama-3.2-3b", "llama", 3.21e9},      {"synthetic:qwen3-4b", "qwen3", 4.02e9},
                 {"synthetic:qwen3-30b-a3b", "qwen3moe", 30.5e9},  {"synthetic:mistral-small-24b", "llama", 23.6e9},
                 {"synthetic:smollm3-3b:q8_0", "smollm3", 3.08e9}, {"synthetic:gpt2", "gpt2", 124.4e6}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tdm_error err = {0};
        struct source *s = open_model(cases[k].name, &err);
        if (!s) CHECK_FAIL("%s", err.text);
        REQUIRE(s);
        const struct config *c = source_config(s);
        CHECK_STR(cases[k].architecture, c->architecture);
        CHECK_NEAR(cases[k].parameters, (double)source_parameter_count(s), 0.01 * cases[k].parameters);
        CHECK(!config_is_recurrent(c) && !c->mtp.there && !c->attention.gated);
        CHECK_INT(!k * 8192, c->rope.scaling.original);
        CHECK_INT(k == 4, c->unrotated[3]);
        CHECK_INT(k == 5 ? 1024 : 0, c->positions);
        source_close(s);
    }
}

/* Every type holds the same bfloat16 values, rounded. */
TEST(types_are_made_from_the_same_values)
{
    static const char *const names[] = {"synthetic:0.8b:f32",  "synthetic:0.8b:bf16", "synthetic:0.8b:f16",
                                        "synthetic:0.8b:q8_0", "synthetic:0.8b:q6_k", "synthetic:0.8b:q4_k",
                                        "synthetic:0.8b:q4_0"};
    static const double bound[] = {0, 0, 0x1p-11, 0.005, 0.03, 0.08, 0.13};
    enum { COLS = 1024 };
    float expected[COLS], found[COLS];
    uint8_t scratch[COLS * 4];
    for (int k = 0; k < 7; k++) {
        tdm_error err;
        struct source *s = open_model(names[k], &err);
        REQUIRE(s);
        const struct tensor *t = source_tensor(s, ROLE_UP, 2);
        CHECK_INT(COLS, t->cols);
        CHECK(!t->data);
        struct recipe r = synthetic_recipe("model.layers.2.mlp.up_proj.weight", COLS);
        synthetic_fill(&r, 5 * COLS, expected, COLS);
        type_widen(t->type, source_rows(s, t, 5, 1, scratch), found, COLS);
        double worst = 0, largest = 0;
        for (int i = 0; i < COLS; i++) {
            worst = fmax(worst, fabs((double)expected[i] - found[i]));
            largest = fmax(largest, fabs((double)expected[i]));
        }
        if (!(worst <= bound[k] * largest)) CHECK_FAIL("%s: error %g of %g", names[k], worst, largest);
        CHECK_INT(k == 5 ? TYPE_Q6_K : t->type, source_tensor(s, ROLE_EMBED, 0)->type);
        source_close(s);
    }
}

TEST(vectors_are_multipliers_and_rates)
{
    tdm_error err;
    struct source *s = open_model("synthetic:0.8b:q4_0", &err);
    REQUIRE(s);
    float norm[1024], plain[128], rate[16];
    source_vector(s, ROLE_FINAL_NORM, 0, norm, 1024);
    CHECK_NEAR(1 + bf16_widen(0xbe20), norm[0], 0);
    source_vector(s, ROLE_LIN_NORM, 0, plain, 128);
    CHECK_NEAR(bf16_widen(0x3f60), plain[0], 0);
    source_vector(s, ROLE_LIN_A_LOG, 1, rate, 16);
    CHECK_NEAR(-exp(bf16_widen(0x3e41)), rate[0], 1e-6);
    source_close(s);
}

/* Gate and up of an expert follow each other in the tensor that the formula names. */
TEST(experts_are_those_of_the_fused_tensor)
{
    enum { FF = 512, HIDDEN = 2048 };
    tdm_error err;
    struct source *s = open_model("synthetic:35B-A3B/5:f32", &err);
    REQUIRE(s);
    const struct config *c = source_config(s);
    CHECK_STR("qwen35moe", c->architecture);
    CHECK_INT(5, c->layers);
    CHECK_INT(40, c->whole_layers);
    CHECK_INT(256, c->experts.count);
    CHECK_INT(8, c->experts.used);
    CHECK_INT(FF, c->feed.intermediate);
    CHECK(c->full_attention[3] && !c->full_attention[4] && !c->tied);
    struct recipe fused = synthetic_recipe("model.layers.4.mlp.experts.gate_up_proj.weight", HIDDEN);
    struct recipe down = synthetic_recipe("model.layers.4.mlp.experts.down_proj.weight", FF);
    struct recipe router = synthetic_recipe("model.layers.4.mlp.gate.weight", HIDDEN);
    const struct {
        enum role role;
        uint64_t row, first; /* element of the formula */
        uint32_t cols;
        const struct recipe *recipe;
    } rows[] = {
        {ROLE_EXPERTS_GATE, 3 * FF + 7, (3 * 2 * FF + 7) * (uint64_t)HIDDEN, HIDDEN, &fused},
        {ROLE_EXPERTS_UP, 255 * FF + 9, (255 * 2 * FF + FF + 9) * (uint64_t)HIDDEN, HIDDEN, &fused},
        {ROLE_EXPERTS_DOWN, 200 * HIDDEN + 5, (200 * HIDDEN + 5) * (uint64_t)FF, FF, &down},
        {ROLE_ROUTER, 100, 100 * HIDDEN, HIDDEN, &router},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float want[HIDDEN], got[HIDDEN];
        const struct tensor *t = source_tensor(s, rows[i].role, 4);
        synthetic_fill(rows[i].recipe, rows[i].first, want, rows[i].cols);
        CHECK_INT(TYPE_F32, t->type);
        CHECK(source_rows(s, t, rows[i].row, 1, got) == got);
        CHECK(!memcmp(want, got, rows[i].cols * sizeof *got));
    }
    /* A router's values are four times as large as another matrix's. */
    float other[64], value[64];
    router = synthetic_recipe("x.mlp.gate.weight", HIDDEN);
    struct recipe plain = router;
    plain.scale = 1;
    synthetic_fill(&router, 0, value, 64);
    synthetic_fill(&plain, 0, other, 64);
    for (int i = 0; i < 64; i++) CHECK_NEAR(4 * other[i], value[i], 0);
    source_close(s);
}

TEST(wrong_names_are_one_line)
{
    static const char *const names[] = {"synthetic:",           "synthetic:1b",          "synthetic:0.8b:",
                                        "synthetic:0.8b:q5_k",  "synthetic:0.8b:bf16:x", "synthetic:0.8bb",
                                        "synthetic:0.8b/:q8_0", "synthetic:0.8b/0",      "synthetic:0.8b/25",
                                        "synthetic:0.8b/x",     "synthetic:0.8b/1x",     "synthetic:/8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tdm_error err = {0};
        CHECK(open_model(names[i], &err) == NULL);
        CHECK_INT(TDM_E_ARG, err.code);
        CHECK(strstr(err.text, "expected synthetic:SIZE[/LAYERS][:TYPE]"));
    }
    struct source *s;
    tdm_error err;
    CHECK_INT(TDM_E_NOT_FOUND, source_open(&s, "synthetic:0.8b", NULL, &err));
}

TEST_MAIN(T(elements_follow_the_formula), T(filling_does_not_depend_on_the_start), T(models_have_the_published_shapes),
          T(other_families_have_the_published_shapes), T(types_are_made_from_the_same_values),
          T(vectors_are_multipliers_and_rates), T(experts_are_those_of_the_fused_tensor), T(wrong_names_are_one_line))
