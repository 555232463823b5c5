#include "src/bench/bench_from.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "src/bench/bench_report.h"
#include "src/cli/files.h"
#include "src/cli/jsonio.h"

enum { LARGEST = 64 << 20, MOST_VALUES = 1 << 20 };

/* A place in a file, for messages. */
struct place {
    const char *name;
    int line;
};

static tdm_status bad(const struct place *at, const char *expected, tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "%s: line %d: expected %s", at->name, at->line, expected);
}

/* Text for the terminal must not hold control characters, however they are written in JSON. */
static bool harmless(json_object *o)
{
    if (json_object_is_type(o, json_type_string)) {
        const char *text = json_object_get_string(o);
        return harmless_text(text, strlen(text));
    }
    if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(o); i++)
            if (!harmless(json_object_array_get_idx(o, i))) return false;
    } else if (json_object_is_type(o, json_type_object)) {
        json_object_object_foreach(o, key, value)
        {
            (void)key;
            if (!harmless(value)) return false;
        }
    }
    return true;
}

/* Rows that were measured earlier name a session's first turn cold. */
static const char *name_of(const char *measured)
{
    static const char *const names[][2] = {{"cold_TTFT", "first_TTFT"}, {"cold, pasted", "first, pasted"}};
    for (size_t i = 0; measured && i < sizeof names / sizeof *names; i++)
        if (!strcmp(measured, names[i][0])) return names[i][1];
    return measured;
}

static bench_table *find(bench *b, json_object *o)
{
    for (int i = 0; i < b->n_tables; i++) {
        bench_table *t = b->tables[i];
        if (!strcmp(t->suite, jsonio_text(o, "suite", NULL)) && !strcmp(t->part, jsonio_text(o, "part", NULL)) &&
            !strcmp(t->model, jsonio_text(o, "model", NULL)))
            return t;
    }
    return NULL;
}

/* Appends a word of a list to text, with what stands before it; false when it has no room. */
static bool append(char *text, size_t room, const char *before, const char *word)
{
    size_t n = strlen(text);
    return word && (size_t)snprintf(text + n, room - n, "%s%s", before, word) < room - n;
}

static tdm_status take_table(bench *b, json_object *o, const struct place *at, tdm_error *err)
{
    char parameters[400] = "", measures[800] = "";
    json_object *p = jsonio_member(o, "parameters", json_type_array),
                *m = jsonio_member(o, "measures", json_type_array);
    json_object *notes = jsonio_member(o, "notes", json_type_array);
    bool fits =
        p && m && json_object_array_length(p) <= BENCH_PARAMETERS && json_object_array_length(m) <= BENCH_MEASURES;
    for (size_t i = 0; fits && i < json_object_array_length(p); i++)
        fits = append(parameters, sizeof parameters, i ? "|" : "",
                      json_object_get_string(json_object_array_get_idx(p, i)));
    for (size_t i = 0; fits && i < json_object_array_length(m); i++) {
        json_object *measure = json_object_array_get_idx(m, i);
        fits = append(measures, sizeof measures, i ? "|" : "", name_of(jsonio_text(measure, "name", NULL))) &&
               append(measures, sizeof measures, ":", jsonio_text(measure, "unit", NULL));
    }
    if (!fits) return bad(at, "a table's parameters and measures", err);
    bench_table *t = find(b, o);
    if (!t) {
        b->suite = jsonio_text(o, "suite", NULL);
        snprintf(b->model_name, sizeof b->model_name, "%s", jsonio_text(o, "model", NULL));
        const char *title = jsonio_text(o, "title", NULL), *part = jsonio_text(o, "part", NULL);
        t = bench_new_table(b, part, title ? title : "", parameters, measures, err);
        if (!t) return err->code;
    }
    for (size_t i = 0; notes && i < json_object_array_length(notes); i++)
        bench_table_note(t, "%s", json_object_get_string(json_object_array_get_idx(notes, i)));
    return TDM_OK;
}

static tdm_status take_row(bench *b, json_object *o, const struct place *at, tdm_error *err)
{
    char row[300] = "";
    bench_table *t = find(b, o);
    const char *name = name_of(jsonio_text(o, "measure", NULL));
    json_object *values = jsonio_member(o, "values", json_type_array);
    int measure = 0;
    if (!t) return bad(at, "a row of a table that was described before", err);
    for (int p = 0; p < t->n_parameters; p++) {
        json_object *value;
        if (!json_object_object_get_ex(o, t->parameter[p].name, &value) ||
            !append(row, sizeof row, p ? "|" : "", name_of(json_object_get_string(value))))
            return bad(at, "a value of every parameter", err);
    }
    while (measure < t->n_measures && strcmp(t->measure[measure].name, name)) measure++;
    if (measure == t->n_measures) return bad(at, "a measure of the table", err);
    int r = bench_table_row(t, "%s", row);
    if (r < 0 || t->n_rows > BENCH_ROWS) return bad(at, "fewer rows", err);
    if (!values || json_object_array_length(values) > MOST_VALUES) return bad(at, "a list of values", err);
    for (size_t i = 0; i < json_object_array_length(values); i++) {
        json_object *value = json_object_array_get_idx(values, i);
        double number = json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)
                            ? json_object_get_double(value)
                            : NAN;
        if (!isfinite(number)) return bad(at, "finite numbers", err);
        bench_table_add(t, r, measure, number);
    }
    return TDM_OK;
}

static tdm_status take_line(bench *b, const char *line, size_t n, const struct place *at, tdm_error *err)
{
    json_object *o;
    tdm_status status = jsonio_parse(&o, at->name, line, n, err);
    if (status) return status;
    if (!jsonio_text(o, "suite", NULL) || !jsonio_text(o, "model", NULL))
        status = bad(at, "an object with suite and model", err);
    else if (!harmless(o))
        status = bad(at, "texts without control characters", err);
    else if (jsonio_member(o, "machine", json_type_object))
        bench_report_machine(b, o);
    else if (!jsonio_text(o, "part", NULL))
        status = bad(at, "a part", err);
    else if (jsonio_text(o, "measure", NULL))
        status = take_row(b, o, at, err);
    else
        status = take_table(b, o, at, err);
    json_object_put(o);
    return status;
}

tdm_status bench_from_text(bench *b, const char *name, const char *text, size_t n, tdm_error *err)
{
    struct place at = {.name = name};
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < n && !status;) {
        const char *newline = memchr(text + i, '\n', n - i);
        size_t length = newline ? (size_t)(newline - text) - i : n - i;
        at.line++;
        if (length) status = take_line(b, text + i, length, &at, err);
        i += length + 1;
    }
    return status;
}

tdm_status bench_from_files(bench *b, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int i = 0; i < b->o->values[OPTION_FROM].n && !status; i++) {
        const char *path = b->o->values[OPTION_FROM].list[i];
        char *text;
        size_t n;
        status = files_read(path, LARGEST, &text, &n, err);
        if (status) break;
        status = bench_from_text(b, path, text, n, err);
        free(text);
    }
    bench_tables_done(b);
    return status;
}
