/* Runs a command of the user's and keeps what it prints, to be attached. It has a session of its own, so that it has no
 * terminal, and nothing to read; it ends after some time or some bytes, with all that it has started. */
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
 * Any thread, but for one that catches SIGCHLD. */
tdm_status capture_run(capture *out, const char *command, bool (*stop)(void *ctx), void *ctx, tdm_error *err);
void capture_free(capture *c);

/* What a terminal would show of the output: without escape sequences and control characters except newline and tab, of
 * a line that was written again the last form, valid UTF-8. Replaces the contents of `out`. */
tdm_status capture_clean(struct buffer *out, const char *bytes, size_t n, tdm_error *err);

#endif
