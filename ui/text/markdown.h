/* Markdown as it arrives: a growing text to lines, of which only the open end is rendered again.
 *
 * The text is cut where a blank line or a fence at the left edge ends a block for good: what lies before is rendered
 * once. Within a fenced code block at the left edge every finished line is final. So the time for each update is
 * proportional to the new text. The price: a link definition at the end of a reply does not reach the links above it.
 */
#ifndef TANDEM_UI_MARKDOWN_H
#define TANDEM_UI_MARKDOWN_H

#include "ui/text/blocks.h"

struct markdown {
    struct blocks blocks;      /* as of `closed` */
    size_t closed;             /* bytes of the text that are rendered finally */
    struct lines_mark mark;    /* the lines of these */
    char fence;                /* the open fence's character, 0 outside */
    int fence_len, fence_indent;
    const struct highlight_language *language;
    struct highlight_state state;
};

/* Begins at the end of out, to which only md may write from then on. */
void markdown_start(struct markdown *md, struct lines *out, struct blocks_look look);

/* The text has grown to text[0..len); its earlier part is unchanged. */
void markdown_update(struct markdown *md, const char *text, size_t len);

/* The length and character of the fence of a code block that is not closed at the end of a text, such as a reply that
 * was cut off; 0: all are closed. */
int markdown_open_fence(const char *text, size_t len, char *fence);

/* The contents of code block n (1 ...) of a text, without fences: malloc'ed, NULL when there is no such block. */
char *markdown_code_block(const char *text, size_t len, int n, size_t *out_len);

/* The address of link or image n (1 ...) of a text: malloc'ed, NULL when there are fewer. It is untrusted: ask the user
 * before it is opened. */
char *markdown_link(const char *text, size_t len, int n);

#endif
