/* The whole frame: from a view to a canvas.
 *
 * The loop of a program that uses it:
 *
 *     fill the view (pointers into its own data, no copies)
 *     screen_draw(screen, &view, canvas), then term_present(canvas)
 *     wait for input, the engine's wake-up or screen_timeout_ms(), and again, at most 60 times a second
 *
 * screen_timeout_ms() is -1 when nothing on the screen moves by itself, so an idle program sleeps. The scrolling calls
 * of ui/text/transcript.h work on screen_transcript(). A canvas of another size than the last one is laid out anew; the
 * place in the transcript stays. One thread.
 */
#ifndef TANDEM_UI_SCREEN_H
#define TANDEM_UI_SCREEN_H

#include <stdint.h>

#include "ui/draw/canvas.h"
#include "ui/draw/layout.h"
#include "ui/draw/view.h"
#include "ui/text/transcript.h"

struct screen;

struct screen *screen_new(void); /* NULL: out of memory */
void screen_free(struct screen *screen);

/* Draws everything; the canvas is cleared first and takes view->options.ascii. */
void screen_draw(struct screen *screen, const struct view *view, struct canvas *canvas);

/* Milliseconds until the next frame is due even if nothing changes: 0 and more, -1 for never. */
int screen_timeout_ms(const struct screen *screen, const struct view *view);

/* As of the last screen_draw(). */
const struct layout *screen_layout(const struct screen *screen);

struct transcript *screen_transcript(struct screen *screen);

/* The transcript that the scrolling keys move (of several answers that of the selected one), and in *view the view that
 * its functions take; `own` is memory for that view. */
struct transcript *screen_scrolled(struct screen *screen, const struct view **view, struct view *own);

/* What the mouse points to, as of the last screen_draw() of this view: an item of the open table, -1: none; the byte of
 * the draft before which the cursor would be, SIZE_MAX: the draft is not there. */
int screen_item_at(const struct screen *screen, const struct view *view, int row);
size_t screen_draft_at(const struct screen *screen, const struct view *view, int row, int col);

/* Lines that a pager or list moves by on a page key. */
int screen_popup_page(const struct screen *screen);

#endif
