/* What servers say when they have no answer: each form that is known, and what is none; when a server is asked again,
 * and when it is given up. */
#include "tests/check.h"

#include "engine/base/harmless.h"
#include "engine/json/json.h"
#include "src/server/refusal.h"

static void check(const char *expected, const char *body)
{
    char words[REFUSAL_ROOM] = "";
    bool said = refusal_read((struct span){body, strlen(body)}, words);
    if (strcmp(expected, said ? words : "")) CHECK_FAIL("%s: expected '%s', found '%s'", body, expected, words);
}

TEST(forms_of_json)
{
    check("no room", "{\"error\":{\"message\":\"no room\",\"code\":500}}");
    check("no room", "{\"error\":\"no room\"}");
    check("no room", "{\"error\":true,\"message\":\"no room\"}");
    check("no room", "{\"error\":{\"error\":{\"message\":\"no room\"}}}");
    check("no room", "[{\"error\":{\"message\":\"no room\"}}]");
    check("no room; no time", "{\"error\":[{\"message\":\"no room\"},{\"message\":\"no time\"}]}");
    check("no room", "{\"errors\":[\"no room\"]}");
    check("no room", "{\"detail\":\"no room\"}");
    check("no room", "{\"detail\":{\"error\":\"no room\"}}");
    check("max_tokens: too many; seed: odd",
          "{\"detail\":[{\"loc\":[\"body\",\"max_tokens\"],\"msg\":\"too many\",\"type\":\"value_error\"},"
          "{\"loc\":[\"body\",\"seed\"],\"msg\":\"odd\"}]}");
    check("no room", "{\"object\":\"error\",\"message\":\"no room\",\"type\":\"BadRequest\",\"code\":400}");
    check("no room", "{\"message\":\"no room\"}");
    check("no room", "{\"type\":\"error\",\"error\":{\"type\":\"overloaded\",\"message\":\"no room\"}}");
    check("overloaded_error", "{\"error\":{\"type\":\"overloaded_error\",\"message\":null}}");
    check("an error without a message", "{\"error\":{}}");
    check("no room", "\"no room\"");
    check("bad", "{\"status\":\"bad\"}"); /* of a refusal any word is worth having */
    check("", "{\"a\":[]}");
    check("", "[]");
    check("", "null");
}

TEST(pages_and_text)
{
    check("502 Bad Gateway", "<html><head><title>502 Bad\n Gateway</title></head><body><h1>nginx</h1></body></html>");
    check("Not here",
          "<!DOCTYPE html><style>p { a: b }</style><script>x < 1</script><!-- <p> --><p>Not</p><p>here</p>");
    check("no room", "no\r\n\troom \n");
    check("Out of memory", "{\"error\":\"<html><body>Out of <b>memory</b></body></html>\"}");
    check("a < b", "a < b");
    check("", "<html>");
    check("never ended", "<html><title>never ended");
    check("", "");
}

static bool is_harmless(const char *body, size_t n)
{
    char words[REFUSAL_ROOM];
    return refusal_read((struct span){body, n}, words) && harmless_text(words, strlen(words));
}

TEST(words_are_harmless_and_few)
{
    char body[5000];
    CHECK(is_harmless("no \x1b[2J room \xff\xc2\x9b", 17));
    CHECK(is_harmless("\0\0 no", 5));
    CHECK(is_harmless("{\"error\":\"\\u0000\"}", 18));
    CHECK(is_harmless("{\"error\":\"\\u001b]0;x\\u0007 \\u202e\\u2028\"}", 41));
    int n = snprintf(body, sizeof body, "{\"error\":\"");
    for (int i = 0; i < 1000; i++) n += snprintf(body + n, sizeof body - (size_t)n, "\xc3\xa9");
    n += snprintf(body + n, sizeof body - (size_t)n, "\"}");
    CHECK(is_harmless(body, (size_t)n));
    char words[REFUSAL_ROOM];
    refusal_read((struct span){body, (size_t)n}, words);
    CHECK_INT((REFUSAL_ROOM - 1) / 2 * 2, strlen(words)); /* whole characters */
}

static void check_says_nothing(const char *text)
{
    char words[REFUSAL_ROOM];
    json_object *o = NULL;
    json_parse(&o, "", text, strlen(text), JSON_UTF8, NULL);
    if (refusal_of(o, words)) CHECK_FAIL("%s: found '%s'", text, words);
    json_free(o);
}

TEST(an_answer_says_nothing_of_an_error)
{
    check_says_nothing("{\"choices\":[],\"message\":\"x\"}");
    check_says_nothing("{\"content\":\"\",\"message\":\"x\"}");
    check_says_nothing("{\"choices\":[],\"error\":null}");
    check_says_nothing("{\"choices\":[],\"error\":\"\"}");
    check_says_nothing("{\"choices\":[],\"error\":false}");
    check_says_nothing("{\"message\":{\"role\":\"assistant\"}}");
    check_says_nothing("{\"type\":\"ping\"}");
    check_says_nothing("{\"usage\":{}}");
    check_says_nothing("{}");
    check_says_nothing("7");
}

static int wait_of(int status, int retry_after_s, const char *body, int tries, int waited_s)
{
    const refusal_answer a = {.status = status, .retry_after_s = retry_after_s, .body = {body, strlen(body)}};
    return refusal_wait_s(&a, tries, waited_s);
}

TEST(a_busy_server_is_asked_a_few_times)
{
    CHECK_INT(7, wait_of(429, 7, "", 1, 0));
    CHECK_INT(0, wait_of(429, 0, "", REFUSAL_TRIES - 1, 0));
    CHECK_INT(-1, wait_of(429, 7, "", REFUSAL_TRIES, 0));
    CHECK_INT(-1, wait_of(429, REFUSAL_BUSY_S + 1, "", 1, 0));
    CHECK_INT(-1, wait_of(429, -1, "", 1, 0));
}

TEST(a_server_that_loads_is_asked_for_ten_minutes)
{
    static const char *const loading[] = {"{\"error\":{\"message\":\"Loading model\",\"code\":503}}", "LOADING",
                                          "the model is still loading"};
    for (size_t i = 0; i < sizeof loading / sizeof *loading; i++) {
        CHECK_INT(REFUSAL_LOADING_S, wait_of(503, -1, loading[i], 1, 0));
        CHECK_INT(REFUSAL_LOADING_S, wait_of(503, -1, loading[i], 99, REFUSAL_MAX_S - REFUSAL_LOADING_S));
        CHECK_INT(-1, wait_of(503, -1, loading[i], 99, REFUSAL_MAX_S - REFUSAL_LOADING_S + 1));
    }
    CHECK_INT(120, wait_of(503, 120, "", 9, 0));
    CHECK_INT(-1, wait_of(503, 120, "", 9, REFUSAL_MAX_S - 119));
    CHECK_INT(-1, wait_of(503, REFUSAL_MAX_S + 1, "", 1, 0));
    CHECK_INT(-1, wait_of(503, 2147483647, "", 1, REFUSAL_MAX_S));
    CHECK(wait_of(503, 0, "", 1, 0) > 0); /* 'at once' each time is no request without end */
    const refusal_answer llama = {.status = 503, .retry_after_s = -1, .body = {"", 0}, .loads = true};
    CHECK_INT(REFUSAL_LOADING_S, refusal_wait_s(&llama, 50, 0));
}

TEST(nothing_else_is_asked_again)
{
    CHECK_INT(-1, wait_of(503, -1, "out of order", 1, 0));
    CHECK_INT(-1, wait_of(503, -1, "load", 1, 0));
    CHECK_INT(-1, wait_of(500, 1, "Loading model", 1, 0));
    CHECK_INT(-1, wait_of(200, 1, "Loading model", 1, 0));
    CHECK_INT(-1, wait_of(0, -1, "", 1, 0));
}

TEST_MAIN(T(forms_of_json), T(pages_and_text), T(words_are_harmless_and_few), T(an_answer_says_nothing_of_an_error),
          T(a_busy_server_is_asked_a_few_times), T(a_server_that_loads_is_asked_for_ten_minutes),
          T(nothing_else_is_asked_again))
