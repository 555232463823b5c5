/* Files of rows are untrusted: what does not hold what it promises is refused with the line, whatever is in it. */
#include "tests/check.h"

#include "src/bench/bench_from.h"

#define TABLE                                                                                                          \
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"title\":\"t\",\"parameters\":[\"a\"],"                         \
    "\"measures\":[{\"name\":\"x\",\"unit\":\"ms\"}],\"notes\":[\"n\"]}\n"
#define ROW(measure, values)                                                                                           \
    "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"a\":7,\"measure\":\"" measure "\",\"n\":1,\"values\":" values   \
    "}\n"

static bench b;

static const char *refusal(const char *text)
{
    static tdm_error err;
    static options o;
    b = (bench){.o = &o};
    err = (tdm_error){0};
    tdm_status status = bench_from_text(&b, "F", text, strlen(text), &err);
    if (!status) return "";
    CHECK_INT(status, err.code);
    return err.text;
}

static void drop(void)
{
    for (int i = 0; i < b.n_tables; i++) bench_table_free(b.tables[i]);
    b.n_tables = 0;
}

TEST(joins)
{
    CHECK_STR("", refusal(TABLE ROW("x", "[1,2]") TABLE ROW("x", "[3.5]")));
    REQUIRE(b.n_tables == 1);
    bench_table *t = b.tables[0];
    CHECK_INT(1, t->n_rows);
    CHECK_INT(1, t->n_notes);
    CHECK_STR("7", t->rows[0].parameter[0]);
    CHECK_INT(3, bench_table_cell(t, 0, 0).n);
    CHECK_NEAR(2, bench_table_cell(t, 0, 0).median, 0);
    drop();
}

TEST(earlier_names_of_the_first_turn_are_read)
{
    CHECK_STR(
        "",
        refusal("{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"title\":\"t\",\"parameters\":[\"a\"],"
                "\"measures\":[{\"name\":\"cold_TTFT\",\"unit\":\"ms\"}]}\n"
                "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"a\":\"cold, pasted\",\"measure\":\"cold_TTFT\","
                "\"n\":1,\"values\":[1]}\n"
                "{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"a\":\"first, pasted\",\"measure\":\"first_TTFT\","
                "\"n\":1,\"values\":[2]}\n"));
    REQUIRE(b.n_tables == 1);
    CHECK_INT(1, b.tables[0]->n_rows);
    CHECK_STR("first_TTFT", b.tables[0]->measure[0].name);
    CHECK_INT(2, bench_table_cell(b.tables[0], 0, 0).n);
    drop();
}

TEST(refuses)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"[]\n", "suite and model"},
        {"{\"suite\":1,\"model\":\"m\"}\n", "suite and model"},
        {"{\"suite\":\"s\",\"model\":\"m\"}\n", "line 1: expected a part"},
        {TABLE "{\"suite\":\"s\",\"model\":\"m\",\"part\":\"p\"}\n", "line 2: expected a table's"},
        {ROW("x", "[1]"), "described before"},
        {TABLE ROW("y", "[1]"), "line 2: expected a measure"},
        {TABLE ROW("x", "[null]"), "finite numbers"},
        {TABLE ROW("x", "[\"1\"]"), "finite numbers"},
        {TABLE ROW("x", "1"), "a list of values"},
        {"{\"suite\":\"s\\u001b[2J\",\"model\":\"m\",\"part\":\"p\"}\n", "control characters"},
        {"{\"suite\":\"s\",\"model\":\"m\",\"part\":\"\\u009b\"}\n", "control characters"},
        {"{\"suite\":\"s\",\"part\":\"p\",\"model\":\"m\",\"title\":\"t\",\"parameters\":[\"1\",\"2\",\"3\",\"4\","
         "\"5\",\"6\"],"
         "\"measures\":[]}\n",
         "a table's"},
        {"{\"suite\":\"s\",", "F"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = refusal(cases[i].text);
        if (!strstr(found, cases[i].why)) CHECK_FAIL("%s: '%s' without '%s'", cases[i].text, found, cases[i].why);
        drop();
    }
}

TEST_MAIN(T(joins), T(earlier_names_of_the_first_turn_are_read), T(refuses))
