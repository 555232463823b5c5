/* Several tokens of a reply in one submission: the same tokens and states, to the bit, as one token after the other
 * with the host's draws; after a token that ends the reply the device leaves everything as it is. On a dense model, and
 * on one with an MTP head, whose rows wait in the state. */
#include "engine/forward/sampler.h"
#include "tests/check.h"
#include "tests/engine/gpu/rig.h"

enum { PROMPT = 27, REPLY = 16 };
static const tdm_sampling greedy = {.temperature = 0, .top_p = 1, .repeat_penalty = 1};

static tdm_error err;

/* A token after the other; returns the one behind it. */
static tdm_id single(struct gpu_model *m, struct gpu_state *s, tdm_id next, struct sampler *sampler)
{
    struct gpu_run run = {.state = s, .tokens = &next, .n = 1, .logits = GPU_LOGITS_LAST};
    if (gpu_forward(m, &run, 1, NULL, &err)) CHECK_FAIL("%s", err.text);
    return sampler_sample(sampler, &greedy, gpu_state_logits(s), 0, 0, 0);
}

struct reference {
    struct gpu_state *after[REPLY + 1]; /* as many tokens of the reply; 0: the prompt's */
    tdm_id ids[REPLY + 1];
};

/* Everything, what waits for the MTP head included: drafts are the same, too. */
static bool equal(struct gpu_state *a, struct gpu_state *b, tdm_id next)
{
    tdm_id drafts[2][3] = {{0}};
    if (!gpu_rig_equal(a, b)) return false;
    if (gpu_state_headless(a)) return gpu_state_headless(b);
    if (gpu_draft(a, next, 3, drafts[0], NULL, &err) || gpu_draft(b, next, 3, drafts[1], NULL, &err)) return false;
    return !memcmp(drafts[0], drafts[1], sizeof *drafts);
}

/* The reply in pieces of `size` is that of single tokens, and so are the states behind them. */
static void check_reply(const struct reference *r, uint32_t size, uint32_t limit)
{
    struct gpu_state *s = gpu_rig_fork(r->after[0]);
    for (uint32_t at = 0; at < REPLY && !check_failures;) {
        tdm_id sampled[GPU_BURST];
        uint32_t n = REPLY - at < size ? REPLY - at : size, appended = 0;
        struct gpu_reply reply = {.state = s, .next = r->ids[at], .n = n, .limit = limit};
        REQUIRE(!gpu_reply(&reply, sampled, &appended, &err));
        CHECK_INT(n, appended);
        CHECK(!memcmp(sampled, r->ids + at + 1, n * sizeof *sampled));
        at += n;
        CHECK(equal(s, r->after[at], r->ids[at]));
    }
    gpu_state_free(s);
}

/* Wherever a token ends the reply, the state is that of the token before it. */
static void check_stops(const struct reference *r)
{
    for (uint32_t stop = 0; stop < GPU_BURST && !check_failures; stop += 3) {
        struct gpu_state *s = gpu_rig_fork(r->after[0]);
        tdm_id sampled[GPU_BURST], stops[] = {-7, r->ids[stop + 1]};
        uint32_t appended, first = 0;
        while (r->ids[first + 1] != stops[1]) first++; /* it may have come before */
        struct gpu_reply reply = {.state = s, .next = r->ids[0], .n = GPU_BURST, .stops = stops, .n_stops = 2};
        REQUIRE(!gpu_reply(&reply, sampled, &appended, &err));
        CHECK_INT(first + 1, appended);
        CHECK(!memcmp(sampled, r->ids + 1, appended * sizeof *sampled));
        CHECK(equal(s, r->after[appended], stops[1]));
        /* And it goes on from there, as if nothing had been. */
        reply = (struct gpu_reply){.state = s, .next = r->ids[appended], .n = 3};
        REQUIRE(!gpu_reply(&reply, sampled, &appended, &err) && appended == 3);
        CHECK(equal(s, r->after[first + 4], 5));
        gpu_state_free(s);
    }
}

/* What a reply can't be; and ids that can't be drawn. */
static void check_refusals(struct gpu_model *m, const struct reference *r)
{
    struct gpu_state *s = gpu_rig_fork(r->after[0]);
    /* A lower limit forbids what was drawn. */
    tdm_id sampled[GPU_BURST];
    uint32_t appended;
    struct gpu_reply low = {.state = s, .next = r->ids[0], .n = 4, .limit = 40};
    REQUIRE(!gpu_reply(&low, sampled, &appended, &err));
    for (uint32_t i = 0; i < appended; i++) CHECK(sampled[i] >= 0 && sampled[i] < 40);
    /* Nothing is changed where it doesn't fit, or is no token. */
    while (gpu_state_length(s) < GPU_RIG_CONTEXT - 3 && !check_failures) {
        static tdm_id ids[GPU_RIG_TOKENS];
        uint32_t left = GPU_RIG_CONTEXT - 3 - gpu_state_length(s);
        gpu_rig_eval(m, s, ids, left < GPU_RIG_TOKENS ? left : GPU_RIG_TOKENS, GPU_RIG_TOKENS);
    }
    struct gpu_reply full = {.state = s, .next = r->ids[0], .n = 4};
    CHECK_INT(TDM_E_CONTEXT, gpu_reply(&full, sampled, &appended, &err));
    full.n = 3;
    full.next = (tdm_id)gpu_model_config(m)->vocab;
    CHECK_INT(TDM_E_ARG, gpu_reply(&full, sampled, &appended, &err));
    CHECK(!gpu_state_broken(s) && gpu_state_length(s) == GPU_RIG_CONTEXT - 3 && gpu_state_logits(s));
    full.next = r->ids[0];
    CHECK(!gpu_reply(&full, sampled, &appended, &err) && gpu_state_length(s) == GPU_RIG_CONTEXT);
    gpu_state_free(s);
}

static void check_model(const char *name, enum kv_type kv)
{
    struct gpu *g; /* with the validation layer, if it is installed */
    if (gpu_open(&g, gpu_rig_name(), &(struct gpu_options){.tuning = &gpu_rig_fused, .validate = true}, &err))
        g = gpu_rig_open(&(struct gpu_options){.tuning = &gpu_rig_fused});
    struct gpu_model *m = g ? gpu_rig_model(g, name, kv) : NULL;
    struct sampler *sampler;
    REQUIRE(m && gpu_model_fused_workgroups(m));
    CHECK_INT(GPU_BURST, gpu_model_burst(m));
    uint32_t vocab = gpu_model_config(m)->vocab, limit = vocab - 12;
    REQUIRE(!sampler_new(&sampler, limit, &err));
    struct reference r = {.after = {gpu_rig_state(m)}};
    tdm_id prompt[PROMPT];
    for (int i = 0; i < PROMPT; i++) prompt[i] = (tdm_id)((uint32_t)i * 37 % vocab);
    gpu_rig_eval(m, r.after[0], prompt, PROMPT, PROMPT);
    r.ids[0] = sampler_sample(sampler, &greedy, gpu_state_logits(r.after[0]), 0, 0, 0);
    for (int i = 0; i < REPLY; i++) {
        r.after[i + 1] = gpu_rig_fork(r.after[i]);
        r.ids[i + 1] = single(m, r.after[i + 1], r.ids[i], sampler);
    }
    check_reply(&r, 3, limit);
    check_reply(&r, GPU_BURST, limit);
    check_stops(&r);
    if (gpu_state_headless(r.after[0])) check_refusals(m, &r);
    for (int i = 0; i <= REPLY; i++) gpu_state_free(r.after[i]);
    sampler_free(sampler);
    gpu_model_free(m);
    if (gpu_validation_messages(g)) CHECK_FAIL("%s", gpu_first_validation_message(g));
    gpu_close(g);
}

TEST(dense)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    check_model("tests/goldens/gguf/tiny-a-q8_0.gguf", KV_Q8_0);
}

TEST(with_an_mtp_head)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    if (!getenv("TANDEM_LONG")) SKIP("only in the long form: drivers on cores compile its shader for five seconds");
    const char *path = check_shared("goldens/gguf/tiny-f-q8_0.gguf");
    if (!path) SKIP("no ../shared/goldens/gguf/tiny-f-q8_0.gguf");
    check_model(path, KV_F16);
}

TEST_MAIN(T(dense), T(with_an_mtp_head))
