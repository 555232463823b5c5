/* Several answers to one message: side by side in columns if each is at least ANSWERS_COLS wide, else as tabs, with the
 * selected one in full width and one line of each other below it. The message stands above them.
 *
 * Each answer is a transcript of its own (ui/text/transcript.h) and keeps its place. One thread.
 */
#ifndef TANDEM_UI_ANSWERS_H
#define TANDEM_UI_ANSWERS_H

#include "ui/text/transcript.h"

enum { ANSWERS_COLS = 38, ANSWERS_GAP = 3 };

struct answers;

struct answers *answers_new(void); /* NULL: out of memory */
void answers_free(struct answers *answers);

/* The width of each answer in `cols` columns of the screen; 0: they don't fit beside each other. */
int answers_columns(size_t n, int cols);

/* Draws view->answers, which are at least two, into a blank area. */
void answers_draw(struct answers *answers, const struct view *view, struct canvas *canvas, struct rect area);

/* The transcript of the selected answer, for the scrolling calls, and the view that they take. */
struct transcript *answers_looked(struct answers *answers, const struct view *view, struct view *own);

/* "done, 61 tokens", "stopped, 12 tokens", while it is written "88 tok". */
void answers_state(char *out, size_t room, const struct view_answers *answers, size_t i);

#endif
