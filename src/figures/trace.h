/* The units' spans in the Chrome trace event format (opens in Perfetto): one track per unit, one for the turns. */
#ifndef TANDEM_SRC_TRACE_H
#define TANDEM_SRC_TRACE_H

#include "src/cli/options.h"

typedef struct trace trace;

/* Begins to collect spans. The rings of the units are finite: call trace_collect at least once a second while they
 * work. */
trace *trace_new(const tdm_machine *m); /* NULL: no memory */
void trace_free(trace *t);
void trace_collect(trace *t);
/* The collected spans of a unit, oldest first; *n how many. The trace owns them; valid until it collects again. */
const tdm_span *trace_spans(const trace *t, int unit, size_t *n);
/* Adds a turn that has ended. */
void trace_turn(trace *t, const tdm_turn_stats *stats);
/* Collects and writes the file. */
tdm_status trace_write(trace *t, const char *path, tdm_error *err);

/* --trace: begins a trace if the options ask for one, else *out is NULL; refuses a file that may not be overwritten. */
tdm_status trace_begin(trace **out, const options *o, const tdm_machine *m, tdm_error *err);
/* Writes it; t NULL: does nothing. */
tdm_status trace_end(trace *t, const options *o, tdm_error *err);

/* Writes the present contents of the rings (/trace). */
tdm_status trace_write_recent(const tdm_machine *m, const char *path, tdm_error *err);

#endif
