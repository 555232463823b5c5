/* Standard output of a command. Every failed write (closed pipe, full disk) is remembered: the command ends with one
 * line and status 1; without the line if the reader closed the pipe (`| head`). On a terminal control characters of
 * texts are shown as `^X`, never sent raw (models and files are untrusted); a pipe or a file gets the exact bytes. One
 * thread. */
#ifndef TANDEM_SRC_OUTPUT_H
#define TANDEM_SRC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

bool output_is_terminal(void);
/* Untrusted text; UTF-8 sequences may be split over calls. */
void output_text(const char *text, size_t n);
/* Prints the program's own words with untrusted arguments: one line, or a part of one, by harmless_print()'s rules
 * (engine/base/harmless.h), for pipes too, where a name must not begin a line either. */
void output_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a whole line of such words on standard error, after flushing standard output. All lines there are printed by
 * it. Lines longer than some 2,000 bytes are cut. */
void output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints such a line on standard error, which is a terminal, in place of the last passing line; a note replaces it
 * too. */
void output_passing(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends passing lines: the last one is removed, or stays above the next output. */
void output_passing_end(bool stays);
/* Writes a control sequence of the program's own to a terminal. */
void output_escape(const char *sequence);
void output_flush(void);
/* Notes that output could not be made: counts as a failed write with this errno. */
void output_fail(int error);
/* False once a write has failed: further output would be lost. */
bool output_good(void);
/* The same; also false, before any write, for a pipe whose reader has closed it. */
bool output_read(void);
/* Flushes and closes; on failure prints one line on stderr (none for a closed pipe) and returns 1, else 0. */
int output_end(void);

/* Copies text in a form that is harmless to a terminal: newline and tab stay, C0, C1 and DEL become ^X; invalid UTF-8
 * and characters that change the direction or end a line become U+FFFD. `out` has room for 3 n + 3 bytes. `held`
 * carries an incomplete sequence from call to call and begins zeroed. Returns the length. */
typedef struct {
    char bytes[4];
    int n;
} output_held;
size_t output_harmless(output_held *held, const char *text, size_t n, char *out);

#endif
