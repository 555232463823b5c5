/* The progress of a transfer of bytes, as one line. */
#ifndef TANDEM_SRC_PROGRESS_LINE_H
#define TANDEM_SRC_PROGRESS_LINE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t total, done; /* bytes in all, and bytes that have come */
    const char *name;     /* of the file under way; NULL: none */
    double rate;          /* bytes a second lately; 0: not known yet */
} progress_figures;

int progress_percent(const progress_figures *p);

/* The line of `columns` at most, without control characters: "NAME  43 % [####----]  1.2 of 2.7 GB  24 MB/s  1 min
 * left". To fit, the bar is left out first, then the name. Returns its length. */
size_t progress_line(const progress_figures *p, int columns, char *out, size_t room);
/* Its figures alone: "1.2 of 2.7 GB  24 MB/s  1 min left", whose end is left out if it doesn't fit. */
void progress_words(const progress_figures *p, int columns, char *out, size_t room);

#endif
