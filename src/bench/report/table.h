/* The tables of `tandem bench`: the measurements of a suite, kept until they are printed as text or JSON.
 *
 * A table has parameters (which identify a row), measures (measured quantities with units) and rows; a cell holds every
 * measured value. One thread. */
#ifndef TANDEM_SRC_BENCH_TABLE_H
#define TANDEM_SRC_BENCH_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "src/bench/report/stats.h"

enum { BENCH_PARAMETERS = 5, BENCH_MEASURES = 12, BENCH_NOTES = 32 };

typedef struct {
    char parameter[BENCH_PARAMETERS][48];
    figures_row value[BENCH_MEASURES];
} bench_row;

typedef struct bench_table {
    char suite[24], part[24]; /* part tells tables of one suite apart: also the chart's file name */
    char model[96], title[200];
    int n_parameters, n_measures, n_rows, n_notes;
    struct {
        char name[32];
    } parameter[BENCH_PARAMETERS]; /* as in JSON: prompt_tokens */
    struct {
        char name[32], unit[16];
    } measure[BENCH_MEASURES];
    bool unwanted; /* none of its rows was wanted: it is not shown */
    bench_row *rows;
    char notes[BENCH_NOTES][300];
    int n_conclusions; /* how many of the last notes bench_conclude has derived from the rows */
} bench_table;

/* parameters: "prompt_tokens|pipeline"; measures: "prefill:tok/s|total:ms", charts show the first. A measure in "x" is
 * a ratio: it is not printed if its spread makes it meaningless (stats.h). NULL without memory. */
bench_table *bench_table_new(const char *suite, const char *part, const char *model, const char *title,
                             const char *parameters, const char *measures);
void bench_table_free(bench_table *t);

/* The row with these parameter values ("74|tandem"), added if it isn't there; -1 without memory. */
int bench_table_row(bench_table *t, const char *values, ...) __attribute__((format(printf, 2, 3)));
/* Row -1 is ignored. */
void bench_table_add(bench_table *t, int row, int measure, double value);
bench_summary bench_table_cell(const bench_table *t, int row, int measure);
/* Adds a line below the table, unless it is there already. */
void bench_table_note(bench_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

void bench_table_print(const bench_table *t, FILE *out); /* aligned text */
/* One object a line. First the table itself: suite, part, model, title, parameters (names), measures (name and unit of
 * each), notes, conclusions (the notes that follow from the rows). Then every measured cell of every row: suite, part,
 * model, the parameters (numbers where they are numbers), measure, n, median, p5, p95, unit, and all n values. */
void bench_table_json(const bench_table *t, FILE *out);

#endif
