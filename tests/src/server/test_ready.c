/* A reply never waits for a connection: one stands ready while a request reads ahead, and is made anew by a key after
 * the server has closed it. Counted by the server of the tests. */
#include "tests/check.h"

#include <poll.h>

#include "engine/base/clock.h"
#include "engine/json/json.h"
#include "src/models/load.h"
#include "src/server/remote_model.h"
#include "tests/src/server/scripted.h"
#include "tests/src/server/served.h"

static served s;
static remote_model *host;
static tdm_machine *machine;
static tdm_chat *chat;
/* When the last reply began; at its end the next is prepared. */
static int64_t connections_then, read_then;

static bool begin(const char *const *server, int ahead)
{
    tdm_chat_options o;
    tdm_error err = {0};
    if (!served_start(&s, server)) return false;
    remote_model_options h = {
        .address = s.url, .kind = -1, .tokenizer = load_builtin(), .agreed = true, .ahead = ahead};
    bool good = !remote_model_open(&host, &h, &err);
    if (good) {
        tdm_chat_defaults(&o, remote_model_of(host));
        o.max_tokens = 8;
        good = !tdm_machine_open(&machine, &(tdm_machine_options){0}, &err) &&
               !tdm_chat_open(&chat, remote_model_of(host), machine, &o, &err);
    }
    if (!good) CHECK_FAIL("%s", err.text);
    return good;
}

static void end(void)
{
    tdm_chat_close(chat);
    tdm_machine_close(machine);
    remote_model_close(host);
    served_stop(&s);
    chat = NULL;
    machine = NULL;
    host = NULL;
}

/* Requests for a page so far. */
static int64_t asked(const char *path)
{
    json_object *o = served_counters(&s);
    int64_t n = json_int(json_member(o, "paths", JSON_OBJECT), path, 0);
    json_free(o);
    return n;
}

static void until_asked(const char *path, int64_t n)
{
    for (int64_t until = clock_ns() + CHECK_PATIENCE_NS; asked(path) < n && clock_ns() < until;) poll(NULL, 0, 10);
    CHECK(asked(path) >= n);
}

/* Until so many connections to the server are open. */
static void until_open(int64_t n)
{
    int64_t open = served_count(&s, "open");
    for (int64_t until = clock_ns() + CHECK_PATIENCE_NS; open != n && clock_ns() < until;) {
        poll(NULL, 0, 10);
        open = served_count(&s, "open");
    }
    CHECK_INT(n, open);
}

static void draft(const char *text)
{
    tdm_error err = {0};
    if (tdm_chat_set_draft(chat, text, strlen(text), false, &err)) CHECK_FAIL("%s", err.text);
}

static void say(const char *text)
{
    tdm_error err = {0};
    connections_then = read_then = -1;
    if (tdm_chat_send(chat, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    bool ended = false;
    for (int64_t until = clock_ns() + CHECK_PATIENCE_NS; !ended && clock_ns() < until;) {
        tdm_event e;
        poll(&(struct pollfd){.fd = tdm_chat_fd(chat), .events = POLLIN}, 1, 200);
        while (tdm_chat_next_event(chat, &e)) {
            if (e.kind == TDM_EV_TEXT && connections_then < 0) {
                connections_then = served_count(&s, "connections");
                read_then = served_count(&s, "prompt_tokens");
            }
            ended |= e.kind == TDM_EV_END;
            if (e.kind == TDM_EV_ERROR) CHECK_FAIL("%.*s", (int)e.length, e.text);
            if (e.kind == TDM_EV_END && e.finish == TDM_FINISH_FAILED) CHECK_FAIL("the reply failed");
        }
    }
    CHECK(ended);
}

static const char *long_message(void)
{
    static char text[2000];
    for (int i = 0; i < 100; i++) memcpy(text + 12 * i, "some words. ", 12);
    memcpy(text + 1200, "What?", 6);
    return text;
}

/* Where a machine is busy, a connection that is being made ready may not stand yet when Enter comes, or may have been
 * closed again; then the conversation is held anew. */
enum { TRIES = 5 };

/* Enter comes while a request reads the draft ahead; false: that reply needed one more connection. */
static bool enter_in_between(void)
{
    int64_t completions = asked("/completion") + asked("/v1/chat/completions");
    const char *path = asked("/completion") ? "/completion" : "/v1/chat/completions";
    draft(long_message());
    until_asked(path, completions + 1);
    until_open(2); /* the connection that is made ready beside it stands */
    int64_t connections = served_count(&s, "connections");
    say(long_message());
    CHECK(asked(path) >= completions + 2);
    return connections == connections_then;
}

TEST(enter_while_a_draft_is_read_costs_no_connection)
{
    bool costs_none = false;
    for (int tries = 0; tries < TRIES && !costs_none; tries++) {
        REQUIRE(begin((const char *const[]){"--slow", "60", NULL}, TDM_SPEC_FULL));
        say("Hello.");
        CHECK(tdm_chat_wait_idle(chat, CHECK_PATIENCE_MS));
        int64_t before = served_count(&s, "prompt_tokens");
        costs_none = enter_in_between();
        /* What was under way went on to its end, and the reply from there: nothing of the draft was read twice. */
        int64_t read = read_then - before;
        if (read > 420) CHECK_FAIL("%d tokens read for a message of 300", (int)read);
        end();
    }
    CHECK(costs_none);
}

TEST(where_requests_do_not_wait_for_each_other_it_is_given_up)
{
    bool costs_none = false;
    for (int tries = 0; tries < TRIES && !costs_none; tries++) {
        REQUIRE(begin((const char *const[]){"--kind", "vllm", "--slow", "60", NULL}, TDM_SPEC_FULL));
        say("Hello.");
        CHECK(tdm_chat_wait_idle(chat, CHECK_PATIENCE_MS));
        costs_none = enter_in_between();
        end();
    }
    CHECK(costs_none);
}

TEST(a_key_makes_a_connection_anew)
{
    REQUIRE(begin((const char *const[]){"--idle", "2", "--slow", "30", NULL}, TDM_SPEC_HISTORY));
    say("Hello.");
    CHECK(tdm_chat_wait_idle(chat, CHECK_PATIENCE_MS));
    until_open(0); /* the server closes what rests */
    bool taken = false;
    for (int tries = 0; tries < TRIES && !taken; tries++) {
        int64_t health = asked("/health");
        draft(tries % 2 ? "Wh" : "W");
        until_asked("/health", health + 1);
        until_asked("/health", health + 2); /* without a key more */
        int64_t connections = served_count(&s, "connections");
        say("What?");
        taken = connections == connections_then;
    }
    CHECK(taken);
    end();
}

TEST(a_connection_that_stands_is_enough)
{
    REQUIRE(begin((const char *const[]){"--idle", "60", NULL}, TDM_SPEC_HISTORY));
    say("Hello.");
    CHECK(tdm_chat_wait_idle(chat, CHECK_PATIENCE_MS));
    until_asked("/health", 1); /* while the reply was read */
    int64_t requests = served_count(&s, "requests");
    for (int i = 0; i < 3; i++) {
        draft(i % 2 ? "So" : "Wh");
        poll(NULL, 0, 600);
    }
    CHECK_INT(requests, served_count(&s, "requests"));
    end();
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(enter_while_a_draft_is_read_costs_no_connection),
                                              T(where_requests_do_not_wait_for_each_other_it_is_given_up),
                                              T(a_key_makes_a_connection_anew), T(a_connection_that_stands_is_enough)};
    if (!scripted_find_net() || !served_is_there()) {
        puts("skip ready: tandem-net (libcurl) or tests/server/serve (libmicrohttpd) was not built");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
