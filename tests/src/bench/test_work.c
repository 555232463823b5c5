/* The pipelines that benches compare do the work that they claim: dispatches, tokens and bytes on each unit, read from
 * the units' activity; and prompts and messages have exactly the tokens asked for. */
#include "tests/check.h"

#include "engine/chat/policy/pipeline.h"
#include "engine/object/residence.h"
#include "engine/state/state.h"
#include "src/bench/prompt.h"
#include "src/bench/talk.h"

enum { DISPATCH = 8, TOKENS = 60, REPLY = 5, PAGES = (TOKENS + KV_PAGE - 1) / KV_PAGE };

static tdm_error err;
static tdm_model *model;
static tdm_machine *machine;
static bench_prompt prompt;

static bool open_all(void)
{
    if (!model && tdm_model_open(&model, &(tdm_model_options){.path = "tests/goldens/tiny-a"}, &err))
        CHECK_FAIL("%s", err.text);
    if (!machine && tdm_machine_open(&machine, &(tdm_machine_options){0}, &err)) CHECK_FAIL("%s", err.text);
    if (!prompt.n && bench_prompt_open(&prompt, &err)) CHECK_FAIL("%s", err.text);
    return model && machine && prompt.n;
}

TEST(prompts)
{
    REQUIRE(open_all());
    for (size_t n = 1; n < 300; n += 37) {
        char *text = NULL;
        tdm_ids ids = {0}, whole = {0};
        REQUIRE(bench_prompt_message(&prompt, model, (int)n * 11, n, &text, &err) == TDM_OK);
        REQUIRE(tdm_tokenize(model, text, strlen(text), false, &ids, &err) == TDM_OK);
        CHECK_INT((long long)n, (long long)ids.n);
        REQUIRE(bench_prompt_ids(&prompt, model, 3, n, &whole, &err) == TDM_OK);
        CHECK_INT((long long)n, (long long)whole.n);
        tdm_ids_free(&ids);
        tdm_ids_free(&whole);
        free(text);
    }
}

static void totals(tdm_unit_info info[TDM_UNITS])
{
    for (int u = 0; u < TDM_UNITS; u++) tdm_unit_describe(machine, u, &info[u]);
}

/* Spans, tokens or bytes of the kinds low..high on a unit between two looks. */
#define SINCE(unit, low, high, field)                                                                                  \
    ({                                                                                                                 \
        uint64_t sum_ = 0;                                                                                             \
        for (int k_ = (low); k_ <= (high); k_++) sum_ += after[unit].total[k_].field - before[unit].total[k_].field;   \
        (long long)sum_;                                                                                               \
    })

/* Of the model's states: a page, and what isn't in pages, read and written. */
static long long page_bytes(tdm_kv kv)
{
    struct state_shape shape = state_shape_of(&model->weights->config);
    struct pool *pool = NULL;
    if (pool_new(&pool, &shape, model->weights->kernels, residence_kv(kv), TOKENS, &err)) CHECK_FAIL("%s", err.text);
    long long bytes = pool ? (long long)pool_page_bytes(pool) : 0;
    pool_free(pool);
    return bytes;
}

static long long own_bytes(void)
{
    struct state_shape shape = state_shape_of(&model->weights->config);
    return (long long)(2 * (state_shape_recurrent_floats(&shape) + state_shape_conv_floats(&shape)) * sizeof(float));
}

static void check_pipeline(tdm_pipeline pipeline, uint64_t *hash)
{
    const struct pipeline *p = pipeline_of(pipeline);
    tdm_chat_options o;
    bench_talk talk = {0};
    tdm_unit_info before[TDM_UNITS], after[TDM_UNITS];
    size_t frame = 0;
    char *text = NULL;
    bench_talk_defaults(&o, model);
    o.pipeline = pipeline;
    o.speculation = TDM_SPEC_OFF;
    o.dispatch = DISPATCH;
    o.max_tokens = REPLY;
    o.context = 512;
    REQUIRE(bench_prompt_frame(model, &frame, &err) == TDM_OK);
    REQUIRE(bench_prompt_message(&prompt, model, 0, TOKENS - frame, &text, &err) == TDM_OK);
    totals(before);
    if (bench_talk_open(&talk, model, machine, &o, &err)) CHECK_FAIL("%s", err.text);
    CHECK(bench_talk_ask(&talk, text, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(talk.chat.chat, CHECK_PATIENCE_MS));
    tdm_turn_stats stats = talk.stats;
    bench_talk_close(&talk); /* the last jobs' spans are recorded now */
    totals(after);
    CHECK_INT(TOKENS, stats.prompt_tokens);
    CHECK_INT(REPLY, stats.reply_tokens);

    int unit = p->prompt_unit, idle = 1 - unit;
    long long spans = SINCE(unit, TDM_SPAN_HISTORY, TDM_SPAN_PROMPT, spans);
    CHECK_INT(TOKENS, SINCE(unit, TDM_SPAN_HISTORY, TDM_SPAN_PROMPT, tokens));
    CHECK_INT(0, SINCE(idle, TDM_SPAN_HISTORY, TDM_SPAN_PROMPT, tokens));
    switch (p->pieces) {
    case PIECES_WHOLE:
    case PIECES_SLOTS:
        CHECK_INT(1, spans);
        break; /* 60 tokens fit into the smallest slot, 64 */
    case PIECES_ONE:
        CHECK_INT(TOKENS, spans);
        break;
    case PIECES_DISPATCH:
        CHECK(spans >= (TOKENS + DISPATCH - 1) / DISPATCH);
        break;
    }
    /* The first token is drawn from the prompt's logits; the last one is never evaluated. */
    CHECK_INT(REPLY - 1, SINCE(p->decode_unit, TDM_SPAN_DECODE, TDM_SPAN_DECODE, tokens));
    CHECK_INT(0, SINCE(1 - p->decode_unit, TDM_SPAN_DECODE, TDM_SPAN_DECODE, tokens));
    /* Every dispatch reads all layers, and reads and writes the state; the last one also reads the LM head. */
    long long bytes = SINCE(unit, TDM_SPAN_HISTORY, TDM_SPAN_PROMPT, bytes), page = page_bytes(o.kv);
    long long whole =
        (long long)model->weights->lm_head->bytes + spans * (long long)(model->weights->layer_bytes + own_bytes());
    CHECK(bytes >= whole + spans * page && bytes <= whole + spans * PAGES * page);
    if (spans == 1) CHECK_INT(whole + PAGES * page, bytes);
    if (p->transfer == TRANSFER_BRIDGE) {
        CHECK(stats.copy_ms > 0);
        CHECK(SINCE(TDM_DECODE_UNIT, TDM_SPAN_HANDOVER, TDM_SPAN_HANDOVER, bytes) +
                  SINCE(TDM_PREFILL_UNIT, TDM_SPAN_HANDOVER, TDM_SPAN_HANDOVER, bytes) >
              0);
    } else {
        CHECK_NEAR(0, stats.copy_ms, 0);
    }
    if (*hash && stats.ids_hash != *hash) CHECK_FAIL("%s: other tokens", p->name);
    *hash = stats.ids_hash;
    free(text);
}

TEST(pipelines)
{
    uint64_t hash = 0;
    REQUIRE(open_all());
    for (int p = 0; p < TDM_PIPELINES; p++) check_pipeline((tdm_pipeline)p, &hash);
}

static tdm_status nothing(void *host, int reply_limit, tdm_error *e)
{
    (void)host, (void)reply_limit, (void)e;
    return TDM_OK;
}

TEST(a_reply_that_never_comes_is_not_waited_for)
{
    tdm_chat_options o;
    bench_talk talk = {0};
    script_turn turn = {.text = "x", .start_after_tokens = -1, .speculation = -1};
    player_functions functions = player_chat_functions;
    functions.submit = nothing;
    REQUIRE(open_all());
    bench_talk_defaults(&o, model);
    if (bench_talk_open(&talk, model, machine, &o, &err)) CHECK_FAIL("%s", err.text);
    CHECK_INT(TDM_E_REFUSED, player_chat_play(&talk.chat, &(script){.turns = &turn, .n = 1}, &functions, &err));
    CHECK_STR("0 of 1 replies ended, and nothing is left to do", err.text);
    bench_talk_close(&talk);
}

TEST(closes)
{
    bench_prompt_close(&prompt);
    tdm_machine_close(machine);
    tdm_model_close(model);
}

TEST_MAIN(T(prompts), T(pipelines), T(a_reply_that_never_comes_is_not_waited_for), T(closes))
