/* Replies in every form that servers have for them, and for saying that there is none. (The server: scripted.h.) */
#include "tests/check.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "engine/base/clock.h"
#include "tests/src/server/talking.h"

#define OK(type)    "HTTP/1.1 200 OK\r\n" type "Connection: close\r\n\r\n"
#define DELTA(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define STOP        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"

static int messages(const struct talk *t)
{
    return tdm_chat_nodes(t->chat, TDM_FRONT);
}

/* The reply is this text; or with `failed` that is what has come of it. */
static void check_reply(struct talk *t, const char *answer, const char *text, const char *failed)
{
    scripted.answer = answer;
    int before = messages(t);
    talking_say(t, "Hi");
    CHECK_STR(text, t->text.bytes);
    CHECK_INT(failed ? TDM_FINISH_FAILED : TDM_FINISH_END, t->finish);
    if (failed && !strstr(t->said, failed)) CHECK_FAIL("expected '%s', found '%s'", failed, t->said);
    if (!failed && t->said[0] && !strstr(t->said, "no top-k")) CHECK_FAIL("found '%s'", t->said);
    CHECK_INT(before + (text[0] ? 2 : 1), messages(t)); /* no empty turn */
}

TEST(what_has_no_content_ends_no_reply)
{
    struct talk t;
    if (!talking_open_other(&t)) return;
    check_reply(&t,
                STREAM
                ": ping\n\ndata: {}\n\ndata: null\n\ndata:\n\ndata\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" DELTA(
                    "Li") "data: {\"choices\":[]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3}}\n\n"
                          "data: {\"usage\":{\"prompt_tokens\":3}}\n\ndata: {\"choices\":null}\n\n" DELTA("ma") STOP,
                "Lima", NULL);
    check_reply(&t, STREAM DELTA("Lima") "data: [DONE]\n\n", "Lima", NULL);
    check_reply(&t, STREAM DELTA("Lima") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}", "Lima",
                NULL);
    check_reply(&t, STREAM DELTA("Lima") ": ping\n\n", "Lima", "the reply was cut off");
    check_reply(&t, STREAM ": ping\n\ndata: {}\n\n", "", "no reply in it");
    talking_close(&t);
    if (!talking_open(&t, TDM_SPEC_OFF)) return; /* a llama-server */
    static char answer[1000];
    snprintf(answer, sizeof answer, "%s: ping\n\ndata: {}\n\n%sdata: null\n\n%s%s", STREAM, PIECE("Li"), PIECE("ma"),
             END);
    check_reply(&t, answer, "Lima", NULL);
    talking_close(&t);
}

TEST(a_stream_is_read_whatever_it_is_called)
{
    static const char *const types[] = {
        OK(""), OK("Content-Type: text/plain\r\n"), OK("Content-Type: application/json\r\n"),
        OK("Content-Type: application/octet-stream\r\n"), OK("Content-Type: application/x-ndjson\r\n")};
    static const char *const bodies[] = {
        DELTA("Li") DELTA("ma") STOP "data: [DONE]\n\n",
        "{\"choices\":[{\"delta\":{\"content\":\"Li\"}}]}\n{\"choices\":[{\"delta\":{\"content\":\"ma\"},"
        "\"finish_reason\":\"stop\"}]}\n",
        "{\n  \"choices\": [{\"message\": {\"content\": \"Lima\"}, \"finish_reason\": \"stop\"}],\n\n  \"usage\": "
        "{}\n}",
        "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Lima\"}]}}]}",
    };
    struct talk t;
    char answer[1000];
    if (!talking_open_other(&t)) return;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
            snprintf(answer, sizeof answer, "%s%s", types[i], bodies[k]);
            check_reply(&t, answer, "Lima", NULL);
        }
    talking_close(&t);
}

/* With thinking, in place of check_reply's. */
static void check_thought(struct talk *t, const char *answer, const char *thought, const char *text)
{
    scripted.answer = answer;
    talking_say(t, "Hi");
    CHECK_STR(text, t->text.bytes);
    CHECK_STR(thought, t->thinking.bytes);
    CHECK_INT(TDM_FINISH_END, t->finish);
}

TEST(characters_are_whole_wherever_they_are_cut)
{
    static const struct { const char *pieces, *text; } cases[] = {
        {DELTA("A \xf0\x9f") DELTA("\x8c\x8d B"), "A \xf0\x9f\x8c\x8d B"},
        {DELTA("\xf0") DELTA("\x9f") DELTA("\x8c") DELTA("\x8d"), "\xf0\x9f\x8c\x8d"},
        {DELTA("A \\ud83c") DELTA("\\udf0d B"), "A \xf0\x9f\x8c\x8d B"},
        {DELTA("A \\ud83c") "data: {}\n\n" DELTA("") DELTA("\\udf0d B"), "A \xf0\x9f\x8c\x8d B"},
        {DELTA("A \\ud83c B"), "A \xef\xbf\xbd B"},
        {DELTA("A \\udf0d B"), "A \xef\xbf\xbd B"},
        {DELTA("A \\ud83c") DELTA(" B"), "A \xef\xbf\xbd B"},
        {DELTA("A \\ud83c"), "A \xef\xbf\xbd"},
        {DELTA("A \xff B") DELTA("\xc3"), "A \xef\xbf\xbd B\xef\xbf\xbd"},
        {DELTA("A\\u0000B"), "A"}, /* and more: compared by C's strings */
    };
    struct talk t;
    char answer[1000];
    if (!talking_open_other(&t)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(answer, sizeof answer, "%s%s%s", STREAM, cases[i].pieces, STOP);
        check_reply(&t, answer, cases[i].text, NULL);
    }
    check_reply(&t, OK("") "{\"choices\":[{\"message\":{\"content\":\"A \\ud83c\\udf0d \xff\"}}]}",
                "A \xf0\x9f\x8c\x8d \xef\xbf\xbd", NULL);
    check_reply(&t, STREAM "data: {\"error\":{\"message\":\"no r\xfc" "m\"}}\n\n", "", "the server says: no r");
    talking_close(&t);
}

TEST(thinking_is_told_apart_under_all_its_names)
{
#define THINKS(members) "data: {\"choices\":[{\"delta\":{" members "}}]}\n\n"
    static const struct { const char *pieces, *thought, *text; } cases[] = {
        {THINKS("\"reasoning\":\"Let me.\"") THINKS("\"reasoning\":\" More.\"") DELTA("Lima"), "Let me. More.", "Lima"},
        {THINKS("\"reasoning_content\":\"Hm\",\"content\":null") DELTA("Lima"), "Hm", "Lima"},
        {THINKS("\"reasoning\":\"Hm\",\"reasoning_content\":\"Hm\"")
             THINKS("\"content\":\"Lima\",\"reasoning\":null,\"reasoning_content\":null"), "Hm", "Lima"},
        {THINKS("\"content\":\"\",\"reasoning\":\"Hm\",\"reasoning_content\":\"\"")
             THINKS("\"content\":\"Lima\",\"reasoning\":\"\",\"reasoning_content\":\"\""), "Hm", "Lima"},
        {THINKS("\"reasoning\":\"\",\"reasoning_content\":\"Hm\"") DELTA("Lima"), "Hm", "Lima"},
        {THINKS("\"thinking\":\"Hm\"") DELTA("Lima"), "Hm", "Lima"},
        {THINKS("\"content\":\"\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"Hm\"}]") DELTA("Lima"),
         "Hm", "Lima"},
        {THINKS("\"reasoning\":\"Hm\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"Hm\"}]")
             DELTA("Lima"), "Hm", "Lima"},
        {THINKS("\"reasoning\":\"H\\ud83c\"") THINKS("\"reasoning\":\"\\udf0dm\\ud83c\"") DELTA("Lima"),
         "H\xf0\x9f\x8c\x8dm\xef\xbf\xbd", "Lima"},
        {DELTA("<think>\\nLet me") DELTA(" see.\\n</th") DELTA("ink>\\n\\nLima"), "Let me see.\n", "Lima"},
        {DELTA("\\n<th") DELTA("ink>") DELTA("\\nHm</think>Lima"), "Hm", "Lima"},
        {DELTA("<thin") DELTA("ly sliced>"), "", "<thinly sliced>"},
        {DELTA("<thi"), "", "<thi"},
        {DELTA("Lima <think>") DELTA(" is no thought</think>"), "", "Lima <think> is no thought</think>"},
        {THINKS("\"reasoning\":\"Hm\"") DELTA("<think>Lima</think>"), "Hm", "<think>Lima</think>"},
    };
    struct talk t;
    char answer[1000];
    if (!talking_open_other(&t)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(answer, sizeof answer, "%s%s%s", STREAM, cases[i].pieces, STOP);
        check_thought(&t, answer, cases[i].thought, cases[i].text);
    }
    check_thought(&t, OK("") "{\"choices\":[{\"message\":{\"reasoning\":\"Hm\",\"reasoning_content\":\"\","
                              "\"content\":\"Lima\"}}]}", "Hm", "Lima");
    check_thought(&t, OK("") "{\"choices\":[{\"message\":{\"content\":\"<think>Hm</think>Lima\"}}]}", "Hm", "Lima");
    talking_close(&t);
}

TEST(errors_are_told_in_the_servers_own_words)
{
    static const char *const bodies[] = {
        "data: {\"error\":{\"message\":\"no room\",\"code\":500}}\n\n",
        "data: {\"error\":\"no room\"}\n\n",
        "data: [{\"error\":{\"message\":\"no room\"}}]\n\n",
        "data: {\"detail\":\"no room\"}\n\n",
        "data: {\"detail\":[{\"loc\":[\"body\"],\"msg\":\"no room\"}]}\n\n",
        "data: {\"message\":\"no room\"}\n\n",
        "error: {\"code\":500,\"message\":\"no room\"}\n\n",
        "event: error\ndata: {\"message\":\"no room\"}\n\n",
        "event: error\ndata: no room\n\n",
        "{\"error\":{\"message\":\"no room\"}}",
        "{\n\"error\":\n\"no room\"}",
        "<html><body><h1>no room</h1></body></html>",
        "no room\x1b[2J",
    };
    struct talk t;
    char answer[1000];
    if (!talking_open_other(&t)) return;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        snprintf(answer, sizeof answer, "%s%s", STREAM, bodies[i]);
        check_reply(&t, answer, "", "the server says: no room");
        snprintf(answer, sizeof answer, "%s%s%s", STREAM, DELTA("Lima"), bodies[i]);
        check_reply(&t, answer, "Lima", "the server says: no room");
        CHECK(!strchr(t.said, 27));
    }
    static const char *const refusals[] = {"{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"no room\"}]}",
                                           "<html><title>no room</title></html>", "no room",
                                           "[{\"error\":{\"message\":\"no room\"}}]"};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        snprintf(answer, sizeof answer, "HTTP/1.1 400 No\r\nConnection: close\r\n\r\n%s", refusals[i]);
        check_reply(&t, answer, "", "no room");
    }
    talking_close(&t);
}

#define FINISH(reason) "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\ndata: [DONE]\n\n"

TEST(an_end_that_is_none_leaves_no_empty_turn)
{
    static const struct {
        const char *end, *says;
    } ends[] = {
        {FINISH("content_filter"), "content filter"},
        {FINISH("error"), "ended the reply with an error"},
        {FINISH("tool_calls"), "the model calls a tool"},
        {FINISH("function_call"), "the model calls a function"},
        {FINISH("odd"), "the server ended the reply (odd)"},
        {"data: {\"choices\":[{\"delta\":{\"refusal\":\"I can\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"refusal\":\"'t say\"}}]}\n\n" STOP,
         "the model refuses: I can't say"},
        {"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"search\"}}]}}]}\n\n" STOP,
         "the model calls a tool, and there is none here: search"},
    };
    struct talk t;
    char answer[1000];
    tdm_error err = {0};
    if (!talking_open_other(&t)) return;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(answer, sizeof answer, "%s%s", STREAM, ends[i].end);
        check_reply(&t, answer, "", ends[i].says);
        snprintf(answer, sizeof answer, "%s%s%s", STREAM, DELTA("It is"), ends[i].end);
        check_reply(&t, answer, "It is", ends[i].says);
    }
    scripted.answer = STREAM DELTA(" so.") STOP;
    REQUIRE(tdm_chat_continue(t.chat, &err) == TDM_OK); /* what had come goes on */
    talking_until_end(&t);
    CHECK_STR(" so.", t.text.bytes);
    check_reply(&t, STREAM STOP, "", "without a word");
    check_reply(&t, STREAM FINISH("length"), "", "its limit of tokens was reached");
    CHECK(!strstr(scripted.asked, "\"content\":\"\""));
    talking_close(&t);
}

/* Asked once more, it is answered; in vain, the reply before stays the current one. */
TEST(a_turn_without_a_reply_is_answered_again)
{
    struct talk t;
    tdm_error err = {0};
    tdm_node node;
    int path[4];
    if (!talking_open_other(&t)) return;
    check_reply(&t, STREAM FINISH("content_filter"), "", "content filter");
    CHECK_INT(TDM_E_NOT_FOUND, tdm_chat_continue(t.chat, &err));
    scripted.answer = STREAM DELTA("Well.") STOP;
    REQUIRE(tdm_chat_regenerate(t.chat, clock_ns(), &err) == TDM_OK);
    talking_until_end(&t);
    CHECK_STR("Well.", t.text.bytes);
    scripted.answer = NO_PAGE;
    REQUIRE(tdm_chat_regenerate(t.chat, clock_ns(), &err) == TDM_OK);
    talking_until_end(&t);
    CHECK_INT(TDM_FINISH_FAILED, t.finish);
    CHECK_INT(2, messages(&t));
    REQUIRE(tdm_chat_path(t.chat, TDM_FRONT, path, 4) == 2 &&
            tdm_chat_node(t.chat, TDM_FRONT, path[1], &node, &err) == TDM_OK);
    CHECK_STR("Well.", node.text);
    tdm_node_free(&node);
    REQUIRE(tdm_chat_answers(t.chat, 3, "Hi", 2, clock_ns(), &err) == TDM_OK); /* of three no word */
    talking_until_end(&t);
    while (t.finish != TDM_FINISH_UNFINISHED && messages(&t) > 3) talking_until_end(&t);
    CHECK_INT(3, messages(&t));
    talking_close(&t);
}

/* A question whose request gets no answer until it is stopped. */
static void stop_before_a_word(struct talk *t)
{
    tdm_error err = {0};
    scripted.answer = STREAM;
    scripted.hangs = true;
    if (tdm_chat_send(t->chat, "lost", 4, clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    for (int before = scripted.served; scripted.served == before;) poll(NULL, 0, 5);
    tdm_chat_stop(t->chat, TDM_FRONT);
    talking_until_end(t);
    scripted.hangs = false;
    sem_wait(&scripted.left);
    CHECK_INT(TDM_FINISH_STOPPED, t->finish);
}

/* Strict servers refuse a message without a text, and two questions in a row. */
static void check_later_requests(struct talk *t, const char *said)
{
    static const char *const lost[] = {
        "HTTP/1.1 503 No\r\nRetry-After: 601\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        STREAM STOP,
        STREAM DELTA("\\n") DELTA("\\n ") STOP,
        NULL,
    };
    tdm_error err = {0};
    int path[8];
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        scripted.answer = lost[i];
        if (lost[i]) talking_say(t, "lost");
        else stop_before_a_word(t);
        CHECK(t->finish != TDM_FINISH_END);
        CHECK_INT((int)i * 2 + 1, tdm_chat_path(t->chat, TDM_FRONT, path, 8)); /* the question, which ... */
        scripted.answer = said;
        if (i % 2) { /* ... is asked again, ... */
            REQUIRE(tdm_chat_regenerate(t->chat, clock_ns(), &err) == TDM_OK);
            talking_until_end(t);
            CHECK(strstr(scripted.asked, "lost"));
            REQUIRE(tdm_chat_undo(t->chat, &err) == TDM_OK);
        }
        talking_say(t, "Hi"); /* ... or in nothing that is sent later */
        CHECK_STR("Lima", t->text.bytes);
        CHECK(!strstr(scripted.asked, "lost") && !strstr(scripted.asked, "\"content\":\"\""));
        CHECK_INT((int)i * 2 + 2, tdm_chat_path(t->chat, TDM_FRONT, path, 8));
    }
}

TEST(a_turn_without_text_is_in_no_later_request)
{
    struct talk t;
    if (!talking_open_other(&t)) return;
    check_later_requests(&t, STREAM DELTA("Lima") STOP);
    talking_close(&t);
    if (!talking_open(&t, TDM_SPEC_OFF)) return; /* a llama-server, which is sent a prompt */
    check_later_requests(&t, STREAM PIECE("Lima") END);
    talking_close(&t);
}

/* One of thoughts alone is a turn on the screen, and none for a server. */
TEST(a_turn_of_thoughts_is_in_no_later_request)
{
    struct talk t;
    if (!talking_open_other(&t)) return;
    for (int i = 0; i < 2; i++) {
        scripted.answer = STREAM THINKS("\"reasoning\":\"Hm\"") STOP;
        talking_say(&t, "lost");
        CHECK_STR("Hm", t.thinking.bytes);
        scripted.answer = STREAM DELTA("Lima") STOP;
        talking_say(&t, "Hi");
        CHECK_STR("Lima", t.text.bytes);
        CHECK(!strstr(scripted.asked, "lost") && !strstr(scripted.asked, "\"content\":\"\""));
    }
    talking_close(&t);
}

/* llama-server with several models: each question names the one that is talked with, and server_info are its own. */
TEST(a_router_is_told_the_model)
{
    struct talk t;
    char own[300];
    for (int i = 0; i < 2; i++) { /* with a template that is run here, and one that can't be */
        talking_props = scripted_ok("{\"role\":\"router\",\"default_generation_settings\":{\"n_ctx\":0}}");
        snprintf(own, sizeof own, "{\"default_generation_settings\":{\"n_ctx\":2048},\"chat_template\":\"%s\"}",
                 i ? "{% no tag %}" : "[INST]{{ messages[-1].content }}[/INST]");
        scripted.answer = scripted_ok(own); /* to /props?model=m */
        if (!talking_open(&t, TDM_SPEC_OFF)) return;
        CHECK_INT(2048, remote_model_info(t.server)->context);
        scripted.answer = i ? STREAM DELTA("Lima") STOP : STREAM PIECE("Lima") END;
        talking_say(&t, "Hi");
        CHECK_STR("Lima", t.text.bytes);
        CHECK(strstr(scripted.asked, i ? "POST /v1/chat/completions " : "POST /completion "));
        CHECK(strstr(scripted.asked, "\"model\":\"m\""));
        talking_close(&t);
    }
    talking_props = NULL;
}

/* What a server leaves open behind a reply's end isn't waited for. */
TEST(a_stream_may_stay_open_behind_its_end)
{
    struct talk t;
    if (!talking_open_other(&t)) return;
    scripted.hangs = true;
    check_reply(&t, STREAM DELTA("Lima") STOP "data: [DONE]\n\n", "Lima", NULL);
    CHECK_INT(0, sem_wait(&scripted.left));
    check_reply(&t, STREAM DELTA("Lima") "data: [DONE]\n\n", "Lima", NULL);
    CHECK_INT(0, sem_wait(&scripted.left));
    scripted.hangs = false;
    talking_close(&t);
}

/* The program's own lines and exit status. */
static int run(const char *arguments, const char *input, struct buffer *out)
{
    char command[600], line[500];
    const char *program = getenv("TANDEM");
    snprintf(command, sizeof command, "printf '%s' | %s %s -m %s --yes 2>&1", input, program ? program : "build/tandem",
             arguments, scripted_start());
    FILE *f = popen(command, "r");
    buffer_clear(out);
    if (!f) return -1;
    while (fgets(line, sizeof line, f)) buffer_append(out, line, strlen(line), NULL);
    buffer_append(out, "", 1, NULL);
    return WEXITSTATUS(pclose(f));
}

TEST(every_front_end_tells_it)
{
    struct buffer out = {0};
    talking_pages[0] = (struct scripted_page){"/props", NO_PAGE};
    talking_pages[1] = (struct scripted_page){"/get_model_info", NO_PAGE};
    talking_pages[2] = (struct scripted_page){"/version", NO_PAGE};
    talking_pages[3] = (struct scripted_page){"/v1/models", scripted_ok("{\"data\":[{\"id\":\"m\"}]}")};
    talking_pages[4].path = NULL;
    scripted.pages = talking_pages;
    scripted.answer = STREAM FINISH("content_filter");
    CHECK_INT(1, run("run Hi", "", &out));
    CHECK(strstr(out.bytes, "content filter"));
    scripted.answer = STREAM DELTA("It is") "event: error\ndata: no room\n\n";
    CHECK_INT(1, run("run Hi", "", &out));
    CHECK(strstr(out.bytes, "It is") && strstr(out.bytes, "the server says: no room"));
    scripted.answer = STREAM FINISH("content_filter");
    CHECK_INT(1, run("--plain", "Hi\n", &out));
    CHECK(strstr(out.bytes, "content filter") && strstr(out.bytes, "(there is no reply; /regen asks again)"));
    buffer_free(&out);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        T(what_has_no_content_ends_no_reply),
        T(a_stream_is_read_whatever_it_is_called),
        T(characters_are_whole_wherever_they_are_cut),
        T(thinking_is_told_apart_under_all_its_names),
        T(errors_are_told_in_the_servers_own_words),
        T(an_end_that_is_none_leaves_no_empty_turn),
        T(a_turn_without_a_reply_is_answered_again),
        T(a_turn_without_text_is_in_no_later_request),
        T(a_turn_of_thoughts_is_in_no_later_request),
        T(a_router_is_told_the_model),
        T(a_stream_may_stay_open_behind_its_end),
        T(every_front_end_tells_it),
    };
    if (!scripted_find_net()) {
        puts("skip forms: tandem-net was not built (libcurl)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
