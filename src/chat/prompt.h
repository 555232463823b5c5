/* A prompt of the library: a text file with words that the user need not type again.
 *
 *   ---
 *   description = finds mistakes in a text
 *   temp = 0.2
 *   ---
 *   Which words of {{file:words.txt}} does this text not keep to?
 *
 *   {{input}}
 *
 * The lines between the first two `---` are optional, together or each; `#` begins a comment there. They are
 * `description = ...` and options by their names: model, system, think, keep-thinking, max-tokens and those of
 * sampling. In the text {{input}} stands for the user's input (without it the input follows after a blank line),
 * {{clipboard}} and {{file:PATH}} for the name of an attachment that goes before the message; \{{ is two braces.
 *
 * Files are untrusted: at most PROMPT_LARGEST bytes of UTF-8 without control characters but newline, tab and a carriage
 * return before a newline. A failure is `NAME:LINE: expected ..., found ...`. Pure data; any thread. */
#ifndef TANDEM_SRC_PROMPT_H
#define TANDEM_SRC_PROMPT_H

#include "engine/base/buffer.h"
#include "src/cli/options.h"

enum { PROMPT_LARGEST = 64 << 10 };

typedef enum { PROMPT_TEXT, PROMPT_INPUT, PROMPT_CLIPBOARD, PROMPT_FILE } prompt_kind;

typedef struct {
    prompt_kind kind;
    const char *text; /* PROMPT_TEXT: n bytes; PROMPT_FILE: the path, n bytes; within bytes */
    size_t n;
    int line; /* of the file, from 1 */
} prompt_part;

typedef struct {
    char *bytes;       /* the file's bytes, to which the texts below point */
    char *description; /* NULL: none */
    options settings;  /* options that the file sets */
    prompt_part *parts;
    int n;
} prompt_file;

/* Parses a file's bytes; name: for failures. On failure *out needs no prompt_free. */
tdm_status prompt_parse(prompt_file *out, const char *name, const char *bytes, size_t n, tdm_error *err);
void prompt_free(prompt_file *p);

/* Whether a prompt may set this option. */
bool prompt_takes(option_id id);

/* Appends the message: the parts with the input inserted, attachments by their names, without blanks at its end.
 * TDM_E_CONTEXT when it would be longer than `most` bytes. */
tdm_status prompt_compose(const prompt_file *p, const char *input, size_t n, size_t most, struct buffer *out,
                          tdm_error *err);

#endif
