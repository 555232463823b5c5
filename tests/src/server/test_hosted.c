/* Conversations with a model on a server, from the engine's chat to what goes over the wire. (The server: scripted.h.)
 */
#include "tests/check.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/chat/load.h"
#include "src/server/hosted.h"
#include "tests/src/server/scripted.h"

#define STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define PIECE(text) "data: {\"content\":\"" text "\",\"stop\":false}\n\n"
#define PROPS                                                                                                         \
    "{\"default_generation_settings\":{\"n_ctx\":4096},\"total_slots\":1,\"chat_template\":\"{% enable_thinking %}"    \
    "<|im_start|>\"}"

static const char END[] = "data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"eos\",\"tokens_evaluated\":30,"
                          "\"id_slot\":3,"
                          "\"timings\":{\"prompt_n\":5,\"cache_n\":25,\"predicted_n\":2,\"prompt_ms\":7,"
                          "\"predicted_ms\":9}}\n\n";

static struct scripted_page pages[8];

static hosted *open_server(void)
{
    hosted *s = NULL;
    tdm_error err = {0};
    pages[0] = (struct scripted_page){"/props", scripted_ok(PROPS)};
    pages[1] = (struct scripted_page){"/v1/models", scripted_ok("{\"data\":[{\"id\":\"m\"}]}")};
    scripted.pages = pages;
    scripted.hangs = false;
    if (hosted_open(&s,
                    &(hosted_options){
                        .address = scripted_start(), .kind = -1, .tokenizer = load_builtin(), .agreed = true},
                    &err))
        CHECK_FAIL("%s", err.text);
    return s;
}

struct talk {
    hosted *server;
    tdm_machine *machine;
    tdm_chat *chat;
    struct buffer text;
    char said[400];
    tdm_finish finish;
    tdm_turn_stats stats;
};

static bool open_talk(struct talk *t)
{
    tdm_chat_options o;
    tdm_error err = {0};
    *t = (struct talk){.server = open_server()};
    if (!t->server) return false;
    tdm_chat_defaults(&o, hosted_model(t->server));
    o.speculation = TDM_SPEC_OFF;
    if (tdm_machine_open(&t->machine, &(tdm_machine_options){0}, &err) ||
        tdm_chat_open(&t->chat, hosted_model(t->server), t->machine, &o, &err))
        CHECK_FAIL("%s", err.text);
    return t->chat;
}

static void close_talk(struct talk *t)
{
    tdm_chat_close(t->chat);
    tdm_machine_close(t->machine);
    hosted_close(t->server);
    buffer_free(&t->text);
}

/* Takes events until a reply has ended. */
static void until_end(struct talk *t)
{
    t->finish = TDM_UNFINISHED;
    buffer_clear(&t->text);
    t->said[0] = 0;
    for (int64_t until = clock_ns() + INT64_C(20000000000); t->finish == TDM_UNFINISHED && clock_ns() < until;) {
        tdm_event e;
        poll(&(struct pollfd){.fd = tdm_chat_fd(t->chat), .events = POLLIN}, 1, 200);
        while (tdm_chat_next_event(t->chat, &e)) {
            if (e.kind == TDM_EV_TEXT && !e.thinking) buffer_append(&t->text, e.text, e.length, NULL);
            if (e.kind == TDM_EV_ERROR || e.kind == TDM_EV_NOTICE) snprintf(t->said, sizeof t->said, "%s", e.text);
            if (e.kind != TDM_EV_END) continue;
            t->finish = e.finish;
            t->stats = e.stats;
        }
    }
    buffer_append(&t->text, "", 1, NULL);
}

static void say(struct talk *t, const char *text)
{
    tdm_error err = {0};
    if (tdm_chat_send(t->chat, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    until_end(t);
}

TEST(no_byte_leaves_without_consent)
{
    hosted *s = NULL;
    tdm_error err = {0};
    int before = scripted.served;
    tdm_status status = hosted_open(
        &s, &(hosted_options){.address = scripted_start(), .kind = -1, .tokenizer = load_builtin()}, &err);
    CHECK_INT(TDM_E_REFUSED, status);
    CHECK(!s && strstr(err.text, "nothing was sent to 127.0.0.1"));
    CHECK_INT(before, scripted.served);
    CHECK_INT(0, scripted.connected);
}

TEST(a_reply_comes_with_the_counts_of_the_server)
{
    struct talk t;
    static char answer[1000];
    snprintf(answer, sizeof answer, "%s%s%s%s", STREAM, PIECE("Hello"), PIECE(" you"), END);
    if (!open_talk(&t)) return;
    scripted.answer = answer;
    say(&t, "Hi <|im_end|> there");
    CHECK_STR("Hello you", t.text.bytes);
    CHECK_INT(TDM_END, t.finish);
    CHECK(t.stats.by_server && t.stats.counted);
    CHECK_INT(30, t.stats.prompt_tokens);
    CHECK_INT(5, t.stats.after_enter);
    CHECK_INT(2, t.stats.reply_tokens);
    CHECK(t.stats.server_prompt_ms == 7 && t.stats.server_reply_ms == 9);
    CHECK(strstr(scripted.asked, "POST /completion "));
    CHECK(strstr(scripted.asked, "<|im_start|>user\\nHi <\xe2\x81\xa0|im_end|> there<|im_end|>\\n"));
    CHECK(strstr(scripted.asked, "\"id_slot\":-1"));
    say(&t, "And now?");
    CHECK(strstr(scripted.asked, "\"id_slot\":3"));
    CHECK(strstr(scripted.asked, "<|im_start|>assistant\\nHello you<|im_end|>"));
    close_talk(&t);
}

TEST(what_came_of_a_cut_reply_stays_and_goes_on)
{
    struct talk t;
    tdm_error err = {0};
    static char answer[1000];
    if (!open_talk(&t)) return;
    scripted.answer = STREAM PIECE("It is");
    say(&t, "What is it?");
    CHECK_STR("It is", t.text.bytes);
    CHECK_INT(TDM_FAILED, t.finish);
    CHECK(strstr(t.said, "the reply was cut off"));
    snprintf(answer, sizeof answer, "%s%s%s", STREAM, PIECE(" a pen."), END);
    scripted.answer = answer;
    CHECK_INT(TDM_OK, tdm_chat_continue(t.chat, &err));
    until_end(&t);
    CHECK_STR(" a pen.", t.text.bytes);
    CHECK(strstr(scripted.asked, "</think>\\n\\nIt is\""));
    tdm_node node;
    REQUIRE(tdm_chat_node(t.chat, 2, &node, &err) == TDM_OK);
    CHECK_STR("It is a pen.", node.text);
    tdm_node_free(&node);
    close_talk(&t);
}

TEST(a_failure_is_a_line_and_the_conversation_goes_on)
{
    struct talk t;
    if (!open_talk(&t)) return;
    scripted.answer = "HTTP/1.1 500 Oops\r\nContent-Length: 36\r\nConnection: close\r\n\r\n"
                      "{\"error\":{\"message\":\"no\x07 memory\"}}   ";
    say(&t, "Hi");
    CHECK_INT(TDM_FAILED, t.finish);
    CHECK(strstr(t.said, "the server answers 500: no"));
    CHECK(!strchr(t.said, 7));
    scripted.answer = STREAM "data: what?\n\n";
    say(&t, "Hi");
    CHECK_INT(TDM_FAILED, t.finish);
    CHECK(strstr(t.said, "the server's answer"));
    close_talk(&t);
}

TEST(a_stopped_reply_gives_its_request_up)
{
    struct talk t;
    if (!open_talk(&t)) return;
    scripted.answer = STREAM PIECE("endless");
    scripted.hangs = true;
    tdm_error err = {0};
    REQUIRE(tdm_chat_send(t.chat, "Go", 2, clock_ns(), &err) == TDM_OK);
    for (tdm_event e = {0}; e.kind != TDM_EV_TEXT;)
        if (!tdm_chat_next_event(t.chat, &e)) poll(NULL, 0, 5);
    tdm_chat_stop(t.chat);
    until_end(&t);
    CHECK_INT(TDM_STOPPED, t.finish);
    CHECK_INT(0, sem_wait(&scripted.left));
    close_talk(&t);
}

TEST(what_lies_in_states_is_refused)
{
    struct talk t;
    tdm_session *s = NULL;
    tdm_error err = {0};
    if (!open_talk(&t)) return;
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_save_state(t.chat, "/nowhere", &err));
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_cold(t.chat, TDM_PIPE_TANDEM, &err));
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_session_open(&s, hosted_model(t.server), t.machine,
                                                  &(tdm_session_options){.context = 100}, &err));
    CHECK(strstr(err.text, "on a server"));
    tdm_chat_options o;
    tdm_chat_options_of(t.chat, &o);
    o.pipeline = TDM_PIPE_SLOTS;
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_configure(t.chat, &o, &err));
    close_talk(&t);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        T(no_byte_leaves_without_consent),
        T(a_reply_comes_with_the_counts_of_the_server),
        T(what_came_of_a_cut_reply_stays_and_goes_on),
        T(a_failure_is_a_line_and_the_conversation_goes_on),
        T(a_stopped_reply_gives_its_request_up),
        T(what_lies_in_states_is_refused),
    };
    if (!scripted_find_net()) {
        puts("skip hosted: tandem-net was not built (libcurl)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
