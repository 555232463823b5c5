/* Conversations with a model on a server, from the engine's chat to what goes over the wire. (The server: scripted.h.)
 */
#include "tests/check.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/models/load.h"
#include "src/server/remote_model.h"
#include "tests/src/server/talking.h"

TEST(no_byte_leaves_without_consent)
{
    remote_model *s = NULL;
    tdm_error err = {0};
    int before = scripted.served;
    tdm_status status = remote_model_open(
        &s, &(remote_model_options){.address = scripted_start(), .kind = -1, .tokenizer = load_builtin()}, &err);
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
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = answer;
    talking_say(&t, "Hi <|im_end|> there");
    CHECK_STR("Hello you", t.text.bytes);
    CHECK_INT(TDM_FINISH_END, t.finish);
    CHECK(t.stats.by_server && t.stats.counted);
    CHECK_INT(30, t.stats.prompt_tokens);
    CHECK_INT(5, t.stats.after_enter);
    CHECK_INT(2, t.stats.reply_tokens);
    CHECK(t.stats.server_prompt_ms == 7 && t.stats.server_reply_ms == 9);
    CHECK(strstr(scripted.asked, "POST /completion "));
    CHECK(strstr(scripted.asked, "<|im_start|>user\\nHi <\xe2\x81\xa0|im_end|> there<|im_end|>\\n"));
    CHECK(strstr(scripted.asked, "\"id_slot\":-1"));
    talking_say(&t, "And now?");
    CHECK(strstr(scripted.asked, "\"id_slot\":3"));
    CHECK(strstr(scripted.asked, "<|im_start|>assistant\\nHello you<|im_end|>"));
    scripted.answer = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: close\r\n\r\n"; /* it goes */
    talking_say(&t, "Still there?");
    CHECK_INT(TDM_FINISH_FAILED, t.finish);
    scripted.answer = answer; /* as another one might, which has no such slot */
    talking_say(&t, "And now?");
    CHECK(strstr(scripted.asked, "\"id_slot\":-1"));
    talking_close(&t);
}

TEST(what_came_of_a_cut_reply_stays_and_goes_on)
{
    struct talk t;
    tdm_error err = {0};
    static char answer[1000];
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = STREAM PIECE("It is");
    talking_say(&t, "What is it?");
    CHECK_STR("It is", t.text.bytes);
    CHECK_INT(TDM_FINISH_FAILED, t.finish);
    CHECK(strstr(t.said, "the reply was cut off"));
    snprintf(answer, sizeof answer, "%s%s%s", STREAM, PIECE(" a pen."), END);
    scripted.answer = answer;
    CHECK_INT(TDM_OK, tdm_chat_continue(t.chat, &err));
    talking_until_end(&t);
    CHECK_STR(" a pen.", t.text.bytes);
    CHECK(strstr(scripted.asked, "</think>\\n\\nIt is\""));
    tdm_node node;
    REQUIRE(tdm_chat_node(t.chat, TDM_FRONT, 2, &node, &err) == TDM_OK);
    CHECK_STR("It is a pen.", node.text);
    tdm_node_free(&node);
    talking_close(&t);
}

TEST(a_failure_is_a_line_and_the_conversation_goes_on)
{
    struct talk t;
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = "HTTP/1.1 500 Oops\r\nContent-Length: 36\r\nConnection: close\r\n\r\n"
                      "{\"error\":{\"message\":\"no\x07 memory\"}}   ";
    talking_say(&t, "Hi");
    CHECK_INT(TDM_FINISH_FAILED, t.finish);
    CHECK(strstr(t.said, "the server answers 500: no"));
    CHECK(!strchr(t.said, 7));
    scripted.answer = STREAM "data: what?\n\n";
    talking_say(&t, "Hi");
    CHECK_INT(TDM_FINISH_FAILED, t.finish);
    CHECK(strstr(t.said, "the server's answer"));
    talking_close(&t);
}

TEST(a_limit_is_the_servers_and_ours_only_if_it_runs_on)
{
    struct talk t;
    tdm_chat_options o;
    tdm_error err = {0};
    struct buffer answer = {0};
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    tdm_chat_options_of(t.chat, &o);
    o.max_answer_tokens = 2;
    REQUIRE(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    static const char limit[] = "data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"limit\",\"tokens_evaluated\":30,"
                                "\"timings\":{\"prompt_n\":5,\"cache_n\":25,\"predicted_n\":2}}\n\n";
    static char text[1000];
    snprintf(text, sizeof text, "%s%s%s%s", STREAM, PIECE("Hello"), PIECE(" you"), limit);
    scripted.answer = text;
    talking_say(&t, "Hi");
    CHECK(strstr(scripted.asked, "\"n_predict\":2,"));
    CHECK_INT(TDM_FINISH_LENGTH, t.finish);
    CHECK(t.stats.counted);
    CHECK_INT(5, t.stats.after_enter);
    buffer_append(&answer, STREAM, strlen(STREAM), NULL);
    for (int i = 0; i < 100; i++) buffer_append(&answer, PIECE("x"), strlen(PIECE("x")), NULL);
    buffer_append(&answer, "", 1, NULL);
    scripted.answer = answer.bytes;
    scripted.hangs = true;
    talking_say(&t, "And now?");
    CHECK_INT(TDM_FINISH_LENGTH, t.finish);
    CHECK_INT(0, sem_wait(&scripted.left));
    scripted.hangs = false;
    buffer_free(&answer);
    talking_close(&t);
}

TEST(a_reply_longer_than_the_context_is_ended)
{
    struct talk t;
    struct buffer answer = {0};
    char xs[1001] = "";
    memset(xs, 'x', 1000);
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    buffer_append(&answer, STREAM, strlen(STREAM), NULL);
    for (int i = 0; i < 2000; i++) {
        char piece[1100];
        snprintf(piece, sizeof piece, "data: {\"content\":\"%s\"}\n\n", xs);
        buffer_append(&answer, piece, strlen(piece), NULL);
    }
    buffer_append(&answer, "", 1, NULL);
    scripted.answer = answer.bytes;
    scripted.hangs = true;
    talking_say(&t, "Hi");
    CHECK_INT(TDM_FINISH_CONTEXT, t.finish);
    CHECK_INT(0, sem_wait(&scripted.left));
    scripted.hangs = false;
    buffer_free(&answer);
    talking_close(&t);
}

/* The text over and over as an answer, so many bytes a piece, which doesn't end. */
static void answer_with(struct buffer *out, const char *text, size_t times, size_t piece)
{
    struct buffer all = {0};
    char line[400];
    buffer_clear(out);
    buffer_append(out, STREAM, strlen(STREAM), NULL);
    for (size_t i = 0; i < times; i++) buffer_append(&all, text, strlen(text), NULL);
    for (size_t at = 0; at < all.n; at += piece) {
        int n = snprintf(line, sizeof line, "data: {\"content\":\"%.*s\",\"stop\":false}\n\n",
                         (int)(all.n - at < piece ? all.n - at : piece), all.bytes + at);
        buffer_append(out, line, (size_t)n, NULL);
    }
    buffer_append(out, "", 1, NULL);
    out->n--;
    buffer_free(&all);
}

TEST(a_reply_that_only_repeats_itself_is_ended_at_the_same_character)
{
    static const char sentence[] = "It is a type of story. ";
    static const size_t pieces[] = {1, 7, 23, 300};
    struct talk t;
    tdm_chat_options o;
    tdm_error err = {0};
    struct buffer answer = {0};
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    tdm_chat_options_of(t.chat, &o);
    o.loop_guard = true;
    REQUIRE(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    scripted.hangs = true;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        answer_with(&answer, sentence, 100, pieces[i]);
        scripted.answer = answer.bytes;
        talking_say(&t, "Hi");
        CHECK_INT(TDM_FINISH_REPEATS, t.finish);
        CHECK_INT(480, strlen(t.text.bytes)); /* 120 tokens, four characters each */
        CHECK_INT(0, sem_wait(&scripted.left));
    }
    /* It goes on from there, and is not at once told again. */
    answer_with(&answer, sentence, 20, 23);
    buffer_append(&answer, END, sizeof END, NULL);
    scripted.answer = answer.bytes;
    scripted.hangs = false;
    REQUIRE(tdm_chat_continue(t.chat, &err) == TDM_OK);
    talking_until_end(&t);
    CHECK_INT(TDM_FINISH_END, t.finish);
    answer_with(&answer, "hello ", 100, 6);
    buffer_append(&answer, END, sizeof END, NULL);
    scripted.answer = answer.bytes;
    talking_say(&t, "write hello 100 times");
    CHECK_INT(TDM_FINISH_END, t.finish);
    buffer_free(&answer);
    talking_close(&t);
}

TEST(a_stopped_reply_gives_its_request_up)
{
    struct talk t;
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = STREAM PIECE("endless");
    scripted.hangs = true;
    tdm_error err = {0};
    REQUIRE(tdm_chat_send(t.chat, "Go", 2, clock_ns(), &err) == TDM_OK);
    for (tdm_event e = {0}; e.kind != TDM_EV_TEXT;)
        if (!tdm_chat_next_event(t.chat, &e)) poll(NULL, 0, 5);
    tdm_chat_stop(t.chat, TDM_FRONT);
    talking_until_end(&t);
    CHECK_INT(TDM_FINISH_STOPPED, t.finish);
    CHECK_INT(0, sem_wait(&scripted.left));
    talking_close(&t);
}

static void draft(struct talk *t, const char *text)
{
    tdm_error err = {0};
    if (tdm_chat_set_draft(t->chat, text, strlen(text), false, &err)) CHECK_FAIL("%s", err.text);
}

static const char *good_answer(void)
{
    static char answer[1000];
    snprintf(answer, sizeof answer, "%s%s%s%s", STREAM, PIECE("Hello"), PIECE(" you"), END);
    return answer;
}

static const char *evaluated(int cached, int fresh)
{
    static char body[300];
    snprintf(body, sizeof body,
             "{\"content\":\"\",\"stop\":true,\"tokens_evaluated\":%d,\"timings\":{\"prompt_n\":%d,"
             "\"cache_n\":%d,\"prompt_ms\":3}}",
             cached + fresh, fresh, cached);
    return scripted_ok(body);
}

/* One answer to replies, another to what reads ahead: the latter comes second. */
static void say_and_read_ahead(struct talk *t, const char *text, const char *ahead)
{
    scripted.answer = good_answer();
    scripted.second = ahead;
    scripted.first_went = false; /* an earlier test's may have */
    talking_say(t, text);
    CHECK_INT(TDM_FINISH_END, t->finish);
    CHECK(tdm_chat_wait_idle(t->chat, CHECK_PATIENCE_MS));
    scripted.second = NULL;
}

TEST(a_finished_turn_is_read_ahead_and_then_nothing_is_sent)
{
    struct talk t;
    if (!talking_open(&t, -1)) return;
    say_and_read_ahead(&t, "Hi", evaluated(20, 10));
    CHECK_STR("Hello you", t.text.bytes);
    CHECK(strstr(scripted.asked, "\"n_predict\":0"));
    CHECK(strstr(scripted.asked, "Hello you<|im_end|>\\n<|im_start|>user\\n\""));
    tdm_chat_status now;
    tdm_chat_status_of(t.chat, &now);
    CHECK(now.on_server && !now.rereads);
    CHECK_INT(20, now.last.cached);
    int before = scripted.served;
    for (int i = 0; i < 10; i++) {
        draft(&t, i % 2 ? "my secret. It is" : "my secret. It is out.");
        poll(NULL, 0, 40);
    }
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    CHECK_INT(before, scripted.served);
    tdm_chat_options o;
    tdm_chat_options_of(t.chat, &o);
    CHECK_INT(TDM_SPEC_HISTORY, o.speculation);
    talking_close(&t);
}

static bool readied_after(int before, int ms)
{
    for (int64_t until = clock_ns() + (int64_t)ms * 1000000; scripted.readied == before && clock_ns() < until;)
        poll(NULL, 0, 5);
    return scripted.readied > before;
}

TEST(a_key_makes_a_connection_ready_and_tells_nothing)
{
    struct talk t;
    if (!talking_open(&t, -1)) return;
    int before = scripted.readied, served = scripted.served;
    draft(&t, "my secret");
    CHECK(readied_after(before, CHECK_PATIENCE_MS));
    CHECK_INT(served, scripted.served); /* a GET without a body, and nothing else */
    talking_close(&t);
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = good_answer();
    talking_say(&t, "Hi");
    before = scripted.readied;
    draft(&t, "my secret");
    CHECK(!readied_after(before, 100));
    talking_close(&t);
}

TEST(a_draft_is_read_ahead_where_the_user_has_said_so)
{
    struct talk t;
    if (!talking_open(&t, TDM_SPEC_FULL)) return;
    say_and_read_ahead(&t, "Hi", evaluated(20, 10));
    scripted.answer = evaluated(30, 8);
    draft(&t, "Tell me a story");
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    CHECK(strstr(scripted.asked, "\"n_predict\":0"));
    CHECK(strstr(scripted.asked, "Tell me a story<|im_end|>\\n<|im_start|>assistant\\n"));
    scripted.answer = good_answer();
    talking_say(&t, "Tell me a story");
    CHECK_INT(TDM_TURN_WARM, t.stats.kind);
    CHECK(t.stats.turn_before_enter > 0);
    scripted.answer = evaluated(50, 8);
    draft(&t, "And another one");
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    scripted.answer =
        STREAM PIECE("Hello") "data: {\"content\":\"\",\"stop\":true,\"stop_type\":\"eos\",\"tokens_evaluated\":"
                              "60,\"timings\":{\"prompt_n\":60,\"cache_n\":0,\"predicted_n\":1}}\n\n";
    talking_say(&t, "And another one"); /* the server has forgotten it */
    CHECK_INT(TDM_TURN_COLD, t.stats.kind);
    CHECK_INT(0, t.stats.turn_before_enter);
    talking_close(&t);
}

TEST(what_reads_ahead_in_vain_is_given_up)
{
    struct talk t;
    tdm_error err = {0};
    if (!talking_open(&t, -1)) return;
    scripted.answer = good_answer();
    scripted.second = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";
    scripted.second_hangs = true;
    int before = scripted.served;
    talking_say(&t, "Hi");
    while (scripted.served < before + 2) poll(NULL, 0, 5);
    draft(&t, "nobody waits for the server");
    CHECK_INT(TDM_OK, tdm_chat_undo(t.chat, &err));
    CHECK_INT(0, sem_wait(&scripted.left));
    scripted.second_hangs = false;
    scripted.second = NULL;
    talking_close(&t);
}

TEST(a_server_that_rereads_is_asked_for_less)
{
    struct talk t;
    tdm_chat_status now;
    char text[2000] = "";
    if (!talking_open(&t, TDM_SPEC_FULL)) return;
    for (int i = 0; i < 150; i++) strcat(text, "some words ");
    say_and_read_ahead(&t, text, evaluated(200, 10));
    tdm_chat_status_of(t.chat, &now);
    CHECK(!now.rereads);
    scripted.answer = evaluated(0, 300);
    draft(&t, "First.");
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    tdm_chat_status_of(t.chat, &now);
    CHECK(now.rereads);
    int before = scripted.served;
    draft(&t, "First. And second.");
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    CHECK_INT(before, scripted.served);
    talking_close(&t);
}

TEST(failures_of_reading_ahead_are_said_once)
{
    struct talk t;
    tdm_event e;
    if (!talking_open(&t, TDM_SPEC_FULL)) return;
    say_and_read_ahead(&t, "Hi", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    int said = t.said[0] != 0; /* it may come with the reply's end */
    scripted.answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for (int i = 0; i < 3; i++) {
        draft(&t, i % 2 ? "One." : "Another one.");
        CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    }
    while (tdm_chat_next_event(t.chat, &e)) said += e.kind == TDM_EV_NOTICE || e.kind == TDM_EV_ERROR;
    CHECK_INT(1, said);
    talking_close(&t);
}

TEST(a_busy_server_is_asked_again_when_it_said)
{
    struct talk t;
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = "HTTP/1.1 429 Slow down\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    scripted.second = good_answer();
    talking_say(&t, "Hi");
    CHECK_STR("Hello you", t.text.bytes);
    CHECK(strstr(t.said, "busy (429): asked again in 1 s"));
    scripted.first_went = false;
    scripted.answer = "HTTP/1.1 503 No\r\nContent-Length: 38\r\nConnection: close\r\n\r\n"
                      "{\"error\":{\"message\":\"Loading model\"}} ";
    talking_say(&t, "Hi");
    CHECK_STR("Hello you", t.text.bytes);
    CHECK(strstr(t.said, "loads its model (503): asked again in 5 s, for at most 10 minutes"));
    scripted.second = NULL;
    talking_close(&t);
}

/* A busy one four times in all, and not at all where it wants to be left alone for long. */
TEST(a_server_that_stays_busy_is_given_up)
{
    struct talk t;
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    int before = scripted.served;
    scripted.answer = "HTTP/1.1 429 Slow down\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    talking_say(&t, "Hi");
    CHECK_INT(TDM_FINISH_FAILED, t.finish);
    CHECK_INT(before + 4, scripted.served);
    CHECK(strstr(t.said, "the server answers 429"));
    scripted.answer = "HTTP/1.1 503 Busy\r\nRetry-After: 601\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    talking_say(&t, "Hi");
    CHECK_INT(TDM_FINISH_FAILED, t.finish);
    CHECK_INT(before + 5, scripted.served);
    scripted.answer = "HTTP/1.1 429 Busy\r\nRetry-After: 61\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    talking_say(&t, "Hi");
    CHECK_INT(before + 6, scripted.served);
    talking_close(&t);
}

/* So is one that renders the prompt first: with the request that it refused. */
TEST(several_answers_are_as_many_requests)
{
    struct talk t;
    tdm_error err = {0};
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = good_answer();
    talking_say(&t, "Hello?");
    int before = scripted.served, ended = 0;
    scripted.sought = "\"id_slot\":3"; /* the conversation's, which one of them gets */
    scripted.found = 0;
    REQUIRE(tdm_chat_answers(t.chat, 3, "Hi", 2, clock_ns(), &err) == TDM_OK);
    while (ended < 3) {
        tdm_event e;
        poll(&(struct pollfd){.fd = tdm_chat_fd(t.chat), .events = POLLIN}, 1, 200);
        while (tdm_chat_next_event(t.chat, &e)) ended += e.kind == TDM_EV_END && e.finish == TDM_FINISH_END;
    }
    CHECK_INT(before + 3, scripted.served);
    CHECK_INT(1, scripted.found);
    scripted.sought = NULL;
    tdm_node node;
    REQUIRE(tdm_chat_node(t.chat, TDM_FRONT, 6, &node, &err) == TDM_OK);
    CHECK_STR("Hello you", node.text);
    CHECK_INT(3, node.branches);
    tdm_node_free(&node);
    talking_close(&t);
}

TEST(thinking_is_told_apart)
{
    struct talk t;
    tdm_chat_options o;
    tdm_error err = {0};
    static char answer[1000];
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    tdm_chat_options_of(t.chat, &o);
    o.think = TDM_THINK_ON;
    REQUIRE(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    snprintf(answer, sizeof answer, "%s%s%s%s%s", STREAM, PIECE("hm </th"), PIECE("ink>\\n\\nWell"), PIECE(" so"), END);
    scripted.answer = answer;
    talking_say(&t, "Hi");
    CHECK_STR("Well so", t.text.bytes);
    CHECK(strstr(scripted.asked, "<|im_start|>assistant\\n<think>\\n\""));
    tdm_node node;
    REQUIRE(tdm_chat_node(t.chat, TDM_FRONT, 2, &node, &err) == TDM_OK);
    CHECK_STR("hm ", node.thinking);
    tdm_node_free(&node);
    talking_close(&t);
}

TEST(another_template_is_run_as_well)
{
    struct talk t;
    talking_props = scripted_ok("{\"default_generation_settings\":{\"n_ctx\":4096},\"chat_template\":"
                                "\"{% for m in messages %}{{ '[INST]' + m.content + '[/INST]' if m.role == 'user' else "
                                "m.content }}{% endfor %}\"}");
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = good_answer();
    talking_say(&t, "Hi");
    CHECK_STR("Hello you", t.text.bytes);
    CHECK(strstr(scripted.asked, "POST /completion "));
    CHECK(strstr(scripted.asked, "\"prompt\":\"[INST]Hi[/INST]\""));
    talking_close(&t);
    if (!talking_open(&t, -1)) return; /* once more, with reading ahead: what is rendered ends where the user goes on */
    say_and_read_ahead(&t, "Hi", evaluated(5, 5));
    CHECK(strstr(scripted.asked, "\"prompt\":\"[INST]Hi[/INST]Hello you[INST]\",\"n_predict\":0"));
    talking_props = NULL;
    talking_close(&t);
}

/* One that can't be run: the server renders the messages. */
TEST(a_server_whose_template_fails_is_given_messages)
{
    struct talk t;
    talking_props =
        scripted_ok("{\"default_generation_settings\":{\"n_ctx\":4096},\"chat_template\":\"{% no tag %}\"}");
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    scripted.answer = STREAM "data: {\"choices\":[{\"delta\":{\"content\":\"Well.\"},\"finish_reason\":\"stop\"}]}\n\n";
    talking_say(&t, "Hi");
    CHECK_STR("Well.", t.text.bytes);
    CHECK(strstr(scripted.asked, "POST /v1/chat/completions "));
    CHECK(strstr(scripted.asked, "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]"));
    talking_props = NULL;
    talking_close(&t);
}

TEST(other_servers_are_given_messages)
{
    struct talk t;
    talking_props = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    scripted.answer = talking_props;
    if (!talking_open(&t, -1)) return;
    CHECK_INT(TDM_SPEC_OFF, remote_model_ahead(t.server));
    scripted.answer = STREAM "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"
                             "data: {\"choices\":[{\"delta\":{\"content\":\"Well.\"},\"finish_reason\":\"stop\"}]}\n\n"
                             "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n"
                             "data: [DONE]\n\n";
    talking_say(&t, "Hi");
    CHECK_STR("Well.", t.text.bytes);
    CHECK_INT(TDM_FINISH_END, t.finish);
    CHECK_INT(4, t.stats.reply_tokens);
    CHECK(strstr(scripted.asked, "POST /v1/chat/completions "));
    CHECK(strstr(scripted.asked, "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]"));
    CHECK(strstr(t.said, "no top-k"));
    tdm_node node;
    tdm_error err;
    REQUIRE(tdm_chat_node(t.chat, TDM_FRONT, 2, &node, &err) == TDM_OK);
    CHECK_STR("hm", node.thinking);
    tdm_node_free(&node);
    talking_say(&t, "And?");
    CHECK(strstr(scripted.asked, "{\"role\":\"assistant\",\"content\":\"Well.\"},"
                                 "{\"role\":\"user\",\"content\":\"And?\"}]"));
    CHECK_STR("", t.said);
    talking_props = NULL;
    talking_close(&t);
}

TEST(what_lies_in_states_is_refused)
{
    struct talk t;
    tdm_sequence *s = NULL;
    tdm_error err = {0};
    if (!talking_open(&t, TDM_SPEC_OFF)) return;
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_save_state(t.chat, "/nowhere", &err));
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_cold(t.chat, TDM_PIPE_TANDEM, &err));
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_sequence_open(&s, remote_model_of(t.server), t.machine,
                                                   &(tdm_sequence_options){.context = 100}, &err));
    CHECK(strstr(err.text, "on a server"));
    tdm_chat_options o;
    tdm_chat_options_of(t.chat, &o);
    o.pipeline = TDM_PIPE_SLOTS;
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_configure(t.chat, &o, &err));
    talking_close(&t);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        T(no_byte_leaves_without_consent),
        T(a_reply_comes_with_the_counts_of_the_server),
        T(what_came_of_a_cut_reply_stays_and_goes_on),
        T(a_failure_is_a_line_and_the_conversation_goes_on),
        T(a_limit_is_the_servers_and_ours_only_if_it_runs_on),
        T(a_reply_longer_than_the_context_is_ended),
        T(a_reply_that_only_repeats_itself_is_ended_at_the_same_character),
        T(a_stopped_reply_gives_its_request_up),
        T(a_finished_turn_is_read_ahead_and_then_nothing_is_sent),
        T(a_key_makes_a_connection_ready_and_tells_nothing),
        T(a_draft_is_read_ahead_where_the_user_has_said_so),
        T(what_reads_ahead_in_vain_is_given_up),
        T(a_server_that_rereads_is_asked_for_less),
        T(failures_of_reading_ahead_are_said_once),
        T(a_busy_server_is_asked_again_when_it_said),
        T(a_server_that_stays_busy_is_given_up),
        T(several_answers_are_as_many_requests),
        T(thinking_is_told_apart),
        T(another_template_is_run_as_well),
        T(a_server_whose_template_fails_is_given_messages),
        T(other_servers_are_given_messages),
        T(what_lies_in_states_is_refused),
    };
    if (!scripted_find_net()) {
        puts("skip hosted: tandem-net was not built (libcurl)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
