#include "ui/text/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *format_count(char out[FORMAT_SIZE], int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n), at = 0;
    for (int i = 0; i < len; i++) {
        int left = len - i;
        if (i > 0 && digits[i - 1] != '-' && left % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

const char *format_ms(char out[FORMAT_SIZE], double ms)
{
    char n[FORMAT_SIZE];
    if (!(ms >= 0) || ms > 1e12) ms = 0;
    if (ms >= 10e3)
        snprintf(out, FORMAT_SIZE, "%.1f s", ms / 1e3);
    else if (ms >= 0.05 && ms < 9.95 && fabs(ms - round(ms)) >= 0.05)
        snprintf(out, FORMAT_SIZE, "%.1f ms", ms);
    else
        snprintf(out, FORMAT_SIZE, "%s ms", format_count(n, llround(ms)));
    return out;
}

const char *format_seconds(char out[FORMAT_SIZE], double s)
{
    if (!(s >= 0) || s > 1e9) s = 0;
    if (s < 60)
        snprintf(out, FORMAT_SIZE, "%.1f s", s);
    else if (s < 600)
        snprintf(out, FORMAT_SIZE, "%.0f s", s);
    else
        snprintf(out, FORMAT_SIZE, "%.0f min", s / 60);
    return out;
}

const char *format_bytes(char out[FORMAT_SIZE], uint64_t bytes)
{
    if (bytes >= (uint64_t)1 << 30)
        snprintf(out, FORMAT_SIZE, "%.1f GiB", (double)bytes / (1 << 30));
    else
        snprintf(out, FORMAT_SIZE, "%.0f MiB", (double)bytes / (1 << 20));
    return out;
}

const char *format_date(char out[FORMAT_DATE], int64_t time_s)
{
    struct tm parts;
    time_t when = (time_t)time_s;
    if (!localtime_r(&when, &parts) || !strftime(out, FORMAT_DATE, "%Y-%m-%d %H:%M", &parts)) out[0] = 0;
    return out;
}

const char *format_rate(char out[FORMAT_SIZE], double tok_s)
{
    if (!(tok_s >= 0) || tok_s > 1e9) tok_s = 0;
    char count[FORMAT_SIZE];
    if (tok_s < 9.95) snprintf(out, FORMAT_SIZE, "%.1f tok/s", tok_s);
    else snprintf(out, FORMAT_SIZE, "%.16s tok/s", format_count(count, (int)(tok_s + 0.5)));
    return out;
}

const char *format_percent(char out[FORMAT_SIZE], double percent)
{
    if (!(percent > 0)) percent = 0;
    if (percent > 0 && percent < 0.5)
        snprintf(out, FORMAT_SIZE, "<1%%");
    else
        snprintf(out, FORMAT_SIZE, "%.0f%%", percent < 1e6 ? percent : 1e6);
    return out;
}

const char *format_gpu(char out[FORMAT_SIZE], const struct view_gpu *g, int piece)
{
    out[0] = 0;
    switch (piece) {
    case 0:
        if (g->busy.valid) snprintf(out, FORMAT_SIZE, "busy %.0f%%", g->busy.value);
        break;
    case 1:
        if (g->memory.valid && g->total.valid)
            snprintf(out, FORMAT_SIZE, "%.1f/%.1f GiB", g->memory.value, g->total.value);
        else if (g->memory.valid) snprintf(out, FORMAT_SIZE, "%.1f GiB", g->memory.value);
        break;
    case 2:
        if (g->watts.valid) snprintf(out, FORMAT_SIZE, "%.0f W", g->watts.value);
        break;
    case 3:
        if (g->celsius.valid) snprintf(out, FORMAT_SIZE, "%.0f C", g->celsius.value);
        break;
    default:
        if (g->ghz.valid) snprintf(out, FORMAT_SIZE, "%.2f GHz", g->ghz.value);
    }
    return out;
}

const char *format_ttft_kind(enum view_ttft_kind kind)
{
    static const char *const names[] = {"", "first", "resumed", "warm", "cold"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "";
}

const char *format_ttft_mark(enum view_ttft_mark mark)
{
    static const char *const names[] = {"", "queued", "cut", "head start"};
    return (size_t)mark < sizeof names / sizeof *names ? names[mark] : "";
}

const char *format_ttft(char out[FORMAT_SIZE], const struct view_ttft *ttft)
{
    char ms[FORMAT_SIZE];
    const char *mark = format_ttft_mark(ttft->mark);
    snprintf(out, FORMAT_SIZE, "%s %.16s%s%s", format_ttft_kind(ttft->kind), format_ms(ms, ttft->ms),
             mark[0] ? ", " : "", mark);
    return out;
}
