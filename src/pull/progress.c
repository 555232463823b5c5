#include "src/pull/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/cli/bytes.h"

enum { NARROWEST_BAR = 8, WIDEST_BAR = 40 };

static const double draw_seconds = 0.1, rate_seconds = 1;

/* ---- The line -------------------------------------------------------------------------------------------------- */

/* "  1 min left"; "" where it is not known. */
static void left_words(const progress *p, char *out, size_t room)
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

static int percent_of(const progress *p)
{
    return p->total ? (int)(100.0 * (double)p->done / (double)p->total) : 100;
}

/* "1.2 of 2.7 GB  24 MB/s  1 min left", of which the end is left out where it is longer than `columns`. */
static void figures(const progress *p, int columns, char *out, size_t room)
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

size_t progress_line(const progress *p, int columns, char *out, size_t room)
{
    char right[160], bar[WIDEST_BAR + 8] = "";
    const char *slash = p->name ? strrchr(p->name, '/') : NULL;
    const char *name = slash ? slash + 1 : p->name ? p->name : "";
    enum { PERCENT = sizeof "100 %  " - 1, FRAME = sizeof "[]  " - 1 };
    figures(p, columns - PERCENT, right, sizeof right);
    int percent = percent_of(p), used = PERCENT + (int)strlen(right);
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

/* ---- Showing it ------------------------------------------------------------------------------------------------ */

static double now(void)
{
    return 1e-9 * (double)clock_ns();
}

static void show(progress *p)
{
    char line[400];
    if (p->terminal) {
        struct winsize size = {0};
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
        progress_line(p, (size.ws_col ? size.ws_col : 80) - 1, line, sizeof line);
        fprintf(stderr, "\r%s\x1b[K", line);
        p->shown = true;
        return;
    }
    int tenth = percent_of(p) / 10;
    if (tenth <= p->tenth) return;
    p->tenth = tenth;
    figures(p, (int)sizeof line - 1, line, sizeof line);
    fprintf(stderr, "%d %%  %s\n", percent_of(p), line);
}

void progress_begin(progress *p, uint64_t total, uint64_t done)
{
    *p = (progress){.total = total, .done = done, .terminal = isatty(STDERR_FILENO), .began = now()};
    p->tenth = percent_of(p) / 10;
}

void progress_file(progress *p, const char *name)
{
    p->name = name;
    if (p->terminal) show(p);
}

void progress_add(progress *p, size_t n)
{
    double time = now(), passed = time - p->began;
    p->done += n;
    p->measured += n;
    if (passed >= rate_seconds) {
        double fresh = (double)p->measured / passed;
        p->rate = p->rate > 0 ? 0.7 * p->rate + 0.3 * fresh : fresh;
        p->began = time;
        p->measured = 0;
    }
    if (p->terminal && time - p->drawn < draw_seconds && p->done < p->total) return;
    p->drawn = time;
    show(p);
}

void progress_take_back(progress *p, int64_t n)
{
    p->done = n > 0 && (uint64_t)n > p->done ? 0 : p->done - (uint64_t)n;
    p->tenth = percent_of(p) / 10;
}

void progress_say(progress *p, const char *format, ...)
{
    va_list args;
    if (p->shown) fputs("\r\x1b[K", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    if (p->terminal) show(p);
}

void progress_end(progress *p)
{
    if (p->shown) fputc('\n', stderr);
    p->shown = false;
}
