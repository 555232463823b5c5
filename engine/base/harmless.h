/* What a terminal may be given of a text that comes from outside: the one predicate behind errors, tables, lists, the
 * canvas and the line editor. */
#ifndef TANDEM_BASE_HARMLESS_H
#define TANDEM_BASE_HARMLESS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether a character neither steers a terminal nor turns the direction of what is beside it: no C0 or C1 control
 * (newline and tab are such), no DEL, no mark, embedding, override or isolate of direction, no separator of lines or
 * paragraphs. The code of an invalid byte, -1, isn't harmless. */
bool harmless_code(int32_t code);

/* Whether all characters of the text are; where one line stands, so that a newline isn't. */
bool harmless_text(const char *text, size_t n);

/* Makes such a line of a text: every byte of what isn't harmless becomes '?'. */
void harmless_line(char *text);

/* The program's own words with others' among them, as one such line: malloc'ed, NULL without memory. Newlines stand at
 * the format's beginning and end only, and stay. */
char *harmless_format(const char *format, va_list args);
/* The same in `room`, where it fits there, so that a usual line needs no memory; else malloc'ed, or NULL. */
enum { HARMLESS_USUAL = 1024 };
char *harmless_usual(char room[HARMLESS_USUAL], const char *format, va_list args);
/* Writes it; false with errno. */
bool harmless_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
