/* Blocks of markdown (parsed by md4c) to wrapped, styled lines.
 *
 * One call renders a piece of a document that ends between blocks; ui/text/markdown.h cuts a streaming text into such
 * pieces. Struct blocks carries two things from piece to piece: the blank line between blocks and the number of the
 * next code block.
 */
#ifndef TANDEM_UI_BLOCKS_H
#define TANDEM_UI_BLOCKS_H

#include "ui/text/highlight.h"
#include "ui/text/lines.h"

struct blocks_look {
    int width;
    bool ascii;
    bool colour;  /* without, inline code keeps its backticks */
    bool strikes; /* without, struck-through text keeps its tildes */
};

struct blocks {
    struct lines *out;
    struct blocks_look look;
    bool gap;          /* a blank line comes before the next block */
    int code_blocks;   /* so far; a code block shows its number */
};

/* Renders text[0..len), which begins at byte `source` of its document. */
void blocks_render(struct blocks *blocks, const char *text, size_t len, size_t source);

/* The character of an entity (&amp; or &#38;) as UTF-8; returns its length, 0 when it is not known. */
size_t blocks_entity(const char *text, size_t len, char out[4]);

/* Render the head and one line of a fenced code block at the top level whose end has not come yet. */
void blocks_code_head(struct blocks *blocks, const char *language, size_t len, size_t source);
void blocks_code_line(struct blocks *blocks, const struct highlight_language *language, struct highlight_state *state,
                      const char *line, size_t len, size_t source);

#endif
