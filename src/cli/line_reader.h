/* Lines of a descriptor, waited for so that Ctrl-C and being told to leave (src/cli/interrupt.h) always end the wait:
 * a read that has begun to block would not hear of a signal that came just before it. */
#ifndef TANDEM_SRC_LINE_READER_H
#define TANDEM_SRC_LINE_READER_H

#include <stdbool.h>

#include "engine/base/buffer.h"

typedef struct {
    int fd; /* blocking or not */
    struct buffer read;
    size_t given; /* bytes of it that were handed out */
    bool ended;
} line_reader;

/* The next line, without its newline, malloc'ed. NULL: the end, an interruption, or no memory. */
char *line_reader_next(line_reader *l);
void line_reader_free(line_reader *l);

#endif
