#include "ui/monitor/legend.h"

#include <string.h>

#include "ui/monitor/lanes.h"

enum { GAP = 2 };

static const char *const words[] = {"h reply and history", "d draft", "s end of prompt", "p prompt",
                                    "= writes", "> to DECODE", "~ helps", ". idle", "x GPU lost"};
enum { WORDS = sizeof words / sizeof *words, LOST = WORDS - 1 };

/* Draws into the canvas, or without one only counts the rows. */
static int walk(struct canvas *canvas, struct rect area, bool lost, const char *hint)
{
    int row = 0, col = 0;
    for (int i = 0; i < WORDS + (hint != NULL); i++) {
        const char *word = i < WORDS ? words[i] : hint;
        if (i == LOST && !lost) continue;
        int width = (int)strlen(word);
        if (col && col + GAP + width > area.cols) row++, col = 0;
        if (col) col += GAP;
        if (canvas && row < area.rows)
            canvas_puts(canvas, area.row + row, area.col + col, area.col + area.cols, word,
                        i < WORDS ? lanes_style(word[0]) : STYLE_QUIET);
        col += width;
    }
    return row + 1;
}

int legend_rows(int cols, bool lost, const char *hint)
{
    return walk(NULL, (struct rect){0, 0, 0, cols}, lost, hint);
}

void legend_draw(struct canvas *canvas, struct rect area, bool lost, const char *hint)
{
    walk(canvas, area, lost, hint);
}

bool legend_lost(const struct view_monitor *m)
{
    return m->prefill.gpu.lost_ns || m->decode.gpu.lost_ns;
}
