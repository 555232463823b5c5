/* From ids to the reply that is shown: the think block apart, stop strings across tokens, whole characters only. */
#include "tests/check.h"

#include "engine/chat/reply.h"
#include "engine/object/model.h"

static tdm_error err;
static tdm_model *model;

struct shown {
    char thinking[512], answer[512];
    size_t thinking_n, answer_n;
    bool stopped;
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
}

static struct shown show(const struct ids *ids, bool thinking, const char *const *stops)
{
    struct shown s = {.stopped = false};
    struct reply r;
    struct reply_piece piece;
    reply_init(&r, model->tokenizer, thinking, stops);
    for (size_t i = 0; i < ids->count && !s.stopped; i++) {
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

/* bytewise: every byte a token, so that characters and stop strings lie across tokens. */
static void encode(struct ids *ids, const char *text, bool bytewise)
{
    size_t n = strlen(text), step = bytewise ? 1 : n;
    for (size_t i = 0; i < n; i += step) {
        const char *token = !strncmp(text + i, "</think>", 8) ? "</think>" : NULL;
        if (bytewise && token) {
            if (tokenizer_encode(model->tokenizer, token, 8, TOKENIZE_ADDED, 0, ids, &err)) CHECK_FAIL("%s", err.text);
            i += 7;
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

TEST_MAIN(T(thinking_is_apart_from_the_answer), T(a_stop_string_ends_the_answer_wherever_tokens_end),
          T(of_stop_strings_that_begin_alike_the_shorter_wins_at_once), T(characters_come_whole))
