/* What `tandem bench` writes: text or Markdown on standard output as suites end, JSON and charts where asked for. */
#ifndef TANDEM_SRC_BENCH_REPORT_H
#define TANDEM_SRC_BENCH_REPORT_H

#include "src/bench.h"

/* Opens the JSON file, makes the folder of charts, prints the command and the machine. */
tdm_status bench_report_open(bench *b, tdm_error *err);
void bench_report_model(const bench *b);
void bench_report_table(bench *b, const bench_table *t);
/* What the suite that ends here ran on; before: bench_host_moment of its start. */
void bench_report_suite(const bench *b, const char *before);
/* Closes files, writes charts; seconds: what it all took. */
tdm_status bench_report_close(bench *b, double seconds, tdm_error *err);

#endif
