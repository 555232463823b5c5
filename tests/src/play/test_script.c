#include "tests/check.h"

#include "src/figures/figures.h"
#include "src/play/script.h"

static tdm_status parse(script *s, const char *text, tdm_error *err)
{
    return script_parse(s, "script", text, strlen(text), err);
}

TEST(a_script_is_read)
{
    script s;
    tdm_error err = {0};
    REQUIRE(!parse(&s,
                   "{\"system\":\"Be brief.\",\"history\":[{\"role\":\"user\",\"content\":\"a\"},"
                   "{\"role\":\"assistant\",\"content\":\"b\"}],\"max_tokens\":50,\"temperature\":0,\"seed\":3,"
                   "\"typing_cps\":20,\"turns\":[{\"text\":\"x\"},{\"text\":\"hello\",\"pause\":0.5,"
                   "\"start_after_tokens\":7,\"speculation\":\"draft\",\"events\":[{\"at_chars\":3,\"do\":\"delete\","
                   "\"chars\":2},{\"after_tokens\":9,\"do\":\"stop\"},{\"do\":\"branch\",\"turn\":1}]}]}",
                   &err));
    CHECK_INT(2, s.n);
    CHECK_INT(2, s.n_history);
    CHECK_INT(50, s.max_tokens);
    CHECK_INT(-1, s.turns[0].start_after_tokens);
    CHECK_INT(-1, s.turns[0].speculation);
    CHECK_INT(7, s.turns[1].start_after_tokens);
    CHECK_INT(TDM_SPEC_DRAFT, s.turns[1].speculation);
    CHECK_NEAR(0.5, s.turns[1].pause_s, 0);
    REQUIRE(s.turns[1].n_events == 3);
    CHECK(s.turns[1].events[0].action == SCRIPT_DELETE && s.turns[1].events[0].chars == 2);
    CHECK(s.turns[1].events[1].action == SCRIPT_STOP && s.turns[1].events[1].after_tokens == 9);
    CHECK(s.turns[1].events[2].action == SCRIPT_BRANCH && s.turns[1].events[2].turn == 1);
    script_free(&s);
}

TEST(wrong_scripts_are_one_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "expected an object"},
        {"{}", "turns: expected an array"},
        {"{\"turns\":[{}]}", "turn 1: expected a text"},
        {"{\"turns\":[{\"text\":\"x\",\"pause\":-1}]}", "pause"},
        {"{\"turns\":[{\"text\":\"x\",\"speculation\":\"most\"}]}", "no such level 'most'"},
        {"{\"turns\":[{\"text\":\"x\",\"events\":[{\"do\":\"dance\"}]}]}", "turn 1: event 1: no such action 'dance'"},
        {"{\"turns\":[{\"text\":\"x\",\"events\":[{\"do\":\"insert\",\"text\":\"y\"}]}]}", "insert needs at_chars"},
        {"{\"turns\":[{\"text\":\"x\",\"events\":[{\"do\":\"stop\"}]}]}", "stop needs after_tokens"},
        {"{\"turns\":[{\"text\":\"x\",\"events\":[{\"do\":\"branch\"}]}]}", "branch needs a turn"},
        {"{\"max_tokens\":0,\"turns\":[{\"text\":\"x\"}]}", "max_tokens"},
        {"{\"history\":[{\"role\":\"assistant\",\"content\":\"x\"}],\"turns\":[{\"text\":\"x\"}]}", "take turns"},
        {"{\"history\":[{\"role\":\"user\",\"content\":\"x\"}],\"turns\":[{\"text\":\"x\"}]}",
         "ends with a user's message"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script s;
        tdm_error err = {0};
        CHECK(parse(&s, cases[i].text, &err));
        if (!strstr(err.text, cases[i].message)) CHECK_FAIL("expected '%s', found '%s'", cases[i].message, err.text);
    }
}

TEST(typing_is_the_same_every_time)
{
    script s = {.seed = 4, .typing_cps = 30};
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double interval = script_interval(&s, 2, i);
        CHECK(interval >= 0.5 / 30 && interval <= 1.5 / 30);
        CHECK(interval == script_interval(&s, 2, i));
        sum += interval;
    }
    CHECK_NEAR(1.0 / 30, sum / 10000, 0.001 / 3);
    CHECK(script_interval(&s, 2, 0) != script_interval(&s, 3, 0));
    s.typing_cps = 0;
    CHECK_NEAR(0, script_interval(&s, 2, 0), 0);
}

/* What a turn's keys leave in the draft. */
static void typed(const script_turn *t, char *draft)
{
    size_t n = 0;
    for (size_t at = 0;; at++) {
        for (int i = 0; i < t->n_events; i++) {
            const script_event *e = &t->events[i];
            if (e->at_chars != (int)at) continue;
            if (e->action == SCRIPT_INSERT) n += strlen(strcpy(draft + n, e->text));
            if (e->action == SCRIPT_DELETE) n -= (size_t)e->chars;
        }
        draft[n] = 0;
        if (!t->text[at]) return;
        draft[n++] = t->text[at];
    }
}

TEST(the_demo_sends_sentences)
{
    static const char *const sentences[] = {
        "Hello, I'm Tomek. My dog is called Bruno.",
        "Tell me a story about a dog.",
        "What's my dog's name?",
        "Why is the sky blue?",
        "Write a poem about the sea.",
        ("Here are my notes: On Monday Ana comes by train from Gdansk. On Tuesday we bake bread. On Wednesday the shop "
         "is closed, and on Thursday we go to the sea with Bruno. What do we do on Tuesday?")};
    enum { SENTENCES = sizeof sentences / sizeof *sentences };
    script s;
    tdm_error err = {0};
    REQUIRE(!script_read(&s, "assets/demo.json", &err));
    CHECK_INT(SENTENCES, s.n);
    for (int i = 0; i < s.n && i < SENTENCES; i++) {
        char draft[500];
        typed(&s.turns[i], draft);
        CHECK_STR(sentences[i], draft);
    }
    script_free(&s);
}

TEST(replies_end_where_the_script_says)
{
    script s;
    tdm_error err = {0};
    REQUIRE(!parse(&s,
                   "{\"max_tokens\":50,\"turns\":[{\"text\":\"x\",\"events\":[{\"after_tokens\":9,\"do\":\"stop\"}]},"
                   "{\"text\":\"y\",\"events\":[{\"after_tokens\":7,\"do\":\"send_now\"}]},{\"text\":\"z\"}]}",
                   &err));
    CHECK_INT(7, script_reply_limit(&s, 0, true));
    CHECK_INT(9, script_reply_limit(&s, 0, false)); /* another message of the same turn follows */
    CHECK_INT(50, script_reply_limit(&s, 1, true));
    CHECK_INT(50, script_reply_limit(&s, 2, true));
    script_free(&s);
}

TEST(figures_are_right)
{
    figures_row row = {0};
    CHECK_NEAR(0, figures_median(&row), 0);
    for (int i = 100; i >= 1; i--) figures_add(&row, i);
    CHECK_NEAR(50.5, figures_median(&row), 0);
    CHECK_NEAR(95, figures_percentile(&row, 95), 0);
    CHECK_NEAR(1, figures_percentile(&row, 0), 0);
    CHECK_NEAR(100, figures_percentile(&row, 100), 0);
    figures_row_free(&row);
    static const struct {
        double value;
        const char *text;
    } numbers[] = {{0, "0"},     {0.04, "0"},  {0.42, "0.4"},   {9, "9"},
                   {9.3, "9.3"}, {31.4, "31"}, {1870, "1,870"}, {1234567, "1,234,567"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[32];
        figures_number(numbers[i].value, text);
        CHECK_STR(numbers[i].text, text);
    }
    tdm_turn_stats t = {.kind = TDM_TURN_WARM,
                        .enter_ns = 1000000000,
                        .first_id_ns = 1007000000,
                        .end_ns = 8100000000,
                        .turn_tokens = 18,
                        .turn_before_enter = 18,
                        .reply_tokens = 220,
                        .decode_tps = 31};
    char line[300];
    figures_turn_line(&t, 1009000000, line, sizeof line);
    CHECK_STR("warm 9 ms | 18 in, 18 read before Enter | 220 out, 31 tok/s, 7.1 s", line);
    tdm_cold c = {.pipeline = TDM_PIPE_SINGLE,
                  .warm_ms = 9,
                  .warm_engine_ms = 7,
                  .cold_ms = 1870,
                  .warm_tokens = 3,
                  .cold_tokens = 188,
                  .same_first_token = true};
    figures_cold_line(&c, TDM_TURN_WARM, line, sizeof line);
    CHECK_STR("warm 9 ms (engine 7), 3 tokens after Enter | cold, single: 1,870 ms, 188 tokens | same first token: yes",
              line);
    figures_cold_line(&c, TDM_TURN_COLD, line, sizeof line); /* as the turn's own line calls it */
    CHECK(!strncmp(line, "cold 9 ms (engine 7), ", 22));
    figures f = {0};
    figures_turn(&f, &t, 0);
    t.mark = TDM_TURN_MARK_QUEUED;
    figures_turn(&f, &t, 0);
    t.kind = TDM_TURN_COLD;
    figures_turn(&f, &t, 0);
    CHECK(f.turns == 3 && f.warm_ms.n == 1 && f.cold_ms.n == 0 &&
          f.decode_tps.n == 1); /* a marked turn enters no median */
    figures_turn_line(&t, 1009000000, line, sizeof line);
    CHECK_STR("cold 9 ms, queued | 18 in, 18 read before Enter | 220 out, 31 tok/s, 7.1 s", line);
    t.mark = TDM_TURN_MARK_NONE;
    t.decode_tps = 0; /* it came at once */
    figures_turn_line(&t, 1009000000, line, sizeof line);
    CHECK_STR("cold 9 ms | 18 in, 18 read before Enter | 220 out, 7.1 s", line);
    figures none = {0};
    figures_turn(&none, &t, 0);
    CHECK(none.turns == 1 && none.cold_ms.n == 1 && none.decode_tps.n == 0);
    figures_free(&none);
    t.decode_tps = 31;
    t.paced = true;
    for (int kind = TDM_TURN_FIRST; kind <= TDM_TURN_COLD; kind++) { /* of the others only warm ones the warm one */
        t.kind = (tdm_turn_kind)kind;
        figures_turn(&f, &t, 0);
    }
    CHECK(f.turns == 7 && f.warm_ms.n == 2 && f.cold_ms.n == 1 && f.decode_tps.n == 1);
    CHECK_NEAR(7, figures_median(&f.warm_ms), 1e-9);
    figures_free(&f);
}

/* No 0 ms where no token came. */
TEST(a_turn_without_a_token_has_no_time_to_it)
{
    tdm_turn_stats t = {.kind = TDM_TURN_WARM, .enter_ns = 1000000000, .end_ns = 1300000000, .turn_tokens = 18};
    char line[300];
    figures f = {0};
    figures_turn_line(&t, 0, line, sizeof line);
    CHECK_STR("18 in, 0 read before Enter | 0 out, 0.3 s", line);
    figures_turn(&f, &t, 0);
    CHECK(f.turns == 1 && f.warm_ms.n == 0);
    figures_free(&f);
}

TEST_MAIN(T(a_script_is_read), T(wrong_scripts_are_one_line), T(typing_is_the_same_every_time),
          T(the_demo_sends_sentences), T(replies_end_where_the_script_says), T(figures_are_right),
          T(a_turn_without_a_token_has_no_time_to_it))
