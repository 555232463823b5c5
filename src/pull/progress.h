/* The progress of a pull: on standard error, one line that is redrawn on a terminal, else a plain line for every tenth;
 * or for programs, objects on standard output (`tandem pull --help` describes them). One thread. */
#ifndef TANDEM_SRC_PULL_PROGRESS_H
#define TANDEM_SRC_PULL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/io/progress_line.h"

typedef struct {
    progress_figures figures; /* of the whole pull, all its files */
    uint64_t measured;    /* bytes since the rate was last taken, at `began` */
    double began, drawn;
    int tenth; /* of the last plain line */
    bool terminal, json;
} progress;

void progress_begin(progress *p, uint64_t total, uint64_t done, bool json);
void progress_file(progress *p, const char *name);
/* n bytes came; 0: some time has passed. */
void progress_add(progress *p, size_t n);
/* Subtracts n counted bytes that turned out to be invalid; negative: adds bytes that were not counted. The speed does
 * not change. */
void progress_take_back(progress *p, int64_t n);
/* A line of its own, above the bar on a terminal. */
void progress_say(progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_end(progress *p);

/* {"event":EVENT,"text":TEXT} on standard output, a line; text NULL: without one. */
void progress_event(const char *event, const char *text);

#endif
