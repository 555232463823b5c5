#include "tests/src/bench/suites.h"

#include "engine/json/json.h"
#include "tests/check.h"

FILE *suites_start(const char *arguments)
{
    const char *program = getenv("TANDEM");
    char command[1000];
    snprintf(command, sizeof command, "'%s' bench %s 2>/dev/null", program ? program : "build/tandem", arguments);
    return popen(command, "r");
}

/* All that it writes until it ends. */
char *suites_written(FILE *in)
{
    char *text = NULL, piece[4096];
    size_t n = 0, got;
    FILE *out = open_memstream(&text, &n);
    while (in && (got = fread(piece, 1, sizeof piece, in))) fwrite(piece, 1, got, out);
    fclose(out);
    int status = in ? pclose(in) : -1;
    if (status) CHECK_FAIL("exit status %d after\n%s", status, text);
    return text;
}

char *suites_run(const char *arguments)
{
    return suites_written(suites_start(arguments));
}

static json_object *parsed(const char *line, size_t n)
{
    json_object *o = NULL;
    tdm_error err;
    if (json_parse(&o, "a line", line, n, JSON_UTF8, &err)) CHECK_FAIL("%.*s: %s", (int)n, line, err.text);
    return o;
}

/* ---- The three kinds of lines ------------------------------------------------------------------------------------ */

static bool is_text(json_object *o, const char *key)
{
    return json_text(o, key, NULL) != NULL;
}

static bool is_number(json_object *o, const char *key)
{
    return json_is_number(json_get(o, key));
}

static bool is_number_or_null(json_object *o, const char *key)
{
    return is_number(o, key) || (json_has(o, key) && !json_get(o, key));
}

static void check_moment(json_object *o, const char *key)
{
    json_object *m = json_member(o, key, JSON_OBJECT);
    CHECK(is_number_or_null(m, "mhz"));
    CHECK(is_text(m, "power"));
    CHECK(is_number(m, "load"));
    CHECK(is_number(m, "other_tandems"));
}

static void check_ran_on(json_object *o, bool no_model)
{
    json_object *machine = json_member(o, "machine", JSON_OBJECT), *c = json_member(o, "ceilings", JSON_OBJECT);
    CHECK(is_text(o, "command"));
    CHECK(is_number(o, "seconds"));
    CHECK(is_number_or_null(o, "stolen"));
    CHECK(is_text(o, "kernels"));
    CHECK(json_member(o, "lending", JSON_BOOL));
    CHECK(no_model || is_text(o, "weight_types"));
    CHECK(no_model || is_text(o, "units"));
    CHECK(no_model || is_text(o, "kv"));
    CHECK(is_text(machine, "cpu"));
    CHECK(json_int(machine, "cores", 0) >= 1);
    CHECK(json_int(machine, "cpus", 0) >= json_int(machine, "cores", 0));
    CHECK(is_text(machine, "caches"));
    static const char *const ceilings[] = {"int8_gops", "bf16_gops", "fp32_gops", "read_gbs"};
    for (int i = 0; i < 4; i++) CHECK(json_real(c, ceilings[i], 0) > 0);
    check_moment(o, "start");
    check_moment(o, "end");
}

static void check_table(json_object *o)
{
    json_object *p = json_member(o, "parameters", JSON_ARRAY), *m = json_member(o, "measures", JSON_ARRAY);
    REQUIRE(p && m && json_member(o, "notes", JSON_ARRAY));
    CHECK(is_text(o, "title"));
    CHECK(json_length(p) > 0);
    CHECK(json_length(m) > 0);
    for (size_t i = 0; i < json_length(m); i++) {
        json_object *measure = json_at(m, i);
        CHECK(is_text(measure, "name") && is_text(measure, "unit"));
    }
}

static bool has_measure(json_object *table, const char *name, const char *unit)
{
    json_object *m = json_member(table, "measures", JSON_ARRAY);
    for (size_t i = 0; i < json_length(m); i++) {
        json_object *measure = json_at(m, i);
        if (!strcmp(json_text(measure, "name", NULL), name)) return !strcmp(json_text(measure, "unit", NULL), unit);
    }
    return false;
}

static void check_row(json_object *o, json_object *table)
{
    json_object *values = json_member(o, "values", JSON_ARRAY), *p;
    REQUIRE(table && values);
    CHECK_STR(json_text(table, "part", NULL), json_text(o, "part", NULL));
    CHECK(is_text(o, "unit") && has_measure(table, json_text(o, "measure", NULL), json_text(o, "unit", NULL)));
    CHECK_INT((long long)json_length(values), json_int(o, "n", 0));
    double low = json_real(o, "p5", NAN), median = json_real(o, "median", NAN), high = json_real(o, "p95", NAN);
    CHECK(low <= median && median <= high);
    p = json_member(table, "parameters", JSON_ARRAY);
    for (size_t i = 0; i < json_length(p); i++) CHECK(json_get(o, json_text_of(json_at(p, i))));
}

/* ---- The suites -------------------------------------------------------------------------------------------------- */

struct seen {
    int cells, ran_on, few;
    json_object *table; /* the last one */
};

static void check_line(json_object *o, const char *suite, struct seen *seen)
{
    CHECK(is_text(o, "model"));
    if (json_member(o, "machine", JSON_OBJECT)) {
        check_ran_on(o, !strcmp(suite, "kernels") || !strcmp(suite, "images"));
        seen->ran_on++;
    } else if (is_text(o, "measure")) {
        check_row(o, seen->table);
        seen->few += json_int(o, "n", 0) < 3;
        seen->cells++;
    } else {
        check_table(o);
        json_free(seen->table);
        seen->table = json_share(o);
    }
}

enum { SUITES = 17 };

void suites_check(char *text, const struct suites_expected *expected, int n)
{
    struct seen seen[SUITES] = {0};
    char *save;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_object *o = parsed(line, strlen(line));
        REQUIRE(o && is_text(o, "suite"));
        int i = 0;
        while (i < n && strcmp(expected[i].suite, json_text(o, "suite", NULL))) i++;
        if (i < n)
            check_line(o, expected[i].suite, &seen[i]);
        else
            CHECK_FAIL("an unexpected suite: %s", line);
        json_free(o);
    }
    for (int i = 0; i < n; i++) {
        struct seen *s = &seen[i];
        json_free(s->table);
        if (s->ran_on != 1 || s->few || s->cells < expected[i].least)
            CHECK_FAIL("%s: %d cells, expected at least %d; %d of fewer than 3 runs; what it ran on %d times",
                       expected[i].suite, s->cells, expected[i].least, s->few, s->ran_on);
    }
    free(text);
}
