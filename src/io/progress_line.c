#include "src/io/progress_line.h"

#include <stdio.h>
#include <string.h>

#include "engine/os/file.h"
#include "src/io/number.h"

enum { NARROWEST_BAR = 8, WIDEST_BAR = 40 };

/* "  1 min left"; "" where it is not known. */
static void left_words(const progress_figures *p, char *out, size_t room)
{
    double seconds = p->rate > 0 && p->done <= p->total ? (double)(p->total - p->done) / p->rate : -1;
    if (p->done == p->total || seconds < 0 || seconds > 100 * 3600)
        out[0] = 0;
    else if (seconds < 90)
        snprintf(out, room, "  %.0f s left", seconds);
    else if (seconds < 90 * 60)
        snprintf(out, room, "  %.0f min left", seconds / 60);
    else
        snprintf(out, room, "  %.1f h left", seconds / 3600);
}

int progress_percent(const progress_figures *p)
{
    return p->total ? (int)(100.0 * (double)p->done / (double)p->total) : 100;
}

void progress_words(const progress_figures *p, int columns, char *out, size_t room)
{
    char done[BYTES_ROOM], total[BYTES_ROOM], rate[BYTES_ROOM + 4] = "", left[40] = "";
    bytes_words(done, p->done);
    bytes_words(total, p->total);
    char *unit = strchr(done, ' ');
    if (unit && (!p->done || !strcmp(unit, strchr(total, ' ')))) *unit = 0;
    if (p->rate > 0) {
        char speed[BYTES_ROOM];
        snprintf(rate, sizeof rate, "  %s/s", bytes_words(speed, (uint64_t)p->rate));
        left_words(p, left, sizeof left);
    }
    int n = snprintf(out, room, "%s of %s", done, total);
    const char *more[] = {rate, left};
    for (int i = 0; i < 2 && n + (int)strlen(more[i]) <= columns; i++)
        n += snprintf(out + n, room - (size_t)n, "%s", more[i]);
}

size_t progress_line(const progress_figures *p, int columns, char *out, size_t room)
{
    char right[160], bar[WIDEST_BAR + 8] = "";
    const char *name = p->name ? file_base(p->name) : "";
    enum { PERCENT = sizeof "100 %  " - 1, FRAME = sizeof "[]  " - 1 };
    progress_words(p, columns - PERCENT, right, sizeof right);
    int percent = progress_percent(p), used = PERCENT + (int)strlen(right);
    /* A name of other than ASCII has fewer columns than bytes: then the line is only shorter than it could be. */
    if (used + (int)strlen(name) + 2 > columns) name = "";
    if (name[0]) used += (int)strlen(name) + 2;
    int width = columns - used - FRAME;
    if (width > WIDEST_BAR) width = WIDEST_BAR;
    if (width >= NARROWEST_BAR) {
        int filled = width * percent / 100;
        bar[0] = '[';
        memset(bar + 1, '#', (size_t)filled);
        memset(bar + 1 + filled, '-', (size_t)(width - filled));
        strcpy(bar + 1 + width, "]  ");
    }
    int n = snprintf(out, room, "%s%s%3d %%  %s%s", name, name[0] ? "  " : "", percent, bar, right);
    return (size_t)n < room ? (size_t)n : room - 1;
}
