/* JSON read and written, with and without memory: never a text that lacks something, never a crash. */
#include "src/io/jsonio.h"
#include "tests/starved.h"

static const char all[] =
    "{\"object\":{\"a\":1,\"b\":{}},\"array\":[1,[],[\"x\",null,true,false]],\"real\":1.50,\"large\":-1e-7,"
    "\"most\":9223372036854775807,\"more\":18446744073709551615,\"least\":-9223372036854775808,"
    "\"text\":"
    "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u001f\\u007f\\u009b\\u200f\\u202e\\u2028\xc3\xa9\xf0\x9f\x98\x80\","
    "\"empty\":\"\",\"odd \\n key\":0}";

static json_object *parse(const char *text, tdm_error *err)
{
    json_object *o = NULL;
    *err = (tdm_error){0};
    tdm_status status = jsonio_parse(&o, "f", text, strlen(text), err);
    CHECK((status == TDM_OK) == (o != NULL));
    return o;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

TEST(what_is_read_is_written_again)
{
    tdm_error err;
    struct buffer text = {0};
    json_object *o = parse(all, &err);
    REQUIRE(o);
    CHECK_INT(TDM_OK, jsonio_line(o, &text, &err));
    CHECK_STR(all, text.bytes);
    buffer_free(&text);
    json_object_put(o);
}

TEST(escapes_are_characters)
{
    tdm_error err;
    size_t n;
    json_object *o = parse(" { \"t\" : \"\\u00e9\" , \"t\" : \"\\u0041\\u0000b\" } ", &err);
    REQUIRE(o);
    const char *text = jsonio_text(o, "t", &n); /* the last one counts */
    CHECK_INT(3, (long)n);
    CHECK(!memcmp(text, "A\0b", 3));
    json_object_put(o);
    o = parse("[\"\\u00e9\\ud83d\\ude00\\ud83dx\\/\"]", &err);
    REQUIRE(o);
    CHECK_STR("\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx/", json_object_get_string(json_object_array_get_idx(o, 0)));
    json_object_put(o);
    o = parse("[\"\x07\t\n\"]", &err); /* which JSON doesn't allow, and servers send */
    REQUIRE(o);
    CHECK_STR("\x07\t\n", json_object_get_string(json_object_array_get_idx(o, 0)));
    json_object_put(o);
}

/* Strings that a server has cut or broken: an error in a file, mended in an answer, as they are in pieces of a text. */
TEST(broken_strings_are_mended)
{
    static const struct { const char *json, *mended, *piece; } cases[] = {
        {"\"A \\ud83c\"", "A \xef\xbf\xbd", "A \xed\xa0\xbc"},
        {"\"\\udf0d B\"", "\xef\xbf\xbd B", "\xed\xbc\x8d B"},
        {"\"\\ud83c\\udf0d\"", "\xf0\x9f\x8c\x8d", "\xf0\x9f\x8c\x8d"},
        {"\"\xf0\x9f\"", "\xef\xbf\xbd\xef\xbf\xbd", "\xf0\x9f"},
        {"\"\\n\xff\"", "\n\xef\xbf\xbd", "\n\xff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_object *o = NULL;
        tdm_error err = {0};
        size_t n = strlen(cases[i].json);
        bool raw = strpbrk(cases[i].json, "\xf0\xff");
        CHECK_INT(raw ? TDM_E_FORMAT : TDM_OK, jsonio_parse(&o, "a file", cases[i].json, n, &err));
        json_object_put(o);
        CHECK(!jsonio_parse_mended(&o, "an answer", cases[i].json, n, &err));
        CHECK_STR(cases[i].mended, json_object_get_string(o));
        json_object_put(o);
        CHECK(!jsonio_parse_pieces(&o, "a piece", cases[i].json, n, &err));
        CHECK_STR(cases[i].piece, json_object_get_string(o));
        json_object_put(o);
    }
}

TEST(what_is_no_json_is_told)
{
    static const struct {
        const char *text, *line;
    } bad[] = {
        {"", "f: byte 0: not valid JSON: expected a value, found the end"},
        {"{", "f: byte 1: not valid JSON: expected a string, found the end"},
        {"[1,]", "f: byte 3: not valid JSON: expected a value, found ']'"},
        {"{\"a\":1,}", "f: byte 7: not valid JSON: expected a string, found '}'"},
        {"{\"a\" 1}", "f: byte 5: not valid JSON: expected ':', found '1'"},
        {"[01]", "f: byte 1: not valid JSON: expected a value, found '0'"},
        {"[1.]", "f: byte 1: not valid JSON: expected a value, found '1'"},
        {"[1e]", "f: byte 1: not valid JSON: expected a value, found '1'"},
        {"[-]", "f: byte 1: not valid JSON: expected a value, found '-'"},
        {"[.5]", "f: byte 1: not valid JSON: expected a value, found '.'"},
        {"[tru]", "f: byte 1: not valid JSON: expected true or false, found 't'"},
        {"[nul]", "f: byte 1: not valid JSON: expected a value, found 'n'"},
        {"[\"\xff\"]", "f: byte 1: not valid JSON: expected a string of UTF-8, found '\"'"},
        {"['a']", "f: byte 1: not valid JSON: expected a value, found '''"},
        {"{} x", "f: byte 3: not valid JSON: expected the end, found 'x'"},
        {"null", "f: byte 4: not valid JSON: expected a value that is not null, found the end"},
        {"/* c */ {}", "f: byte 0: not valid JSON: expected a value, found '/'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tdm_error err;
        CHECK(!parse(bad[i].text, &err));
        CHECK_INT(TDM_E_FORMAT, err.code);
        CHECK_STR(bad[i].line, err.text);
    }
}

TEST(depth_is_bounded)
{
    char text[200] = "";
    tdm_error err;
    for (int deep = 31; deep <= 32; deep++) {
        memset(text, '[', (size_t)deep);
        memset(text + deep, ']', (size_t)deep);
        text[2 * deep] = 0;
        json_object *o = parse(text, &err);
        CHECK((o != NULL) == (deep == 31));
        json_object_put(o);
    }
    CHECK(strstr(err.text, "less nesting") != NULL);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static json_object *build(void)
{
    json_object *o = jsonio_object(), *list = jsonio_array(), *inner = jsonio_object();
    jsonio_add_string(o, "text", "a \"word\"\xff");
    jsonio_add_string(o, "nothing", NULL);
    jsonio_add_bool(o, "true", true);
    jsonio_add_int(o, "int", -5);
    jsonio_add_real(o, "real", 0.1);
    jsonio_add_real(o, "infinite", INFINITY);
    jsonio_add_hash(o, "hash", 0xab);
    jsonio_add_digits(o, "digits", "1.250");
    for (int i = 0; i < 40; i++) jsonio_append_int(list, i); /* it grows */
    jsonio_append_string(list, "x");
    jsonio_append_real(list, NAN);
    jsonio_append_digits(list, "2.0");
    for (int i = 0; i < 20; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        jsonio_add_int(inner, key, i);
    }
    jsonio_append(list, inner);
    jsonio_add(o, "list", list);
    return o;
}

TEST(objects_are_built)
{
    struct buffer text = {0};
    json_object *o = build();
    CHECK_INT(TDM_OK, jsonio_line(o, &text, NULL));
    static const char begins[] = "{\"text\":\"a \\\"word\\\"\xef\xbf\xbd\",\"nothing\":null,\"true\":true,\"int\":-5,"
                                 "\"real\":0.1,\"infinite\":null,\"hash\":\"00000000000000ab\",\"digits\":1.250,"
                                 "\"list\":[0,1,2,";
    CHECK(!strncmp(text.bytes, begins, sizeof begins - 1));
    CHECK(strstr(text.bytes, "39,\"x\",null,2.0,{\"k0\":0,"));
    json_object_put(o);
    o = jsonio_object();
    json_object *list = jsonio_array();
    jsonio_append_int(list, 1);
    jsonio_append(list, jsonio_object());
    jsonio_add(o, "list", list);
    jsonio_add(o, "none", jsonio_array());
    buffer_clear(&text);
    CHECK_INT(TDM_OK, jsonio_indented(o, &text, NULL));
    CHECK_STR("{\n  \"list\": [\n    1,\n    {}\n  ],\n  \"none\": []\n}", text.bytes);
    json_object_put(o);
    buffer_free(&text);
}

TEST(what_is_missing_is_told)
{
    struct buffer text = {0};
    tdm_error err = {0};
    json_object *o = jsonio_object(), *inner = jsonio_object();
    buffer_append(&text, "before", 6, NULL);
    CHECK_INT(TDM_E_NOMEM, jsonio_line(NULL, &text, &err));
    jsonio_add(inner, "a", NULL);
    jsonio_add(o, "inner", inner);
    CHECK_INT(TDM_E_NOMEM, jsonio_line(o, &text, &err));
    CHECK_STR("out of memory", err.text);
    CHECK_STR("before", text.bytes);
    jsonio_add_int(NULL, "a", 1);
    jsonio_append_int(NULL, 1);
    json_object_put(o);
    buffer_free(&text);
}

/* ---- Without memory ---------------------------------------------------------------------------------------------- */

static struct buffer written; /* kept from run to run; empty: it could not be made */

static void read_and_write(void)
{
    json_object *o = NULL;
    tdm_error err = {0};
    buffer_free(&written);
    tdm_status status = jsonio_parse(&o, "f", all, sizeof all - 1, &err);
    if (!status) status = jsonio_line(o, &written, &err);
    if (status && status != TDM_E_NOMEM) CHECK_FAIL("%s", err.text);
    json_object_put(o);
}

static void build_and_write(void)
{
    json_object *o = build();
    buffer_free(&written);
    jsonio_line(o, &written, NULL);
    json_object_put(o);
}

static void check_every_allocation(void (*run)(void))
{
    long n = 0;
    run();
    char *whole = strdup(written.bytes);
    int failed = 0;
    for (; starved_by(n, run); n++) {
        failed += written.n == 0;
        if (written.n) CHECK_STR(whole, written.bytes);
    }
    CHECK(n > 40);
    CHECK(failed > 40);
    buffer_free(&written);
    free(whole);
}

TEST(no_allocation_that_fails_goes_unnoticed)
{
    if (!starved_can()) return;
    check_every_allocation(read_and_write);
    check_every_allocation(build_and_write);
}

TEST_MAIN(T(what_is_read_is_written_again), T(escapes_are_characters), T(broken_strings_are_mended),
          T(what_is_no_json_is_told), T(depth_is_bounded), T(objects_are_built), T(what_is_missing_is_told),
          T(no_allocation_that_fails_goes_unnoticed))
