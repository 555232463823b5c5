/* When the prefill unit reads: always, at pauses only, or not before Enter. The conversation is the same. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "tests/engine/chat/played.h"

static tdm_error err;

static void set_reading(tdm_chat *c, tdm_reading reading, int pause_ms)
{
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.reading = reading;
    o.pause_ms = pause_ms;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
}

static tdm_chat_status status_of(tdm_chat *c)
{
    tdm_chat_status s;
    tdm_chat_status_of(c, &s);
    return s;
}

TEST(what_is_typed_is_read_at_the_pause)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    set_reading(c, TDM_READ_AT_PAUSES, 60000); /* it does not come while the test runs */
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    uint32_t before = status_of(c).ahead;
    played_type(c, "Hello, what is this about, and how does it work? Tell me", 300);
    CHECK(!tdm_chat_wait_idle(c, 50));
    CHECK_INT((int)before, (int)status_of(c).ahead);
    CHECK_INT(TDM_MARK_TO_READ, status_of(c).mark);
    CHECK_INT(0, (int)status_of(c).draft_read_bytes);
    set_reading(c, TDM_READ_AT_PAUSES, TDM_PAUSE_NONE);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    uint32_t first = status_of(c).ahead - before;
    CHECK(first > 40);
    CHECK_INT(0, (int)status_of(c).behind);
    /* What was read at one pause is not read again at the next. */
    set_reading(c, TDM_READ_AT_PAUSES, 60000);
    played_type(c, "Hello, what is this about, and how does it work? Tell me more", 0);
    set_reading(c, TDM_READ_AT_PAUSES, TDM_PAUSE_NONE);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    CHECK(status_of(c).ahead - before - first < first / 2);
    tdm_chat_close(c);
}

/* Enter does not wait for a pause, and a reply is read once it has ended. */
TEST(a_reply_is_read_after_its_end)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    set_reading(c, TDM_READ_AT_PAUSES, 60000);
    played_limit(c, 100, 0);
    for (int turn = 0; turn < 2; turn++) {
        played_type(c, played_lines[turn], 0);
        played_say(c, &p, played_lines[turn]);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS)); /* the draft is empty: that is a pause */
    }
    REQUIRE(p.n == 2);
    tdm_span spans[512];
    size_t n = tdm_unit_spans(talk_machine(0), TDM_PREFILL_UNIT, p.stats[1].first_id_ns, spans, 512);
    for (size_t i = 0; i < n; i++) {
        bool reads = spans[i].kind <= TDM_SPAN_PROMPT;
        if (reads && spans[i].start_ns > p.stats[1].first_id_ns && spans[i].start_ns < p.stats[1].last_id_ns)
            CHECK_FAIL("it reads while the reply is decoded");
    }
    CHECK_INT(0, (int)status_of(c).behind);
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(never_means_after_enter)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    set_reading(c, TDM_READ_NEVER, TDM_PAUSE_NONE);
    for (int turn = 0; turn < 3; turn++) {
        played_type(c, played_lines[turn], 100);
        CHECK_INT(TDM_MARK_OFF, status_of(c).mark);
        played_say(c, &p, played_lines[turn]);
    }
    for (int turn = 1; turn < p.n; turn++) CHECK_INT(0, p.stats[turn].turn_before_enter);
    tdm_chat_close(c);
}

TEST(the_conversation_is_the_same)
{
    static struct played all[TDM_READ_NEVER + 1];
    for (int r = 0; r <= TDM_READ_NEVER; r++) {
        tdm_chat *c = played_begin(&all[r]);
        REQUIRE(c);
        set_reading(c, (tdm_reading)r, 0);
        for (int turn = 0; turn < 4; turn++) {
            played_type(c, played_lines[turn], 300);
            played_say(c, &all[r], played_lines[turn]);
        }
        tdm_chat_close(c);
        CHECK_INT(4, all[r].n);
        for (int turn = 0; turn < all[r].n; turn++) {
            CHECK(all[0].stats[turn].ids_hash == all[r].stats[turn].ids_hash);
            CHECK(all[0].stats[turn].logits_hash == all[r].stats[turn].logits_hash);
        }
        CHECK_STR(all[0].text, all[r].text);
    }
    tdm_chat *c = played_begin(&all[0]);
    tdm_chat_options o;
    REQUIRE(c);
    tdm_chat_options_of(c, &o);
    o.reading = (tdm_reading)(TDM_READ_NEVER + 1);
    CHECK_INT(TDM_E_ARG, tdm_chat_configure(c, &o, &err));
    tdm_chat_close(c);
}

TEST_MAIN(T(what_is_typed_is_read_at_the_pause), T(a_reply_is_read_after_its_end), T(never_means_after_enter),
          T(the_conversation_is_the_same))
