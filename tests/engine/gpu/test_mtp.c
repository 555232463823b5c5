/* The MTP head on a GPU against the golden files, and its exactness: drafts do not depend on how a text was cut into
 * passes, on forks, or on having been saved; a verified run leaves what single tokens leave. */
#include "engine/model/half.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

enum { RUN = 6 };

static void draft(struct gpu_state *s, tdm_id next, uint32_t n, tdm_id *drafts, float *logits)
{
    tdm_error err;
    if (gpu_draft(s, next, n, drafts, logits, &err)) CHECK_FAIL("%s", err.text);
}

/* ---- Golden files ------------------------------------------------------------------------------------------------ */

struct golden_run {
    struct gpu_model *model;
    struct gpu_state *state;
};

static void eval_and_draft(void *ctx, const tdm_id *ids, uint32_t some, tdm_id next, uint32_t n, tdm_id *drafts,
                           float *logits)
{
    struct golden_run *r = ctx;
    gpu_rig_eval(r->model, r->state, ids, some, some);
    draft(r->state, next, n, drafts, logits);
}

static void check_golden(struct gpu_model *m, const char *folder, uint32_t n, uint32_t most)
{
    struct golden_run r = {m, gpu_rig_state(m)};
    expected_compare_drafts(folder, n, most, gpu_model_config(m)->vocab, eval_and_draft, &r);
    gpu_state_free(r.state);
}

/* Frequencies as the goldens have them (test_golden.c). */
static void check_model(const char *model)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    const char *path = check_shared(model);
    char folder[1024];
    if (!path) return;
    snprintf(folder, sizeof folder, "%s", path);
    struct gpu *g = gpu_rig_shared(0, NULL);
    struct gpu_model *m = g ? gpu_rig_model(g, folder, KV_F32) : NULL;
    if (m) {
        double *frequency = gpu_model_frequencies(m);
        for (uint32_t i = 0; i < gpu_model_config(m)->rope.dims / 2; i++)
            frequency[i] = bf16_widen(bf16_narrow((float)frequency[i]));
        check_golden(m, folder, 13, 1);
        check_golden(m, folder, 70, 40);
    }
    gpu_model_free(m);
}

TEST(tiny_d)
{
    check_model("goldens/tiny-d");
}
TEST(tiny_e)
{
    check_model("goldens/tiny-e");
}
TEST(tiny_f)
{
    check_model("goldens/tiny-f");
}

/* ---- Exactness --------------------------------------------------------------------------------------------------- */

static void with_model(void (*body)(struct gpu_model *m))
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    const char *path = check_shared("goldens/gguf/tiny-f-q8_0.gguf");
    if (!path) return;
    struct gpu *g = gpu_rig_shared(0, NULL);
    struct gpu_model *m = g ? gpu_rig_model(g, path, KV_F16) : NULL;
    if (m) body(m);
    gpu_model_free(m);
}

static void check_entries(struct gpu_model *m)
{
    enum { N = 70, DRAFTS = 4 };
    static const uint32_t splits[] = {1, 32, 33, N};
    tdm_id ids[N + 1], first[DRAFTS], drafts[DRAFTS];
    tdm_error err;
    rig_ids(ids, N + 1, gpu_model_config(m)->vocab, 3);
    for (int i = 0; i < 4; i++) {
        struct gpu_state *s = gpu_rig_state(m), *loaded = gpu_rig_state(m);
        gpu_rig_eval(m, s, ids, N, splits[i]);
        struct gpu_image image = gpu_rig_image(s);
        CHECK(!image.content.headless && image.content.entries < N && N - image.content.entries <= GPU_WAITING);
        struct gpu_state *fork = gpu_rig_fork(s);
        draft(fork, ids[N], DRAFTS, i ? drafts : first, NULL);
        if (i) CHECK(!memcmp(first, drafts, sizeof first));
        draft(fork, ids[N], DRAFTS, drafts, NULL); /* leaves nothing that a second time would see */
        CHECK(!memcmp(first, drafts, sizeof first));
        draft(s, ids[N], DRAFTS, drafts, NULL); /* the fork has pages of its own where it matters */
        CHECK(!memcmp(first, drafts, sizeof first) && gpu_rig_equal(s, fork));
        CHECK(!gpu_rig_load(loaded, &image, &err));
        draft(loaded, ids[N], DRAFTS, drafts, NULL);
        CHECK(!memcmp(first, drafts, sizeof first));
        image.content.headless = true; /* from where nothing is kept for the head: it works as if there were none */
        CHECK(!gpu_rig_load(loaded, &image, &err) && gpu_state_headless(loaded));
        gpu_rig_eval(m, loaded, ids, 40, 40);
        gpu_rig_eval(m, s, ids, 40, 40);
        CHECK(gpu_rig_equal(s, loaded));
        gpu_rig_image_free(&image);
        gpu_state_free(s);
        gpu_state_free(fork);
        gpu_state_free(loaded);
    }
}

TEST(drafts_do_not_depend_on_passes)
{
    with_model(check_entries);
}

/* Some tokens of a verified run are accepted; then single tokens go on. */
static void check_verified(struct gpu_model *m)
{
    enum { PROMPT = 61 };
    const uint32_t vocab = gpu_model_config(m)->vocab;
    tdm_id ids[PROMPT + RUN + 2], a[3], b[3];
    tdm_error err;
    struct gpu_kept *kept;
    REQUIRE(gpu_kept_new(&kept, m, &err) == TDM_OK);
    float *all = malloc((size_t)RUN * vocab * sizeof *all);
    rig_ids(ids, PROMPT + RUN + 2, vocab, 100);
    for (uint32_t rows = 0; rows <= RUN; rows++) {
        uint32_t prompt = PROMPT - 5 * rows; /* rows that wait overflow in some */
        struct gpu_state *plain = gpu_rig_state(m), *verified;
        gpu_rig_eval(m, plain, ids, prompt, 30);
        verified = gpu_rig_fork(plain);
        struct gpu_run run = {.state = verified, .tokens = ids + prompt, .n = RUN, .logits = GPU_LOGITS_ALL, .all = all,
                              .kept = kept};
        CHECK_INT(TDM_OK, gpu_forward(m, &run, 1, NULL, &err));
        CHECK(gpu_rig_equal(plain, verified));
        CHECK_INT(TDM_OK, gpu_accept(&run, rows, &err));
        for (uint32_t k = 0; k < rows; k++) {
            gpu_rig_eval(m, plain, run.tokens + k, 1, 1);
            CHECK(!memcmp(gpu_state_logits(plain), all + (size_t)k * vocab, vocab * sizeof *all));
        }
        CHECK(gpu_rig_equal(plain, verified));
        for (int again = 0; again < 2; again++) {
            draft(plain, run.tokens[rows], 3, a, NULL);
            draft(verified, run.tokens[rows], 3, b, NULL);
            CHECK(!memcmp(a, b, sizeof a));
            gpu_rig_eval(m, plain, run.tokens + rows, 1, 1);
            gpu_rig_eval(m, verified, run.tokens + rows, 1, 1);
            CHECK(gpu_rig_equal(plain, verified));
        }
        gpu_state_free(plain);
        gpu_state_free(verified);
    }
    free(all);
    gpu_kept_free(kept);
}

TEST(verified_runs_leave_what_single_tokens_leave)
{
    with_model(check_verified);
}

TEST_MAIN(T(tiny_d), T(tiny_e), T(tiny_f), T(drafts_do_not_depend_on_passes),
          T(verified_runs_leave_what_single_tokens_leave))
