#include "ui/monitor/legend.h"

#include <string.h>

#include "ui/monitor/lanes.h"

enum { GAP = 2 };

static const char *const words[] = {"h reply and history", "d draft", "s end of prompt", "p prompt",
                                    "= writes", "> to DECODE", "~ helps", ". idle"};
enum { WORDS = sizeof words / sizeof *words };

/* Draws into the canvas, or without one only counts the rows. */
static int walk(struct canvas *canvas, struct rect area, const char *hint)
{
    int row = 0, col = 0;
    for (int i = 0; i < WORDS + (hint != NULL); i++) {
        const char *word = i < WORDS ? words[i] : hint;
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

int legend_rows(int cols, const char *hint)
{
    return walk(NULL, (struct rect){0, 0, 0, cols}, hint);
}

void legend_draw(struct canvas *canvas, struct rect area, const char *hint)
{
    walk(canvas, area, hint);
}
