#include "src/tui/frame/notices.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/harmless.h"

void tui_notices_add(tui_notices *s, enum view_notice_level level, const char *format, ...)
{
    int64_t seconds = level == VIEW_NOTICE_INFO ? 6 : 12;
    va_list args;
    va_start(args, format);
    char text[TUI_NOTICE_LONGEST];
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) return;
    harmless_line(text);
    size_t out = s->n == TUI_NOTICES ? 0 : s->n; /* the oldest makes room, or one that says the same */
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->all[i].text, text)) out = i;
    if (out < s->n) memmove(s->all + out, s->all + out + 1, sizeof *s->all * (--s->n - out));
    s->all[s->n].level = level;
    memcpy(s->all[s->n].text, text, sizeof text);
    s->all[s->n++].until_ns = clock_ns() + seconds * INT64_C(1000000000);
    s->added = true;
}

void tui_notices_end(tui_notices *s)
{
    for (size_t i = 0; i < s->n; i++) s->all[i].until_ns = 0;
}

void tui_notices_end_level(tui_notices *s, enum view_notice_level level)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].level == level) s->all[i].until_ns = 0;
}

void tui_notices_end_others(tui_notices *s, enum view_notice_level level)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].level != level) s->all[i].until_ns = 0;
}

void tui_notices_end_text(tui_notices *s, const char *text)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->all[i].text, text)) s->all[i].until_ns = 0;
}

void tui_notices_limit_last(tui_notices *s, int64_t until_ns)
{
    if (s->n) s->all[s->n - 1].until_ns = until_ns;
}

int64_t tui_notices_deadline(const tui_notices *s)
{
    int64_t at = INT64_MAX;
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].until_ns < at) at = s->all[i].until_ns;
    return at;
}

size_t tui_notices_fill(tui_notices *s, int64_t now, const char *message, const struct view_notice **out)
{
    size_t n = 0;
    s->added = false;
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].until_ns > now) s->all[n++] = s->all[i];
    s->n = n;
    for (size_t i = 0; i < n; i++) s->shown[i] = (struct view_notice){s->all[i].level, s->all[i].text};
    if (message && n < TUI_NOTICES) s->shown[n++] = (struct view_notice){VIEW_NOTICE_WARN, message};
    *out = s->shown;
    return n;
}
