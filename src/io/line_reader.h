/* Lines of a descriptor. Ctrl-C and signals to leave (src/process/interrupt.h) always end the wait for one; a blocking
 * read would miss a signal that came just before it. */
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

/* The next line, without its end and cleaned as pastes are (engine/base/clean.h), so that a carriage return within it
 * is a newline; malloc'ed. NULL: the end, an interruption, or a repeated lack of memory for one line; only the last
 * sets err. */
char *line_reader_next(line_reader *l, tdm_error *err);
void line_reader_free(line_reader *l);

#endif
