/* Terminals in 8-bit mode begin a sequence with one control character (0x9b for Esc [), which as UTF-8 has two bytes.
 * Such a byte may also be a part of a character, or of invalid UTF-8. Pure; any thread. */
#ifndef TANDEM_UI_EIGHT_BIT_H
#define TANDEM_UI_EIGHT_BIT_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/keys/answer_form.h"

/* The control character at text[0..n) that introduces a key, a string or an answer, or 0. *length: its bytes. */
unsigned char eight_bit_introducer(const char *text, size_t n, size_t *length);

/* Whether the text after such a character at text[0..n) shows that the terminal is in that mode: the mark of a paste or
 * an answer, whole or in part (ui/keys/answer_form.h). */
enum answer_form eight_bit_evidence(const char *text, size_t n);

/* How many bytes are text: up to an Esc, such a control character, or an incomplete character; with `over` an
 * incomplete character is text too. *owed: how many bytes it lacks then; they are text when they come. */
size_t eight_bit_text(const char *text, size_t n, bool over, int *owed);

#endif
