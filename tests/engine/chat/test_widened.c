/* The pair of the matrix unit: prompts in bfloat16 (amx-bf16), replies by the set amx, with the same packed weights. As
 * with any two kinds of units, no level of speculation, dispatch or pipeline changes a token. The tile instructions are
 * those in C, so that this runs without the unit. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "tests/engine/chat/talk.h"
#include "tests/engine/chat/widened.h"

static tdm_error err;
static const tdm_model *decoding, *reading;

static bool open_pair(void)
{
    talk_path = "tests/goldens/gguf/tiny-a-q8_0.gguf";
    struct tdm_model *a = (struct tdm_model *)talk_model(NULL), *b = (struct tdm_model *)talk_model("reference");
    if (!a || !b) return false;
    decoding = a;
    reading = b;
    return !widened_pair(a, b, &err);
}

struct way {
    tdm_pipeline pipeline;
    tdm_speculation level;
    int dispatch;
};

/* Three turns, each with a draft before it; prefill: the model of the other unit, or NULL. */
static void converse(struct talk *t, struct way way, const tdm_model *prefill)
{
    tdm_chat_options o = talk_options(decoding);
    o.pipeline = way.pipeline;
    o.speculation = way.level;
    o.dispatch = way.dispatch;
    o.prefill_model = prefill;
    if (!talk_open(t, NULL, 0, &o)) return;
    for (int i = 0; i < 3; i++) {
        tdm_chat_set_draft(t->chat, "Tell me more", 12, false, &err);
        CHECK_INT(TDM_OK, tdm_chat_send(t->chat, "Tell me more about it, please.", 30, clock_ns(), &err));
        talk_until(t, i + 1);
    }
    CHECK_STR("", t->errors);
    talk_close(t);
}

TEST(no_schedule_changes_a_token)
{
    static const struct way ways[] = {{TDM_PIPE_TANDEM, TDM_SPEC_FULL, 32},
                                      {TDM_PIPE_TANDEM, TDM_SPEC_DRAFT, 7},
                                      {TDM_PIPE_BATCH, TDM_SPEC_FULL, 5},
                                      {TDM_PIPE_SEQUENTIAL, TDM_SPEC_HISTORY, 32}};
    static struct talk first, native, other;
    if (!widened_runs()) SKIP("this CPU has no AVX-512");
    REQUIRE(open_pair());
    converse(&first, (struct way){TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32}, reading);
    converse(&native, (struct way){TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32}, NULL);
    CHECK(first.turns[0].stats.logits_hash != native.turns[0].stats.logits_hash); /* it is another arithmetic */
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        converse(&other, ways[i], reading);
        for (int turn = 0; turn < 3; turn++)
            if (first.turns[turn].stats.ids_hash != other.turns[turn].stats.ids_hash ||
                first.turns[turn].stats.logits_hash != other.turns[turn].stats.logits_hash)
                CHECK_FAIL("way %zu: turn %d differs", i, turn);
    }
}

/* In a chat of the pair, or of native units (prefill NULL): writes the state of a draft, or reads it. */
static tdm_status take_state(const tdm_model *prefill, const char *path, bool writes)
{
    static struct talk t;
    tdm_chat_options o = talk_options(decoding);
    o.prefill_model = prefill;
    if (!talk_open(&t, NULL, 0, &o)) return TDM_E_NOMEM;
    if (writes) tdm_chat_set_draft(t.chat, "Tell me more", 12, false, &err);
    CHECK(tdm_chat_wait_idle(t.chat, -1));
    tdm_status status = writes ? tdm_chat_save_state(t.chat, path, &err) : tdm_chat_load_state(t.chat, path, &err);
    talk_close(&t);
    return status;
}

/* What was read in bfloat16 is no state for cores that read otherwise, nor the reverse: it is read again, as what a
 * GPU has read. */
TEST(a_state_is_of_the_kind_that_read_it)
{
    char path[400];
    if (!widened_runs()) SKIP("this CPU has no AVX-512");
    REQUIRE(reading || open_pair());
    snprintf(path, sizeof path, "%s/state", check_tmp());
    const tdm_model *const prefills[] = {reading, NULL};
    for (int from = 0; from < 2; from++) {
        CHECK_INT(TDM_OK, take_state(prefills[from], path, true));
        CHECK_INT(TDM_OK, take_state(prefills[from], path, false));
        CHECK_INT(TDM_E_FORMAT, take_state(prefills[!from], path, false));
        CHECK(strstr(err.text, "made by another model or settings"));
    }
}

TEST_MAIN(T(no_schedule_changes_a_token), T(a_state_is_of_the_kind_that_read_it))
