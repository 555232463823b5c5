#include "src/bench/report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/harmless.h"
#include "engine/json/write.h"
#include "src/io/number.h"

/* ---- Making ---------------------------------------------------------------------------------------------------- */

/* Takes the text up to `end` (or its end) from *at into out; false when nothing is left. */
static bool next_word(const char **at, char end, char *out, size_t room)
{
    if (!**at) return false;
    size_t n = strcspn(*at, (char[]){end, 0});
    snprintf(out, room, "%.*s", (int)n, *at);
    *at += n + (*(*at + n) == end);
    return true;
}

bench_table *bench_table_new(const char *suite, const char *part, const char *model, const char *title,
                             const char *parameters, const char *measures)
{
    bench_table *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    snprintf(t->suite, sizeof t->suite, "%s", suite);
    snprintf(t->part, sizeof t->part, "%s", part);
    snprintf(t->model, sizeof t->model, "%s", model);
    snprintf(t->title, sizeof t->title, "%s", title);
    while (t->n_parameters < BENCH_PARAMETERS &&
           next_word(&parameters, '|', t->parameter[t->n_parameters].name, sizeof t->parameter->name))
        t->n_parameters++;
    while (t->n_measures < BENCH_MEASURES &&
           next_word(&measures, ':', t->measure[t->n_measures].name, sizeof t->measure->name)) {
        next_word(&measures, '|', t->measure[t->n_measures].unit, sizeof t->measure->unit);
        t->n_measures++;
    }
    return t;
}

void bench_table_free(bench_table *t)
{
    if (!t) return;
    for (int r = 0; r < t->n_rows; r++)
        for (int m = 0; m < t->n_measures; m++) figures_row_free(&t->rows[r].value[m]);
    free(t->rows);
    free(t);
}

int bench_table_row(bench_table *t, const char *values, ...)
{
    char text[300];
    const char *at = text;
    bench_row row = {0};
    va_list args;
    va_start(args, values);
    vsnprintf(text, sizeof text, values, args);
    va_end(args);
    for (int p = 0; p < t->n_parameters; p++) next_word(&at, '|', row.parameter[p], sizeof row.parameter[p]);
    for (int r = 0; r < t->n_rows; r++)
        if (!memcmp(t->rows[r].parameter, row.parameter, sizeof row.parameter)) return r;
    bench_row *larger = realloc(t->rows, sizeof *larger * ((size_t)t->n_rows + 1));
    if (!larger) return -1;
    t->rows = larger;
    t->rows[t->n_rows] = row;
    return t->n_rows++;
}

/* The digits of a number in a file. What is measured is rounded to them at once, so that a table or chart of the file
 * is the same. */
#define FILE_NUMBER "%.10g"

void bench_table_add(bench_table *t, int row, int measure, double value)
{
    char text[32];
    snprintf(text, sizeof text, FILE_NUMBER, value);
    if (row >= 0) figures_add(&t->rows[row].value[measure], strtod(text, NULL));
}

/* The most measurements that a cell of the row has, and in *least the fewest of those that have any. */
static int row_runs(const bench_table *t, int row, int *least)
{
    int most = 0;
    *least = 0;
    for (int m = 0; m < t->n_measures; m++) {
        int n = t->rows[row].value[m].n;
        if (n && (!*least || n < *least)) *least = n;
        if (n > most) most = n;
    }
    return most;
}

bench_summary bench_table_cell(const bench_table *t, int row, int measure)
{
    return row < 0 ? (bench_summary){0} : bench_summarise(&t->rows[row].value[measure]);
}

void bench_table_note(bench_table *t, const char *format, ...)
{
    if (t->n_notes == BENCH_NOTES) return;
    va_list args;
    va_start(args, format);
    vsnprintf(t->notes[t->n_notes], sizeof t->notes[0], format, args);
    va_end(args);
    for (int i = 0; i < t->n_notes; i++)
        if (!strcmp(t->notes[i], t->notes[t->n_notes])) return;
    t->n_notes++;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

enum { CELL = 72, COLUMNS = BENCH_PARAMETERS + BENCH_MEASURES + 1 };

/* Names are shown with blanks. */
static void spaced(char *name)
{
    for (; *name; name++)
        if (*name == '_') *name = ' ';
}

/* Column c's heading (row -1) or cell: parameters, measures, at last the number of runs. */
static void cell_text(const bench_table *t, int row, int c, char out[CELL])
{
    out[0] = 0;
    if (c < t->n_parameters) {
        snprintf(out, CELL, "%s", row < 0 ? t->parameter[c].name : t->rows[row].parameter[c]);
        if (row < 0) spaced(out);
        return;
    }
    c -= t->n_parameters;
    if (c < t->n_measures) {
        bool says = t->measure[c].unit[0] && strcmp(t->measure[c].unit, t->measure[c].name);
        if (row < 0) {
            snprintf(out, CELL, "%s%s%s", t->measure[c].name, says ? " " : "", says ? t->measure[c].unit : "");
            spaced(out);
            return;
        }
        bench_summary s = bench_table_cell(t, row, c);
        char median[32], low[32], high[32];
        double spread = s.median > 0 ? 0.5 * (s.p95 - s.p5) / s.median : 0;
        bool ratio = !strcmp(t->measure[c].unit, "x");
        if (!s.n)
            snprintf(out, CELL, "-");
        else if (ratio && s.n < 3)
            snprintf(out, CELL, "no ratio (n %d)", s.n);
        else if (ratio && spread > BENCH_RATIO_LIMIT)
            snprintf(out, CELL, "no ratio (spread %.0f %%)", 100 * spread);
        else if (s.p5 == s.p95)
            snprintf(out, CELL, "%s", bench_number(s.median, median));
        else
            snprintf(out, CELL, "%s (%s-%s)", bench_number(s.median, median), bench_number(s.p5, low),
                     bench_number(s.p95, high));
        return;
    }
    if (row < 0) {
        snprintf(out, CELL, "n");
        return;
    }
    int least, most = row_runs(t, row, &least);
    if (least == most)
        snprintf(out, CELL, "%d", most);
    else
        snprintf(out, CELL, "%d-%d", least, most);
}

/* Has some row a value in column c? */
static bool used(const bench_table *t, int c)
{
    c -= t->n_parameters;
    if (c < 0 || c >= t->n_measures) return true;
    for (int r = 0; r < t->n_rows; r++)
        if (t->rows[r].value[c].n) return true;
    return false;
}

void bench_table_print(const bench_table *t, FILE *out)
{
    int columns = t->n_parameters + t->n_measures + 1, width[COLUMNS] = {0};
    char cell[CELL];
    for (int c = 0; c < columns; c++)
        for (int r = -1; r < t->n_rows; r++) {
            cell_text(t, r, c, cell);
            if ((int)strlen(cell) > width[c]) width[c] = (int)strlen(cell);
        }
    harmless_print(out, "\n%s: %s, %s\n", t->suite, t->title, t->model);
    for (int r = t->n_rows ? -1 : 0; r < t->n_rows; r++) {
        for (int c = 0; c < columns; c++) {
            if (!used(t, c)) continue;
            cell_text(t, r, c, cell);
            harmless_print(out, c < t->n_parameters ? "  %-*s" : "  %*s", width[c], cell);
        }
        fputc('\n', out);
    }
    for (int i = 0; i < t->n_notes; i++) harmless_print(out, "  %s\n", t->notes[i]);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_object *begin(const bench_table *t)
{
    json_object *o = json_new_object();
    json_add_string(o, "suite", t->suite);
    json_add_string(o, "part", t->part);
    json_add_string(o, "model", t->model);
    return o;
}

static void end(json_object *o, FILE *out)
{
    json_write(o, out);
    json_free(o);
}

static void describe(const bench_table *t, FILE *out)
{
    json_object *o = begin(t), *parameters = json_new_array(), *measures = json_new_array(),
                *notes = json_new_array(), *conclusions = json_new_array();
    json_add_string(o, "title", t->title);
    for (int p = 0; p < t->n_parameters; p++)
        json_append_string(parameters, t->parameter[p].name);
    for (int m = 0; m < t->n_measures; m++) {
        json_object *measure = json_new_object();
        json_add_string(measure, "name", t->measure[m].name);
        json_add_string(measure, "unit", t->measure[m].unit);
        json_append(measures, measure);
    }
    for (int i = 0; i < t->n_notes; i++)
        json_append_string(i < t->n_notes - t->n_conclusions ? notes : conclusions, t->notes[i]);
    json_add(o, "parameters", parameters);
    json_add(o, "measures", measures);
    json_add(o, "notes", notes);
    json_add(o, "conclusions", conclusions);
    end(o, out);
}

static const char *number(double value, char text[32])
{
    snprintf(text, 32, FILE_NUMBER, value);
    return text;
}

void bench_table_json(const bench_table *t, FILE *out)
{
    describe(t, out);
    for (int r = 0; r < t->n_rows; r++)
        for (int m = 0; m < t->n_measures; m++) {
            const figures_row *cell = &t->rows[r].value[m];
            bench_summary s = bench_summarise(cell);
            if (!s.n) continue;
            json_object *o = begin(t), *values = json_new_array();
            char text[32];
            for (int p = 0; p < t->n_parameters; p++) {
                int64_t whole;
                if (number_int(t->rows[r].parameter[p], INT64_MIN, INT64_MAX, &whole))
                    json_add_int(o, t->parameter[p].name, whole);
                else
                    json_add_string(o, t->parameter[p].name, t->rows[r].parameter[p]);
            }
            json_add_string(o, "measure", t->measure[m].name);
            json_add_int(o, "n", s.n);
            json_add_digits(o, "median", number(s.median, text));
            json_add_digits(o, "p5", number(s.p5, text));
            json_add_digits(o, "p95", number(s.p95, text));
            json_add_string(o, "unit", t->measure[m].unit);
            for (int i = 0; i < cell->n; i++) json_append_digits(values, number(cell->values[i], text));
            json_add(o, "values", values);
            end(o, out);
        }
}
