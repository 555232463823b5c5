/* Two kinds of units together: cores and a GPU (the one of fake_gpu.h) in every pair. Between kinds bits differ, so a
 * prompt is always evaluated by the prefill unit's kind and a reply's own ids by the decode unit's: then no level of
 * speculation, dispatch or moment changes a token. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "tests/engine/backend/fake_gpu.h"
#include "tests/engine/chat/seeded.h"

static tdm_error err;

static const struct pair {
    const char *prefill, *decode;
} pairs[] = {{NULL, NULL}, {"gpu", NULL}, {NULL, "gpu"}, {"gpu", "gpu:0"}, {"gpu:0", "gpu:1"}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static void use(const struct pair *p)
{
    talk_units[TDM_PREFILL_UNIT] = p->prefill;
    talk_units[TDM_DECODE_UNIT] = p->decode;
}

static const char *name_of(const struct pair *p)
{
    static char name[64];
    snprintf(name, sizeof name, "%s + %s", p->prefill ? p->prefill : "cores", p->decode ? p->decode : "cores");
    return name;
}

TEST(no_level_of_speculation_changes_a_token)
{
    static const struct way plain = {TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32, 0};
    static const struct way ways[] = {
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 32, 0}, {TDM_PIPE_TANDEM, -1, 7, 0}, {TDM_PIPE_TANDEM, TDM_SPEC_HISTORY, 4, 0},
        {TDM_PIPE_TANDEM, TDM_SPEC_DRAFT, 16, 0}, {TDM_PIPE_BATCH, TDM_SPEC_FULL, 5, 0},
        {TDM_PIPE_SEQUENTIAL, TDM_SPEC_FULL, 32, 0}, {TDM_PIPE_SLOTS, TDM_SPEC_FULL, 32, 0}};
    static struct talk first[PAIRS], other;
    bool full = getenv("TANDEM_LONG");
    for (uint64_t seed = 1; seed <= (full ? 20 : 3); seed++) {
        for (int p = 0; p < PAIRS && !check_failures; p++) {
            use(&pairs[p]);
            seeded_play(&first[p], NULL, &plain, seed, 1);
            CHECK(first[p].n > 2);
            for (size_t i = 0; i < (full ? sizeof ways / sizeof *ways : 4) && !check_failures; i++) {
                seeded_play(&other, NULL, &ways[i], seed, seed * 1000 + i);
                seeded_compare(&first[p], &other, name_of(&pairs[p]), &ways[i], seed);
            }
            /* What this would not see if kinds had the same bits. */
            for (int q = 0; q < p && !check_failures; q++) {
                bool differ = false;
                for (int i = 0; i < first[p].n && i < first[q].n; i++)
                    differ |= first[p].turns[i].stats.logits_hash != first[q].turns[i].stats.logits_hash;
                CHECK(differ);
            }
        }
    }
    use(&pairs[0]);
}

TEST(replies_that_keep_their_form_are_read_again_where_kinds_differ)
{
    static const struct way plain = {TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32, 0}, full = {TDM_PIPE_TANDEM, -1, 7, 0};
    static struct talk first, other;
    seeded_template = "qwen38";
    for (int p = 1; p < PAIRS && !check_failures; p++) {
        use(&pairs[p]);
        seeded_play(&first, NULL, &plain, 5, 1);
        seeded_play(&other, NULL, &full, 5, 2);
        seeded_compare(&first, &other, name_of(&pairs[p]), &full, 5);
    }
    seeded_template = NULL;
    use(&pairs[0]);
}

/* A conversation that ends with this reply, to be continued by so many tokens; the hash of all ids and logits. */
static tdm_turn_stats continue_loaded(const char *reply, tdm_speculation level, int tokens)
{
    static struct talk t;
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.max_tokens = tokens;
    o.speculation = level;
    tdm_node nodes[] = {{.role = TDM_USER, .text = "Tell me all of it.", .length = 18},
                        {.parent = 1,
                         .role = TDM_ASSISTANT,
                         .text = (char *)reply,
                         .length = strlen(reply),
                         .finish = TDM_FINISH_STOPPED}};
    if (!talk_open(&t, NULL, 0, &o)) return (tdm_turn_stats){0};
    CHECK_INT(TDM_OK, tdm_chat_load(t.chat, "", 0, nodes, 2, 2, 0, &err));
    if (level == TDM_SPEC_FULL) CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    CHECK_INT(TDM_OK, tdm_chat_continue(t.chat, &err));
    talk_until(&t, 1);
    CHECK_STR("", t.errors);
    CHECK_INT(tokens, t.turns[0].stats.reply_tokens);
    talk_close(&t);
    return t.turns[0].stats;
}

TEST(a_loaded_reply_is_continued_by_the_decode_unit)
{
    static const char reply[] = "It began on a cold morning, long before anybody had thought of writing such things "
                                "down, and it went on for so many years that those who saw its end had not known "
                                "its start.";
    for (int p = 0; p < PAIRS; p++) {
        use(&pairs[p]);
        uint64_t before = fake_gpu_tokens();
        tdm_turn_stats a = continue_loaded(reply, TDM_SPEC_OFF, 6);
        uint64_t on_gpu = fake_gpu_tokens() - before, prompt = 30; /* or fewer, and the reply's text has more */
        tdm_turn_stats b = continue_loaded(reply, TDM_SPEC_FULL, 6);
        CHECK(a.ids_hash == b.ids_hash && a.logits_hash == b.logits_hash && a.prompt_tokens == b.prompt_tokens);
        CHECK(a.prompt_tokens > 2 * prompt);
        uint64_t most = (pairs[p].prefill ? prompt : 0) + (pairs[p].decode ? a.prompt_tokens : 0);
        CHECK(on_gpu >= (pairs[p].decode ? a.prompt_tokens - prompt : pairs[p].prefill ? 1 : 0) && on_gpu <= most + 6);
    }
    use(&pairs[0]);
}

/* A reply of 8 tokens, cut at `cut` and continued when the decoder's state is that of another reply. */
static struct talk_turn continue_after_another(int cut, tdm_speculation level)
{
    static struct talk t;
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.max_tokens = cut;
    o.speculation = level;
    if (!talk_open(&t, NULL, 0, &o)) return (struct talk_turn){0};
    CHECK_INT(TDM_OK, tdm_chat_send(t.chat, "What now?", 9, clock_ns(), &err));
    talk_until(&t, 1);
    if (cut < 40) {
        int path[2];
        CHECK_INT(2, tdm_chat_path(t.chat, TDM_FRONT, path, 2));
        CHECK_INT(TDM_OK, tdm_chat_regenerate(t.chat, clock_ns(), &err));
        talk_until(&t, 2);
        CHECK_INT(TDM_OK, tdm_chat_select(t.chat, path[1], &err));
        o.max_tokens = 40 - cut;
        CHECK_INT(TDM_OK, tdm_chat_configure(t.chat, &o, &err));
        CHECK_INT(TDM_OK, tdm_chat_continue(t.chat, &err));
        talk_until(&t, 3);
    }
    CHECK_STR("", t.errors);
    struct talk_turn last = t.turns[t.n - 1];
    talk_close(&t);
    return last;
}

TEST(a_reply_that_is_continued_goes_on_as_if_it_had_not_been_stopped)
{
    for (int p = 0; p < PAIRS; p++) {
        use(&pairs[p]);
        uint64_t whole = continue_after_another(40, TDM_SPEC_OFF).text;
        for (int cut = 1; cut < 40; cut += 19) {
            struct talk_turn off = continue_after_another(cut, TDM_SPEC_OFF);
            struct talk_turn full = continue_after_another(cut, TDM_SPEC_FULL);
            CHECK(off.text == whole && full.text == whole);
            CHECK(off.stats.logits_hash == full.stats.logits_hash);
        }
    }
    use(&pairs[0]);
}

TEST(a_unit_is_named_by_its_gpu)
{
    tdm_machine *m;
    tdm_unit_info info;
    tdm_machine_options o = {0};
    REQUIRE(tdm_machine_open(&m, &o, &err) == TDM_OK);
    int all = tdm_machine_cores(m);
    tdm_machine_close(m);
    o = (tdm_machine_options){.prefill_unit = "gpu", .decode_unit = "gpu:0"};
    REQUIRE(tdm_machine_open(&m, &o, &err) == TDM_OK);
    for (int u = 0; u < TDM_UNITS; u++) {
        tdm_unit_describe(m, u, &info);
        CHECK_STR("gpu:0", info.name);
        CHECK_STR("gpu", info.kind);
        CHECK_STR("Fake", info.device);
        CHECK_INT(0, info.cores);
        CHECK(info.shares_device);
    }
    CHECK_INT(all - 1, tdm_machine_cores(m)); /* they stand by, but for the one whose place the driver has */
    tdm_machine_close(m);
    o = (tdm_machine_options){.decode_unit = "gpu:1"};
    REQUIRE(tdm_machine_open(&m, &o, &err) == TDM_OK);
    int cores = tdm_machine_cores(m);
    tdm_unit_describe(m, TDM_PREFILL_UNIT, &info);
    CHECK_INT(cores, info.cores); /* beside a GPU a unit has all of them */
    CHECK(!info.shares_device && !info.device[0]);
    tdm_machine_close(m);
    o = (tdm_machine_options){.prefill_unit = "gpu:7"};
    CHECK_INT(TDM_E_NOT_FOUND, tdm_machine_open(&m, &o, &err));
    CHECK_STR("gpu:7: there are 2 devices", err.text);
    o = (tdm_machine_options){.prefill_unit = "gpu:x"};
    CHECK_INT(TDM_E_ARG, tdm_machine_open(&m, &o, &err));
    o = (tdm_machine_options){.prefill_unit = "gpu", .prefill_kind = "blas"};
    CHECK_INT(TDM_E_ARG, tdm_machine_open(&m, &o, &err));
    CHECK_STR("prefill-kind: a unit on a GPU has none, found blas", err.text);
}

TEST(a_gpu_that_fails_its_selftest_is_not_used)
{
    tdm_machine *m;
    tdm_unit_info info;
    tdm_machine_options o = {.prefill_unit = "gpu", .decode_unit = "gpu", .cache_folder = "/nowhere"};
    fake_gpu_fail_selftest("products of Q4_K: wrong");
    REQUIRE(tdm_machine_open(&m, &o, &err) == TDM_OK);
    for (int u = 0; u < TDM_UNITS; u++) {
        tdm_unit_describe(m, u, &info);
        CHECK_STR("gpu:0 is not used: products of Q4_K: wrong", info.refused);
        CHECK_STR("native", info.kind);
        CHECK(info.cores >= 1 && !info.device[0] && !info.shares_device);
    }
    tdm_machine_close(m);
    o.cache_folder = NULL; /* then nothing is tested */
    REQUIRE(tdm_machine_open(&m, &o, &err) == TDM_OK);
    tdm_unit_describe(m, TDM_DECODE_UNIT, &info);
    CHECK(!info.refused[0] && !strcmp(info.kind, "gpu"));
    tdm_machine_close(m);
    fake_gpu_fail_selftest(NULL);
}

TEST_MAIN(T(no_level_of_speculation_changes_a_token), T(replies_that_keep_their_form_are_read_again_where_kinds_differ),
          T(a_loaded_reply_is_continued_by_the_decode_unit),
          T(a_reply_that_is_continued_goes_on_as_if_it_had_not_been_stopped), T(a_unit_is_named_by_its_gpu),
          T(a_gpu_that_fails_its_selftest_is_not_used))
