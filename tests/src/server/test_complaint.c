/* What servers say when they have no answer: each form that is known, and what is none. */
#include "tests/check.h"

#include <json-c/json_tokener.h>

#include "engine/base/harmless.h"
#include "src/server/complaint.h"

static void check(const char *expected, const char *body)
{
    char words[COMPLAINT] = "";
    bool said = complaint_read((struct span){body, strlen(body)}, words);
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
    char words[COMPLAINT];
    return complaint_read((struct span){body, n}, words) && harmless_text(words, strlen(words));
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
    char words[COMPLAINT];
    complaint_read((struct span){body, (size_t)n}, words);
    CHECK_INT((COMPLAINT - 1) / 2 * 2, strlen(words)); /* whole characters */
}

static void check_says_nothing(const char *text)
{
    char words[COMPLAINT];
    json_object *o = json_tokener_parse(text);
    if (complaint_of(o, words)) CHECK_FAIL("%s: found '%s'", text, words);
    json_object_put(o);
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

TEST_MAIN(T(forms_of_json), T(pages_and_text), T(words_are_harmless_and_few), T(an_answer_says_nothing_of_an_error))
