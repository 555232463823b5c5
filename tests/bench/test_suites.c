/* What every suite of `tandem bench --json` writes: tables with their rows and what they ran on, by the form that
 * src/bench_table.h and src/bench_report.h promise; and that it can be read again. The program runs on a small model, so
 * that each suite takes moments. */
#include "tests/check.h"

#include "src/jsonio.h"

static char *run(const char *arguments)
{
    const char *program = getenv("TANDEM");
    char command[600], *text = NULL, piece[4096];
    size_t n = 0, got;
    snprintf(command, sizeof command, "'%s' bench %s 2>/dev/null", program ? program : "build/tandem", arguments);
    FILE *in = popen(command, "r");
    FILE *out = open_memstream(&text, &n);
    while (in && (got = fread(piece, 1, sizeof piece, in))) fwrite(piece, 1, got, out);
    fclose(out);
    int status = in ? pclose(in) : -1;
    if (status) CHECK_FAIL("%s: exit status %d", command, status);
    return text;
}

static json_object *parsed(const char *line, size_t n)
{
    json_object *o = NULL;
    tdm_error err;
    if (jsonio_parse(&o, "a line", line, n, &err)) CHECK_FAIL("%.*s: %s", (int)n, line, err.text);
    return o;
}

/* ---- The three kinds of lines ------------------------------------------------------------------------------------ */

static bool is_text(json_object *o, const char *key)
{
    return jsonio_text(o, key, NULL) != NULL;
}

static bool is_number(json_object *o, const char *key)
{
    json_object *v;
    return json_object_object_get_ex(o, key, &v) &&
           (json_object_is_type(v, json_type_double) || json_object_is_type(v, json_type_int));
}

static bool is_number_or_null(json_object *o, const char *key)
{
    json_object *v;
    return is_number(o, key) || (json_object_object_get_ex(o, key, &v) && !v);
}

static void check_moment(json_object *o, const char *key)
{
    json_object *m = jsonio_member(o, key, json_type_object);
    CHECK(is_number_or_null(m, "mhz"));
    CHECK(is_text(m, "power"));
    CHECK(is_number(m, "load"));
    CHECK(is_number(m, "other_tandems"));
}

static void check_ran_on(json_object *o, bool no_model)
{
    json_object *machine = jsonio_member(o, "machine", json_type_object), *c = jsonio_member(o, "ceilings", json_type_object);
    CHECK(is_text(o, "command"));
    CHECK(is_number(o, "seconds"));
    CHECK(is_text(o, "kernels"));
    CHECK(jsonio_member(o, "lending", json_type_boolean));
    CHECK(no_model || is_text(o, "weight_types"));
    CHECK(no_model || is_text(o, "units"));
    CHECK(no_model || is_text(o, "kv"));
    CHECK(is_text(machine, "cpu"));
    CHECK(jsonio_int(machine, "cores", 0) >= 1);
    CHECK(jsonio_int(machine, "cpus", 0) >= jsonio_int(machine, "cores", 0));
    CHECK(is_text(machine, "caches"));
    static const char *const ceilings[] = {"int8_gops", "bf16_gops", "fp32_gops", "read_gbs"};
    for (int i = 0; i < 4; i++) CHECK(jsonio_real(c, ceilings[i], 0) > 0);
    check_moment(o, "start");
    check_moment(o, "end");
}

static void check_table(json_object *o)
{
    json_object *p = jsonio_member(o, "parameters", json_type_array), *m = jsonio_member(o, "measures", json_type_array);
    REQUIRE(p && m && jsonio_member(o, "notes", json_type_array));
    CHECK(is_text(o, "title"));
    CHECK(json_object_array_length(p) > 0);
    CHECK(json_object_array_length(m) > 0);
    for (size_t i = 0; i < json_object_array_length(m); i++) {
        json_object *measure = json_object_array_get_idx(m, i);
        CHECK(is_text(measure, "name") && is_text(measure, "unit"));
    }
}

static bool has_measure(json_object *table, const char *name, const char *unit)
{
    json_object *m = jsonio_member(table, "measures", json_type_array);
    for (size_t i = 0; i < json_object_array_length(m); i++) {
        json_object *measure = json_object_array_get_idx(m, i);
        if (!strcmp(jsonio_text(measure, "name", NULL), name)) return !strcmp(jsonio_text(measure, "unit", NULL), unit);
    }
    return false;
}

static void check_row(json_object *o, json_object *table)
{
    json_object *values = jsonio_member(o, "values", json_type_array), *p, *v;
    REQUIRE(table && values);
    CHECK_STR(jsonio_text(table, "part", NULL), jsonio_text(o, "part", NULL));
    CHECK(is_text(o, "unit") && has_measure(table, jsonio_text(o, "measure", NULL), jsonio_text(o, "unit", NULL)));
    CHECK_INT((long long)json_object_array_length(values), jsonio_int(o, "n", 0));
    double low = jsonio_real(o, "p5", NAN), median = jsonio_real(o, "median", NAN), high = jsonio_real(o, "p95", NAN);
    CHECK(low <= median && median <= high);
    p = jsonio_member(table, "parameters", json_type_array);
    for (size_t i = 0; i < json_object_array_length(p); i++)
        CHECK(json_object_object_get_ex(o, json_object_get_string(json_object_array_get_idx(p, i)), &v) && v);
}

/* ---- The suites -------------------------------------------------------------------------------------------------- */

static void check_suite_of(const char *model, const char *suite, const char *arguments, int least_rows)
{
    char all[400];
    int rows = 0, ran_on = 0, few = 0;
    snprintf(all, sizeof all, "%s -m %s --runs 3 --quick --budget 30s --json - %s", suite, model, arguments);
    char *text = run(all), *save;
    json_object *table = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_object *o = parsed(line, strlen(line));
        REQUIRE(o);
        CHECK_STR(suite, jsonio_text(o, "suite", NULL));
        CHECK(is_text(o, "model"));
        if (jsonio_member(o, "machine", json_type_object)) {
            check_ran_on(o, !strcmp(suite, "kernels"));
            ran_on++;
        } else if (is_text(o, "measure")) {
            check_row(o, table);
            few += jsonio_int(o, "n", 0) < 3;
            rows++;
        } else {
            check_table(o);
            json_object_put(table);
            table = json_object_get(o);
        }
        json_object_put(o);
    }
    json_object_put(table);
    CHECK_INT(1, ran_on);
    CHECK_INT(0, few);
    if (rows < least_rows) CHECK_FAIL("%s: %d rows, expected at least %d", suite, rows, least_rows);
    free(text);
}

static void check_suite(const char *suite, const char *arguments, int least_rows)
{
    check_suite_of("tests/goldens/tiny-a", suite, arguments, least_rows);
}

TEST(turns) { check_suite("turns", "--rows 'pipelines single' --rows 'pipelines batch'", 10); }
TEST(interference) { check_suite("interference", "", 20); }
TEST(model) { check_suite("model", "-p 20 -n 4 -t 1 --dispatch 32", 5); }
TEST(pass) { check_suite("pass", "--dispatch 1,12 -t 1", 22); }
TEST(throughput) { check_suite("throughput", "", 9); }
TEST(ttft) { check_suite("ttft", "--rows single --rows tandem", 6); }
TEST(dispatch) { check_suite("dispatch", "", 10); }
TEST(handover) { check_suite("handover", "", 18); }
TEST(crossover) { check_suite("crossover", "", 0); /* none on one core */ }
TEST(power) { check_suite("power", "", 0); /* none without sensors */ }
TEST(glyph) { check_suite_of("builtin", "glyph", "--rows 'at once' --rows queued", 9); }
TEST(screen) { check_suite_of("builtin", "screen", "--rows first --rows strip", 5); }
TEST(kernels) { check_suite("kernels", "--rows 'q8_0 16' --rows packing", 8); }

/* ---- Reading them again ------------------------------------------------------------------------------------------ */

TEST(read_again)
{
    char path[300], arguments[800];
    snprintf(path, sizeof path, "%s/rows.json", check_tmp());
    snprintf(arguments, sizeof arguments, "dispatch -m tests/goldens/tiny-a --runs 3 --quick --md --json %s", path);
    char *first = run(arguments), *again, *twice;
    snprintf(arguments, sizeof arguments, "--from %s --md", path);
    again = run(arguments);
    snprintf(arguments, sizeof arguments, "--from %s --from %s --md", path, path);
    twice = run(arguments);
    const char *table = strstr(first, "### "), *after = table ? strstr(table, "\n\n_") : NULL, *same = strstr(again, "### ");
    REQUIRE(table && after && same);
    if (strncmp(table, same, (size_t)(after - table))) CHECK_FAIL("first\n%s\nagain\n%s", first, again);
    CHECK(strstr(table, "| 3 |")); /* n */
    CHECK(strstr(twice, "| 6 |"));
    free(first);
    free(again);
    free(twice);
}

TEST_MAIN(T(turns), T(interference), T(model), T(pass), T(throughput), T(ttft), T(dispatch), T(handover), T(crossover), T(power),
          T(glyph), T(screen), T(kernels), T(read_again))
