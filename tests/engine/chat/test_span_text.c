/* The words that a span was about: those of the prompt, of the draft and of the reply; none once they are gone. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "tests/engine/chat/played.h"

enum { SPANS = 2048 };

static tdm_span spans[SPANS];

/* Adds up what the spans of a unit were about, from `since_ns` on; *none counts those without words. */
static const char *words_of(const tdm_chat *c, int unit, int64_t since_ns, int *none)
{
    static char all[8192];
    size_t n = tdm_unit_spans(talk_machine(0), unit, since_ns, spans, SPANS), used = 0;
    *none = 0;
    for (size_t i = 0; i < n; i++) {
        if (!spans[i].tokens || !spans[i].end_ns || spans[i].start_ns < since_ns) continue;
        size_t got = tdm_chat_span_text(c, &spans[i], all + used, sizeof all - 1 - used);
        *none += !got;
        used += got;
    }
    all[used] = 0;
    return all;
}

/* A span is there soon after what it was has its effect. */
static const char *await_words(const tdm_chat *c, int unit, int64_t since_ns, const char *wanted, int *none)
{
    const char *words = "";
    for (int ms = 0; ms < CHECK_PATIENCE_MS && !strstr(words, wanted); ms++) {
        if (ms) usleep(1000);
        words = words_of(c, unit, since_ns, none);
    }
    return words;
}

TEST(what_was_read_and_written_is_told)
{
    static struct played p;
    int none;
    talk_path = talk_builtin;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    int64_t since = clock_ns();
    played_type(c, "Why is the sky blue, and why is the sea?", 0);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    const char *read = await_words(c, TDM_PREFILL_UNIT, since, "sky blue", &none);
    if (!strstr(read, "sky blue")) CHECK_FAIL("the draft: '%s'", read);
    played_say(c, &p, "Why is the sky blue, and why is the sea?");
    REQUIRE(p.n == 1 && p.stats[0].reply_tokens > 8);
    char begin[12];
    snprintf(begin, sizeof begin, "%.8s", p.text); /* the first tokens of the reply stand before the later ones */
    const char *written = await_words(c, TDM_DECODE_UNIT, p.stats[0].first_id_ns, begin, &none);
    CHECK(none <= 1); /* a pass may have begun that no token was wanted of */
    if (!strstr(written, begin)) CHECK_FAIL("the reply '%s': '%s'", p.text, written);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    tdm_chat_clear(c);
    played_type(c, "Something else altogether, which takes its place.", 0);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    read = await_words(c, TDM_PREFILL_UNIT, since, "Something else", &none);
    CHECK(strstr(read, "Something else"));
    CHECK(none > 0 && !strstr(read, "sky blue")); /* it is gone, and nothing else stands for it */
    tdm_chat_close(c);
}

TEST(nonsense_is_about_nothing)
{
    static struct played p;
    char text[16];
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_say(c, &p, "Hello");
    const tdm_span strange[] = {{0}, {.tokens = 1}, {.tokens = UINT32_MAX, .ids_hash = 1},
                                {.tokens = 1, .first = UINT32_MAX, .ids_hash = 1},
                                {.tokens = UINT32_MAX, .first = UINT32_MAX, .ids_hash = 7}};
    for (int i = 0; i < 5; i++) CHECK_INT(0, (int)tdm_chat_span_text(c, &strange[i], text, sizeof text));
    tdm_chat_close(c);
}

TEST_MAIN(T(what_was_read_and_written_is_told), T(nonsense_is_about_nothing))
