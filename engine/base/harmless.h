/* Which characters of a text from outside may be written to a terminal. Errors, tables, lists, the canvas and the line
 * editor all use this predicate. */
#ifndef TANDEM_BASE_HARMLESS_H
#define TANDEM_BASE_HARMLESS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether a character neither controls a terminal nor changes the direction of the text beside it: no C0 or C1 control
 * (newline and tab are controls), no DEL, no mark, embedding, override or isolate of direction, no separator of lines
 * or paragraphs. The code of an invalid byte, -1, isn't harmless. */
bool harmless_code(int32_t code);

/* Whether all characters of the text are harmless. It is for single lines: a newline is not harmless. */
bool harmless_text(const char *text, size_t n);

/* Makes a text such a line in place: every byte of a character that isn't harmless becomes '?'. */
void harmless_line(char *text);

/* Formats a line of the program's own words with untrusted arguments, which become harmless; malloc'ed, NULL without
 * memory. Newlines may stand only at the format's beginning and end, and stay. */
char *harmless_format(const char *format, va_list args);
/* The same, in `room` if it fits, so that a line of usual length needs no memory; otherwise malloc'ed, or NULL. */
enum { HARMLESS_USUAL = 1024 };
char *harmless_usual(char room[HARMLESS_USUAL], const char *format, va_list args);
/* Formats such a line and writes it; false with errno. */
bool harmless_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
