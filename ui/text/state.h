/* The present state in words: one word for the status line, and one sentence. */
#ifndef TANDEM_UI_STATE_H
#define TANDEM_UI_STATE_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

enum { STATE_SIZE = 256 };

/* "ANSWERING", "READING 412 of 1,310, 3 s left" ... */
const char *state_word(char out[STATE_SIZE], const struct view *view);

/* The sentence, with a progress bar in front while a model loads. */
const char *state_sentence(char out[STATE_SIZE], const struct view *view);

/* Whether the sentence must be shown even if no form of the monitor has room for it. */
bool state_matters(const struct view *view);

/* Sentence of warning bit n (0 ... VIEW_WARNINGS - 1), NULL when it is not set. */
const char *state_warning(char out[STATE_SIZE], const struct view *view, int n);

/* The status line in one row. */
void state_draw_status(const struct view *view, struct canvas *canvas, struct rect area);

#endif
