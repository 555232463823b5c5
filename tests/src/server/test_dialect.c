/* What is asked of each kind of server, and what is read of its answers: exchanges written after their documentation.
 */
#include "tests/check.h"
#include "tests/json_line.h"

#include "src/cli/jsonio.h"
#include "src/server/dialect.h"

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
        jsonio_parse(head, "head", b.bytes, (size_t)(line - b.bytes), NULL);
        jsonio_parse(&body, "body", line + 1, b.n - (size_t)(line + 1 - b.bytes), NULL);
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
    json_object_put(head);
    json_object_put(body);
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
    check_request("{\"method\":\"POST\",\"path\":\"/completion\",\"silent_s\":900}",
                  "{\"prompt\":\"<|im_start|>\",\"n_predict\":0,\"cache_prompt\":true,\"id_slot\":2,\"stream\":false}",
                  DIALECT_LLAMA, &ask, true);
}

TEST(vllm_and_sglang_are_asked_for_completions)
{
    dialect_ask ask = {.model = "m", .prompt = {"p", 1}, .sampling = &sampling, .slot = -1};
    check_request("{\"method\":\"POST\",\"path\":\"/v1/completions\",\"stream\":true,\"silent_s\":900}",
                  "{\"model\":\"m\",\"max_tokens\":2048,\"stream_options\":{\"include_usage\":true},\"prompt\":\"p\","
                  "\"add_special_tokens\":false,\"stream\":true,\"temperature\":0.5,\"top_p\":0.75,"
                  "\"presence_penalty\":0,\"frequency_penalty\":0,\"seed\":7,\"top_k\":20,\"min_p\":0,"
                  "\"repetition_penalty\":1}",
                  DIALECT_VLLM, &ask, false);
    check_request("{\"method\":\"POST\",\"path\":\"/v1/completions\",\"silent_s\":900}",
                  "{\"model\":\"m\",\"max_tokens\":1,\"prompt\":\"p\",\"add_special_tokens\":false,\"stream\":false}",
                  DIALECT_SGLANG, &ask, true);
}

TEST(others_are_given_messages)
{
    tdm_message messages[] = {{TDM_SYSTEM, "s", 1, NULL, 0}, {TDM_USER, "u\xff", 2, NULL, 0}};
    dialect_ask ask = {.model = "m", .messages = messages, .n_messages = 2, .sampling = &sampling, .slot = -1};
    check_request("{\"method\":\"POST\",\"path\":\"/v1/chat/completions\",\"stream\":true,\"silent_s\":900}",
                  "{\"model\":\"m\",\"stream_options\":{\"include_usage\":true},\"messages\":["
                  "{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"u\xef\xbf\xbd\"}],"
                  "\"stream\":true,\"temperature\":0.5,\"top_p\":0.75,\"presence_penalty\":0,"
                  "\"frequency_penalty\":0,\"seed\":7}",
                  DIALECT_OPENAI, &ask, false);
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
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"stop_type\":\"eos\"}", "", "", TDM_END);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"stop_type\":\"limit\"}", "", "", TDM_LENGTH);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"stopped_limit\":true}", "", "", TDM_LENGTH);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"stop_type\":\"word\",\"stopping_word\":\"E\"}", "", "",
                TDM_STOP_STRING);
    check_piece(d, "{\"content\":\"\",\"stop\":true,\"truncated\":true}", "", "", TDM_CONTEXT);
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
    check_piece(DIALECT_VLLM, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}", "", "", TDM_END);
    check_piece(DIALECT_VLLM, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\",\"stop_reason\":\"END\"}]}", "",
                "", TDM_STOP_STRING);
    check_piece(DIALECT_SGLANG, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}", "", "", TDM_LENGTH);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}", "", "", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}", "Hi", "", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm\"}}]}", "", "Hm", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{\"reasoning\":\"Hm\"}}]}", "", "Hm", -1);
    check_piece(DIALECT_OPENAI, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}", "", "", TDM_END);
    check_piece(DIALECT_OPENAI, "[DONE]", "", "", -1);
    read_good(DIALECT_VLLM, "{\"choices\":[],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":9,"
                            "\"prompt_tokens_details\":{\"cached_tokens\":48}}}");
    CHECK_INT(50, piece.prompt_tokens);
    CHECK_INT(48, piece.cached_tokens);
    CHECK_INT(2, piece.evaluated_tokens);
    CHECK_INT(9, piece.reply_tokens);
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
        check_refused(d, "", "the server's answer");
        check_refused(d, "[]", "expected");
        check_refused(d, "7", "expected");
        check_refused(d, "{}", "expected");
        check_refused(d, "{\"error\":{\"message\":\"no room\\u001b[2J\"}}", "the server says: no room?[2J");
        check_refused(d, "{\"error\":\"no room\"}", "no room");
        check_refused(d, "{\"object\":\"error\",\"message\":\"no room\"}", "no room");
    }
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
    dialect_failure(500, (struct span){"", 0}, &err);
    CHECK_STR("the server answers 500", err.text);
}

TEST(names)
{
    for (dialect d = 0; d < DIALECTS; d++) CHECK_INT(d, dialect_find(dialect_name(d)));
    CHECK_INT(-1, dialect_find("ollama"));
}

TEST_MAIN(T(llama_server_is_asked_for_completions_in_a_slot), T(vllm_and_sglang_are_asked_for_completions),
          T(others_are_given_messages), T(pieces_of_llama_server), T(pieces_of_the_others),
          T(nonsense_and_errors_are_told), T(failures_have_one_line), T(names))
