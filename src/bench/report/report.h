/* The output of `tandem bench`: text on standard output as suites end, or Markdown of all (src/bench/measured.py makes
 * it from the rows), and JSON with --json.
 *
 * --json writes one object a line: the objects of each table (src/bench/report/table.h), and after the tables of a
 * suite and model the machine:
 *
 *   {"suite", "model", "command", "seconds", "weight_types", "kernels", "kv", "units", "lending",
 *    "machine": {"cpu", "cores", "cpus", "caches"},
 *    "ceilings": {"int8_gops", "bf16_gops", "fp32_gops", "matrix_int8_gops", "matrix_bf16_gops", "read_gbs"},
 *    "start": {"mhz", "governor", "power", "load", "other_tandems"}, "end": {the same}}
 *
 * mhz and governor are null if the system does not report them, the ceilings of a matrix unit if there is none. */
#ifndef TANDEM_SRC_BENCH_REPORT_H
#define TANDEM_SRC_BENCH_REPORT_H

#include "src/bench/bench.h"

/* Opens the JSON file, starts the maker of Markdown, or prints the command and the machine. */
tdm_status bench_report_open(bench *b, tdm_error *err);
void bench_report_model(const bench *b);
void bench_report_table(bench *b, bench_table *t);
/* Writes the machine of a suite that has ended; before: the values at its start; seconds: its duration. */
void bench_report_suite(const bench *b, const bench_moment *before, double seconds);
/* Closes the JSON file, and waits until the Markdown is written. */
tdm_status bench_report_close(bench *b, tdm_error *err);

#endif
