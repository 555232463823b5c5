/* Changes from one object to the next: small, and what they make of the one is the other, whatever both are. */
#include "tests/check.h"
#include "tests/json_line.h"

#include "engine/json/json.h"
#include "src/watch/difference.h"

static json_object *parse(const char *text)
{
    json_object *o = NULL;
    tdm_error err;
    if (json_parse(&o, "a test", text, strlen(text), JSON_UTF8, &err)) CHECK_FAIL("%s: %s", text, err.text);
    return o;
}

/* The changes as text; that they lead from the one to the other is checked. It lives until the next call. */
static const char *changes(const char *before, const char *now)
{
    static char text[4000];
    json_object *a = parse(before), *b = parse(now), *c = difference_between(a, b), *made = NULL;
    tdm_error err;
    snprintf(text, sizeof text, "%s", json_line(c));
    json_object *read = parse(text);
    if (difference_apply(a, read, &made, &err)) CHECK_FAIL("%s: %s", text, err.text);
    if (!json_equal(made, b)) CHECK_FAIL("%s to %s: %s made %s", before, now, text, json_line(made));
    json_free(read);
    json_free(made);
    json_free(a);
    json_free(b);
    json_free(c);
    return text;
}

TEST(what_has_changed)
{
    CHECK_STR("{}", changes("{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1}"));
    CHECK_STR("{\"a\":[\"is\",2],\"c\":[\"is\",null],\"b\":[\"gone\"]}",
              changes("{\"a\":1,\"b\":1}", "{\"a\":2,\"c\":null}"));
    CHECK_STR("{\"a\":[\"is\",null]}", changes("{\"a\":1}", "{\"a\":null}"));
    CHECK_STR("{\"a\":[\"is\",{\"b\":1}]}", changes("{\"a\":null}", "{\"a\":{\"b\":1}}"));
    CHECK_STR("{\"a\":[\"in\",{\"c\":[\"is\",3]}]}", changes("{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1,\"c\":3}}"));
    CHECK_STR("{\"a\":[\"slide\",1,3,[9]]}", changes("{\"a\":[5,6,7,8]}", "{\"a\":[6,7,8,9]}"));
    CHECK_STR("{\"a\":[\"slide\",0,2,[[9],[4]]]}", changes("{\"a\":[[1],[2],[3]]}", "{\"a\":[[1],[2],[9],[4]]}"));
    CHECK_STR("{\"a\":[\"slide\",1,3,[7]]}", changes("{\"a\":[0,0,0,5]}", "{\"a\":[0,0,5,7]}"));
    CHECK_STR("{\"a\":[\"at\",[[1,[1,60]]]]}", changes("{\"a\":[[0,9],[1,50],[2,7]]}", "{\"a\":[[0,9],[1,60],[2,7]]}"));
    CHECK_STR("{\"a\":[\"is\",[]]}", changes("{\"a\":[1]}", "{\"a\":[]}"));
    CHECK_STR("{\"a\":[\"is\",[1,null]]}", changes("{\"a\":[]}", "{\"a\":[1,null]}"));
}

TEST(any_objects)
{
    static const char *const values[] = {"null",
                                         "1",
                                         "2",
                                         "0.5",
                                         "\"x\"",
                                         "[]",
                                         "[1,2,3]",
                                         "[2,3,4]",
                                         "[1,2,9]",
                                         "[[1,2],[3,4]]",
                                         "[[3,4],[5,6]]",
                                         "{}",
                                         "{\"a\":1}",
                                         "{\"a\":[1,2],\"b\":null}",
                                         "{\"a\":[2,3]}"};
    enum { N = sizeof values / sizeof *values };
    char a[200], b[200];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            snprintf(a, sizeof a, "{\"p\":%s,\"q\":%s}", values[i], values[(i + 3) % N]);
            snprintf(b, sizeof b, "{\"q\":%s,\"p\":%s,\"r\":%s}", values[k], values[k], values[i]);
            changes(a, b);
            changes(b, a);
        }
}

TEST(what_is_no_change)
{
    static const char *const wrong[] = {"1",
                                        "[]",
                                        "[1]",
                                        "[\"is\"]",
                                        "[\"is\",1,2]",
                                        "[\"in\",{}]",
                                        "[\"was\",1]",
                                        "[\"slide\",0,4,[]]",
                                        "[\"slide\",3,1,[]]",
                                        "[\"slide\",-1,1,[]]",
                                        "[\"slide\",0,1]",
                                        "[\"at\",[[3,1]]]",
                                        "[\"at\",[[1,1],[0,1]]]",
                                        "[\"at\",[[0]]]",
                                        "[\"at\",7]"};
    json_object *before = parse("{\"a\":[1,2,3]}"), *now = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int fresh = 0; fresh < 2; fresh++) {
            char text[200];
            tdm_error err;
            snprintf(text, sizeof text, "{\"%s\":%s}", fresh ? "b" : "a", wrong[i]);
            json_object *c = parse(text);
            if (difference_apply(before, c, &now, &err) != TDM_E_FORMAT) CHECK_FAIL("%s is taken", text);
            json_free(c);
        }
    json_free(before);
}

TEST_MAIN(T(what_has_changed), T(any_objects), T(what_is_no_change))
