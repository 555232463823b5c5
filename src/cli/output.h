/* Standard output of a command. Every failed write (closed pipe, full disk) is remembered: the command ends with one
 * line and status 1; without the line where the reader has seen enough (`| head`). On a terminal control characters are
 * shown as `^X`, never sent raw (the texts of models and files are untrusted); a pipe or a file gets the exact bytes.
 * One thread. */
#ifndef TANDEM_SRC_OUTPUT_H
#define TANDEM_SRC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

bool output_is_terminal(void);
/* Untrusted text; UTF-8 sequences may be split over calls. */
void output_text(const char *text, size_t n);
/* The program's own words, with names from outside among them: shown as output_text() shows it. */
void output_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A sequence of the program's own that a terminal is to obey. */
void output_escape(const char *sequence);
void output_flush(void);
/* What was to be written could not be made: as a failed write with this errno. */
void output_fail(int error);
/* False once a write has failed: what follows would be lost. */
bool output_good(void);
/* The same, also before anything is written to a pipe whose reader has gone. */
bool output_read(void);
/* Flushes and closes; on failure prints one line on stderr (none for a closed pipe) and returns 1, else 0. */
int output_end(void);

/* Copies text so that a terminal can't be harmed: newline and tab stay, C0, C1 and DEL become ^X, invalid UTF-8 and
 * what turns the direction or ends a line U+FFFD. `out` has room for 3 bytes per byte (less at most 3 that are held
 * back); `held` carries
 * an incomplete sequence from call to call and begins zeroed. Returns the length. */
typedef struct {
    char bytes[4];
    int n;
} output_held;
size_t output_harmless(output_held *held, const char *text, size_t n, char *out);
/* The text as valid UTF-8: every byte that belongs to no sequence becomes U+FFFD; `out` has room for 3 n bytes. */
size_t output_valid(const char *text, size_t n, char *out);

#endif
