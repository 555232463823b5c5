/* Runs a command of the user's and keeps its output, to be attached. The command has its own session, so it has no
 * terminal, and empty input; it is ended after CAPTURE_SECONDS or CAPTURE_BYTES, with all programs that it started. */
#ifndef TANDEM_SRC_CAPTURE_H
#define TANDEM_SRC_CAPTURE_H

#include "engine/base/buffer.h"

enum { CAPTURE_BYTES = 1 << 20, CAPTURE_SECONDS = 60 };

typedef struct {
    struct buffer text; /* standard output and errors as they came, cleaned */
    int exit;           /* its exit status; 128 plus the signal's number if a signal ended it */
    bool cut, late;     /* it printed more than CAPTURE_BYTES; it ran longer than CAPTURE_SECONDS */
} capture;

/* Runs it with $SHELL, or with sh if that is no program. Waits for its end; meanwhile `stop` (may be NULL) is called
 * about ten times a second, and true stops the command: TDM_E_CANCELLED. Free with capture_free, whatever the result.
 * Any thread, unless the program catches SIGCHLD. */
tdm_status capture_run(capture *out, const char *command, bool (*stop)(void *ctx), void *ctx, tdm_error *err);
void capture_free(capture *c);

/* Reduces output to the text that a terminal would show: without escape sequences and control characters except newline
 * and tab, with the last version of a line that was overwritten, as valid UTF-8. Replaces the contents of `out`. */
tdm_status capture_clean(struct buffer *out, const char *bytes, size_t n, tdm_error *err);

#endif
