/* A text of Markdown, and the same text without the parts that are not Markdown: formulas ($x$, $$x$$, \(x\), \[x\])
 * and stars between numbers or names (2*3*4). md4c parses the second text, in which characters without meaning replace
 * those parts, byte for byte; pieces of text that it reports are looked up in the first. Code and addresses stay as
 * they are.
 *
 * A dollar sign opens a formula if no blank follows it, and the next one closes it if no blank precedes it and no digit
 * follows it; so '$5 and $10' is text. A formula ends with its paragraph. An unclosed formula at the end of the text (a
 * reply that is being written) counts as a formula, so that it is not drawn as something else meanwhile. */
#ifndef TANDEM_UI_INERT_H
#define TANDEM_UI_INERT_H

#include <md4c.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buffer.h"

/* md4c's flags for the Markdown that models write. */
#define INERT_DIALECT                                                                                                  \
    (MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_PERMISSIVEURLAUTOLINKS | MD_FLAG_NOHTML)

struct inert_formula {
    size_t from, to; /* bytes, with the delimiters */
    size_t mark;     /* bytes of one delimiter */
    bool display;    /* on lines of its own */
    bool open;       /* it is not closed yet */
    bool quoted;     /* within a block quote, whose marks stand in its lines */
};

struct inert {
    char *text, *masked;
    size_t len;
    struct inert_formula *formula;
    size_t n, room;
};

/* md4c 0.4.8 reads past the end of a table row whose last character is a pipe without a newline: both texts are
 * followed by a newline and INERT_PAD zero bytes. Zero bytes within them, which md4c reports twice in code, become the
 * control character SUB. False without memory. */
enum { INERT_PAD = 64 };
bool inert_open(struct inert *in, const char *text, size_t len);
void inert_close(struct inert *in);

/* md_parse() of the masked text. */
int inert_parse(const struct inert *in, const MD_PARSER *parser, void *arg);

/* The position in the text of a piece that md4c reports; false for its own constants. */
bool inert_place(const struct inert *in, const char *handed, size_t *at);

/* The formula that [at, to) begins with or meets next, and where it begins; NULL and `to`: none. */
const struct inert_formula *inert_next(const struct inert *in, size_t at, size_t to, size_t *begin);

/* A formula as readable Unicode (ui/formula/formula.h). False: show the source. */
bool inert_write(const struct inert *in, const struct inert_formula *formula, struct buffer *out);

#endif
