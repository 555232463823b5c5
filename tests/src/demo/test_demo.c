/* The demo without a model: scaling a take, putting two side by side, a moment of them; and what scripts it plays. */
#include "tests/check.h"

#include <string.h>
#include <unistd.h>

#include "src/demo/given.h"
#include "src/demo/run.h"
#include "src/demo/scale.h"
#include "src/demo/show.h"

#define MS INT64_C(1000000)

static tdm_error err;

/* 1 ms a token while weights of 1 ms are read: 1e9 operations and bytes per second. */
static demo_pace pace(double times)
{
    const demo_cost own = {.bytes = 1e6, .operations = 1e6, .peak = 1e9};
    demo_cost shown = own;
    shown.bytes *= times;
    shown.operations *= times;
    return (demo_pace){.measured = own, .shown = shown, .memory = 1e9, .typing = 1, .dispatch = 32};
}

static void span(demo_take *t, int unit, enum view_kind kind, int64_t from_ms, int64_t to_ms, int tokens)
{
    REQUIRE(!demo_spans_add(&t->units[unit], &(struct view_span){from_ms * MS, to_ms * MS, kind, tokens, 0}, &err));
}

static const struct view_span *at(const demo_take *t, int unit, size_t i)
{
    static const struct view_span none;
    CHECK(i < t->units[unit].n);
    return i < t->units[unit].n ? &t->units[unit].all[i] : &none;
}

/* Two turns of 100 ms of typing; the reply's words come 10 ms apart, the first one `wait` ms after Enter. */
static void fill(demo_take *t, int64_t wait_ms)
{
    REQUIRE(!demo_take_new(t, 2, &err));
    for (int k = 0; k < 2; k++) {
        demo_turn *turn = &t->turns[k];
        int64_t begin = 1000 * k;
        turn->key_ns = begin * MS;
        turn->enter_ns = (begin + 100) * MS;
        turn->first_ns = turn->enter_ns + wait_ms * MS;
        turn->end_ns = turn->first_ns + 20 * MS;
        for (int i = 0; i < 2; i++) {
            REQUIRE(!buffer_append(&turn->drafts, "ab", (size_t)i + 1, &err));
            REQUIRE(!demo_marks_add(&turn->keys, (begin + 50 * i) * MS, turn->drafts.n, &err));
            REQUIRE(!buffer_append(&turn->reply, " word", 5, &err));
            REQUIRE(!demo_marks_add(&turn->texts, turn->first_ns + 10 * i * MS, turn->reply.n, &err));
            span(t, TDM_DECODE_UNIT, VIEW_K_DECODE, begin + 100 + wait_ms + 10 * i, begin + 101 + wait_ms + 10 * i, 1);
        }
    }
}

TEST(a_take_of_its_own_speed_keeps_its_times)
{
    demo_take in, out;
    fill(&in, 40);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_PROMPT, 100, 139, 30);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_PROMPT, 1100, 1139, 30);
    demo_pace p = pace(1);
    demo_pace_learn(&p, &in, 1);
    REQUIRE(!demo_scale(&out, &in, &p, &err));
    for (int k = 0; k < 2; k++) {
        CHECK_INT(in.turns[k].key_ns, out.turns[k].key_ns);
        CHECK_INT(in.turns[k].enter_ns, out.turns[k].enter_ns);
        CHECK_INT(in.turns[k].first_ns, out.turns[k].first_ns);
        CHECK_INT(in.turns[k].end_ns, out.turns[k].end_ns);
        CHECK_INT(in.turns[k].texts.all[1].ns, out.turns[k].texts.all[1].ns);
        CHECK_INT(at(&in, 0, (size_t)k)->end_ns, at(&out, 0, (size_t)k)->end_ns);
        CHECK_INT(at(&in, 1, (size_t)k + 1)->start_ns, at(&out, 1, (size_t)k + 1)->start_ns);
    }
    demo_take_free(&in);
    demo_take_free(&out);
}

/* The time that a dispatch takes more is that of its work at the share that was reached: here all of it. */
TEST(a_larger_model_takes_its_bytes_and_operations_longer)
{
    demo_take in, out;
    fill(&in, 40);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_PROMPT, 100, 130, 30); /* at the peak */
    span(&in, TDM_PREFILL_UNIT, VIEW_K_PROMPT, 130, 139, 3);  /* another program had the core */
    demo_pace p = pace(11);
    p.typing = 3;
    p.rest_ns = 500 * MS;
    demo_pace_learn(&p, &in, 1);
    CHECK(p.share[DEMO_READS_OPERATIONS] > 0.999 && p.share[DEMO_READS_OPERATIONS] < 1.001);
    CHECK(p.share[DEMO_WRITES] > 0.999 && p.share[DEMO_WRITES] < 1.001);
    REQUIRE(!demo_scale(&out, &in, &p, &err));
    CHECK_INT(500 * MS, out.turns[0].key_ns);
    CHECK_INT(800 * MS, out.turns[0].enter_ns); /* typed three times as slowly */
    CHECK_INT(650 * MS, out.turns[0].keys.all[1].ns);
    CHECK_INT(330 * MS, at(&out, 0, 0)->end_ns - at(&out, 0, 0)->start_ns);
    CHECK_INT(39 * MS, at(&out, 0, 1)->end_ns - at(&out, 0, 1)->start_ns); /* 9 + 10 x 3: the wait isn't multiplied */
    CHECK_INT(at(&out, 0, 0)->end_ns, at(&out, 0, 1)->start_ns);
    CHECK_INT((800 + 330 + 39 + 1) * MS, out.turns[0].first_ns); /* choosing took 1 ms */
    CHECK_INT(out.turns[0].first_ns + (20 + 2 * 10) * MS, out.turns[0].end_ns);
    CHECK_INT(out.turns[0].first_ns + 20 * MS, out.turns[0].texts.all[1].ns);
    CHECK_INT(11 * MS, at(&out, 1, 0)->end_ns - at(&out, 1, 0)->start_ns);
    /* From the end of the reply to the next key: the run's 840 ms, three times as slow. */
    CHECK_INT(out.turns[0].end_ns + 3 * 840 * MS, out.turns[1].key_ns);
    demo_take_free(&in);
    demo_take_free(&out);
}

TEST(work_that_waits_is_joined_and_what_is_overtaken_is_not_done)
{
    demo_take in, out;
    fill(&in, 2);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_DRAFT, 0, 10, 10);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_SUFFIX, 12, 16, 4);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_DRAFT, 20, 28, 8);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_DRAFT, 30, 36, 6);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_LENT, 40, 90, 0);
    span(&in, TDM_PREFILL_UNIT, VIEW_K_SUFFIX, 90, 94, 4);
    span(&in, TDM_DECODE_UNIT, VIEW_K_LENT, 1010, 1020, 0);
    REQUIRE(!demo_marks_add(&in.turns[0].reads, 11 * MS, 1, &err));
    REQUIRE(!demo_marks_add(&in.turns[0].reads, 37 * MS, 2, &err));
    demo_pace p = pace(11);
    demo_pace_learn(&p, &in, 1);
    REQUIRE(!demo_scale(&out, &in, &p, &err));
    REQUIRE(out.units[0].n >= 3);
    CHECK_INT(110 * MS, at(&out, 0, 0)->end_ns); /* the first draft; its suffix is old by then */
    CHECK_INT(VIEW_K_DRAFT, at(&out, 0, 1)->kind);
    CHECK_INT(14, at(&out, 0, 1)->tokens); /* both at once */
    CHECK_INT((110 + 14 * 11) * MS, at(&out, 0, 1)->end_ns);
    CHECK_INT(VIEW_K_SUFFIX, at(&out, 0, 2)->kind);
    /* Not all could be read before Enter at 100 ms: the reply waits. */
    CHECK_INT(100 * MS, out.turns[0].enter_ns);
    CHECK_INT((264 + 44 + 2) * MS, out.turns[0].first_ns);
    CHECK_INT(0, out.turns[0].reads.n); /* known after Enter only */
    CHECK_INT(VIEW_K_LENT, at(&out, 1, 0)->kind); /* while the other one reads */
    CHECK_INT(0, at(&out, 1, 0)->start_ns);
    demo_take_free(&in);
    demo_take_free(&out);
}

TEST(a_machine_that_was_not_measured_goes_by_proportion)
{
    demo_pace p = {.measured = {.bytes = 10, .operations = 100}, .shown = {.bytes = 50, .operations = 300}};
    p.share[DEMO_READS_OPERATIONS] = 100; /* a token a nanosecond */
    p.share[DEMO_WRITES] = 1;             /* a token in ten */
    CHECK_NEAR(16, demo_scale_longer(&p, 8, DEMO_READS_OPERATIONS), 0.01);
    CHECK_NEAR(40, demo_scale_longer(&p, 1, DEMO_WRITES), 0.01);
}

/* Of the two one was measured while others used the machine. */
TEST(peaks_that_contradict_each_other_make_nothing_quicker)
{
    demo_pace p = {.measured = {.bytes = 10, .operations = 100, .peak = 1}, .memory = 1, .share = {1, 1, 1}};
    demo_pace_show(&p, &(demo_cost){.bytes = 50, .operations = 300, .peak = 100});
    CHECK_NEAR(200e9, demo_scale_longer(&p, 1, DEMO_WRITES), 1);
    demo_pace_show(&p, &(demo_cost){.bytes = 50, .operations = 300, .peak = 2}); /* another arithmetic's may differ */
    CHECK_NEAR(50e9, demo_scale_longer(&p, 1, DEMO_WRITES), 1);
    CHECK_NEAR(400e9, demo_scale_longer(&p, 8, DEMO_READS_OPERATIONS), 1);
}

TEST(both_sides_press_enter_at_once)
{
    demo_take after, ahead;
    static struct demo_view v;
    demo_show s, quick;
    fill(&after, 3000);
    fill(&ahead, 1);
    /* The second turn of the slow side begins later. */
    for (demo_marks *m = &after.turns[1].keys; m; m = m == &after.turns[1].keys ? &after.turns[1].texts : NULL)
        for (size_t i = 0; i < m->n; i++) m->all[i].ns += 4000 * MS;
    after.turns[1].key_ns += 4000 * MS;
    after.turns[1].enter_ns += 4000 * MS;
    after.turns[1].first_ns += 4000 * MS;
    after.turns[1].end_ns += 4000 * MS;
    span(&after, TDM_PREFILL_UNIT, VIEW_K_PROMPT, 100, 3100, 60);
    REQUIRE(!demo_show_make(&s, &after, &ahead, 1000 * MS, &err));
    REQUIRE(!demo_show_make(&quick, &ahead, &ahead, 1000 * MS, &err));
    CHECK(!s.in_ms && quick.in_ms);
    CHECK_INT(1100 * MS, s.sides[0].turns[0].enter_ns);
    CHECK_INT((1100 + 3020 + 1000 + 100) * MS, s.sides[0].turns[1].enter_ns);
    for (int k = 0; k < 2; k++) CHECK_INT(s.sides[0].turns[k].enter_ns, s.sides[1].turns[k].enter_ns);
    CHECK_INT((1100 + 3020 + 1000 + 100 + 3020 + 1000) * MS, s.end_ns);

    demo_show_at(&s, 1060 * MS, &v);
    CHECK(v.turn == 1 && v.turns == 2 && !v.over);
    CHECK_INT(1, v.sides[0].n_texts);
    CHECK(v.sides[0].texts[0].draft && v.sides[0].texts[0].len == 2 && !memcmp(v.sides[0].texts[0].text, "ab", 2));
    CHECK_INT(DEMO_TYPING, v.sides[1].state);
    CHECK(v.waits[0][0] < 0 && v.waits[0][1] < 0);

    demo_show_at(&s, 2600 * MS, &v);
    CHECK_INT(DEMO_READING, v.sides[0].state);
    CHECK_INT(60, v.sides[0].total);
    CHECK_INT(30, v.sides[0].done);
    CHECK(v.sides[0].watch_s > 1.499 && v.sides[0].watch_s < 1.501);
    CHECK_INT(DEMO_ANSWERED, v.sides[1].state);
    CHECK_INT(2, v.sides[1].n_texts);
    CHECK_INT(10, v.sides[1].texts[1].len);
    CHECK(v.waits[0][0] < 0 && v.waits[0][1] > 0.0009 && v.waits[0][1] < 0.0011);

    demo_show_at(&s, s.end_ns, &v);
    CHECK(v.over && v.turn == 2 && v.sides[0].n_texts == 4);
    CHECK(v.waits[1][0] > 2.999 && v.waits[1][0] < 3.001);

    CHECK_INT(5120 * MS, demo_show_next(&s, 0)); /* the second message's first key */
    CHECK_INT(s.end_ns, demo_show_next(&s, 5120 * MS));
    int64_t enter = s.sides[0].turns[1].enter_ns, other = quick.sides[0].turns[1].enter_ns;
    CHECK_INT(other - 10 * MS, demo_show_same(&s, enter - 10 * MS, &quick));
    CHECK_INT(quick.end_ns, demo_show_same(&s, s.end_ns, &quick));
    demo_show_free(&s);
    demo_show_free(&quick);
    demo_take_free(&after);
    demo_take_free(&ahead);
}

static tdm_status check_script(const char *json)
{
    script s;
    tdm_status status = script_parse(&s, "x.json", json, strlen(json), &err);
    CHECK_INT(TDM_OK, status);
    if (status) return status;
    status = demo_run_check(&s, "x.json", &err);
    script_free(&s);
    return status;
}

TEST(only_what_is_typed_one_after_the_other_is_played)
{
    CHECK_INT(TDM_OK, check_script("{\"turns\": [{\"text\": \"Hi.\", \"events\": ["
                                   "{\"do\": \"stop\", \"after_tokens\": 3},"
                                   "{\"do\": \"insert\", \"at_chars\": 1, \"text\": \"x\"},"
                                   "{\"do\": \"delete\", \"at_chars\": 2}]}]}"));
    CHECK_INT(TDM_E_UNSUPPORTED, check_script("{\"turns\": [{\"text\": \"Hi.\", \"events\": [{\"do\": \"undo\"}]}]}"));
    CHECK_STR("x.json: turn 1: the demo plays insert, delete and stop, not undo", err.text);
    script s;
    REQUIRE(!script_read(&s, "assets/demo.json", &err));
    CHECK_INT(TDM_OK, demo_run_check(&s, "assets/demo.json", &err));
    CHECK(s.n >= 3 && s.n <= DEMO_TURNS);
    int turns = s.n;
    s.n = DEMO_TURNS + 1;
    CHECK_INT(TDM_E_UNSUPPORTED, demo_run_check(&s, "assets/demo.json", &err));
    s.n = turns;
    script_free(&s);
}

TEST(a_picture_has_questions_of_its_own)
{
    script s;
    REQUIRE(!demo_given_script(&s, NULL, true, &err));
    CHECK_INT(TDM_OK, demo_run_check(&s, "questions", &err));
    CHECK(s.n >= 2 && !s.n_history && s.max_tokens > 0);
    script_free(&s);
    REQUIRE(!demo_given_script(&s, "assets/demo.json", true, &err)); /* the one that is named */
    CHECK(s.n_history > 0);
    script_free(&s);
}

/* The model must not know it from the first run. */
TEST(the_second_run_has_a_picture_of_its_own)
{
    uint8_t rgb[3 * 4 * 2] = {1, 2, 3};
    tdm_picture *first, *second;
    tdm_picture_facts a, b;
    REQUIRE(!tdm_picture_new(&first, rgb, 4, 2, &err) && !demo_given_again(first, &second, &err));
    tdm_picture_describe(first, &a);
    tdm_picture_describe(second, &b);
    CHECK(b.width == 4 && b.height == 2 && !memcmp(a.rgb, b.rgb, sizeof rgb - 1));
    CHECK(memcmp(a.hash, b.hash, sizeof a.hash) != 0);
    tdm_picture_drop(first);
    tdm_picture_drop(second);
}

TEST(a_pair_is_two_units)
{
    char prefill[16], decode[16];
    CHECK_INT(TDM_OK, demo_run_pair("gpu+cores", prefill, decode, sizeof prefill, &err));
    CHECK(!strcmp(prefill, "gpu") && !decode[0]);
    CHECK_INT(TDM_OK, demo_run_pair("0-3+gpu:1", prefill, decode, sizeof prefill, &err));
    CHECK(!strcmp(prefill, "0-3") && !strcmp(decode, "gpu:1"));
    static const char *const none[] = {"", "gpu", "gpu+", "+gpu", "a name that has no room in it+gpu"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK_INT(TDM_E_ARG, demo_run_pair(none[i], prefill, decode, sizeof prefill, &err));
    CHECK(strstr(err.text, "--pair: expected PREFILL+DECODE"));
}

/* Before anything is measured, which takes seconds. */
TEST(a_pair_that_can_not_be_is_told_at_once)
{
    tdm_machine *machine;
    demo_run r;
    REQUIRE(!tdm_machine_open(&machine, &(tdm_machine_options){0}, &err));
    demo_wants wants = {.machine = machine, .pair = "9999+cores", .wake = -1};
    REQUIRE(!demo_run_begin(&r, &wants, &err));
    while (!demo_run_take(&r)) usleep(1000);
    CHECK(!r.made && strstr(r.err.text, "9999"));
    CHECK(!r.ceilings.known && !r.second);
    free(demo_run_end(&r));
    tdm_machine_close(machine);
}

TEST_MAIN(T(a_take_of_its_own_speed_keeps_its_times), T(a_larger_model_takes_its_bytes_and_operations_longer),
          T(work_that_waits_is_joined_and_what_is_overtaken_is_not_done),
          T(a_machine_that_was_not_measured_goes_by_proportion),
          T(peaks_that_contradict_each_other_make_nothing_quicker), T(both_sides_press_enter_at_once),
          T(only_what_is_typed_one_after_the_other_is_played), T(a_picture_has_questions_of_its_own),
          T(the_second_run_has_a_picture_of_its_own), T(a_pair_is_two_units), T(a_pair_that_can_not_be_is_told_at_once))
