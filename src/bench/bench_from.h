/* Reading what `tandem bench --json` wrote, to print or write it once more, rows of several runs joined. */
#ifndef TANDEM_SRC_BENCH_FROM_H
#define TANDEM_SRC_BENCH_FROM_H

#include "src/bench/bench.h"

/* Adds the tables of a text (lines as bench_table_json and bench_report write them) to those of b, and prints what they
 * ran on. Values of rows that are there already are added to them. name stands in messages. */
tdm_status bench_from_text(bench *b, const char *name, const char *text, size_t n, tdm_error *err);
/* The same with the files of --from; then prints all. */
tdm_status bench_from_files(bench *b, tdm_error *err);

#endif
