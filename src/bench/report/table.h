/* The tables of `tandem bench`: what a suite measured, kept until it is printed as text or JSON.
 *
 * A table has parameters (what a row is about), measures (what was measured, with its unit) and rows; a cell holds
 * every measured value. One thread. */
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
    bool unwanted; /* its rows were not asked for: it is not shown */
    bench_row *rows;
    char notes[BENCH_NOTES][300];
    int n_conclusions; /* the last of the notes: bench_conclude has drawn them from the rows */
} bench_table;

/* parameters: "prompt_tokens|pipeline"; measures: "prefill:tok/s|total:ms", the first is the one that charts show. A
 * measure in "x" is a ratio: it is not printed where its spread makes it meaningless (stats.h). NULL without
 * memory. */
bench_table *bench_table_new(const char *suite, const char *part, const char *model, const char *title,
                             const char *parameters, const char *measures);
void bench_table_free(bench_table *t);

/* The row with these parameter values ("74|tandem"), added if it isn't there; -1 without memory. */
int bench_table_row(bench_table *t, const char *values, ...) __attribute__((format(printf, 2, 3)));
/* Row -1 is ignored. */
void bench_table_add(bench_table *t, int row, int measure, double value);
bench_summary bench_table_cell(const bench_table *t, int row, int measure);
/* A line below the table; one that stands there already is not added again. */
void bench_table_note(bench_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

void bench_table_print(const bench_table *t, FILE *out); /* aligned text */
/* One object a line. First what the table is: suite, part, model, title, parameters (names), measures (name and unit of
 * each), notes, conclusions (the notes that follow from the rows). Then every measured cell of every row: suite, part,
 * model, the parameters (numbers where they are numbers), measure, n, median, p5, p95, unit, and all n values. */
void bench_table_json(const bench_table *t, FILE *out);

#endif
