/* Wrapped, styled text: the form of a turn of the transcript, a table or a page of help for one width.
 *
 * The text of a paragraph stays whole in one buffer (a search finds words across line ends); a line is a stretch of it
 * with a prefix of its own (indent, bullet, bar of a quote). Runs give the style and the place in the source, so that
 * a view keeps its place when the width changes. Appending only; lines_cut() goes back to a mark, so that the open end
 * of a streaming reply can be rendered again. An allocation that fails sets `failed`, and further text is dropped.
 */
#ifndef TANDEM_UI_LINES_H
#define TANDEM_UI_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/draw/canvas.h"
#include "ui/draw/theme.h"

struct lines_run {
    uint32_t from;   /* first byte of the text; the run ends where the next begins */
    uint32_t source; /* the byte of the source that it shows */
    style_t style;
    bool made; /* not in the source: all of it counts as at `source` */
};

struct lines_line {
    uint32_t from, to;              /* bytes of the text */
    uint32_t prefix, prefix_len;    /* bytes of `prefixes` */
    style_t prefix_style;
};

struct lines {
    char *text;
    size_t len, cap;
    struct lines_run *runs;
    size_t n_runs, cap_runs;
    struct lines_line *line;
    size_t n, cap_lines;
    char *prefixes;
    size_t prefix_len, prefix_cap;
    bool failed;
};

struct lines_mark {
    size_t len, n_runs, n, prefix_len;
};

/* How lines_wrap() starts its lines. The prefixes are copied. */
struct lines_prefix {
    const char *first, *rest;
    style_t style;
};

enum lines_fit {
    LINES_WORDS, /* break at blanks and beside wide characters; break only words that are longer than a line */
    LINES_HARD,  /* break anywhere, keep blanks: code */
};

void lines_free(struct lines *lines);
struct lines_mark lines_mark(const struct lines *lines);
void lines_cut(struct lines *lines, struct lines_mark mark);

/* Appends text without making lines of it yet. source: byte offset of text in its source. */
void lines_add(struct lines *lines, const char *text, size_t len, size_t source, style_t style);

/* The same for text that is not in the source: the address after a link, padding. */
void lines_add_made(struct lines *lines, const char *text, size_t len, size_t source, style_t style);

/* As lines_add() for text that is not markdown: tabs become blanks, counted from the last newline. */
void lines_add_tabs(struct lines *lines, const char *text, size_t len, size_t source, style_t style);

/* Appends bytes [from, to) of other's text with their styles and sources. */
void lines_copy(struct lines *lines, const struct lines *other, size_t from, size_t to);

/* Makes lines of width columns (prefix included) of the text from byte `from` to the end; newlines break. At least one
 * line results, an empty one for an empty text. */
void lines_wrap(struct lines *lines, size_t from, int width, struct lines_prefix prefix, enum lines_fit fit);

/* One line as it is: `text` with its style, padded to stand at the right end of width columns when right is set. */
void lines_one(struct lines *lines, const char *text, style_t style, int width, bool right);

/* Source byte that line i begins with. */
size_t lines_source(const struct lines *lines, size_t i);

/* The line that shows a byte of the source: the last one that begins at or before it. */
size_t lines_at_source(const struct lines *lines, size_t source);

/* Bytes [from, to) of the text that are drawn in a style of their own. */
struct lines_match {
    size_t from, to;
    style_t style;
};

/* Draws line i at (row, col), up to column end. The matches are in ascending order and apart. */
void lines_draw(const struct lines *lines, size_t i, struct canvas *canvas, int row, int col, int end,
                const struct lines_match *matches, size_t n_matches);

#endif
