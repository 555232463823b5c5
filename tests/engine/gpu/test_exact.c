/* Exactness on one device: logits and states have the same bits whatever the split of a text into passes, the runs of a
 * pass, slices of the matrices, forks, copies, saved and loaded states. On a dense model with more value than key heads
 * past the boundary of a block of attention, and on a mixture of experts; in the long form in Q8_0 and BF16 each. */
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"
#include "tests/engine/model/family.h"

enum { LIMIT = 140, VOCAB = 512, CONTEXT = 192 };
struct case_of {
    const char *name;
    enum kv_type kv;
    uint64_t slice;
    uint32_t tokens, together;
    uint32_t brief; /* tokens in the short form, which leaves it out where there are 0 */
};
static const struct case_of models[] = {
    {"tests/goldens/gguf/tiny-a-q8_0.gguf", KV_Q8_0, 0, 140, 1, 132},
    {"tests/goldens/tiny-d", KV_F32, 0, 50, 0, 40}, /* experts take long on cores */
    {"tests/goldens/gguf/tiny-a-bf16.gguf", KV_F32, 64 << 10, 140, 1, 0},
    {"tests/goldens/gguf/tiny-d-q8_0.gguf", KV_F16, 64 << 10, 140, 0, 0},
};
/* Other families (../shared/goldens/families): windows in all layers and in some, soft caps, norms of what is added,
 * LayerNorms, learned positions. */
static const struct case_of families[] = {
    {"gemma2", KV_F32, 0, 140, 1, 40},         {"gpt2", KV_F32, 0, 70, 1, 0},
    {"mistral-window", KV_Q8_0, 0, 140, 1, 0}, {"qwen2", KV_F16, 0, 70, 1, 0},
    {"qwen3moe", KV_F32, 0, 70, 0, 0},         {"gemma3", KV_F16, 64 << 10, 140, 1, 0},
    {"gemma4-dense", KV_Q8_0, 0, 140, 0, 0},   {"gemma4-moe", KV_F16, 0, 70, 0, 0},
    {"gemma4-e", KV_F32, 0, 140, 0, 0},        {"gpt-oss", KV_F16, 0, 140, 0, 0},
};

struct expected {
    uint32_t tokens;
    tdm_id ids[LIMIT];
    float *logits;           /* [tokens][VOCAB] */
    struct gpu_state *state; /* after all, with logits */
};

static void set_up(struct gpu_model *m, struct expected *e, uint32_t tokens, uint64_t seed)
{
    e->tokens = tokens;
    rig_ids(e->ids, tokens, VOCAB, seed);
    e->logits = calloc((size_t)tokens * VOCAB, sizeof *e->logits);
    e->state = gpu_rig_state(m);
    for (uint32_t i = 0; i < tokens; i += 35)
        gpu_rig_logits(m, e->state, e->ids + i, tokens - i < 35 ? tokens - i : 35, e->logits + (size_t)i * VOCAB, NULL);
}

static void tear_down(struct expected *e)
{
    free(e->logits);
    gpu_state_free(e->state);
}

/* Evaluates up to `end` in passes of `size` tokens (0: any), comparing every row of logits. */
static bool follow(struct gpu_model *m, struct gpu_state *s, const struct expected *e, uint32_t end, uint32_t size,
                   uint64_t *seed)
{
    static float rows[GPU_RIG_TOKENS * VOCAB];
    while (gpu_state_length(s) < end) {
        uint32_t n = size ? size : 1 + (uint32_t)(rig_random(seed) % 67), at = gpu_state_length(s);
        if (n > end - at) n = end - at;
        gpu_rig_logits(m, s, e->ids + at, n, rows, NULL);
        if (gpu_state_length(s) != at + n) return false;
        if (memcmp(rows, e->logits + (size_t)at * VOCAB, (size_t)n * VOCAB * sizeof *rows)) return false;
    }
    return true;
}

typedef void body_of_test(struct gpu_model *m, struct expected *e, uint64_t seed);

enum { SOME = 48 }; /* tokens that go beyond a page, not a block of attention */

static void with_model(const struct case_of *of, const char *path, body_of_test *body, uint64_t seed, uint32_t most)
{
    /* A pass of one token in one dispatch where the model's steps are among its operations; in the long form with other
     * cuts, and whole columns of the delta rule's state. */
    static const struct gpu_tuning more = {4, 1, 8, 32, 32, 4096, 4096, 32, 100, 1, 6, 2, 2, true, 0};
    struct gpu *g = gpu_rig_shared(of->slice, getenv("TANDEM_LONG") ? &more : &gpu_rig_fused);
    struct gpu_model *m = g ? gpu_rig_model_for(g, path, of->kv, CONTEXT) : NULL;
    int before = check_failures;
    if (m) CHECK_INT(of->together, gpu_model_fused_workgroups(m));
    if (m) {
        struct expected e;
        uint32_t brief = of->brief < most ? of->brief : most;
        set_up(m, &e, getenv("TANDEM_LONG") ? of->tokens : brief, seed);
        if (check_failures == before) body(m, &e, seed);
        tear_down(&e);
    }
    if (check_failures > before) printf("# with %s\n", of->name);
    gpu_model_free(m);
}

/* most: tokens in the short form. */
static void for_each(body_of_test *body, uint32_t most)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (models[i].brief || getenv("TANDEM_LONG")) with_model(&models[i], models[i].name, body, i + 1, most);
}

/* How many tokens from the end on are read in passes of few: fewer in the short form. */
static uint32_t near_end(uint32_t n)
{
    return getenv("TANDEM_LONG") ? n : n / 2;
}

static void any_split(struct gpu_model *m, struct expected *e, uint64_t seed)
{
    static const uint32_t sizes[] = {3, 67, 0, 1}; /* few only near the end, as each pass takes long */
    struct gpu_state *near = gpu_rig_state(m);
    gpu_rig_eval(m, near, e->ids, e->tokens - near_end(20), 64);
    for (int i = 0; i < 4; i++) {
        bool is_few = sizes[i] == 1 || sizes[i] == 3;
        struct gpu_state *s = is_few ? gpu_rig_fork(near) : gpu_rig_state(m);
        if (!follow(m, s, e, e->tokens, sizes[i], &seed)) CHECK_FAIL("passes of %u tokens: other logits", sizes[i]);
        if (!gpu_rig_equal(s, e->state)) CHECK_FAIL("passes of %u tokens: another state", sizes[i]);
        gpu_state_free(s);
    }
    gpu_state_free(near);
}

TEST(any_split)
{
    for_each(any_split, LIMIT);
}

/* Several states in one call, each somewhere else in its own text; in the short form one text is long. */
static void any_runs(struct gpu_model *m, struct expected *e, uint64_t seed)
{
    enum { STATES = 3 };
    struct expected others[STATES];
    struct gpu_state *s[STATES];
    static float rows[STATES][64 * VOCAB];
    bool all = getenv("TANDEM_LONG");
    tdm_error err;
    others[0] = *e;
    for (int i = 0; i < STATES; i++) {
        if (i) set_up(m, &others[i], all || e->tokens < 40 ? e->tokens : 40, seed + 100 + (uint64_t)i);
        s[i] = gpu_rig_state(m);
        uint32_t third = e->tokens / 3, later = others[i].tokens - 12 * (STATES - (uint32_t)i);
        gpu_rig_eval(m, s[i], others[i].ids, all ? (uint32_t)i * third : later, 64);
    }
    for (bool more = true; more;) {
        struct gpu_run runs[STATES];
        int of[STATES];
        uint32_t n_runs = 0, longest = rig_random(&seed) % 2 ? 2 : 50;
        more = false;
        for (int i = 0; i < STATES; i++) {
            uint32_t at = gpu_state_length(s[i]), n = 1 + (uint32_t)(rig_random(&seed) % longest);
            more |= at < others[i].tokens;
            if (at == others[i].tokens || rig_random(&seed) % 4 == 0) continue;
            of[n_runs] = i;
            runs[n_runs++] = (struct gpu_run){.state = s[i],
                                              .tokens = others[i].ids + at,
                                              .n = n < others[i].tokens - at ? n : others[i].tokens - at,
                                              .logits = (enum gpu_logits)(n % 3),
                                              .all = rows[i]};
        }
        if (!n_runs) continue;
        if (gpu_forward(m, runs, n_runs, NULL, &err)) {
            CHECK_FAIL("%s", err.text);
            break;
        }
        for (uint32_t j = 0; j < n_runs; j++) {
            const float *last = others[of[j]].logits + (size_t)(gpu_state_length(runs[j].state) - 1) * VOCAB,
                        *found = gpu_state_logits(runs[j].state);
            CHECK(!found == (runs[j].logits == GPU_LOGITS_NONE));
            if (found) CHECK(!memcmp(found, last, VOCAB * sizeof *last));
            if (runs[j].logits == GPU_LOGITS_ALL)
                CHECK(!memcmp(runs[j].all, last - (size_t)(runs[j].n - 1) * VOCAB, runs[j].n * VOCAB * sizeof *last));
        }
    }
    for (int i = 0; i < STATES; i++) {
        gpu_state_free(s[i]);
        if (i) tear_down(&others[i]);
    }
}

TEST(any_runs)
{
    for_each(any_runs, SOME);
}

/* Forks go their own way; copies and what was saved and loaded go on as if nothing had been: at the end of a block of
 * keys and values, and anywhere; in the short form one model's at the one, the next one's at the other. */
static void forks(struct gpu_model *m, struct expected *e, uint64_t seed)
{
    tdm_id other[40];
    tdm_error err;
    rig_ids(other, 40, VOCAB, seed + 7);
    uint64_t brief = seed % 2;
    for (uint32_t round = 0; round < 2; round++) {
        if (round == brief && !getenv("TANDEM_LONG")) continue;
        uint32_t at = round ? 1 + (uint32_t)(rig_random(&seed) % (e->tokens - 1)) : 32;
        struct gpu_state *s = gpu_rig_state(m), *kept, *loaded = gpu_rig_state(m);
        gpu_rig_eval(m, s, e->ids, at, 64);
        kept = gpu_rig_fork(s);
        CHECK(gpu_rig_equal(kept, s));
        struct gpu_image image = gpu_rig_image(s);
        gpu_rig_eval(m, s, other, 40, 40);
        CHECK(!gpu_state_copy(s, kept, &err) && gpu_rig_equal(s, kept));
        gpu_rig_eval(m, kept, other, 3, 3);
        CHECK(follow(m, s, e, e->tokens, 0, &seed) && gpu_rig_equal(s, e->state));
        image.content.tokens = e->ids;
        image.logits = NULL;
        CHECK(!gpu_rig_load(loaded, &image, &err) && !gpu_state_logits(loaded));
        CHECK(follow(m, loaded, e, e->tokens, 0, &seed) && gpu_rig_equal(loaded, e->state));
        gpu_state_clear(s);
        CHECK(!gpu_state_length(s) && follow(m, s, e, 20, 20, &seed));
        gpu_rig_image_free(&image);
        gpu_state_free(s);
        gpu_state_free(kept);
        gpu_state_free(loaded);
    }
}

TEST(forks)
{
    for_each(forks, SOME);
}

/* What a model has after a text that is read in passes of any size; NULL: it depends on that. */
static float *logits_of_any_split(struct gpu_model *m, uint32_t tokens)
{
    static const uint32_t sizes[] = {33, 5, 16, 1}; /* those below 16 only near the end, as each pass takes long */
    struct expected e;
    uint64_t seed = 1;
    bool same = true;
    set_up(m, &e, tokens, 9);
    for (int i = 0; i < (getenv("TANDEM_LONG") ? 4 : 2); i++) {
        struct gpu_state *s = gpu_rig_state(m);
        if (sizes[i] < 16) gpu_rig_eval(m, s, e.ids, tokens - near_end(20), 37);
        same = same && follow(m, s, &e, tokens, sizes[i], &seed) && gpu_rig_equal(s, e.state);
        gpu_state_free(s);
    }
    float *logits = e.logits;
    e.logits = NULL;
    if (!same) free(logits);
    tear_down(&e);
    return same ? logits : NULL;
}

/* The delta rule cut as on a discrete device, eight shares a column: added through subgroups and through shared memory,
 * in batches of tokens that are full or not. */
TEST(shares)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    uint32_t tokens = getenv("TANDEM_LONG") ? 75 : 45;
    float *logits[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 2; i++) {
        const struct gpu_tuning tuning = {2, 1, 4, 32, 256, 4096, 4096, i ? 32 : 1, 100, 0, 0, 0, 0, false, 0};
        struct gpu *g = gpu_rig_open(&(struct gpu_options){.tuning = &tuning});
        struct gpu_model *m = g ? gpu_rig_model(g, "tests/goldens/tiny-b", KV_F32) : NULL;
        if (m) logits[i] = logits_of_any_split(m, tokens);
        CHECK(logits[i]);
        gpu_model_free(m);
        gpu_close(g);
    }
    if (logits[0] && logits[1]) CHECK(!memcmp(logits[0], logits[1], sizeof(float) * tokens * VOCAB));
    free(logits[0]);
    free(logits[1]);
}

/* What is refused changes nothing. */
static void refusals(struct gpu_model *m, struct expected *e, uint64_t seed)
{
    (void)seed;
    static tdm_id ids[GPU_RIG_TOKENS + 1];
    struct gpu_state *s = gpu_rig_fork(e->state);
    uint32_t learned = gpu_model_config(m)->positions, context = learned && learned < CONTEXT ? learned : CONTEXT;
    tdm_error err;
    struct gpu_run run = {.state = s, .tokens = ids, .n = GPU_RIG_TOKENS + 1, .logits = GPU_LOGITS_LAST};
    CHECK_INT(TDM_E_ARG, gpu_forward(m, &run, 1, NULL, &err));
    run.n = 1;
    ids[0] = VOCAB;
    CHECK_INT(TDM_E_ARG, gpu_forward(m, &run, 1, NULL, &err));
    ids[0] = 1;
    atomic_bool cancel = true;
    CHECK_INT(TDM_E_CANCELLED, gpu_forward(m, &run, 1, &(struct gpu_pass_options){.cancel = &cancel}, &err));
    CHECK(!gpu_state_broken(s) && gpu_state_length(s) == e->tokens);
    while (gpu_state_length(s) < context && !check_failures) {
        run.n = GPU_RIG_TOKENS < context - gpu_state_length(s) ? GPU_RIG_TOKENS : context - gpu_state_length(s);
        CHECK_INT(TDM_OK, gpu_forward(m, &run, 1, NULL, &err));
    }
    CHECK_INT(context, gpu_state_length(s));
    run.n = 1;
    CHECK_INT(TDM_E_CONTEXT, gpu_forward(m, &run, 1, NULL, &err));
    gpu_state_free(s);
}

/* Which doesn't depend on the weights: in the short form with one model. */
TEST(refusals)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (size_t i = 0; i < (getenv("TANDEM_LONG") ? sizeof models / sizeof *models : 1); i++)
        with_model(&models[i], models[i].name, refusals, i + 1, SOME);
}

static void all_of_it(struct gpu_model *m, struct expected *e, uint64_t seed)
{
    any_split(m, e, seed);
    any_runs(m, e, seed);
    forks(m, e, seed);
    refusals(m, e, seed);
}

TEST(other_families)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char room[FAMILY_ROOM];
        if (!families[i].brief && !getenv("TANDEM_LONG")) continue;
        const char *path = family_find(families[i].name, room);
        if (path) with_model(&families[i], path, all_of_it, i + 1, LIMIT);
    }
}

TEST_MAIN(T(any_split), T(any_runs), T(forks), T(shares), T(refusals), T(other_families))
