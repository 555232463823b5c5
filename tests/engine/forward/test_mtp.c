/* The MTP head against the golden files, and its exactness: entries, drafts and verified runs have the same bits
 * however a text was cut into passes, and a verified run leaves the state that single tokens leave. In every kernel
 * set. */
#include "engine/forward/head.h"
#include "engine/state/statefile.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/equal.h"

static void draft(struct rig *r, struct state *s, tdm_id next, uint32_t n, tdm_id *drafts, float *logits)
{
    tdm_error err;
    struct draft_run run = {.state = s, .next = next, .n = n, .drafts = drafts, .logits = logits};
    if (forward_draft(r->team, r->weights, r->workspace, &run, 1, NULL, &err)) CHECK_FAIL("%s", err.text);
}

/* ---- Golden files ------------------------------------------------------------------------------------------------ */

struct golden_run {
    struct rig *rig;
    struct state *state;
};

static void eval_and_draft(void *ctx, const tdm_id *ids, uint32_t some, tdm_id next, uint32_t n, tdm_id *drafts,
                           float *logits)
{
    struct golden_run *r = ctx;
    rig_eval(r->rig, r->state, ids, some, some);
    draft(r->rig, r->state, next, n, drafts, logits);
}

static void check_golden(struct rig *r, const char *folder, uint32_t n, uint32_t dispatch)
{
    struct golden_run run = {r, rig_state(r)};
    expected_compare_drafts(folder, n, dispatch, r->weights->config.vocab, eval_and_draft, &run);
    state_free(run.state);
}

static void check_model(const char *model, const char *folder)
{
    char kept[2][1024];
    snprintf(kept[0], sizeof kept[0], "%s", model);
    snprintf(kept[1], sizeof kept[1], "%s", folder);
    struct rig *r = rig_open(kept[0], "reference", KV_F32, 2);
    if (!r) return;
    rig_round_frequencies(r);
    CHECK(r->weights->config.mtp.there);
    check_golden(r, kept[1], 13, 1);
    check_golden(r, kept[1], 70, 40);
    rig_close(r);
}

/* A model of the golden files, of which mtp-golden-... is not in the repository. */
static void check_shared_model(const char *model, const char *folder)
{
    char path[1024];
    const char *at = check_shared(model);
    if (!at) return;
    snprintf(path, sizeof path, "%s", at);
    check_model(path, check_shared(folder));
}

TEST(tiny_d)
{
    check_shared_model("goldens/tiny-d", "goldens/tiny-d");
}
TEST(tiny_e)
{
    check_shared_model("goldens/tiny-e", "goldens/tiny-e");
}
TEST(tiny_f)
{
    check_shared_model("goldens/tiny-f", "goldens/tiny-f");
}
TEST(tiny_d_gguf)
{
    check_shared_model("goldens/gguf/tiny-d-bf16.gguf", "goldens/tiny-d");
}
TEST(tiny_f_gguf)
{
    check_shared_model("goldens/gguf/tiny-f-bf16.gguf", "goldens/tiny-f");
}

/* ---- Exactness --------------------------------------------------------------------------------------------------- */

/* A mixture in every kernel set that runs here, the built-in model in the best one. */
static void in_every_set(void (*check)(struct rig *r))
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    for (int i = 0; i <= n; i++) {
        struct rig *r = i < n ? rig_open("tests/goldens/gguf/tiny-d-q8_0.gguf", sets[i]->name, KV_F16, 2)
                              : rig_open("assets/tandem-demo-51m-q6_k.gguf", NULL, KV_Q8_0, 2);
        if (!r) continue;
        check(r);
        rig_close(r);
    }
}

static void check_entries(struct rig *r)
{
    enum { N = 100, DRAFTS = 4 };
    static const uint32_t splits[] = {1, 32, 33, N};
    tdm_id ids[N + 1], first[DRAFTS], drafts[DRAFTS];
    rig_ids(ids, N + 1, r->weights->config.vocab, 3);
    struct state *whole = NULL;
    for (int i = 0; i < 4; i++) {
        struct state *s = rig_state(r);
        rig_eval(r, s, ids, N, splits[i]);
        CHECK(s->length - s->entries >= 1 && s->length - s->entries <= STATE_WAITING);
        if (whole) CHECK(state_equal(whole, s));
        struct state *fork = rig_fork(s);
        draft(r, fork, ids[N], DRAFTS, whole ? drafts : first, NULL);
        CHECK_INT(N - 1, fork->entries);
        if (whole) CHECK(!memcmp(first, drafts, sizeof first) && state_equal(whole, fork));
        draft(r, fork, ids[N], DRAFTS, drafts, NULL); /* leaves nothing that a second time would see */
        CHECK(!memcmp(first, drafts, sizeof first));
        draft(r, s, ids[N], DRAFTS, drafts, NULL); /* the fork has pages of its own where it matters */
        CHECK(!memcmp(first, drafts, sizeof first) && state_equal(s, fork));
        state_free(fork);
        if (whole) state_free(s);
        else whole = s;
    }
    state_free(whole);
}

TEST(entries_do_not_depend_on_passes)
{
    in_every_set(check_entries);
}

/* A state that was saved goes on with the same drafts. */
static void check_saved(struct rig *r)
{
    tdm_id ids[61], a[3], b[3];
    tdm_error err;
    struct state_bytes bytes = {0};
    rig_ids(ids, 61, r->weights->config.vocab, 9);
    for (uint32_t n = 1; n <= 60; n += 19) {
        struct state *s = rig_state(r), *loaded = rig_state(r);
        rig_eval(r, s, ids, n, 20);
        CHECK(!state_save_memory(s, 1, &bytes, &err) && !state_load_memory(loaded, 1, bytes.data, bytes.size, &err));
        CHECK_INT(s->entries, loaded->entries);
        CHECK(state_equal(s, loaded));
        draft(r, s, ids[n], 3, a, NULL);
        draft(r, loaded, ids[n], 3, b, NULL);
        CHECK(!memcmp(a, b, sizeof a));
        state_free(s), state_free(loaded);
    }
    state_bytes_free(&bytes);
}

TEST(saved_states_keep_the_head)
{
    in_every_set(check_saved);
}

/* Several states draft in one call what each drafts alone. */
static void check_together(struct rig *r)
{
    enum { STATES = 5, N = 90 };
    tdm_id ids[N + 1], alone[STATES][STATES + 1], together[STATES][STATES + 1];
    struct state *states[STATES];
    struct draft_run runs[STATES];
    tdm_error err;
    rig_ids(ids, N + 1, r->weights->config.vocab, 17);
    for (uint32_t i = 0; i < STATES; i++) {
        uint32_t n = 1 + i * 20;
        states[i] = rig_state(r);
        rig_eval(r, states[i], ids, n, 13);
        struct state *fork = rig_fork(states[i]);
        draft(r, fork, ids[n], i + 1, alone[i], NULL);
        state_free(fork);
        runs[i] = (struct draft_run){.state = states[i], .next = ids[n], .n = i + 1, .drafts = together[i]};
    }
    CHECK(!forward_draft(r->team, r->weights, r->workspace, runs, STATES, NULL, &err));
    for (uint32_t i = 0; i < STATES; i++) {
        CHECK(!memcmp(alone[i], together[i], (i + 1) * sizeof(tdm_id)));
        state_free(states[i]);
    }
}

TEST(states_draft_together)
{
    in_every_set(check_together);
}

/* ---- Verified runs ----------------------------------------------------------------------------------------------- */

enum { PROMPT = 61, RUN = 6, VERIFIED = 2 };

/* A pass that verifies several runs beside one that is appended; some tokens of each are accepted; then single tokens
 * go on. Everything equals what single tokens leave. */
static void check_verified(struct rig *r)
{
    const uint32_t vocab = r->weights->config.vocab;
    tdm_error err;
    for (uint32_t round = 0; round <= RUN; round += 2) {
        struct state *plain[VERIFIED + 1], *verified[VERIFIED + 1];
        struct forward_kept *kept[VERIFIED];
        struct forward_run runs[VERIFIED + 1] = {0};
        uint32_t rows[VERIFIED];
        tdm_id ids[VERIFIED + 1][PROMPT + RUN + 2];
        float *all = malloc((size_t)VERIFIED * RUN * vocab * sizeof *all);
        for (uint32_t i = 0; i <= VERIFIED; i++) {
            uint32_t prompt = PROMPT - 29 * i; /* rows that wait overflow in the first only */
            rig_ids(ids[i], PROMPT + RUN + 2, vocab, 100 + i);
            plain[i] = rig_state(r);
            rig_eval(r, plain[i], ids[i], prompt, 30);
            verified[i] = rig_fork(plain[i]);
            runs[i] = (struct forward_run){.state = verified[i], .tokens = ids[i] + prompt, .n = 1,
                                           .logits = LOGITS_LAST};
            if (i == VERIFIED) continue;
            CHECK(!forward_kept_new(&kept[i], r->weights, RUN, &err));
            rows[i] = (round + i) % (RUN + 1);
            runs[i].n = RUN;
            runs[i].logits = LOGITS_ALL;
            runs[i].all = all + (size_t)i * RUN * vocab;
            runs[i].kept = kept[i];
        }
        CHECK(!forward(r->team, r->weights, r->workspace, runs, VERIFIED + 1, NULL, NULL, &err));
        for (uint32_t i = 0; i < VERIFIED; i++) CHECK(state_equal(plain[i], verified[i]) && verified[i]->logits_valid);
        forward_accept(r->team, r->weights, r->workspace, runs, rows, VERIFIED);
        for (uint32_t i = 0; i <= VERIFIED; i++) {
            uint32_t n = i < VERIFIED ? rows[i] : 1;
            for (uint32_t k = 0; k < n; k++) {
                rig_eval(r, plain[i], runs[i].tokens + k, 1, 1);
                if (i < VERIFIED)
                    CHECK(!memcmp(plain[i]->logits, runs[i].all + (size_t)k * vocab, vocab * sizeof(float)));
            }
            CHECK(state_equal(plain[i], verified[i]));
            rig_eval(r, plain[i], runs[i].tokens + n, 1, 1);
            rig_eval(r, verified[i], runs[i].tokens + n, 1, 1);
            CHECK(state_equal(plain[i], verified[i]));
            state_free(plain[i]), state_free(verified[i]);
            if (i < VERIFIED) forward_kept_free(kept[i]);
        }
        free(all);
    }
}

TEST(verified_runs_leave_what_single_tokens_leave)
{
    in_every_set(check_verified);
}

/* Text that single tokens make, made by drafts and verification: at temperature 0 all drafts that the trunk repeats are
 * kept, so there are fewer passes than tokens; the state is the same after each. */
static void check_greedy(struct rig *r)
{
    enum { TOKENS = 40, DRAFTS = 3 };
    const uint32_t vocab = r->weights->config.vocab;
    tdm_id prompt[20], next, chosen[TOKENS + DRAFTS + 1];
    tdm_error err;
    struct forward_kept *kept;
    float *all = malloc((1 + DRAFTS) * (size_t)vocab * sizeof *all);
    CHECK(!forward_kept_new(&kept, r->weights, 1 + DRAFTS, &err));
    rig_ids(prompt, 20, vocab, 5);
    struct state *plain = rig_state(r), *s;
    rig_eval(r, plain, prompt, 20, 20);
    s = rig_fork(plain);
    uint32_t n = 0;
    for (next = 0; n < TOKENS; n++) {
        next = 0;
        for (uint32_t i = 1; i < vocab; i++)
            if (plain->logits[i] > plain->logits[next]) next = (tdm_id)i;
        chosen[n] = next;
        rig_eval(r, plain, &next, 1, 1);
    }
    uint32_t passes = 0;
    for (n = 0; n + DRAFTS < TOKENS; passes++) {
        tdm_id tokens[1 + DRAFTS] = {chosen[n]};
        draft(r, s, chosen[n], DRAFTS, tokens + 1, NULL);
        struct forward_run run = {.state = s, .tokens = tokens, .n = 1 + DRAFTS, .logits = LOGITS_ALL, .all = all,
                                  .kept = kept};
        CHECK(!forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
        uint32_t rows = 1;
        while (rows <= DRAFTS && tokens[rows] == chosen[n + rows]) rows++;
        forward_accept(r->team, r->weights, r->workspace, &run, &rows, 1);
        n += rows;
    }
    while (n < TOKENS) rig_eval(r, s, &chosen[n++], 1, 1);
    CHECK(state_equal(plain, s));
    if (vocab > 1000) CHECK(passes < TOKENS * 3 / 4); /* the trained one */
    free(all);
    forward_kept_free(kept);
    state_free(plain), state_free(s);
}

TEST(drafts_and_verification_make_the_same_text)
{
    in_every_set(check_greedy);
}

TEST_MAIN(T(tiny_d), T(tiny_e), T(tiny_f), T(tiny_d_gguf), T(tiny_f_gguf), T(entries_do_not_depend_on_passes),
          T(saved_states_keep_the_head), T(states_draft_together), T(verified_runs_leave_what_single_tokens_leave),
          T(drafts_and_verification_make_the_same_text))
