/* Tandem's inference engine: Qwen3.5-family text models (hybrid Gated DeltaNet + gated attention) on two units.
 *
 * This header is the manual. Conventions that hold for all of it:
 *
 *   errors     a function that can fail for an outside cause returns a tdm_status, TDM_OK or a negative code, and
 *              fills the caller's tdm_error (which may be NULL) with one line. Nothing is half done on failure
 *              unless a function says so. The engine never exits, never prints and reads no environment variable.
 *   ownership  what a `_open` or `_new` function returns is freed with the `_close` or `_free` of the same name
 *              (NULL is allowed). Strings and arrays handed in are copied unless a function says otherwise.
 *   threads    an object may be used by one thread at a time unless its section says more.
 *   units      times are nanoseconds of CLOCK_MONOTONIC, sizes bytes, speeds per second, unless the name says
 *              otherwise (_ms, _tps tokens per second, _gbs 1e9 bytes per second).
 *   text       UTF-8, given with its length; it may hold zero bytes and invalid sequences.
 */
#ifndef TANDEM_H
#define TANDEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TDM_API __attribute__((visibility("default")))

/* ---- Errors -------------------------------------------------------------------------------------------------- */

typedef enum {
    TDM_OK = 0,
    TDM_E_IO = -1,          /* the system refused: open, read, map, write */
    TDM_E_FORMAT = -2,      /* a file is damaged or not what it claims to be */
    TDM_E_UNSUPPORTED = -3, /* well-formed, but beyond this engine */
    TDM_E_NOMEM = -4,
    TDM_E_ARG = -5,         /* an argument or option is out of range */
    TDM_E_CONTEXT = -6,     /* the context is full */
    TDM_E_CANCELLED = -7,
    TDM_E_NOT_FOUND = -8,
    TDM_E_REFUSED = -9,     /* the chat template refuses these messages */
    TDM_E_BUSY = -10,
} tdm_status;

typedef struct {
    tdm_status code;
    char text[400]; /* one line, no control characters */
} tdm_error;

/* Called with a line of text just before the engine aborts on a broken invariant (to restore a terminal). */
TDM_API void tdm_set_bug_hook(void (*hook)(const char *line));

/* A token id. Ids are rows of the embedding matrix. */
typedef int32_t tdm_id;

#endif
