/* From ids to the reply that is shown: the think block apart, stop strings across tokens, whole characters only. */
#include "tests/check.h"

#include "engine/chat/dialogue/reply.h"
#include "engine/object/model.h"
#include "tests/engine/chat/talk.h"
#include "tests/engine/text/template/forms.h"

static tdm_error err;
static tdm_model *model;
static const char *form = "qwen35";
static enum reply_beginning beginning = REPLY_ANSWERS;

struct shown {
    char thinking[512], answer[512];
    size_t thinking_n, answer_n;
    bool stopped, ended;
    int pushed; /* ids until the stop */
};

static bool open_model(void)
{
    if (!model && tdm_model_open(&model, &(tdm_model_options){.path = "tests/goldens/tiny-a", .text_only = true}, &err))
        CHECK_FAIL("%s", err.text);
    return model != NULL;
}

/* Is it UTF-8 with whole characters only? What comes out piece by piece must be. */
static bool is_whole(struct span s)
{
    for (size_t i = 0; i < s.length;) {
        unsigned char c = (unsigned char)s.bytes[i];
        size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
        if (n == 0 || n > s.length - i) return false;
        for (size_t k = 1; k < n; k++)
            if (((unsigned char)s.bytes[i + k] & 0xc0) != 0x80) return false;
        i += n;
    }
    return true;
}

static void take(struct shown *s, const struct reply_piece *piece)
{
    CHECK(is_whole(piece->thinking) && is_whole(piece->answer));
    memcpy(s->thinking + s->thinking_n, piece->thinking.bytes ? piece->thinking.bytes : "", piece->thinking.length);
    memcpy(s->answer + s->answer_n, piece->answer.bytes ? piece->answer.bytes : "", piece->answer.length);
    s->thinking_n += piece->thinking.length;
    s->answer_n += piece->answer.length;
    s->thinking[s->thinking_n] = s->answer[s->answer_n] = 0;
    s->stopped |= piece->stopped;
    s->ended |= piece->ended;
}

static struct shown show(const struct ids *ids, bool thinking, const char *const *stops)
{
    struct shown s = {.stopped = false};
    struct reply r;
    struct reply_piece piece;
    reply_init(&r, model->tokenizer, template_facts(forms_template(form)), thinking ? REPLY_THINKS : beginning, stops);
    for (size_t i = 0; i < ids->count && !s.stopped && !s.ended; i++) {
        if (reply_push(&r, ids->id[i], &piece, &err)) CHECK_FAIL("%s", err.text);
        take(&s, &piece);
        s.pushed++;
    }
    if (!s.stopped) {
        if (reply_finish(&r, &piece, &err)) CHECK_FAIL("%s", err.text);
        take(&s, &piece);
    }
    reply_free(&r);
    return s;
}

static const char *mark_at(const char *text)
{
    static const char *const marks[] = {"<think>", "</think>", "<|im_start|>", "<|im_end|>"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!strncmp(text, marks[i], strlen(marks[i]))) return marks[i];
    return NULL;
}

/* bytewise: every byte a token, so that characters and stop strings lie across tokens. */
static void encode(struct ids *ids, const char *text, bool bytewise)
{
    size_t n = strlen(text), step = bytewise ? 1 : n;
    for (size_t i = 0; i < n; i += step) {
        const char *token = mark_at(text + i);
        if (bytewise && token) {
            size_t length = strlen(token);
            if (tokenizer_encode(model->tokenizer, token, length, TOKENIZE_ADDED, 0, ids, &err))
                CHECK_FAIL("%s", err.text);
            i += length - 1;
            continue;
        }
        if (tokenizer_encode(model->tokenizer, text + i, step, TOKENIZE_ADDED, 0, ids, &err))
            CHECK_FAIL("%s", err.text);
    }
}

static struct shown show_text(const char *text, bool bytewise, bool thinking, const char *const *stops)
{
    struct ids ids = {0};
    encode(&ids, text, bytewise);
    struct shown s = show(&ids, thinking, stops);
    ids_free(&ids);
    return s;
}

TEST(thinking_is_apart_from_the_answer)
{
    REQUIRE(open_model());
    for (int bytewise = 0; bytewise < 2; bytewise++) {
        struct shown s = show_text("Let me see.\n</think>\n\nIt is 4.\n", bytewise, true, NULL);
        CHECK_STR("Let me see.\n", s.thinking);
        CHECK_STR("It is 4.\n", s.answer);
        s = show_text("It never ends", bytewise, true, NULL);
        CHECK_STR("It never ends", s.thinking);
        CHECK_STR("", s.answer);
        s = show_text("  an answer\n", bytewise, false, NULL);
        CHECK_STR("  an answer\n", s.answer);
        CHECK_STR("", s.thinking);
    }
}

TEST(a_stop_string_ends_the_answer_wherever_tokens_end)
{
    static const char *const stops[] = {"END", "\n\n", NULL};
    REQUIRE(open_model());
    for (int bytewise = 0; bytewise < 2; bytewise++) {
        struct shown s = show_text("one ENough END two", bytewise, false, stops);
        CHECK(s.stopped);
        CHECK_STR("one ENough ", s.answer);
        s = show_text("one\ntwo\n\nthree", bytewise, false, stops);
        CHECK(s.stopped);
        CHECK_STR("one\ntwo", s.answer);
        s = show_text("one EN", bytewise, false, stops); /* it was none after all */
        CHECK(!s.stopped);
        CHECK_STR("one EN", s.answer);
        s = show_text("an END in thought\n</think>\n\nthe END", bytewise, true, stops);
        CHECK_STR("an END in thought\n", s.thinking);
        CHECK_STR("the ", s.answer);
    }
}

TEST(of_stop_strings_that_begin_alike_the_shorter_wins_at_once)
{
    static const char *const one[] = {"abcd", "ab", NULL}, *const two[] = {"ab", "abcd", NULL},
                             *const empty[] = {"", "x", NULL};
    REQUIRE(open_model());
    struct shown s = show_text("--abcd", true, false, one);
    CHECK(s.stopped);
    CHECK_STR("--", s.answer);
    CHECK_INT(4, s.pushed);
    s = show_text("--abcd", true, false, two);
    CHECK_INT(4, s.pushed);
    s = show_text("an empty one is none", true, false, empty);
    CHECK(!s.stopped);
    CHECK_STR("an empty one is none", s.answer);
    static const char *const inner[] = {"aab", NULL};
    s = show_text("aaab", true, false, inner); /* the first a is no part of it */
    CHECK(s.stopped);
    CHECK_STR("a", s.answer);
}

TEST(characters_come_whole)
{
    static const char text[] = "caf\xc3\xa9 \xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb!";
    static const char *const stops[] = {"\xe5\xa5\xbd", NULL};
    REQUIRE(open_model());
    struct shown s = show_text(text, true, false, NULL);
    CHECK_STR(text, s.answer);
    s = show_text(text, true, false, stops);
    CHECK_STR("caf\xc3\xa9 \xe4\xbd\xa0", s.answer);
    s = show_text("half \xe4\xbd", true, false, NULL);
    CHECK_STR("half \xef\xbf\xbd", s.answer);
    s = show_text("half \xe4\xbd</think>\n\nwhole", true, true, NULL);
    CHECK_STR("half \xef\xbf\xbd", s.thinking);
    CHECK_STR("whole", s.answer);
}

/* What closes the thinking opens the answer; where only a part of it comes, it was none. */
TEST(marks_may_have_several_tokens)
{
    REQUIRE(open_model());
    form = "channels";
    beginning = REPLY_MAY_THINK;
    struct shown s = show_text("<think>Hm.</think><|im_start|>assistant\nIt is 4.", false, false, NULL);
    CHECK_STR("Hm.", s.thinking);
    CHECK_STR("It is 4.", s.answer);
    s = show_text("It is 4.", false, false, NULL);
    CHECK_STR("It is 4.", s.answer);
    s = show_text("<think>Hm.</think><|im_start|>user b", false, false, NULL);
    CHECK(strstr(s.thinking, "user b"));
    CHECK_STR("", s.answer);
    form = "qwen35";
    beginning = REPLY_ANSWERS;
}

/* The same as a server sends it, in pieces of `step` bytes. */
static struct shown show_served(const char *text, size_t step, const char *const *stops)
{
    struct shown s = {.stopped = false};
    struct reply r;
    struct reply_piece piece;
    reply_init(&r, model->tokenizer, template_facts(forms_template(form)), beginning, stops);
    for (size_t at = 0, n = strlen(text); at < n && !s.stopped && !s.ended; at += step) {
        struct span part = {text + at, n - at < step ? n - at : step};
        if (reply_push_text(&r, part, false, &piece, &err)) CHECK_FAIL("%s", err.text);
        take(&s, &piece);
    }
    if (!s.stopped) {
        if (reply_finish(&r, &piece, &err)) CHECK_FAIL("%s", err.text);
        take(&s, &piece);
    }
    reply_free(&r);
    return s;
}

#define THINKS(channel, text) "<think>" channel "</think>" text "<|im_end|><|im_start|>assistant"
#define ANSWERS(text)         "<think>final</think>" text

/* Of messages that name their channel the final one is the answer; no header is shown. */
TEST(channels_are_thinking_and_answer)
{
    static const char *const stops[] = {"END", NULL};
    static const struct {
        const char *reply, *thinking, *answer;
        bool ended, stopped;
    } rows[] = {
        {THINKS("analysis", "Hm.\n") ANSWERS("It is 4."), "Hm.\n", "It is 4.", false, false},
        {ANSWERS(" It is 4.<|im_end|><|im_start|>user</think>What?"), "", "It is 4.", true, false},
        {THINKS("analysis", "One.") THINKS("commentary to=x", "Two END") THINKS("analysis", "\nThree.")
             ANSWERS("It is END of"),
         "One.\n\nTwo END\n\nThree.", "It is ", false, true},
        {THINKS("analysis", "Hm.") "</think>It is 4.", "Hm.", "It is 4.", false, false}, /* to the user all the same */
        {THINKS("finally", "Hm.") "<think>final json</think>{}<|im_end|>", "Hm.", "{}", true, false},
        {"<think>analysis</think>It never ends", "It never ends", "", false, false},
        {"<think>analys", "", "", false, false},
        {"It writes no channels, 1 < 2", "", "It writes no channels, 1 < 2", false, false},
        {"<think>analysis</think>Hm.<|im_end|> And so on, for much longer than the header of any message would be",
         "Hm. And so on, for much longer than the header of any message would be", "", false, false},
    };
    REQUIRE(open_model());
    form = "harmony";
    beginning = REPLY_MAY_THINK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int way = 0; way < 5; way++) {
            static const size_t steps[] = {0, 0, 1, 7, 1000};
            struct shown s =
                way < 2 ? show_text(rows[i].reply, way, false, stops) : show_served(rows[i].reply, steps[way], stops);
            CHECK_STR(rows[i].thinking, s.thinking);
            CHECK_STR(rows[i].answer, s.answer);
            CHECK(s.ended == rows[i].ended && s.stopped == rows[i].stopped);
        }
    struct shown s = show_text("half \xe4\xbd<|im_end|><|im_start|>assistant" ANSWERS("whole"), true, true, NULL);
    CHECK_STR("half \xef\xbf\xbd", s.thinking);
    CHECK_STR("whole", s.answer);
    form = "qwen35";
    beginning = REPLY_ANSWERS;
}

/* Parts in any order: in whatever pieces they come, by ids or as text, it is the same reply. */
TEST(channels_come_in_any_order_and_pieces)
{
    static const char *const parts[] = {"<think>",  "</think>", "<|im_end|>", "analysis",        "final", "It is",
                                        " <thin 4", "\n\n",     "x<|y",       "commentary to=a", "END",   "EN"};
    static const char *const stops[] = {"END", NULL};
    uint64_t seed = 3;
    REQUIRE(open_model());
    form = "harmony";
    beginning = REPLY_MAY_THINK;
    for (int round = 0; round < 2000 && !check_failures; round++) {
        char text[400] = "";
        for (uint32_t n = talk_draw(&seed, 16); n > 0; n--)
            strcat(text, parts[talk_draw(&seed, sizeof parts / sizeof *parts)]);
        struct shown ids = show_text(text, true, false, stops);
        static const size_t steps[] = {1, 2, 5, 400};
        for (size_t i = 0; i < 4; i++) {
            struct shown s = show_served(text, steps[i], stops);
            if (strcmp(ids.thinking, s.thinking) || strcmp(ids.answer, s.answer) || ids.ended != s.ended ||
                ids.stopped != s.stopped)
                CHECK_FAIL("%s: in pieces of %zu:\n%s|%s\n%s|%s", text, steps[i], ids.thinking, ids.answer, s.thinking,
                           s.answer);
        }
    }
    form = "qwen35";
    beginning = REPLY_ANSWERS;
}

TEST_MAIN(T(thinking_is_apart_from_the_answer), T(a_stop_string_ends_the_answer_wherever_tokens_end),
          T(of_stop_strings_that_begin_alike_the_shorter_wins_at_once), T(characters_come_whole),
          T(marks_may_have_several_tokens), T(channels_are_thinking_and_answer),
          T(channels_come_in_any_order_and_pieces))
