/* Lines of a descriptor, waited for so that Ctrl-C and signals to leave (src/process/interrupt.h) always end the wait:
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

/* The next line, without its end and cleaned as pastes are (engine/base/clean.h), so that a carriage return within it
 * is a newline; malloc'ed. NULL: the end, an interruption, or twice no memory for the same line, which alone fills
 * `err`. */
char *line_reader_next(line_reader *l, tdm_error *err);
void line_reader_free(line_reader *l);

#endif
