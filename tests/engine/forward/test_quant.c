/* Arithmetic of the weight types against float32 on the same file: every fast set's distribution stays close to the
 * reference's. And weights: the LM head converted while loading, progress and cancelling. */
#include "tests/check.h"
#include "tests/engine/forward/coarse.h"
#include "tests/engine/forward/rig.h"

enum { TOKENS = 120 };

/* Mean KL divergence of b's distributions from a's over rows of logits. *lost: the most that a's logit of b's best id
 * lies below a's best one (0 where they agree). The rows of made-up models have near ties, so their best ids differ
 * easily; a clear winner must not lose. */
static double divergence(const float *a, const float *b, uint32_t rows, uint32_t vocab, double *lost)
{
    double sum = 0;
    *lost = 0;
    for (uint32_t r = 0; r < rows; r++, a += vocab, b += vocab) {
        double za = 0, zb = 0, kl = 0;
        uint32_t best_a = 0, best_b = 0;
        for (uint32_t i = 0; i < vocab; i++) {
            za += exp(a[i]), zb += exp(b[i]);
            if (a[i] > a[best_a]) best_a = i;
            if (b[i] > b[best_b]) best_b = i;
        }
        for (uint32_t i = 0; i < vocab; i++) kl += exp(a[i]) / za * (a[i] - log(za) - b[i] + log(zb));
        sum += kl;
        *lost = fmax(*lost, a[best_a] - a[best_b]);
    }
    return sum / rows;
}

/* Logits of the first n of some ids, [n][vocab], malloc'ed; NULL when it failed. */
static float *logits_of(const char *model, const char *kernels, enum kv_type kv, uint32_t n, uint32_t *vocab)
{
    struct rig *r = rig_open(model, kernels, kv, 2);
    if (!r) return NULL;
    tdm_id ids[TOKENS];
    *vocab = r->weights->config.vocab;
    rig_ids(ids, n, *vocab < 5000 ? *vocab : 5000, 42); /* common words of a real vocabulary come first */
    float *out = malloc((size_t)n * *vocab * sizeof *out);
    struct state *s = rig_state(r);
    rig_all_logits(r, s, ids, n, out, NULL);
    state_free(s);
    rig_close(r);
    return out;
}

/* The distributions of kernel sets for a model's first tokens, beside the reference's: of all, or of one (>= 0). */
static void check_close(const char *model, uint32_t tokens, double most_kl, double most_lost, int one)
{
    const struct kernels *sets[TESTED_SETS];
    int n = tested_available(sets);
    uint32_t vocab;
    float *expected = logits_of(model, "reference", KV_F32, tokens, &vocab);
    REQUIRE(expected);
    for (int i = 0; i < n; i++) {
        if (one >= 0 && i != one % n) continue;
        enum kv_type kv = (enum kv_type)((i + 2) % 3);
        float *found = logits_of(model, sets[i]->name, kv, tokens, &vocab);
        REQUIRE(found);
        double lost, kl = divergence(expected, found, tokens, vocab, &lost);
        printf("# %s, %s, kv %d: KL %.3g, lost %.3g\n", model, sets[i]->name, (int)kv, kl, lost);
        if (!(kl > -1e-6 && kl < most_kl && lost < most_lost)) CHECK_FAIL("bounds: KL %g, lost %g", most_kl, most_lost);
        free(found);
    }
    free(expected);
}

TEST(close_to_reference)
{
    /* Bounds: some twice what int8 or bfloat16 activations cost here (the tiny models amplify rounding). */
    static const struct {
        const char *model;
        uint32_t tokens;
        double kl, lost;
    } cases[] = {{"tests/goldens/gguf/tiny-a-q8_0.gguf", TOKENS, 8e-3, 0.8},
                 {"tests/goldens/gguf/tiny-b-q8_0.gguf", TOKENS, 2e-3, 0.3},
                 {"tests/goldens/gguf/tiny-a-bf16.gguf", TOKENS, 1e-3, 0.2},
                 {"tests/goldens/tiny-b", TOKENS, 2e-4, 0.1},
                 {"assets/tandem-demo-51m-q6_k.gguf", 4, 1e-2, 0.3}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        check_close(cases[c].model, cases[c].tokens, cases[c].kl, cases[c].lost, -1);
}

/* The same for the types that the engine reads but does not write; in the short form every other one with one set, and
 * in the layers up to the first with full attention. */
TEST(codebook_types_are_close_to_reference)
{
    static const enum type types[] = {TYPE_IQ2_XXS, TYPE_IQ2_XS, TYPE_IQ2_S, TYPE_IQ3_XXS, TYPE_IQ3_S, TYPE_MXFP4};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char path[200];
        bool all = getenv("TANDEM_LONG");
        if (!all && i % 2 == 0) continue;
        snprintf(path, sizeof path, "%s/%s.gguf", check_tmp(), type_info(types[i])->name);
        REQUIRE(coarse_write("assets/tandem-demo-51m-q6_k.gguf", path, types[i], all ? 100 : 4));
        /* Few tokens of a model that knows less. */
        check_close(path, all ? 6 : 3, 2e-2, 0.5, all ? -1 : (int)i + 1);
        remove(path);
    }
}

/* A set that packs alike takes the weights of another in the same memory, which outlives it. */
TEST(shared_weights_have_the_bits_of_own_ones)
{
    enum { SOME = 20 };
    const char *model = "tests/goldens/gguf/tiny-a-q8_0.gguf";
    const struct kernels *wide;
    tdm_error err;
    tdm_id ids[SOME];
    if (tested_find(&wide, "amx-bf16 in C", &err)) SKIP("this CPU has no AVX-512");
    struct rig *first = rig_open(model, "amx in C", KV_F16, 1), *second = rig_open(model, wide->name, KV_F16, 1);
    REQUIRE(first && second);
    const uint32_t vocab = second->weights->config.vocab;
    float *own = malloc(SOME * vocab * sizeof *own), *shared = malloc(SOME * vocab * sizeof *shared);
    rig_ids(ids, SOME, vocab, 7);
    struct state *s = rig_state(second);
    rig_all_logits(second, s, ids, SOME, own, NULL);
    state_free(s);
    workspace_free(second->workspace);
    weights_free(second->weights);
    second->workspace = NULL;
    second->weights = NULL;
    REQUIRE(!weights_share(&second->weights, first->weights, wide, &err));
    REQUIRE(!workspace_new(&second->workspace, second->weights, RIG_TOKENS, RIG_RUNS, RIG_MEMBERS, RIG_CONTEXT, &err));
    s = rig_state(second);
    rig_all_logits(second, s, ids, SOME, shared, NULL);
    state_free(s);
    CHECK(!memcmp(own, shared, SOME * vocab * sizeof *own));
    s = rig_state(first);
    rig_all_logits(first, s, ids, SOME, shared, NULL);
    state_free(s);
    CHECK(memcmp(own, shared, SOME * vocab * sizeof *own)); /* another arithmetic, not the same set */
    rig_close(second);
    rig_close(first);
    free(own);
    free(shared);
}

struct progress {
    int calls, stop_at;
    uint64_t last, total;
};

static int on_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    struct progress *p = ctx;
    CHECK(step <= TDM_STEP_PACKING_EXPERTS && done >= p->last && done <= total);
    p->last = done;
    p->total = total;
    return ++p->calls == p->stop_at;
}

TEST(lm_head_and_progress)
{
    struct source *source;
    struct weights *w;
    const struct kernels *set;
    struct team *team;
    tdm_error err;
    REQUIRE(!kernels_find(&set, NULL, &err) && !team_open(&team, 2, NULL, &err));
    REQUIRE(!source_open(&source, "tests/goldens/tiny-b", NULL, &err));
    struct progress progress = {0};
    struct weights_options options = {.lm_head = TYPE_Q8_0, .progress = on_progress, .progress_ctx = &progress};
    REQUIRE(!weights_new(&w, source, set, team, &options, &err));
    CHECK_INT(TYPE_Q8_0, w->lm_head->type);
    CHECK_INT(TYPE_BF16, w->embed.type);
    CHECK(w->bytes > w->layer_bytes && progress.calls > 10 && progress.last < progress.total);
    weights_free(w);

    progress = (struct progress){0};
    options.lm_head = TYPE_Q6_K; /* 128 columns: not a multiple of 256 */
    CHECK_INT(TDM_E_UNSUPPORTED, weights_new(&w, source, set, team, &options, &err));
    CHECK(w == NULL && strstr(err.text, "128"));

    progress = (struct progress){.stop_at = 5};
    options.lm_head = TYPE_COUNT;
    CHECK_INT(TDM_E_CANCELLED, weights_new(&w, source, set, team, &options, &err));
    CHECK(w == NULL && progress.calls == 5);
    source_close(source);

    /* Tied: one matrix for both. */
    REQUIRE(!source_open(&source, "tests/goldens/tiny-a", NULL, &err));
    options = (struct weights_options){.lm_head = TYPE_Q8_0};
    REQUIRE(!weights_new(&w, source, set, team, &options, &err));
    CHECK(w->lm_head == &w->embed && w->embed.type == TYPE_Q8_0);
    weights_free(w);
    source_close(source);
    team_close(team);
}

TEST_MAIN(T(close_to_reference), T(shared_weights_have_the_bits_of_own_ones), T(codebook_types_are_close_to_reference),
          T(lm_head_and_progress))
