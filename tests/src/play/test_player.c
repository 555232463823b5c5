/* Scripts played at a made-up host with a made-up clock: what is typed when, what a turn waits for, where replies
 * end. */
#include "tests/check.h"

#include <stdarg.h>

#include "src/play/player.h"

enum { MS = 1000000, START_MS = 5000 };

static struct {
    int64_t now_ns;
    player player;
    script script;
    char told[2000]; /* what the player has done, "ms what, ..." */
    bool refuses;
} host;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    size_t n = strlen(host.told);
    n += (size_t)snprintf(host.told + n, sizeof host.told - n, "%s%d ", n ? ", " : "",
                          (int)(host.now_ns / MS) - START_MS);
    va_list args;
    va_start(args, format);
    vsnprintf(host.told + n, sizeof host.told - n, format, args);
    va_end(args);
}

static int64_t now(void *h)
{
    (void)h;
    return host.now_ns;
}

static tdm_status begin(void *h, const script_turn *turn, tdm_error *err)
{
    (void)h, (void)err;
    say("begin %d", (int)(turn - host.script.turns));
    return TDM_OK;
}

static tdm_status branch(void *h, int turn, tdm_error *err)
{
    (void)h, (void)err;
    say("branch %d", turn);
    return TDM_OK;
}

static tdm_status type(void *h, const char *text, size_t n, bool pasted, tdm_error *err)
{
    (void)h;
    if (host.refuses) {
        snprintf(err->text, sizeof err->text, "no");
        return err->code = TDM_E_IO;
    }
    say(pasted ? "paste %.*s" : "%.*s", (int)n, text);
    return TDM_OK;
}

static tdm_status erase(void *h, int characters, tdm_error *err)
{
    (void)h, (void)err;
    say("erase %d", characters);
    return TDM_OK;
}

static tdm_status submit(void *h, int reply_limit, tdm_error *err)
{
    (void)h, (void)err;
    say("send '%.*s' %d", (int)host.player.draft.n, host.player.draft.bytes, reply_limit);
    return TDM_OK;
}

static tdm_status send_now(void *h, tdm_error *err)
{
    (void)h, (void)err;
    say("send now");
    return TDM_OK;
}

static tdm_status act(void *h, script_action action, int reply_limit, tdm_error *err)
{
    (void)h, (void)err;
    say("%s %d", script_action_name(action), reply_limit);
    return TDM_OK;
}

static const player_functions functions = {.now = now, .begin = begin, .branch = branch, .type = type, .erase = erase,
                                           .submit = submit, .send_now = send_now, .act = act};

/* 10 characters a second unless the text says otherwise; intervals are 50 to 150 ms. */
static bool open_host(const char *text)
{
    tdm_error err = {0};
    memset(&host, 0, sizeof host);
    host.now_ns = (int64_t)START_MS * MS;
    if (script_parse(&host.script, "script", text, strlen(text), &err)) {
        CHECK_FAIL("%s", err.text);
        return false;
    }
    player_open(&host.player, &host.script, &functions, &host);
    return true;
}

static void close_host(void)
{
    player_close(&host.player);
    script_free(&host.script);
}

/* Steps at every deadline until the player waits for an event; what it has done since the last call. */
static const char *play(void)
{
    static char told[sizeof host.told];
    tdm_error err = {0};
    for (int steps = 0; steps < 1000; steps++) {
        int64_t next;
        if (player_step(&host.player, &next, &err)) {
            CHECK_FAIL("%s", err.text);
            break;
        }
        if (next == INT64_MAX) break;
        if (next > host.now_ns) host.now_ns = next;
    }
    strcpy(told, host.told);
    host.told[0] = 0;
    return told;
}

/* The same, without the times. */
static const char *done(void)
{
    static char bare[sizeof host.told];
    const char *told = play();
    size_t n = 0;
    while (*told) {
        while (*told && *told++ != ' ') continue;
        size_t length = strcspn(told, ",");
        n += (size_t)snprintf(bare + n, sizeof bare - n, "%s%.*s", n ? "," : "", (int)length, told);
        told += length + 2 * (told[length] == ',');
    }
    bare[n] = 0;
    return bare;
}

static void tell(tdm_event_kind kind, uint32_t tokens)
{
    player_event(&host.player, &(tdm_event){.kind = kind, .tokens = tokens});
}

static void reply(uint32_t tokens)
{
    tell(TDM_EV_REPLY, 0);
    tell(TDM_EV_TEXT, tokens);
    tell(TDM_EV_END, 0);
}

TEST(keys_come_at_their_time)
{
    REQUIRE(open_host(
        "{\"seed\":3,\"typing_cps\":10,\"max_tokens\":9,\"turns\":[{\"text\":\"caf\\u00e9\",\"pause\":0.5}]}"));
    int64_t due = host.now_ns;
    char expected[200] = "0 begin 0";
    const char *const keys[] = {"c", "a", "f", "\u00e9"};
    for (int i = 0; i < 4; i++) {
        due += (int64_t)(1e9 * script_interval(&host.script, 0, i));
        sprintf(expected + strlen(expected), ", %d %s", (int)(due / MS) - START_MS, keys[i]);
    }
    sprintf(expected + strlen(expected), ", %d send 'caf\u00e9' 9", (int)(due / MS) - START_MS + 500);
    CHECK_STR(expected, play());
    CHECK(!player_done(&host.player));
    reply(9);
    play();
    CHECK(player_done(&host.player));
    close_host();
}

/* A host that comes late has all keys that were due, one a step, and the next one at its own time. */
TEST(a_late_host_catches_up)
{
    REQUIRE(open_host("{\"typing_cps\":10,\"turns\":[{\"text\":\"abcdefghij\"}]}"));
    tdm_error err;
    int64_t next, start = host.now_ns;
    double due = 0;
    for (int i = 0; i < 4; i++) due += script_interval(&host.script, 0, i);
    CHECK(!player_step(&host.player, &next, &err) && next > host.now_ns);
    host.now_ns = start + (int64_t)(1e9 * due) - MS;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(i, (int)host.player.draft.n);
        CHECK(!player_step(&host.player, &next, &err));
    }
    CHECK_STR("0 begin 0", strtok(host.told, ","));
    CHECK_INT(3, (int)host.player.draft.n);
    CHECK(next > host.now_ns && next <= host.now_ns + 2 * MS);
    close_host();
}

TEST(drafts_are_changed_by_characters)
{
    REQUIRE(
        open_host("{\"typing_cps\":0,\"max_tokens\":7,\"turns\":[{\"text\":\"ab\\u00e9d\",\"events\":["
                  "{\"at_chars\":0,\"do\":\"insert\",\"text\":\"x\"},{\"at_chars\":3,\"do\":\"delete\",\"chars\":2},"
                  "{\"at_chars\":4,\"do\":\"insert\",\"text\":\"yz\"},{\"at_chars\":4,\"do\":\"delete\",\"chars\":9}]},"
                  "{\"text\":\"e\"}]}"));
    /* Six were there, and an empty draft isn't sent. */
    CHECK_STR("begin 0,paste x,a,b,\u00e9,erase 2,d,paste yz,erase 5,begin 1,e,send 'e' 7", done());
    close_host();
}

TEST(turns_wait_for_replies_or_tokens)
{
    REQUIRE(open_host(
        "{\"typing_cps\":0,\"max_tokens\":50,\"turns\":[{\"text\":\"a\"},{\"text\":\"b\",\"start_after_tokens\":5},"
        "{\"text\":\"c\",\"start_after_tokens\":5},{\"text\":\"d\",\"start_after_tokens\":5},{\"text\":\"e\"}]}"));
    CHECK_STR("begin 0,a,send 'a' 50", done());
    CHECK_STR("", done());
    tell(TDM_EV_REPLY, 0);
    tell(TDM_EV_TEXT, 4);
    CHECK_STR("", done());
    tell(TDM_EV_TEXT, 6);
    CHECK_STR("begin 1,b,send 'b' 50", done());
    /* Its own reply's tokens count, not those of the one before it. */
    tell(TDM_EV_TEXT, 30);
    CHECK_STR("", done());
    tell(TDM_EV_END, 0);
    CHECK_STR("", done());
    tell(TDM_EV_REPLY, 0);
    tell(TDM_EV_TEXT, 5);
    CHECK_STR("begin 2,c,send 'c' 50", done());
    tell(TDM_EV_END, 0);
    tell(TDM_EV_END, 0); /* cut before its first token */
    CHECK_STR("begin 3,d,send 'd' 50", done());
    reply(2); /* shorter than that */
    CHECK_STR("begin 4,e,send 'e' 50", done());
    CHECK(!player_done(&host.player));
    reply(50);
    reply(50); /* which nobody asked for */
    CHECK_STR("", done());
    CHECK(player_done(&host.player));
    CHECK_INT(5, host.player.ended);
    CHECK_INT(4, player_ended(&host.player)->turn);
    close_host();
}

TEST(one_message_is_queued_at_the_most)
{
    REQUIRE(open_host("{\"typing_cps\":0,\"turns\":[{\"text\":\"abc\",\"events\":[{\"at_chars\":1,\"do\":\"send\"},"
                      "{\"at_chars\":2,\"do\":\"send\"}]}]}"));
    CHECK_STR("begin 0,a,send 'a' 100,b", done());
    tell(TDM_EV_REPLY, 0);
    CHECK_STR("send 'b' 100,c", done());
    tell(TDM_EV_END, 0);
    CHECK_STR("", done());
    tell(TDM_EV_REPLY, 0);
    CHECK_STR("send 'c' 100", done());
    close_host();
}

TEST(replies_are_cut)
{
    /* The limit ends the reply that waits: send_now has nothing to do. */
    REQUIRE(open_host(
        "{\"typing_cps\":0,\"max_tokens\":50,\"turns\":[{\"text\":\"a\"},{\"text\":\"b\",\"start_after_tokens\":2,"
        "\"events\":[{\"do\":\"send_now\",\"after_tokens\":6},{\"do\":\"stop\",\"after_tokens\":4}]}]}"));
    CHECK_STR("begin 0,a,send 'a' 6", done());
    tell(TDM_EV_REPLY, 0);
    tell(TDM_EV_TEXT, 2);
    CHECK_STR("begin 1,b,send 'b' 4", done());
    tell(TDM_EV_TEXT, 6);
    CHECK_STR("", done());
    close_host();
    /* A reply that was continued has no such limit. */
    for (int ends = 0; ends < 2; ends++) {
        REQUIRE(open_host(
            "{\"typing_cps\":0,\"max_tokens\":50,\"turns\":[{\"text\":\"a\",\"events\":[{\"do\":\"continue\"}]},"
            "{\"text\":\"b\",\"start_after_tokens\":2,\"events\":[{\"do\":\"send_now\",\"after_tokens\":6}]}]}"));
        CHECK_STR("begin 0,a,send 'a' 6", done());
        reply(6);
        CHECK_STR("continue 50", done());
        tell(TDM_EV_REPLY, 0);
        tell(TDM_EV_TEXT, 3);
        CHECK_STR("begin 1,b,send 'b' 50", done());
        tell(TDM_EV_TEXT, 7);
        if (ends) tell(TDM_EV_END, 0); /* by itself: no call comes before b's own reply, or into it */
        CHECK_STR(ends ? "" : "send now", done());
        tell(TDM_EV_REPLY, 0);
        tell(TDM_EV_TEXT, 7);
        CHECK_STR("", done());
        close_host();
    }
}

TEST(late_actions_follow_the_reply_in_their_order)
{
    REQUIRE(
        open_host("{\"typing_cps\":0,\"max_tokens\":50,\"turns\":[{\"text\":\"a\",\"events\":[{\"do\":\"regenerate\"},"
                  "{\"do\":\"undo\"},{\"do\":\"redo\"},{\"do\":\"stop\",\"after_tokens\":9}]},"
                  "{\"text\":\"b\",\"start_after_tokens\":1,\"events\":[{\"do\":\"branch\",\"turn\":1}]}]}"));
    host.player.rest_ns = 600 * (int64_t)MS;
    CHECK_STR("0 begin 0, 0 a, 0 send 'a' 9", play());
    reply(9);
    CHECK_STR("600 regenerate 9", play());
    CHECK_INT(SCRIPT_SEND, player_ended(&host.player)->action);
    reply(9);
    CHECK_INT(SCRIPT_REGENERATE, player_ended(&host.player)->action);
    CHECK_STR("1200 undo 9, 1800 redo 9, 2400 begin 1, 2400 branch 1, 2400 b, 2400 send 'b' 50", play());
    close_host();
}

TEST(a_host_that_fails_ends_the_play)
{
    REQUIRE(open_host("{\"typing_cps\":0,\"turns\":[{\"text\":\"a\"}]}"));
    tdm_error err = {0};
    int64_t next;
    host.refuses = true;
    CHECK_INT(TDM_E_IO, player_step(&host.player, &next, &err));
    CHECK_STR("no", err.text);
    close_host();
}

TEST_MAIN(T(keys_come_at_their_time), T(a_late_host_catches_up), T(drafts_are_changed_by_characters),
          T(turns_wait_for_replies_or_tokens), T(one_message_is_queued_at_the_most), T(replies_are_cut),
          T(late_actions_follow_the_reply_in_their_order), T(a_host_that_fails_ends_the_play))
