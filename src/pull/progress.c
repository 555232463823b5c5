#include "src/pull/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/json/write.h"
#include "src/io/frames.h"
#include "src/io/output.h"

static const double draw_seconds = 0.1, rate_seconds = 1;

static double now(void)
{
    return 1e-9 * (double)clock_ns();
}

static void put_object(json_object *o)
{
    frames_print(o);
    output_flush(); /* the program that shows it reads a pipe */
}

void progress_event(const char *event, const char *text)
{
    json_object *o = json_new_object();
    json_add_string(o, "event", event);
    if (text) json_add_string(o, "text", text);
    put_object(o);
}

static void show_json(const progress *p)
{
    json_object *o = json_new_object();
    json_add_string(o, "event", "progress");
    json_add_int(o, "done_bytes", (int64_t)p->figures.done);
    json_add_int(o, "total_bytes", (int64_t)p->figures.total);
    json_add_real(o, "bytes_per_s", p->figures.rate);
    put_object(o);
}

static void show(progress *p)
{
    char line[400];
    if (p->json) {
        show_json(p);
        return;
    }
    if (p->terminal) {
        struct winsize size = {0};
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
        progress_line(&p->figures, (size.ws_col ? size.ws_col : 80) - 1, line, sizeof line);
        output_passing("%s", line);
        return;
    }
    int tenth = progress_percent(&p->figures) / 10;
    if (tenth <= p->tenth) return;
    p->tenth = tenth;
    progress_words(&p->figures, (int)sizeof line - 1, line, sizeof line);
    output_note("%d %%  %s", progress_percent(&p->figures), line);
}

void progress_begin(progress *p, uint64_t total, uint64_t done, bool json)
{
    *p = (progress){
        .figures = {.total = total, .done = done}, .terminal = isatty(STDERR_FILENO), .json = json, .began = now()};
    p->tenth = progress_percent(&p->figures) / 10;
}

void progress_file(progress *p, const char *name)
{
    p->figures.name = name;
    if (p->terminal || p->json) show(p);
}

void progress_add(progress *p, size_t n)
{
    double time = now(), passed = time - p->began;
    p->figures.done += n;
    p->measured += n;
    if (passed >= rate_seconds) {
        double fresh = (double)p->measured / passed;
        p->figures.rate = p->figures.rate > 0 ? 0.7 * p->figures.rate + 0.3 * fresh : fresh;
        p->began = time;
        p->measured = 0;
    }
    if ((p->terminal || p->json) && time - p->drawn < draw_seconds && p->figures.done < p->figures.total) return;
    p->drawn = time;
    show(p);
}

void progress_take_back(progress *p, int64_t n)
{
    p->figures.done = n > 0 && (uint64_t)n > p->figures.done ? 0 : p->figures.done - (uint64_t)n;
    p->tenth = progress_percent(&p->figures) / 10;
}

void progress_say(progress *p, const char *format, ...)
{
    va_list args;
    char text[400];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (p->json) {
        progress_event("note", text);
    } else {
        output_note("%s", text);
    }
    if (p->terminal && !p->json) show(p);
}

void progress_end(progress *p)
{
    (void)p;
    output_passing_end(true);
}
