/* What a suite of `tandem bench --json` writes: tables with their rows and what they ran on, by the form that
 * src/bench/report/table.h and src/bench/report/report.h promise. */
#ifndef TANDEM_TESTS_SUITES_H
#define TANDEM_TESTS_SUITES_H

#include <stdio.h>

/* The budget is much more than a slow machine needs: no row is left out. */
#define SUITES_FORM "--runs 3 --quick --budget 600s --json - "
#define SUITES_TINY "-m tests/goldens/tiny-a " /* with which each suite takes moments */

/* `tandem bench ARGUMENTS`. */
FILE *suites_start(const char *arguments);
/* All that it writes until it ends; to be freed. */
char *suites_written(FILE *in);
char *suites_run(const char *arguments);

/* A suite, and the fewest cells that it has to measure. */
struct suites_expected {
    const char *suite;
    int least;
};

/* Checks each line of the text, and that these suites are there; frees the text. */
void suites_check(char *text, const struct suites_expected *expected, int n);

#define CHECK_SUITES(text, ...)                                                                                        \
    do {                                                                                                               \
        const struct suites_expected expected_[] = {__VA_ARGS__};                                                      \
        suites_check(text, expected_, (int)(sizeof expected_ / sizeof *expected_));                                    \
    } while (0)

#endif
