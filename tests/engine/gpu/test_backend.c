/* A real GPU (lavapipe where there is no other) as a unit of a machine, beside the cores. */
#include "tests/check.h"

#include "tests/engine/chat/seeded.h"
#include "tests/engine/gpu/rig.h"

static tdm_error err;

static const struct pair {
    bool prefill, decode;
} pairs[] = {{true, false}, {false, true}, {true, true}};

static void use(const struct pair *p)
{
    static char name[16];
    if (!name[0]) snprintf(name, sizeof name, "%s", gpu_rig_name());
    talk_units[TDM_PREFILL_UNIT] = p && p->prefill ? name : NULL;
    talk_units[TDM_DECODE_UNIT] = p && p->decode ? name : NULL;
}

TEST(no_level_of_speculation_changes_a_token)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static const struct way plain = {TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32, 0};
    static const struct way ways[] = {
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 32, 0}, {TDM_PIPE_TANDEM, -1, 7, 0}, {TDM_PIPE_SLOTS, TDM_SPEC_FULL, 32, 0}};
    static struct talk first, other;
    if (!getenv("TANDEM_LONG")) seeded_steps = 4;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs && !check_failures; p++) {
        use(&pairs[p]);
        seeded_play(&first, NULL, &plain, p + 1, 1);
        CHECK(first.n > 2);
        for (int i = 0; i < (p ? 2 : 3) && !check_failures; i++) { /* slots: the prefill unit alone */
            if (i != 2 - (int)p && !getenv("TANDEM_LONG")) continue;
            seeded_play(&other, NULL, &ways[i], p + 1, 100 + (uint64_t)i);
            seeded_compare(&first, &other, "gpu", &ways[i], p + 1);
        }
    }
    use(NULL);
}

static tdm_sequence *open_on(int unit, tdm_kv kv)
{
    tdm_sequence *s = NULL;
    tdm_sequence_options o = {.unit = unit, .kv = kv, .context = 600};
    if (tdm_sequence_open(&s, talk_model(NULL), talk_machine(0), &o, &err)) CHECK_FAIL("%s", err.text);
    return s;
}

/* Saved on the GPU and loaded there a state has the same bits; loaded on the cores it goes on with theirs. */
static void cross(tdm_kv kv, double most_off)
{
    enum { N = 140 }; /* more than a block of keys and values */
    tdm_id ids[N + 1];
    use(&pairs[0]); /* prefill: the GPU; decode: the cores */
    tdm_sequence *gpu = open_on(TDM_PREFILL_UNIT, kv), *again = open_on(TDM_PREFILL_UNIT, kv),
                 *cores = open_on(TDM_DECODE_UNIT, kv);
    REQUIRE(gpu && again && cores);
    for (int i = 0; i <= N; i++) ids[i] = i * 7 % 500;
    void *bytes, *back;
    size_t n, m;
    REQUIRE(tdm_sequence_eval(gpu, ids, N, true, NULL, &err) == TDM_OK);
    REQUIRE(tdm_sequence_save(gpu, &bytes, &n, &err) == TDM_OK);
    REQUIRE(tdm_sequence_load(again, bytes, n, &err) == TDM_OK);
    REQUIRE(tdm_sequence_load(cores, bytes, n, &err) == TDM_OK);
    REQUIRE(tdm_sequence_save(cores, &back, &m, &err) == TDM_OK);
    CHECK(n == m && !memcmp(bytes, back, n));
    tdm_model_info info;
    tdm_model_describe(talk_model(NULL), &info);
    size_t row = (size_t)info.vocabulary * sizeof(float);
    CHECK(!memcmp(tdm_sequence_logits(gpu), tdm_sequence_logits(again), row));
    CHECK(!memcmp(tdm_sequence_logits(gpu), tdm_sequence_logits(cores), row));
    REQUIRE(tdm_sequence_eval(gpu, ids + N, 1, true, NULL, &err) == TDM_OK);
    REQUIRE(tdm_sequence_eval(again, ids + N, 1, true, NULL, &err) == TDM_OK);
    REQUIRE(tdm_sequence_eval(cores, ids + N, 1, true, NULL, &err) == TDM_OK);
    CHECK(!memcmp(tdm_sequence_logits(gpu), tdm_sequence_logits(again), row));
    double off = 0;
    for (int i = 0; i < info.vocabulary; i++) {
        double d = tdm_sequence_logits(gpu)[i] - tdm_sequence_logits(cores)[i];
        off = d > off ? d : -d > off ? -d : off;
    }
    CHECK(off < most_off);
    n = m = 0;
    CHECK_INT(TDM_E_FORMAT, tdm_sequence_load(again, bytes, 100, &err));
    CHECK_INT(0, tdm_sequence_length(again));
    tdm_sequence_close(gpu);
    tdm_sequence_close(again);
    tdm_sequence_close(cores);
    free(bytes);
    free(back);
    use(NULL);
}

TEST(a_state_crosses_the_bridge)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    cross(TDM_KV_F16, 0.05);
    cross(TDM_KV_Q8_0, 0.3); /* a key that is rounded to the next int8 */
}

TEST_MAIN(T(no_level_of_speculation_changes_a_token), T(a_state_crosses_the_bridge))
