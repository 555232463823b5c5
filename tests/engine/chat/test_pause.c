/* The automatic pause: what it follows, and what it costs whom. */
#include "tests/check.h"

#include "engine/chat/policy/pause.h"

enum { MS = 1000000 };

static int64_t pause_of(const struct typing *t, const char *draft, int suffix_ms)
{
    return pause_auto(t, draft, strlen(draft), (int64_t)suffix_ms * MS) / MS;
}

/* Somebody who has typed so many keys at this interval. */
static struct typing typist(int interval_ms, int keys)
{
    struct typing t = {0};
    for (int i = 0; i < keys; i++) typing_key(&t, (1 + (int64_t)i * interval_ms) * MS);
    return t;
}

TEST(the_suffix_and_the_limit_count)
{
    struct typing t = {0};
    CHECK_INT(150, pause_of(&t, "Hello", 0));
    CHECK_INT(60, pause_of(&t, "Hello", 30));
    CHECK_INT(150, pause_of(&t, "Hello", 400));
    CHECK_INT(150, pause_of(&t, "", 0));
    CHECK_INT(150, pause_auto(&t, NULL, 0, 0) / MS);
}

TEST(a_sentences_end_needs_no_pause)
{
    static const char *const ends[] = {"Hello.",
                                       "Why?",
                                       "Oh!",
                                       "Why? ",
                                       "He said \"no.\"",
                                       "(Yes.)",
                                       "So \xe2\x80\xa6\n",
                                       "\xe4\xbd\xa0\xe5\xa5\xbd\xef\xbc\x9f",
                                       "\xe2\x80\x9cNo.\xe2\x80\x9d",
                                       "**Stop!**",
                                       "."};
    static const char *const goes_on[] = {"Hello", "Hello,", "x:",    "3.1",          "v1.0-",   "\"",
                                          ")",     " ",      "don't", "\xe2\x80\x9d", "\x80\xa6"};
    struct typing t = typist(300, 20);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (pause_of(&t, ends[i], 70) != 0) CHECK_FAIL("'%s' ends a sentence", ends[i]);
    for (size_t i = 0; i < sizeof goes_on / sizeof *goes_on; i++)
        if (pause_of(&t, goes_on[i], 70) != 140) CHECK_FAIL("'%s' ends no sentence", goes_on[i]);
}

TEST(fast_typing_shortens_it)
{
    struct typing t = typist(33, 40);
    CHECK_INT(66, pause_of(&t, "Hello", 400));
    t = typist(120, 40); /* 100 words a minute */
    CHECK_INT(150, pause_of(&t, "Hello", 400));
    t = typist(300, 40); /* 40 words a minute */
    CHECK_INT(150, pause_of(&t, "Hello", 400));
    t = typist(1, 40); /* a key held down */
    CHECK_INT(20, pause_of(&t, "Hello", 400));
    /* One rest is no rhythm; a slower hand is noticed within some keys. */
    t = typist(33, 40);
    typing_key(&t, t.last_ns + (int64_t)5000 * MS);
    CHECK_INT(66, pause_of(&t, "Hello", 400));
    for (int i = 0; i < 12; i++) typing_key(&t, t.last_ns + (int64_t)120 * MS);
    CHECK(pause_of(&t, "Hello", 400) > 140);
}

TEST_MAIN(T(the_suffix_and_the_limit_count), T(a_sentences_end_needs_no_pause), T(fast_typing_shortens_it))
