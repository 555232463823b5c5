/* Status codes and one-line error messages.
 *
 * A function that can fail for an outside cause (a file, an option, memory, a cancelled wait) returns a tdm_status:
 * TDM_OK (0) or a negative code. It fills the caller's tdm_error, if given, with one line: where, what was expected,
 * what was found. A broken invariant is a bug and aborts through panic(), after the hook that restores the terminal.
 * Otherwise the engine never exits and never prints.
 */
#ifndef TANDEM_BASE_ERROR_H
#define TANDEM_BASE_ERROR_H

#include "engine/tandem.h"

/* Fills err (may be NULL) with a formatted line and returns code. Control characters of the arguments are
 * replaced by '?', since file names and contents are untrusted. */
tdm_status error_set(tdm_error *err, tdm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": strerror(errno)" appended. */
tdm_status error_errno(tdm_error *err, tdm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports a broken invariant and aborts. */
_Noreturn void panic_at(const char *file, int line, const char *what);
/* Called with that line before the end: tdm_set_panic_hook. */
void panic_set_hook(void (*hook)(const char *line));
#define panic(what) panic_at(__FILE__, __LINE__, what)
#define assert_always(condition) ((condition) ? (void)0 : panic("must hold: " #condition))

#endif
