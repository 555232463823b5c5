/* JSON read and written, with and without memory: never a text that lacks something, never a crash. */
#include "engine/json/write.h"
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
    tdm_status status = json_parse(&o, "f", text, strlen(text), JSON_UTF8, err);
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
    CHECK_INT(TDM_OK, json_write_text(o, &text, &err));
    CHECK_STR(all, text.bytes);
    CHECK_INT(TDM_OK, json_write_line(o, &text, &err));
    CHECK(text.n == 2 * strlen(all) + 1 && text.bytes[text.n - 1] == '\n');
    buffer_free(&text);
    json_free(o);
}

TEST(escapes_are_characters)
{
    tdm_error err;
    size_t n;
    json_object *o = parse(" { \"t\" : \"\\u00e9\" , \"t\" : \"\\u0041\\u0000b\" } ", &err);
    REQUIRE(o);
    const char *text = json_text(o, "t", &n); /* the last one counts */
    CHECK_INT(3, (long)n);
    CHECK(!memcmp(text, "A\0b", 3));
    json_free(o);
    o = parse("[\"\\u00e9\\ud83d\\ude00\\ud83dx\\/\"]", &err);
    REQUIRE(o);
    CHECK_STR("\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx/", json_text_of(json_at(o, 0)));
    json_free(o);
    o = parse("[\"\x07\t\n\"]", &err); /* which JSON doesn't allow, and servers send */
    REQUIRE(o);
    CHECK_STR("\x07\t\n", json_text_of(json_at(o, 0)));
    json_free(o);
}

/* Strings that a server has cut or broken: an error in a file, mended in an answer, as they are in pieces of a text. */
TEST(broken_strings_are_mended)
{
    static const struct {
        const char *json, *mended, *piece;
    } cases[] = {
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
        CHECK_INT(raw ? TDM_E_FORMAT : TDM_OK, json_parse(&o, "a file", cases[i].json, n, JSON_UTF8, &err));
        json_free(o);
        CHECK(!json_parse(&o, "an answer", cases[i].json, n, JSON_MENDED, &err));
        CHECK_STR(cases[i].mended, json_text_of(o));
        json_free(o);
        CHECK(!json_parse(&o, "a piece", cases[i].json, n, JSON_PIECES, &err));
        CHECK_STR(cases[i].piece, json_text_of(o));
        json_free(o);
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
        json_free(o);
    }
    CHECK(strstr(err.text, "less nesting") != NULL);
}

/* ---- Look-ups ---------------------------------------------------------------------------------------------------- */

TEST(what_is_not_there_has_nothing)
{
    tdm_error err;
    json_object *o = parse("{\"a\":[1,\"2\"],\"n\":null,\"t\":\"x\",\"r\":2.5,\"b\":true}", &err);
    REQUIRE(o);
    json_object *const none[] = {NULL,
                                 json_get(o, "n"),
                                 json_get(o, "absent"),
                                 json_at(json_get(o, "a"), 2),
                                 json_at(o, 0),
                                 json_get(json_get(o, "a"), "a")};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct json_walk m = json_walk(none[i]);
        CHECK(json_is(none[i], JSON_NULL) && !json_next(&m) && !json_text_of(none[i]) && !json_span_of(none[i]).length);
        CHECK(!json_length(none[i]) && !json_members(none[i]) && !json_at(none[i], 0) && !json_has(none[i], "a"));
        CHECK_INT(7, json_int(none[i], "a", 7));
        CHECK_STR("null", json_shown(none[i]));
    }
    CHECK(json_has(o, "n") && !json_has(o, "absent"));
    CHECK(!json_length(o) && !json_members(json_get(o, "a")) && !json_text_of(json_get(o, "r")));
    CHECK_INT(7, json_int(o, "r", 7)); /* of another kind */
    CHECK(json_real(o, "r", 7) == 2.5 && json_real(o, "t", 7) == 7);
    CHECK(json_flag(o, "b", false) && json_flag(o, "t", true) && !json_member(o, "b", JSON_INT));
    CHECK_INT(2, json_int_of(json_at(json_get(o, "a"), 1)));
    CHECK_STR("[1,\"2\"]", json_shown(json_get(o, "a")));
    json_free(o);
}

TEST(members_come_in_their_order)
{
    tdm_error err;
    char keys[20] = "";
    json_object *o = parse("{\"z\":1,\"a\":null,\"m\":{\"k\":2},\"b\":[]}", &err);
    REQUIRE(o);
    for (struct json_walk m = json_walk(o); json_next(&m);) {
        strcat(keys, m.key);
        CHECK(m.value == json_get(o, m.key));
    }
    CHECK_STR("zamb", keys);
    CHECK_INT(4, json_members(o));
    json_free(o);
}

TEST(strict_look_ups_name_file_and_key)
{
    static const char text[] = "{\"i\":5,\"t\":\"x\",\"n\":null,\"nan\":NaN,\"a\":[],\"b\":true}";
    tdm_error err = {0};
    json_object *o = NULL, *out = NULL;
    uint64_t n = 9;
    double d = 9;
    bool b = false, found = true;
    const char *t = NULL;
    REQUIRE(!json_parse_object(&o, "f", text, strlen(text), &err));
    CHECK(!json_get_u64(o, "n", 0, 8, &n, &found, "f", &err) && !found && n == 9);
    CHECK(!json_get_u64(o, "i", 5, 5, &n, &found, "f", &err) && found && n == 5);
    CHECK_INT(TDM_E_FORMAT, json_get_u64(o, "i", 6, 8, &n, NULL, "f", &err));
    CHECK_STR("f: field i: expected 6 to 8, found 5", err.text);
    CHECK_INT(TDM_E_FORMAT, json_get_u64(o, "t", 0, 8, &n, &found, "f", &err));
    CHECK_STR("f: field t: expected an integer, found string", err.text);
    CHECK(found);
    CHECK(!json_get_double(o, "i", &d, NULL, "f", &err) && d == 5);
    CHECK_INT(TDM_E_FORMAT, json_get_double(o, "nan", &d, NULL, "f", &err));
    CHECK_STR("f: field nan: expected a finite number", err.text);
    CHECK(!json_get_bool(o, "b", &b, NULL, "f", &err) && b);
    CHECK_INT(TDM_E_FORMAT, json_get_bool(o, "i", &b, NULL, "f", &err));
    CHECK_STR("f: field i: expected true or false, found int", err.text);
    CHECK(!json_get_string(o, "t", &t, NULL, NULL, "f", &err) && !strcmp(t, "x"));
    CHECK_INT(TDM_E_FORMAT, json_get_object(o, "a", &out, NULL, "f", &err));
    CHECK_STR("f: field a: expected an object, found array", err.text);
    CHECK(!out && !json_get_array(o, "a", &out, NULL, "f", &err) && out);
    json_free(o);
    CHECK_INT(TDM_E_FORMAT, json_parse_object(&o, "f", "[]", 2, &err));
    CHECK_STR("f: expected a JSON object, found another value", err.text);
    CHECK_INT(TDM_E_FORMAT, json_parse_array(&o, "f", "", 0, &err));
    CHECK_STR("f: expected JSON, found an empty file", err.text);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static json_object *build(void)
{
    json_object *o = json_new_object(), *list = json_new_array(), *inner = json_new_object();
    json_add_string(o, "text", "a \"word\"\xff");
    json_add_string(o, "nothing", NULL);
    json_add_bool(o, "true", true);
    json_add_int(o, "int", -5);
    json_add_real(o, "real", 0.1);
    json_add_real(o, "infinite", INFINITY);
    json_add_hash(o, "hash", 0xab);
    json_add_digits(o, "digits", "1.250");
    for (int i = 0; i < 40; i++) json_append_int(list, i); /* it grows */
    json_append_string(list, "x");
    json_append_real(list, NAN);
    json_append_digits(list, "2.0");
    for (int i = 0; i < 20; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        json_add_int(inner, key, i);
    }
    json_append(list, inner);
    json_add(o, "list", list);
    return o;
}

TEST(objects_are_built)
{
    struct buffer text = {0};
    json_object *o = build();
    CHECK_INT(TDM_OK, json_write_text(o, &text, NULL));
    static const char begins[] = "{\"text\":\"a \\\"word\\\"\xef\xbf\xbd\",\"nothing\":null,\"true\":true,\"int\":-5,"
                                 "\"real\":0.1,\"infinite\":null,\"hash\":\"00000000000000ab\",\"digits\":1.250,"
                                 "\"list\":[0,1,2,";
    CHECK(!strncmp(text.bytes, begins, sizeof begins - 1));
    CHECK(strstr(text.bytes, "39,\"x\",null,2.0,{\"k0\":0,"));
    json_free(o);
    o = json_new_object();
    json_object *list = json_new_array();
    json_append_int(list, 1);
    json_append(list, json_new_object());
    json_add(o, "list", list);
    json_add(o, "none", json_new_array());
    buffer_clear(&text);
    CHECK_INT(TDM_OK, json_write_indented(o, &text, NULL));
    CHECK_STR("{\n  \"list\": [\n    1,\n    {}\n  ],\n  \"none\": []\n}\n", text.bytes);
    json_free(o);
    buffer_free(&text);
}

TEST(what_is_missing_is_told)
{
    struct buffer text = {0};
    tdm_error err = {0};
    json_object *o = json_new_object(), *inner = json_new_object();
    buffer_append(&text, "before", 6, NULL);
    CHECK_INT(TDM_E_NOMEM, json_write_text(NULL, &text, &err));
    json_add(inner, "a", NULL);
    json_add(o, "inner", inner);
    CHECK_INT(TDM_E_NOMEM, json_write_text(o, &text, &err));
    CHECK_STR("out of memory", err.text);
    CHECK_STR("before", text.bytes);
    json_add_int(NULL, "a", 1);
    json_append_int(NULL, 1);
    json_free(o);
    buffer_free(&text);
}

/* ---- Without memory ---------------------------------------------------------------------------------------------- */

static struct buffer written; /* kept from run to run; empty: it could not be made */

static void read_and_write(void)
{
    json_object *o = NULL;
    tdm_error err = {0};
    buffer_free(&written);
    tdm_status status = json_parse(&o, "f", all, sizeof all - 1, JSON_UTF8, &err);
    if (!status) status = json_write_text(o, &written, &err);
    if (status && status != TDM_E_NOMEM) CHECK_FAIL("%s", err.text);
    json_free(o);
}

static void build_and_write(void)
{
    json_object *o = build();
    buffer_free(&written);
    json_write_text(o, &written, NULL);
    json_free(o);
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
          T(what_is_no_json_is_told), T(depth_is_bounded), T(what_is_not_there_has_nothing),
          T(members_come_in_their_order), T(strict_look_ups_name_file_and_key), T(objects_are_built),
          T(what_is_missing_is_told), T(no_allocation_that_fails_goes_unnoticed))
