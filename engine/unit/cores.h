/* Sets of CPUs in the notation of units: "cpu:0-3,6". */
#ifndef TANDEM_UNIT_CORES_H
#define TANDEM_UNIT_CORES_H

#include "engine/tandem.h"

enum { CORES_MAX = 1024 }; /* CPU numbers are 0..CORES_MAX-1, as in a cpu_set_t */

struct cores {
    int count;
    int cpu[CORES_MAX]; /* distinct; the first is the driver's */
};

/* Parses "cpu:" and a list of numbers and ascending ranges, e.g. "cpu:0-3,6". Empty lists, blanks, signs, repeated
 * numbers and numbers out of range are TDM_E_ARG with the position; the order is kept. */
tdm_status cores_parse(struct cores *out, const char *text, tdm_error *err);

/* The same for a list as /sys and cpusets write it: no "cpu:", and a single line end is allowed. */
tdm_status cores_parse_list(struct cores *out, const char *text, tdm_error *err);

/* Writes "cpu:0-3,6" into text[size], cut off where it is too small. Returns text. */
char *cores_format(const struct cores *cores, char *text, size_t size);

bool cores_contain(const struct cores *cores, int cpu);

#endif
