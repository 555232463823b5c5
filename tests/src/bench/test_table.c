/* Tables of the benches: rows, and what is written of them as text and JSON. */
#include "tests/check.h"

#include "engine/json/json.h"
#include "src/bench/report/table.h"

static bench_table *made(void)
{
    bench_table *t = bench_table_new("suite", "part", "model:q8_0", "a < title", "prompt_tokens|pipeline",
                                     "prefill:tok/s|total:ms|unused:");
    for (int i = 1; i <= 5; i++) {
        bench_table_add(t, bench_table_row(t, "74|%s", "tandem"), 0, 100 * i);
        bench_table_add(t, bench_table_row(t, "74|single"), 1, 7);
    }
    bench_table_add(t, -1, 0, 1);
    bench_table_note(t, "a note of %d words", 5);
    return t;
}

static char *printed(const bench_table *t, void (*print)(const bench_table *, FILE *))
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    print(t, out);
    fclose(out);
    return text;
}

TEST(rows)
{
    bench_table *t = made();
    CHECK_INT(2, t->n_rows);
    CHECK_INT(3, t->n_measures);
    CHECK_INT(0, bench_table_row(t, "74|tandem"));
    CHECK_INT(5, bench_table_cell(t, 0, 0).n);
    CHECK_NEAR(300, bench_table_cell(t, 0, 0).median, 0);
    CHECK_INT(0, bench_table_cell(t, -1, 0).n);
    bench_table_free(t);
}

TEST(texts)
{
    bench_table *t = made();
    char *text = printed(t, bench_table_print);
    CHECK_STR("\nsuite: a < title, model:q8_0\n"
              "  prompt tokens  pipeline  prefill tok/s  total ms  n\n"
              "  74             tandem    300 (100-500)         -  5\n"
              "  74             single                -      7.00  5\n"
              "  a note of 5 words\n",
              text);
    free(text);
    bench_table_free(t);
}

TEST(ratios)
{
    bench_table *t = bench_table_new("suite", "", "m", "title", "a", "kept:x|speed:tok/s");
    for (int i = 1; i <= 3; i++) {
        bench_table_add(t, bench_table_row(t, "steady"), 0, 0.9 + 0.01 * i);
        bench_table_add(t, bench_table_row(t, "wild"), 0, i);
        bench_table_add(t, bench_table_row(t, "wild"), 1, i);
    }
    char *text = printed(t, bench_table_print);
    CHECK(strstr(text, "0.920 (0.910-0.930)"));
    CHECK(strstr(text, "no ratio (spread 50 %)"));
    CHECK(strstr(text, "2.00 (1.00-3.00)")); /* a speed is shown however wild */
    free(text);
    bench_table_free(t);
}

static const char *first_of(json_object *o, const char *key)
{
    return json_text_of(json_at(json_member(o, key, JSON_ARRAY), 0));
}

TEST(json)
{
    bench_table *t = made();
    bench_table_note(t, "a conclusion");
    t->n_conclusions = 1;
    char *text = printed(t, bench_table_json), *save, *line = strtok_r(text, "\n", &save);
    int lines = 0;
    for (; line; line = strtok_r(NULL, "\n", &save), lines++) {
        json_object *o;
        tdm_error err;
        REQUIRE(json_parse(&o, "row", line, strlen(line), JSON_UTF8, &err) == TDM_OK);
        if (!lines) { /* what the table is */
            CHECK_STR("a < title", json_text(o, "title", NULL));
            CHECK_INT(3, (long long)json_length(json_member(o, "measures", JSON_ARRAY)));
            CHECK_STR("a note of 5 words", first_of(o, "notes"));
            CHECK_STR("a conclusion", first_of(o, "conclusions"));
            json_free(o);
            continue;
        }
        CHECK_STR("suite", json_text(o, "suite", NULL));
        CHECK_STR("model:q8_0", json_text(o, "model", NULL));
        CHECK_STR(lines == 2 ? "ms" : "tok/s", json_text(o, "unit", NULL));
        CHECK_STR(lines == 2 ? "total" : "prefill", json_text(o, "measure", NULL));
        CHECK_STR(lines == 2 ? "single" : "tandem", json_text(o, "pipeline", NULL));
        CHECK_INT(74, json_int(o, "prompt_tokens", 0)); /* a number, not a string */
        CHECK_INT(5, json_int(o, "n", 0));
        CHECK_NEAR(lines == 2 ? 7 : 300, json_real(o, "median", 0), 0);
        CHECK_NEAR(lines == 2 ? 7 : 100, json_real(o, "p5", 0), 0);
        CHECK_NEAR(lines == 2 ? 7 : 500, json_real(o, "p95", 0), 0);
        json_free(o);
    }
    CHECK_INT(3, lines);
    free(text);
    bench_table_free(t);
}

/* A label rounds what is measured; of what a file says of it, it must round to the same. */
TEST(file_and_table_agree)
{
    bench_table *t = bench_table_new("suite", "", "m", "title", "a", "speed:tok/s");
    bench_table_add(t, bench_table_row(t, "1"), 0, 174775.49996);
    char *text = printed(t, bench_table_json), *save, label[32], again[32];
    strtok_r(text, "\n", &save);
    json_object *o;
    tdm_error err;
    REQUIRE(json_parse(&o, "row", save, strlen(save), JSON_UTF8, &err) == TDM_OK);
    CHECK_STR(bench_number(json_real(o, "median", 0), again), bench_number(bench_table_cell(t, 0, 0).median, label));
    json_free(o);
    free(text);
    bench_table_free(t);
}

TEST_MAIN(T(rows), T(texts), T(ratios), T(json), T(file_and_table_agree))
