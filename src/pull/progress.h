/* How far a pull is, on standard error: one line that is drawn over on a terminal, else a plain line for every tenth.
 * One thread. */
#ifndef TANDEM_SRC_PULL_PROGRESS_H
#define TANDEM_SRC_PULL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t total, done; /* bytes of the whole pull, and those of them that are there */
    const char *name;     /* of the file under way */
    double rate;          /* bytes a second of late; 0: not known yet */
    uint64_t measured;    /* bytes since the rate was last taken, at `began` */
    double began, drawn;
    int tenth; /* of the last plain line */
    bool terminal, shown;
} progress;

void progress_begin(progress *p, uint64_t total, uint64_t done);
void progress_file(progress *p, const char *name);
/* n bytes came; 0: some time has passed. */
void progress_add(progress *p, size_t n);
/* n bytes that were counted are not good after all; negative: more than was counted is there. No matter of speed. */
void progress_take_back(progress *p, int64_t n);
/* A line of its own, above the bar on a terminal. */
void progress_say(progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_end(progress *p);

/* The line of `columns` at most, without control characters: "NAME  43 % [####----]  1.2 of 2.7 GB  24 MB/s  1 min
 * left". What doesn't fit is left out, the bar first, then the name. Returns its length. */
size_t progress_line(const progress *p, int columns, char *out, size_t room);

#endif
