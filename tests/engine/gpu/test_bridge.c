/* A state of a real GPU (lavapipe where there is no other) as bytes, which the same GPU and the cores go on from. */
#include "tests/check.h"

#include "tests/engine/chat/talk.h"
#include "tests/engine/gpu/rig.h"

static tdm_error err;

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
    talk_units[TDM_PREFILL_UNIT] = gpu_rig_name(); /* the cores decode */
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
    talk_units[TDM_PREFILL_UNIT] = NULL;
}

TEST(a_state_crosses_the_bridge)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    cross(TDM_KV_F16, 0.05);
    cross(TDM_KV_Q8_0, 0.3); /* a key that is rounded to the next int8 */
}

TEST_MAIN(T(a_state_crosses_the_bridge))
