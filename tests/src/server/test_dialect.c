/* What is asked of each kind of server, and what is read of its answers: exchanges written after their documentation.
 */
#include "tests/check.h"
#include "tests/json_line.h"

#include "engine/json/json.h"
#include "src/image/picture.h"
#include "src/server/dialect.h"
#include "tests/src/image/drawn.h"

static const tdm_sampling sampling = {
    .temperature = 0.5F, .top_k = 20, .top_p = 0.75F, .min_p = 0, .repeat_penalty = 1, .seed = 7};

/* The request's JSON head and body. */
static json_object *request(dialect d, const dialect_ask *ask, bool ahead, json_object **head)
{
    struct buffer b = {0};
    tdm_error err = {0};
    json_object *body = NULL;
    if (dialect_request(d, ask, ahead, &b, &err)) CHECK_FAIL("%s", err.text);
    char *line = b.n ? strchr(b.bytes, '\n') : NULL;
    if (line) {
        json_parse(head, "head", b.bytes, (size_t)(line - b.bytes), JSON_UTF8, NULL);
        json_parse(&body, "body", line + 1, b.n - (size_t)(line + 1 - b.bytes), JSON_UTF8, NULL);
    }
    buffer_free(&b);
    return body;
}

static void check_request(const char *head_expected, const char *expected, dialect d, const dialect_ask *ask,
                          bool ahead)
{
    json_object *head = NULL, *body = request(d, ask, ahead, &head);
    CHECK_STR(head_expected, head ? json_line(head) : "");
    CHECK_STR(expected, body ? json_line(body) : "");
    json_free(head);
    json_free(body);
}

TEST(llama_server_is_asked_for_completions_in_a_slot)
{
    const char *stops[] = {"END", NULL};
    dialect_ask ask = {
        .prompt = {"<|im_start|>", 12}, .sampling = &sampling, .slot = 2, .max_tokens = 64, .stops = stops};
    check_request("{\"method\":\"POST\",\"path\":\"/completion\",\"stream\":true,\"silent_s\":900}",
                  "{\"prompt\":\"<|im_start|>\",\"n_predict\":64,\"cache_prompt\":true,\"id_slot\":2,"
                  "\"timings_per_token\":true,\"logit_bias\":[],\"stream\":true,"
                  "\"temperature\":0.5,\"top_p\":0.75,\"presence_penalty\":0,\"frequency_penalty\":0,\"seed\":7,"
                  "\"top_k\":20,\"min_p\":0,\"repeat_penalty\":1,\"stop\":[\"END\"]}",
                  DIALECT_LLAMA, &ask, false);
    const char *marks[] = {"<|channel|>", "<|end|>", NULL};
    dialect_ask marked = {.sampling = &sampling, .slot = -1, .marks = marks};
    json_object *head = NULL, *body = request(DIALECT_LLAMA, &marked, false, &head);
    CHECK(body && strstr(json_line(body), "\"preserved_tokens\":[\"<|channel|>\",\"<|end|>\"]"));
    json_free(head);
    json_free(body);
    check_request("{\"method\":\"POST\",\"path\":\"/completion\",\"silent_s\":900}",
                  "{\"prompt\":\"<|im_start|>\",\"n_predict\":0,\"cache_prompt\":true,\"id_slot\":2,\"stream\":false}",
                  DIALECT_LLAMA, &ask, true);
}

TEST(vllm_and_sglang_are_asked_for_completions)
{
    dialect_ask ask = {.model = "m", .prompt = {"p", 1}, .sampling = &sampling, .slot = -1};
    check_request("{\"method\":\"POST\",\"path\":\"/v1/completions\",\"stream\":true,\"silent_s\":900}",
                  "{\"max_tokens\":2048,\"stream_options\":{\"include_usage\":true},\"prompt\":\"p\","
                  "\"add_special_tokens\":false,\"stream\":true,\"temperature\":0.5,\"top_p\":0.75,"
                  "\"presence_penalty\":0,\"frequency_penalty\":0,\"seed\":7,\"top_k\":20,\"min_p\":0,"
                  "\"repetition_penalty\":1,\"model\":\"m\"}",
                  DIALECT_VLLM, &ask, false);
    const char *marks[] = {"<|channel|>", NULL};
    dialect_ask marked = {.sampling = &sampling, .marks = marks};
    json_object *head = NULL, *body = request(DIALECT_SGLANG, &marked, false, &head);
    CHECK(body && strstr(json_line(body), "\"skip_special_tokens\":false"));
    json_free(head);
    json_free(body);
    check_request("{\"method\":\"POST\",\"path\":\"/v1/completions\",\"silent_s\":900}",
                  "{\"max_tokens\":1,\"prompt\":\"p\",\"add_special_tokens\":false,\"stream\":false,\"model\":\"m\"}",
                  DIALECT_SGLANG, &ask, true);
}

TEST(others_are_given_messages)
{
    tdm_message messages[] = {{TDM_SYSTEM, "s", 1, NULL, 0, NULL, 0}, {TDM_USER, "u\xff", 2, NULL, 0, NULL, 0}};
    dialect_ask ask = {.model = "m", .messages = messages, .n_messages = 2, .sampling = &sampling, .slot = -1};
    check_request("{\"method\":\"POST\",\"path\":\"/v1/chat/completions\",\"stream\":true,\"silent_s\":900}",
                  "{\"stream_options\":{\"include_usage\":true},\"messages\":["
                  "{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"u\xef\xbf\xbd\"}],"
                  "\"stream\":true,\"temperature\":0.5,\"top_p\":0.75,\"presence_penalty\":0,"
                  "\"frequency_penalty\":0,\"seed\":7,\"model\":\"m\"}",
                  DIALECT_OPENAI, &ask, false);
}

/* A message's pictures stand in their places by their files' bytes; without any the content is a text as ever. */
TEST(pictures_are_parts_of_a_message)
{
    static const char png[] = "iVBORw0KGgo";
    const picture *its;
    tdm_picture *seen;
    tdm_error err = {0};
    if (!drawn_find_program(NULL)) SKIP("tandem-image was not built");
    struct drawn d = drawn_png(2, 8, false, 0);
    REQUIRE(!picture_take(&its, &seen, (char *)d.bytes, d.n, "sun.png", NULL, NULL, &err));
    tdm_placed_picture shown[] = {{seen, 0}, {seen, 4}};
    tdm_message messages[] = {{TDM_USER, "See this", 8, NULL, 0, shown, 2},
                              {TDM_USER, "and that", 8, NULL, 0, NULL, 0}};
    dialect_ask ask = {.messages = messages, .n_messages = 2, .sampling = &sampling, .slot = -1};
    json_object *head = NULL, *body = request(DIALECT_OPENAI, &ask, false, &head);
    json_object *list = body ? json_member(body, "messages", JSON_ARRAY) : NULL;
    REQUIRE(list && json_length(list) == 1);
    json_object *parts = json_member(json_at(list, 0), "content", JSON_ARRAY);
    REQUIRE(parts && json_length(parts) == 4);
    static const char *const texts[] = {NULL, "See ", NULL, "this\n\nand that"};
    for (size_t i = 0; i < 4; i++) {
        json_object *part = json_at(parts, i), *url = json_member(part, "image_url", JSON_OBJECT);
        CHECK_STR(texts[i] ? "text" : "image_url", json_text(part, "type", NULL));
        if (texts[i])
            CHECK_STR(texts[i], json_text(part, "text", NULL));
        else
            CHECK(url && strstr(json_text(url, "url", NULL), png) == json_text(url, "url", NULL) + 22);
    }
    json_free(head);
    json_free(body);
    tdm_picture_drop(seen);
}

/* How each is told whether to think first. */
TEST(thinking_is_asked_for_in_three_ways)
{
    tdm_message message = {TDM_USER, "u", 1, NULL, 0, NULL, 0};
#define ASKED "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"u\"}]"
    static const struct {
        dialect_thinking how;
        tdm_thinking think;
        const char *asks;
    } ways[] = {
        {DIALECT_THINK_RENDERED, TDM_THINK_OFF, ""},
        {DIALECT_THINK_RENDERED, TDM_THINK_HIGH, ""},
        {DIALECT_THINK_TEMPLATE, TDM_THINK_OFF,
         ",\"chat_template_kwargs\":{\"enable_thinking\":false,\"thinking\":false}"},
        {DIALECT_THINK_TEMPLATE, TDM_THINK_ON,
         ",\"chat_template_kwargs\":{\"enable_thinking\":true,\"thinking\":true}"},
        {DIALECT_THINK_TEMPLATE, TDM_THINK_LOW,
         ",\"chat_template_kwargs\":{\"enable_thinking\":true,\"thinking\":true,\"reasoning_effort\":\"low\"}"},
        {DIALECT_THINK_EFFORT, TDM_THINK_OFF, ",\"reasoning_effort\":\"none\""},
        {DIALECT_THINK_EFFORT, TDM_THINK_ON, ",\"reasoning_effort\":\"medium\""},
        {DIALECT_THINK_EFFORT, TDM_THINK_HIGH, ",\"reasoning_effort\":\"high\""},
        {DIALECT_THINK_ASKED, TDM_THINK_OFF, ""},
        {DIALECT_THINK_ASKED, TDM_THINK_ON, ",\"reasoning_effort\":\"medium\""},
        {DIALECT_THINK_ASKED, TDM_THINK_XHIGH, ",\"reasoning_effort\":\"xhigh\""},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        dialect_ask ask = {.messages = &message, .n_messages = 1, .thinking = ways[i].how, .think = ways[i].think};
        char body[300];
        snprintf(body, sizeof body, ASKED "%s,\"stream\":false}", ways[i].asks);
        check_request("{\"method\":\"POST\",\"path\":\"/v1/chat/completions\",\"silent_s\":900}", body, DIALECT_OPENAI,
                      &ask, true);
    }
#undef ASKED
}

TEST(messages_without_a_reply_are_one)
{
    tdm_message messages[] = {{TDM_SYSTEM, "s", 1, NULL, 0, NULL, 0},    {TDM_USER, "a", 1, NULL, 0, NULL, 0},
                              {TDM_USER, "", 0, NULL, 0, NULL, 0},       {TDM_USER, "b", 1, NULL, 0, NULL, 0},
                              {TDM_ASSISTANT, "c", 1, NULL, 0, NULL, 0}, {TDM_USER, "d", 1, NULL, 0, NULL, 0}};
    dialect_ask ask = {.messages = messages, .n_messages = 6, .sampling = &sampling, .slot = -1};
    json_object *head = NULL, *body = request(DIALECT_OPENAI, &ask, false, &head);
    CHECK_STR("[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"a\\n\\n\\n\\nb\"},"
              "{\"role\":\"assistant\",\"content\":\"c\"},{\"role\":\"user\",\"content\":\"d\"}]",
              json_line(json_member(body, "messages", JSON_ARRAY)));
    json_free(head);
    json_free(body);
}

TEST(each_request_names_its_model)
{
    tdm_message message = {TDM_USER, "u", 1, NULL, 0, NULL, 0};
    dialect_ask ask = {
        .model = "org/m", .prompt = {"p", 1}, .messages = &message, .n_messages = 1, .sampling = &sampling, .slot = -1};
    struct buffer b = {0};
    for (dialect d = 0; d < DIALECTS; d++)
        for (int ahead = 0; ahead < 2; ahead++) {
            json_object *head = NULL, *body = request(d, &ask, ahead, &head);
            const char *model = json_text(body, "model", NULL);
            CHECK_STR("org/m", model ? model : "");
            json_free(head);
            json_free(body);
        }
    CHECK_INT(TDM_OK, dialect_settings("org/m \xc3\xa9&x=1", &b, NULL));
    CHECK(strstr(b.bytes, "\"path\":\"/props?model=org%2Fm%20%C3%A9%26x%3D1\""));
    buffer_free(&b);
    ask.base = "";
    json_object *head = NULL, *body = request(DIALECT_OPENAI, &ask, false, &head);
    CHECK_STR("/chat/completions", json_text(head, "path", NULL));
    json_free(head);
    json_free(body);
}

static dialect_piece piece;

static void read_good(dialect d, const char *data)
{
    tdm_error err = {0};
    if (dialect_read(d, (struct span){data, strlen(data)}, &piece, &err)) CHECK_FAIL("%s: %s", data, err.text);
}

static void check_piece(dialect d, const char *data, const char *text, const char *thinking, int end)
{
    read_good(d, data);
    CHECK_STR(text, piece.text.n ? piece.text.bytes : "");
    CHECK_STR(thinking, piece.thinking.n ? piece.thinking.bytes : "");
    CHECK_INT(end, piece.end ? (int)piece.finish : -1);
}

TEST(pieces_of_llama_server)
{
    dialect d = DIALECT_LLAMA;
    check_piece(d, "{\"content\":\"He\",\"stop\":false,\"id_slot\":0}", "He", "", -1);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"stop_type\":\"eos\"}", "", "", TDM_FINISH_END);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"stop_type\":\"limit\"}", "", "", TDM_FINISH_LENGTH);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"stopped_limit\":true}", "", "", TDM_FINISH_LENGTH);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"stop_type\":\"word\",\"stopping_word\":\"E\"}", "", "",
                TDM_FINISH_STOP_STRING);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"truncated\":true}", "", "", TDM_FINISH_CONTEXT);
    read_good(d,
              "{\"content\":\"\",\"stop\":true,\"tokens_evaluated\":100,\"timings\":{\"prompt_n\":12,\"prompt_ms\":8.5,"
              "\"predicted_n\":40,\"predicted_ms\":1000}}");
    CHECK_INT(100, piece.prompt_tokens);
    CHECK_INT(12, piece.evaluated_tokens);
    CHECK_INT(88, piece.cached_tokens);
    CHECK_INT(40, piece.reply_tokens);
    CHECK(piece.prompt_ms == 8.5 && piece.reply_ms == 1000);
    read_good(d, "{\"content\":\"\",\"stop\":true,\"timings\":{\"prompt_ms\":1e308,\"predicted_ms\":1e-308}}");
    CHECK(piece.prompt_ms == -1 && piece.reply_ms == 0); /* no such times, no speeds by them */
    read_good(d, "{\"content\":\"\"}");
    CHECK_INT(-1, piece.prompt_tokens);
    CHECK_INT(-1, piece.cached_tokens);
    read_good(d, "{\"content\":\"\",\"timings\":{\"prompt_n\":9223372036854775807,\"cache_n\":4294967296,"
                 "\"predicted_n\":-5}}"); /* more than there can be, or fewer, is none */
    CHECK_INT(-1, piece.evaluated_tokens);
    CHECK_INT(-1, piece.cached_tokens);
    CHECK_INT(-1, piece.reply_tokens);
}

TEST(pieces_of_the_others)
{
    check_piece(DIALECT_VLLM, "{\"choices\":[{\"text\":\" there\",\"finish_reason\":null}]}", " there", "", -1);
    check_piece(DIALECT_VLLM, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}", "", "", TDM_FINISH_END);
    check_piece(DIALECT_VLLM, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\",\"stop_reason\":\"END\"}]}", "",
                "", TDM_FINISH_STOP_STRING);
    check_piece(DIALECT_SGLANG, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}", "", "",
                TDM_FINISH_LENGTH);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}", "", "", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}", "Hi", "", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm\"}}]}", "", "Hm", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"reasoning\":\"Hm\"}}]}", "", "Hm", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"reasoning\":\"Hm\",\"reasoning_content\":\"\"}}]}", "",
                "Hm", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"reasoning\":\"Hm\",\"reasoning_content\":\"Hm\"}}]}", "",
                "Hm", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"message\":{\"thinking\":\"Hm\",\"reasoning\":null}}]}", "", "Hm",
                TDM_FINISH_END);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}", "", "", TDM_FINISH_END);
    check_piece(DIALECT_OPENAI, "[DONE]", "", "", TDM_FINISH_END);
    read_good(DIALECT_VLLM, "{\"choices\":[],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":9,"
                            "\"prompt_tokens_details\":{\"cached_tokens\":48}}}");
    CHECK_INT(50, piece.prompt_tokens);
    CHECK_INT(48, piece.cached_tokens);
    CHECK_INT(2, piece.evaluated_tokens);
    CHECK_INT(9, piece.reply_tokens);
}

static void check_empty(const char *data)
{
    for (dialect d = 0; d < DIALECTS; d++) {
        check_piece(d, data, "", "", -1);
        CHECK(!piece.refusal.n && !piece.tool.n);
    }
}

TEST(events_without_content_are_empty_pieces)
{
    check_empty("{}");
    check_empty("null");
    check_empty("");
    check_empty(" \n");
    check_empty("{\"type\":\"ping\"}");
    check_empty("{\"choices\":null}");
    check_empty("{\"choices\":[]}");
    check_empty("{\"choices\":[],\"usage\":{\"prompt_tokens\":3}}");
    check_empty("{\"usage\":{\"prompt_tokens\":3}}");
    check_empty("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"\"}]}");
    check_empty("{\"error\":null}");
    check_empty("{\"error\":\"\",\"content\":null}");
    read_good(DIALECT_OPENAI, "{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}");
    CHECK_INT(3, piece.prompt_tokens);
    CHECK_INT(4, piece.reply_tokens);
}

TEST(content_may_come_in_parts_and_whole)
{
    check_piece(DIALECT_OPENAI,
                "{\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"Li\"},"
                "{\"type\":\"image\"},\"ma\",7]}}]}",
                "Lima", "", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"content\":{\"type\":\"text\",\"text\":\"Lima\"}}}]}",
                "Lima", "", -1);
    check_piece(DIALECT_OPENAI,
                "{\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":["
                "{\"type\":\"text\",\"text\":\"Hm\"}]},{\"type\":\"text\",\"text\":\"Lima\"}]}}]}",
                "Lima", "Hm", -1);
    check_piece(DIALECT_LLAMA, "{\"content\":[{\"type\":\"text\",\"text\":\"Lima\"}],\"stop\":true}", "Lima", "",
                TDM_FINISH_END);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"message\":{\"content\":\"Lima\"},\"finish_reason\":\"length\"}]}",
                "Lima", "", TDM_FINISH_LENGTH);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"message\":{\"content\":\"Lima\"}}]}", "Lima", "", TDM_FINISH_END);
}

static void check_end(dialect d, const char *data, tdm_finish finish, const char *reason)
{
    read_good(d, data);
    CHECK(piece.end);
    CHECK_INT(finish, piece.finish);
    CHECK_STR(reason, piece.reason);
}

static void check_reason(const char *word, tdm_finish finish, const char *reason)
{
    char data[200];
    snprintf(data, sizeof data, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"%s\"}]}", word);
    check_end(DIALECT_OPENAI, data, finish, reason);
}

TEST(ends_that_are_no_ends_are_told)
{
    check_reason("stop", TDM_FINISH_END, "");
    check_reason("STOP", TDM_FINISH_END, "");
    check_reason("eos_token", TDM_FINISH_END, "");
    check_reason("stop_sequence", TDM_FINISH_STOP_STRING, "");
    check_reason("MAX_TOKENS", TDM_FINISH_LENGTH, "");
    check_reason("model_length", TDM_FINISH_CONTEXT, "");
    check_reason("content_filter", TDM_FINISH_FAILED, "a content filter ended the reply (content_filter)");
    check_reason("error", TDM_FINISH_FAILED, "the server ended the reply with an error");
    check_reason("abort", TDM_FINISH_FAILED, "the server has broken the reply off");
    check_reason("tool_calls", TDM_FINISH_FAILED, "the model calls a tool, and there is none here");
    check_reason("function_call", TDM_FINISH_FAILED, "the model calls a function, and there is none here");
    check_reason("SAFETY", TDM_FINISH_FAILED, "the server ended the reply (SAFETY)");
    check_reason("odd\\u001b[2J", TDM_FINISH_FAILED, "the server ended the reply (odd?[2J)");
    check_end(DIALECT_LLAMA, "{\"content\":\"\",\"stop\":true,\"stop_type\":\"error\"}", TDM_FINISH_FAILED,
              "the server ended the reply with an error");
    read_good(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"refusal\":\"I can't\",\"tool_calls\":[{\"index\":0,"
                              "\"function\":{\"name\":\"search\",\"arguments\":\"\"}}]}}]}");
    CHECK_STR("I can't", piece.refusal.bytes);
    CHECK_STR("search", piece.tool.bytes);
    read_good(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}],"
                              "\"function_call\":{\"name\":\"f\"}}}]}");
    CHECK_STR("no", piece.refusal.bytes);
    CHECK_STR("f", piece.tool.bytes);
}

static void check_refused(dialect d, const char *data, const char *part)
{
    tdm_error err = {0};
    if (!dialect_read(d, (struct span){data, strlen(data)}, &piece, &err)) CHECK_FAIL("%s was read", data);
    if (!strstr(err.text, part)) CHECK_FAIL("%s: expected '%s' in '%s'", data, part, err.text);
}

TEST(nonsense_and_errors_are_told)
{
    for (dialect d = 0; d < DIALECTS; d++) {
        check_refused(d, "what?", "the server's answer");
        check_refused(d, "[]", "expected");
        check_refused(d, "7", "expected");
        check_refused(d, "{\"error\":{\"message\":\"no room\\u001b[2J\"}}", "the server says: no room?[2J");
        check_refused(d, "{\"error\":\"no room\"}", "no room");
        check_refused(d, "{\"object\":\"error\",\"message\":\"no room\"}", "no room");
        check_refused(d, "[{\"error\":{\"message\":\"no room\"}}]", "the server says: no room");
    }
    /* What came beside an error is not lost. */
    check_refused(DIALECT_OPENAI, "{\"error\":{\"message\":\"gone\"},\"choices\":[{\"delta\":{\"content\":\"Li\"}}]}",
                  "the server says: gone");
    CHECK_STR("Li", piece.text.bytes);
    check_refused(DIALECT_OPENAI,
                  "{\"choices\":[{\"delta\":{},\"error\":{\"message\":\"gone\"},"
                  "\"finish_reason\":\"error\"}]}",
                  "the server says: gone");
    check_refused(DIALECT_LLAMA, "{\"content\":7}", "content");
    check_refused(DIALECT_OPENAI, "{\"choices\":{}}", "choices");
    check_piece(DIALECT_OPENAI, "{\"choices\":[7]}", "", "", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":7}]}", "", "", -1);
    dialect_piece_free(&piece);
}

TEST(failures_have_one_line)
{
    tdm_error err;
    dialect_failure(401, (struct span){"{\"error\":{\"message\":\"bad key\"}}", 31}, &err);
    CHECK_STR("the server answers 401: bad key", err.text);
    dialect_failure(502, (struct span){"<html>", 6}, &err);
    CHECK_STR("the server answers 502", err.text);
    dialect_failure(503, (struct span){"no\nroom", 7}, &err);
    CHECK_STR("the server answers 503: no room", err.text);
    dialect_failure(500, (struct span){"", 0}, &err);
    CHECK_STR("the server answers 500", err.text);
}

TEST(names)
{
    for (dialect d = 0; d < DIALECTS; d++) CHECK_INT(d, dialect_find(dialect_name(d)));
    CHECK_INT(-1, dialect_find("ollama"));
}

TEST_MAIN(T(llama_server_is_asked_for_completions_in_a_slot), T(vllm_and_sglang_are_asked_for_completions),
          T(others_are_given_messages), T(pictures_are_parts_of_a_message), T(thinking_is_asked_for_in_three_ways),
          T(each_request_names_its_model), T(messages_without_a_reply_are_one), T(pieces_of_llama_server),
          T(pieces_of_the_others), T(events_without_content_are_empty_pieces), T(content_may_come_in_parts_and_whole),
          T(ends_that_are_no_ends_are_told), T(nonsense_and_errors_are_told), T(failures_have_one_line), T(names))
