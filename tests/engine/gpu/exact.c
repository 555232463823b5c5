#include "tests/engine/gpu/exact.h"

#include "tests/check.h"

enum { CONTEXT = 192 };

void exact_read(struct gpu_model *m, struct exact_text *e, uint32_t tokens, uint64_t seed)
{
    e->tokens = tokens;
    rig_ids(e->ids, tokens, EXACT_VOCAB, seed);
    e->logits = calloc((size_t)tokens * EXACT_VOCAB, sizeof *e->logits);
    e->state = gpu_rig_state(m);
    for (uint32_t i = 0; i < tokens; i += 35) {
        uint32_t n = tokens - i < 35 ? tokens - i : 35;
        gpu_rig_logits(m, e->state, e->ids + i, n, e->logits + (size_t)i * EXACT_VOCAB, NULL);
    }
}

void exact_drop(struct exact_text *e)
{
    free(e->logits);
    gpu_state_free(e->state);
}

bool exact_follow(struct gpu_model *m, struct gpu_state *s, const struct exact_text *e, uint32_t end, uint32_t size,
                  uint64_t *seed)
{
    static float rows[GPU_RIG_TOKENS * EXACT_VOCAB];
    while (gpu_state_length(s) < end) {
        uint32_t n = size ? size : 1 + (uint32_t)(rig_random(seed) % 67), at = gpu_state_length(s);
        if (n > end - at) n = end - at;
        gpu_rig_logits(m, s, e->ids + at, n, rows, NULL);
        if (gpu_state_length(s) != at + n) return false;
        if (memcmp(rows, e->logits + (size_t)at * EXACT_VOCAB, (size_t)n * EXACT_VOCAB * sizeof *rows)) return false;
    }
    return true;
}

void exact_with(const struct exact_case *of, const char *path, exact_check *check, uint64_t seed, uint32_t most)
{
    /* A pass of one token in one dispatch where the model's steps are among its operations; in the long form with other
     * cuts, and whole columns of the delta rule's state. */
    static const struct gpu_tuning more = {4, 1, 8, 32, 32, 4096, 4096, 32, 100, 1, 6, 2, 2, true, 0};
    struct gpu *g = gpu_rig_shared(of->slice, getenv("TANDEM_LONG") ? &more : &gpu_rig_fused);
    struct gpu_model *m = g ? gpu_rig_model_for(g, path, of->kv, CONTEXT) : NULL;
    int before = check_failures;
    if (m) CHECK_INT(of->together, gpu_model_fused_workgroups(m));
    if (m) {
        struct exact_text e;
        uint32_t brief = of->brief < most ? of->brief : most;
        exact_read(m, &e, getenv("TANDEM_LONG") ? of->tokens : brief, seed);
        if (check_failures == before) check(m, &e, seed);
        exact_drop(&e);
    }
    if (check_failures > before) printf("# with %s\n", of->name);
    gpu_model_free(m);
}

void exact_each(const struct exact_case *of, size_t n, exact_check *check, uint32_t most)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (size_t i = 0; i < n; i++)
        if (of[i].brief || getenv("TANDEM_LONG")) exact_with(&of[i], of[i].name, check, i + 1, most);
}

uint32_t exact_near_end(uint32_t n)
{
    return getenv("TANDEM_LONG") ? n : n / 2;
}

void exact_any_split(struct gpu_model *m, struct exact_text *e, uint64_t seed)
{
    static const uint32_t sizes[] = {3, 67, 0, 1}; /* few only near the end, as each pass takes long */
    struct gpu_state *near = gpu_rig_state(m);
    gpu_rig_eval(m, near, e->ids, e->tokens - exact_near_end(20), 64);
    for (int i = 0; i < 4; i++) {
        bool is_few = sizes[i] == 1 || sizes[i] == 3;
        struct gpu_state *s = is_few ? gpu_rig_fork(near) : gpu_rig_state(m);
        bool same = exact_follow(m, s, e, e->tokens, sizes[i], &seed);
        if (!same) CHECK_FAIL("passes of %u tokens: other logits", sizes[i]);
        if (!gpu_rig_equal(s, e->state)) CHECK_FAIL("passes of %u tokens: another state", sizes[i]);
        gpu_state_free(s);
    }
    gpu_state_free(near);
}

void exact_any_runs(struct gpu_model *m, struct exact_text *e, uint64_t seed)
{
    enum { STATES = 3 };
    struct exact_text others[STATES];
    struct gpu_state *s[STATES];
    static float rows[STATES][64 * EXACT_VOCAB];
    bool all = getenv("TANDEM_LONG");
    tdm_error err;
    others[0] = *e;
    for (int i = 0; i < STATES; i++) {
        if (i) exact_read(m, &others[i], all || e->tokens < 40 ? e->tokens : 40, seed + 100 + (uint64_t)i);
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
            const float *last = others[of[j]].logits + (size_t)(gpu_state_length(runs[j].state) - 1) * EXACT_VOCAB,
                        *found = gpu_state_logits(runs[j].state);
            CHECK(!found == (runs[j].logits == GPU_LOGITS_NONE));
            if (found) CHECK(!memcmp(found, last, EXACT_VOCAB * sizeof *last));
            size_t before = (size_t)(runs[j].n - 1) * EXACT_VOCAB;
            if (runs[j].logits == GPU_LOGITS_ALL)
                CHECK(!memcmp(runs[j].all, last - before, (before + EXACT_VOCAB) * sizeof *last));
        }
    }
    for (int i = 0; i < STATES; i++) {
        gpu_state_free(s[i]);
        if (i) exact_drop(&others[i]);
    }
}

void exact_forks(struct gpu_model *m, struct exact_text *e, uint64_t seed)
{
    tdm_id other[40];
    tdm_error err;
    rig_ids(other, 40, EXACT_VOCAB, seed + 7);
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
        CHECK(exact_follow(m, s, e, e->tokens, 0, &seed) && gpu_rig_equal(s, e->state));
        image.content.tokens = e->ids;
        image.logits = NULL;
        CHECK(!gpu_rig_load(loaded, &image, &err) && !gpu_state_logits(loaded));
        CHECK(exact_follow(m, loaded, e, e->tokens, 0, &seed) && gpu_rig_equal(loaded, e->state));
        gpu_state_clear(s);
        CHECK(!gpu_state_length(s) && exact_follow(m, s, e, 20, 20, &seed));
        gpu_rig_image_free(&image);
        gpu_state_free(s);
        gpu_state_free(kept);
        gpu_state_free(loaded);
    }
}

void exact_refusals(struct gpu_model *m, struct exact_text *e, uint64_t seed)
{
    (void)seed;
    static tdm_id ids[GPU_RIG_TOKENS + 1];
    struct gpu_state *s = gpu_rig_fork(e->state);
    uint32_t learned = gpu_model_config(m)->positions, context = learned && learned < CONTEXT ? learned : CONTEXT;
    tdm_error err;
    struct gpu_run run = {.state = s, .tokens = ids, .n = GPU_RIG_TOKENS + 1, .logits = GPU_LOGITS_LAST};
    CHECK_INT(TDM_E_ARG, gpu_forward(m, &run, 1, NULL, &err));
    run.n = 1;
    ids[0] = EXACT_VOCAB;
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
