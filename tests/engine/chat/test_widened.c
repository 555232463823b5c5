/* The pair of the matrix unit: prompts in bfloat16 (amx-bf16), replies by the set amx, with the same packed weights. As
 * with any two kinds of units, no level of speculation, dispatch or pipeline changes a token. The tile instructions are
 * those in C, so that this runs without the unit. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "engine/object/model.h"
#include "tests/engine/chat/talk.h"
#include "tests/engine/kernel/tested.h"

static tdm_error err;
static const tdm_model *decoding, *reading;

/* Gives the two models the weights of the pair; false: they can't have them. */
static bool open_pair(void)
{
    const struct kernels *tiles, *wide;
    struct team team;
    if (tested_find(&tiles, "amx in C", &err) || tested_find(&wide, "amx-bf16 in C", &err)) return false;
    talk_path = "tests/goldens/gguf/tiny-a-q8_0.gguf";
    struct tdm_model *a = (struct tdm_model *)talk_model(NULL), *b = (struct tdm_model *)talk_model("reference");
    if (!a || !b) return false;
    weights_free(a->weights);
    weights_free(b->weights);
    a->weights = b->weights = NULL;
    team_solo(&team);
    decoding = a;
    reading = b;
    return !weights_new(&a->weights, a->source, tiles, &team, NULL, &err) &&
           !weights_share(&b->weights, a->weights, wide, &err);
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
    if (!open_pair()) SKIP("this CPU has no AVX-512");
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

TEST_MAIN(T(no_schedule_changes_a_token))
