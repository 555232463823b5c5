/* Golden screens: a drawn canvas against tests/ui/golden/NAME.txt, and views to draw.
 *
 * GOLDEN_UPDATE=1 in the environment writes the files anew (the sketch-*.txt, which come from the design, excepted). */
#ifndef TANDEM_TESTS_UI_GOLDEN_H
#define TANDEM_TESTS_UI_GOLDEN_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

/* The canvas as text, the cursor as '_' where it stands on a blank. The caller frees it. */
char *golden_text(const struct canvas *canvas);

/* Compares with the file. */
void golden_check(const char *name, const char *found);
/* The same with a file below tests/. */
void golden_file(const char *path, const char *found);

/* The conversation of the 80x24 sketch: a reply is being written, the user types ahead. A view points into the sample,
 * which is as large as all that is shown. */
struct sample {
    struct view view;
    struct view_turn turns[8];
    struct view_span prefill[512], decode[512];
    struct view_enter enters[8];
    struct view_monitor_turn monitor_turns[16];
    uint8_t history[2][60];
    float speeds[2][VIEW_CHART_POINTS], shares[2][VIEW_CHART_POINTS];
    struct view_core cores[12];
    struct view_notice notices[4];
    struct view_session sessions[3];
};

void sample_init(struct sample *sample);

/* Moves the sample in time, so that now_ns is its present: as it is made, it has a clock of its own. */
void sample_move(struct sample *sample, int64_t now_ns);

/* The lanes as strings of the same length: spans that give exactly these letters in a window of 20 s. The first enter
 * is at column enter1, the second at enter2 (-1: none). */
void sample_lanes(struct sample *sample, const char *prefill, const char *decode, int enter1, int enter2);

#endif
