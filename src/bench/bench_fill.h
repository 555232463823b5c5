/* `tandem bench --from FILES --fill FILE`: puts measured tables into a Markdown file between the lines that ask for them,
 * so that no figure is copied by hand. What stands between such a line and the next `<!-- end -->` is replaced:
 *
 *     <!-- bench turns/pipelines synthetic:0.8b:q8_0 columns=warm_TTFT,decode rows=tandem,single|- beside=published -->
 *     <!-- end -->
 *
 * suite or suite/part, then the model, or several with commas (the table begins with a column of them then); '_' stands for a
 * blank in its name. Words after them, each at most once:
 *
 *     columns=A,B     these measures; else all
 *     rows=A,B        rows whose parameters, with '|' between, hold one of these texts, from a '|' to a '|'; else all
 *     beside=A,B      to the right, the row of that model with the same parameters; among numbers, the nearest within a
 *                     factor of three, shown as well. "*@avx512" is the row's own model as measured with --kernels avx512,
 *                     "*@goal" what it shall reach
 *     medians         without the range
 *     turned          a column for each row
 *     notes           the table's notes below it
 *     ceilings        below it, also the ceilings of arithmetic that were measured meanwhile
 *     optional        what was not measured is said to be so, or its columns left out; without the word it is an error
 *     note=WORD       no table: in bold, the note that begins with this word
 *
 * Below each table stand the commands that measured it, and how fast memory was read meanwhile. */
#ifndef TANDEM_SRC_BENCH_FILL_H
#define TANDEM_SRC_BENCH_FILL_H

#include "src/bench/bench.h"

/* The file with its tables, malloc'ed. TDM_E_FORMAT names the line that asks for what was not read. */
tdm_status bench_fill_text(const bench *b, const char *name, const char *text, char **out, tdm_error *err);
/* Rewrites the file, if something in it changes. */
tdm_status bench_fill_file(const bench *b, const char *path, tdm_error *err);

#endif
