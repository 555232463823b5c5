/* A unit of kind `blas`: near the native kernels, and whole conversations with it on either side of the bridge. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "engine/kernel/sets.h"
#include "engine/object/model.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;

static float *logits_of(const char *kernels, const tdm_id *ids, size_t n, size_t *vocabulary)
{
    const tdm_model *m = talk_model(kernels);
    tdm_sequence *s = NULL;
    tdm_sequence_options o = {.unit = TDM_DECODE_UNIT, .kv = TDM_KV_F16, .context = 256};
    if (!m || tdm_sequence_open(&s, m, talk_machine(0), &o, &err)) return NULL;
    *vocabulary = (size_t)m->info.vocabulary;
    float *copy = NULL;
    if (tdm_sequence_eval(s, ids, n, true, NULL, &err) == TDM_OK && (copy = malloc(*vocabulary * sizeof *copy)))
        memcpy(copy, tdm_sequence_logits(s), *vocabulary * sizeof *copy);
    tdm_sequence_close(s);
    return copy;
}

/* Of softmax(a) from softmax(b), in nats. */
static double divergence(const float *a, const float *b, size_t n)
{
    double max_a = a[0], max_b = b[0], sum_a = 0, sum_b = 0, kl = 0;
    for (size_t i = 0; i < n; i++) max_a = fmax(max_a, a[i]), max_b = fmax(max_b, b[i]);
    for (size_t i = 0; i < n; i++) sum_a += exp(a[i] - max_a), sum_b += exp(b[i] - max_b);
    for (size_t i = 0; i < n; i++) {
        double la = a[i] - max_a - log(sum_a), lb = b[i] - max_b - log(sum_b);
        kl += exp(la) * (la - lb);
    }
    return kl;
}

static bool is_missing(void)
{
    const struct kernels *k;
    return kernels_find(&k, "blas", NULL) != TDM_OK;
}

static const char missing[] = "OpenBLAS is not installed";

TEST(it_is_found_but_not_promised_to_be_exact)
{
    const struct kernels *k, *sets[8];
    if (is_missing()) SKIP(missing);
    REQUIRE(kernels_find(&k, "blas", &err) == TDM_OK);
    CHECK_STR("blas", k->name);
    int n = kernels_available(sets, 8);
    for (int i = 0; i < n; i++) CHECK(sets[i] != k);
}

TEST(its_logits_are_near_the_reference)
{
    tdm_id ids[100];
    size_t n = 0;
    if (is_missing()) SKIP(missing);
    for (int i = 0; i < 100; i++) ids[i] = 3 + 7 * i % 200;
    float *blas = logits_of("blas", ids, 100, &n), *reference = logits_of("reference", ids, 100, &n);
    REQUIRE(blas && reference);
    CHECK(divergence(reference, blas, n) < 1e-6);
    CHECK(memcmp(blas, reference, n * sizeof *blas) || n == 0); /* it is another way of summing, and really ran */
    free(blas);
    free(reference);
}

static void converse(struct talk *t, tdm_pipeline pipeline, const char *decode, const char *prefill)
{
    tdm_chat_options o = talk_options(talk_model(decode));
    o.pipeline = pipeline;
    o.sampling.temperature = 0;
    o.sampling.repeat_penalty = 1;
    if (prefill) o.prefill_model = talk_model(prefill);
    if (!talk_open(t, decode, 0, &o)) return;
    for (int i = 0; i < 3; i++) {
        tdm_chat_set_draft(t->chat, "Say more", 8, false, &err);
        CHECK(tdm_chat_send(t->chat, "Say more, please.", 17, clock_ns(), &err) == TDM_OK);
        talk_until(t, i + 1);
        CHECK_INT(8, t->turns[i].stats.reply_tokens);
        CHECK_INT(TDM_FINISH_LENGTH, t->turns[i].finish);
    }
    CHECK_STR("", t->errors);
    talk_close(t);
}

TEST(conversations_go_over_the_bridge_in_every_pipeline)
{
    static struct talk native, mixed;
    if (is_missing()) SKIP(missing);
    for (int p = 0; p < TDM_PIPELINES; p++) {
        converse(&native, (tdm_pipeline)p, "reference", NULL);
        converse(&mixed, (tdm_pipeline)p, "reference", "blas");
        /* Float sums in another order: the first reply's greedy tokens are the same on this model. */
        CHECK(native.turns[0].stats.ids_hash == mixed.turns[0].stats.ids_hash);
        converse(&mixed, (tdm_pipeline)p, "blas", "reference");
        converse(&mixed, (tdm_pipeline)p, "blas", NULL);
    }
}

TEST_MAIN(T(it_is_found_but_not_promised_to_be_exact), T(its_logits_are_near_the_reference),
          T(conversations_go_over_the_bridge_in_every_pipeline))
