/* Servers that render the messages are told whether the model is to think, each in its own way, and what comes of it is
 * found wherever it stands. (The server: scripted.h.) */
#include "tests/check.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "tests/src/server/talking.h"

#define DELTA(key, text) "data: {\"choices\":[{\"delta\":{\"" key "\":\"" text "\"}}]}\n\n"
#define STOP             "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
/* Of a template that opens the thinking where it is told to, or else leaves it to the model. */
#define OTHER_PROPS                                                                                                    \
    "{\"default_generation_settings\":{\"n_ctx\":4096},\"chat_template\":\"[INST]{{ messages[-1].content }}[/INST]"    \
    "{{ '<think>\\n' if enable_thinking }}\"}"

/* Of one whose replies are messages of channels. */
#define CHANNELS_PROPS                                                                                                 \
    "{\"default_generation_settings\":{\"n_ctx\":4096},\"chat_template\":\"{% for m in messages %}<|start|>"           \
    "{{ m.role }}{% if m.role == 'assistant' %}{% if m.thinking and loop.last and not add_generation_prompt %}"        \
    "<|channel|>analysis<|message|>{{ m.thinking }}<|end|><|start|>assistant{% endif %}<|channel|>final{% endif %}"    \
    "<|message|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}\"}"

#define NO_THINKING "showed no thinking"

static void set_thinking(struct talk *t, tdm_thinking think)
{
    tdm_chat_options o;
    tdm_error err = {0};
    tdm_chat_options_of(t->chat, &o);
    o.think = think;
    if (tdm_chat_configure(t->chat, &o, &err)) CHECK_FAIL("%s", err.text);
}

/* What comes is this thinking and this text; `asks` stands in the request, or with a '!' before it doesn't. */
static void check_turn(struct talk *t, const char *thinking, const char *text, const char *asks)
{
    talking_say(t, "Hi");
    CHECK_STR(thinking, t->thinking.bytes);
    CHECK_STR(text, t->text.bytes);
    CHECK_INT(TDM_FINISH_END, t->finish);
    bool expected = asks[0] != '!';
    if (!strstr(scripted.asked, asks + !expected) == expected) CHECK_FAIL("expected %s in %s", asks, scripted.asked);
}

/* A server without a page of its own, whose list of models is this. */
static bool open_other(struct talk *t, const char *models)
{
    talking_models = models ? scripted_ok(models) : NULL;
    bool there = talking_open_other(t);
    talking_models = NULL;
    return there;
}

TEST(an_unknown_server_is_asked_for_effort_only_where_it_is_to_think)
{
    struct talk t;
    if (!open_other(&t, NULL)) return;
    tdm_model_info info;
    tdm_model_describe(remote_model_of(t.server), &info);
    CHECK(info.thinkings >> TDM_THINK_ON & 1);
    scripted.answer = STREAM DELTA("content", "Lima") STOP;
    check_turn(&t, "", "Lima", "!reasoning_effort");
    CHECK(!strstr(scripted.asked, "chat_template_kwargs"));
    set_thinking(&t, TDM_THINK_ON);
    scripted.answer = STREAM DELTA("reasoning", "Hm") DELTA("content", "Lima") STOP;
    check_turn(&t, "Hm", "Lima", "\"reasoning_effort\":\"medium\"");
    CHECK(!strstr(scripted.asked, "<think>")); /* nor do messages tell of it */
    set_thinking(&t, TDM_THINK_HIGH);
    scripted.answer = STREAM DELTA("reasoning", "Hm") DELTA("content", "Lima") STOP;
    check_turn(&t, "Hm", "Lima", "\"reasoning_effort\":\"high\"");
    set_thinking(&t, TDM_THINK_ON);
    scripted.answer =
        STREAM DELTA("content", "<think>H") DELTA("content", "m</think>\\n\\nLi") DELTA("content", "ma") STOP;
    check_turn(&t, "Hm", "Lima", "\"reasoning_effort\":\"medium\"");
    CHECK_STR("", t.said);
    talking_close(&t);
}

TEST(one_that_does_not_think_is_told_of_once)
{
    struct talk t;
    if (!open_other(&t, NULL)) return;
    set_thinking(&t, TDM_THINK_ON);
    scripted.answer = STREAM DELTA("content", "Lima") STOP;
    check_turn(&t, "", "Lima", "reasoning_effort");
    if (!strstr(t.said, NO_THINKING)) CHECK_FAIL("found '%s'", t.said);
    check_turn(&t, "", "Lima", "reasoning_effort");
    CHECK_STR("", t.said);
    talking_close(&t);
}

TEST(ollama_is_told_either)
{
    struct talk t;
    if (!open_other(&t, "{\"data\":[{\"id\":\"m\",\"object\":\"model\",\"owned_by\":\"library\"}]}")) return;
    scripted.answer = STREAM DELTA("content", "Lima") STOP;
    check_turn(&t, "", "Lima", "\"reasoning_effort\":\"none\"");
    set_thinking(&t, TDM_THINK_ON);
    scripted.answer = STREAM DELTA("reasoning", "Hm") DELTA("content", "Lima") STOP;
    check_turn(&t, "Hm", "Lima", "\"reasoning_effort\":\"medium\"");
    talking_close(&t);
}

/* vLLM's and SGLang's model of another family, and one of ours behind an unknown address. */
TEST(templates_get_an_argument)
{
    static const struct {
        const char *page, *tells, *models;
    } servers[] = {
        {"/get_model_info", "{\"model_path\":\"m\"}", NULL},
        {"/version", "{\"version\":\"0.20.0\"}", NULL},
        {NULL, NULL, "{\"data\":[{\"id\":\"Qwen/Qwen3.5-35B-A3B\",\"owned_by\":\"someone\"}]}"},
    };
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        struct talk t;
        if (servers[i].page) talking_more = (struct scripted_page){servers[i].page, scripted_ok(servers[i].tells)};
        bool there = open_other(&t, servers[i].models);
        talking_more.path = NULL;
        if (!there) return;
        scripted.answer = STREAM DELTA("content", "Lima") STOP;
        check_turn(&t, "", "Lima", "\"chat_template_kwargs\":{\"enable_thinking\":false,\"thinking\":false}");
        CHECK(strstr(scripted.asked, "POST /v1/chat/completions "));
        set_thinking(&t, TDM_THINK_ON);
        scripted.answer = STREAM DELTA("reasoning_content", "Hm") DELTA("content", "Lima") STOP;
        check_turn(&t, "Hm", "Lima", "\"chat_template_kwargs\":{\"enable_thinking\":true,\"thinking\":true}");
        CHECK(!strstr(scripted.asked, "reasoning_effort"));
        talking_close(&t);
    }
}

/* A llama-server's template opens the thinking in the prompt that it renders: the reply goes on in it. */
TEST(a_rendered_prompt_may_open_the_thinking)
{
    struct talk t;
    talking_props = scripted_ok(OTHER_PROPS);
    bool there = talking_open(&t, TDM_SPEC_OFF);
    talking_props = NULL;
    if (!there) return;
    set_thinking(&t, TDM_THINK_ON);
    scripted.answer = STREAM PIECE("Hm") PIECE("</think>\\n\\nLima") END;
    check_turn(&t, "Hm", "Lima", "\"prompt\":\"[INST]Hi[/INST]<think>\\n\"");
    CHECK_STR("", t.said);
    set_thinking(&t, TDM_THINK_OFF);
    check_turn(&t, "", "Hm</think>\n\nLima", "\"prompt\":\"[INST]Hi[/INST]\""); /* nothing opened it */
    scripted.answer = STREAM PIECE("<think>Hm</think>\\n\\nLima") END;
    check_turn(&t, "Hm", "Lima", "\"prompt\":\"[INST]Hi[/INST]\"");
    talking_close(&t);
}

/* The marks of its special tokens, which a server leaves out unless it is asked for them. */
TEST(messages_of_channels_are_asked_for_with_their_marks)
{
    struct talk t;
    talking_props = scripted_ok(CHANNELS_PROPS);
    bool there = talking_open(&t, TDM_SPEC_OFF);
    talking_props = NULL;
    if (!there) return;
    scripted.answer = STREAM PIECE("<|channel|>analysis<|mess") PIECE("age|>Hm<|end|><|start|>assistant<|chan")
        PIECE("nel|>final<|message|>Lima<|end|><|start|>user") END;
    check_turn(&t, "Hm", "Lima", "\"preserved_tokens\":[\"<|channel|>\",\"<|message|>\",\"<|end|>\",\"<|start|>\"]");
    check_turn(&t, "Hm", "Lima", "assistant<|channel|>final<|message|>Lima<|end|><|start|>user<|message|>Hi<|end|>");
    CHECK_STR("", t.said);
    talking_close(&t);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        T(an_unknown_server_is_asked_for_effort_only_where_it_is_to_think),
        T(one_that_does_not_think_is_told_of_once),
        T(ollama_is_told_either),
        T(templates_get_an_argument),
        T(a_rendered_prompt_may_open_the_thinking),
        T(messages_of_channels_are_asked_for_with_their_marks),
    };
    if (!scripted_find_net()) {
        puts("skip thinking: tandem-net was not built (libcurl)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
