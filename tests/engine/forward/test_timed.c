/* The timed table: a pass with it gives the bits of the set that it was made of, and the parts' times add up to no more
 * than what the cores had. */
#include "engine/kernel/timed.h"

#include "engine/base/clock.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"

enum { TOKENS = 40, THREADS = 2 };

TEST(the_parts_of_a_pass_are_timed_and_its_bits_are_the_same)
{
    struct rig *r = rig_open("tests/goldens/gguf/tiny-a-q8_0.gguf", NULL, KV_F16, THREADS);
    REQUIRE(r);
    tdm_id ids[TOKENS];
    rig_ids(ids, TOKENS, r->weights->config.vocab, 7);
    struct state *plain = rig_state(r);
    rig_eval(r, plain, ids, TOKENS, TOKENS);

    struct weights timed = *r->weights;
    struct workspace *workspace;
    struct pool *pool;
    struct state *s;
    tdm_error err;
    timed.kernels = timed_kernels(r->weights->kernels, timed.lm_head);
    REQUIRE(!workspace_new(&workspace, &timed, TOKENS, 1, THREADS, RIG_CONTEXT, &err));
    REQUIRE(!pool_new(&pool, pool_shape(r->pool), timed.kernels, KV_F16, RIG_CONTEXT, &err));
    REQUIRE(!state_new(&s, pool, &err));
    struct forward_run run = {.state = s, .tokens = ids, .n = TOKENS, .logits = LOGITS_LAST};
    double ns[TIMED_PARTS], sum = 0;
    timed_reset();
    int64_t began = clock_ns();
    REQUIRE(!forward(r->team, &timed, workspace, &run, 1, NULL, NULL, &err));
    timed_read(ns);
    double wall = (double)(clock_ns() - began);

    CHECK(!memcmp(plain->logits, s->logits, timed.config.vocab * sizeof *s->logits));
    for (int i = 0; i < TIMED_PARTS; i++) {
        if (!(ns[i] > 0)) CHECK_FAIL("part %d: %g ns", i, ns[i]);
        sum += ns[i];
    }
    if (sum > THREADS * wall * 1.01) CHECK_FAIL("parts of %g ns, in %g ns on %d threads", sum, wall, THREADS);

    timed_reset();
    timed_read(ns);
    for (int i = 0; i < TIMED_PARTS; i++) CHECK(ns[i] == 0);
    state_free(s);
    state_free(plain);
    pool_free(pool);
    workspace_free(workspace);
    rig_close(r);
}

TEST_MAIN(T(the_parts_of_a_pass_are_timed_and_its_bits_are_the_same))
