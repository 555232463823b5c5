/* The whole frame: from a view to a canvas.
 *
 * The loop of a program that uses it:
 *
 *     fill the view (pointers into its own data, no copies)
 *     screen_draw(screen, &view, canvas), then term_present(canvas)
 *     wait for input, the engine's wake-up or screen_timeout_ms(), and again, at most 60 times a second
 *
 * screen_timeout_ms() is -1 if nothing on the screen changes by itself, so that an idle program sleeps. The scrolling
 * calls of ui/text/transcript.h work on screen_transcript(). If the canvas has another size than the last one, the
 * layout is computed again; the position in the transcript stays. One thread.
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

/* The thing under the mouse, as of the last screen_draw() of this view. screen_item_at: an item of the open table; -1:
 * none. screen_draft_at: the byte of the draft for a cursor there; SIZE_MAX: the draft is elsewhere. */
int screen_item_at(const struct screen *screen, const struct view *view, int row);
size_t screen_draft_at(const struct screen *screen, const struct view *view, int row, int col);

/* Lines that a page key scrolls a pager or list. */
int screen_popup_page(const struct screen *screen);

#endif
