/* The conversation as a scrolling view over wrapped turns.
 *
 * Only turns that come into view are wrapped, and each only once for a width, so a frame costs the same whether the
 * conversation holds ten lines or a megabyte. The place of the view is a turn and a byte of its source: resizing,
 * folding and a growing reply leave it where it is. Following the stream ends when the user scrolls up, or when a reply
 * comes faster than it can be read; only transcript_sent() and the scrolling calls move the view.
 *
 * The scrolling calls work on the rows and columns of the last transcript_draw(). One thread.
 */
#ifndef TANDEM_UI_TRANSCRIPT_H
#define TANDEM_UI_TRANSCRIPT_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

struct transcript;

struct transcript *transcript_new(void); /* NULL: out of memory */
void transcript_free(struct transcript *transcript);

/* Draws into a blank area; shows at its lower right 'more below' if it is scrolled up, and 'new below' if text has come
 * since. */
void transcript_draw(struct transcript *transcript, const struct view *view, struct canvas *canvas, struct rect area);

/* The user has sent a message: the view follows the end again. */
void transcript_sent(struct transcript *transcript);

void transcript_scroll(struct transcript *transcript, const struct view *view, int lines); /* down is positive */
void transcript_page(struct transcript *transcript, const struct view *view, int pages);
void transcript_home(struct transcript *transcript, const struct view *view);
void transcript_end(struct transcript *transcript, const struct view *view);

/* Marks the turn before (-1) or after (1) the marked one, or the one in view, and brings its first line to the top. */
void transcript_turn(struct transcript *transcript, const struct view *view, int direction);

/* The marked turn's id, 0 for none; browse mode shows the mark. transcript_mark(0) takes it away. */
uint64_t transcript_marked(const struct transcript *transcript);
void transcript_mark(struct transcript *transcript, uint64_t id);

/* The next (1) or previous (-1) place of words, case ignored, from the last one found or the top of the view; wraps
 * round. Its turn is marked. false: there is none. */
bool transcript_find(struct transcript *transcript, const struct view *view, const char *words, int direction);

/* The next transcript_find() down begins with turn id. */
void transcript_find_from(struct transcript *transcript, uint64_t id);

/* How many matches of words there are, and in *at the number of the one found last, from 1; 0: none. Renders every turn
 * that is not rendered yet. */
size_t transcript_hits(struct transcript *transcript, const struct view *view, const char *words, size_t *at);

/* Unfolds or folds the thinking or long files before a message, shows the source or the rendering, of turn id; 0: of
 * the last reply. */
void transcript_toggle_fold(struct transcript *transcript, const struct view *view, uint64_t id);
void transcript_toggle_raw(struct transcript *transcript, const struct view *view, uint64_t id);

/* Whether the end is in view. */
bool transcript_at_end(const struct transcript *transcript);

/* The id of the turn that row `row` of the screen shows, 0 for none (mouse). */
uint64_t transcript_turn_at(const struct transcript *transcript, int row);

#endif
