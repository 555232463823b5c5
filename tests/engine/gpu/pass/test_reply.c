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
    struct gpu_state *start; /* the prompt's */
    tdm_id ids[REPLY + 1];   /* of the reply */
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

/* The reply of single tokens goes on from `start`, and from each of the lengths behind it. */
static void check_reply(struct gpu_model *m, const struct reference *r, uint32_t size, struct sampler *sampler,
                        uint32_t limit)
{
    struct gpu_state *s = gpu_rig_fork(r->start), *plain = gpu_rig_fork(r->start);
    for (uint32_t at = 0; at < REPLY && !check_failures;) {
        tdm_id sampled[GPU_BURST];
        uint32_t n = REPLY - at < size ? REPLY - at : size, appended = 0;
        struct gpu_reply reply = {.state = s, .next = r->ids[at], .n = n, .limit = limit};
        REQUIRE(!gpu_reply(&reply, sampled, &appended, &err));
        CHECK_INT(n, appended);
        CHECK(!memcmp(sampled, r->ids + at + 1, n * sizeof *sampled));
        for (uint32_t i = 0; i < n; i++) single(m, plain, r->ids[at + i], sampler);
        at += n;
        if (at == 6 || at == REPLY) CHECK(equal(s, plain, r->ids[at]));
    }
    gpu_state_free(s);
    gpu_state_free(plain);
}

/* Wherever a token ends the reply, the state is that of the token before it. */
static void check_stops(struct gpu_model *m, const struct reference *r, struct sampler *sampler)
{
    for (uint32_t stop = 0; stop < GPU_BURST && !check_failures; stop += 3) {
        struct gpu_state *s = gpu_rig_fork(r->start), *plain = gpu_rig_fork(r->start);
        tdm_id sampled[GPU_BURST], stops[] = {-7, r->ids[stop + 1]};
        uint32_t appended, first = 0;
        while (r->ids[first + 1] != stops[1]) first++; /* it may have come before */
        struct gpu_reply reply = {.state = s, .next = r->ids[0], .n = GPU_BURST, .stops = stops, .n_stops = 2};
        REQUIRE(!gpu_reply(&reply, sampled, &appended, &err));
        CHECK_INT(first + 1, appended);
        CHECK(!memcmp(sampled, r->ids + 1, appended * sizeof *sampled));
        for (uint32_t i = 0; i < appended; i++) single(m, plain, r->ids[i], sampler);
        CHECK(equal(s, plain, stops[1]));
        /* And it goes on from there, as if nothing had been. */
        reply = (struct gpu_reply){.state = s, .next = r->ids[appended], .n = 3};
        REQUIRE(!gpu_reply(&reply, sampled, &appended, &err) && appended == 3);
        for (uint32_t i = 0; i < 3; i++) single(m, plain, r->ids[first + 1 + i], sampler);
        CHECK(equal(s, plain, 5));
        gpu_state_free(s);
        gpu_state_free(plain);
    }
}

/* What a reply can't be; and ids that can't be drawn. */
static void check_refusals(struct gpu_model *m, const struct reference *r)
{
    struct gpu_state *s = gpu_rig_fork(r->start);
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
    struct reference r = {.start = gpu_rig_state(m)};
    tdm_id prompt[PROMPT];
    for (int i = 0; i < PROMPT; i++) prompt[i] = (tdm_id)((uint32_t)i * 37 % vocab);
    gpu_rig_eval(m, r.start, prompt, PROMPT, PROMPT);
    struct gpu_state *s = gpu_rig_fork(r.start);
    r.ids[0] = sampler_sample(sampler, &greedy, gpu_state_logits(s), 0, 0, 0);
    for (int i = 0; i < REPLY; i++) r.ids[i + 1] = single(m, s, r.ids[i], sampler);
    check_reply(m, &r, 3, sampler, limit);
    check_reply(m, &r, GPU_BURST, sampler, limit);
    check_stops(m, &r, sampler);
    if (gpu_state_headless(s)) check_refusals(m, &r);
    gpu_state_free(s);
    gpu_state_free(r.start);
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
