/* The temporary lines below the transcript. */
#ifndef TANDEM_SRC_TUI_NOTICES_H
#define TANDEM_SRC_TUI_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/draw/view.h"

enum { TUI_NOTICES = 3, TUI_NOTICE_LONGEST = 2000 };

/* Zeroed: no notices. They need no memory, since one may be about a lack of it. */
typedef struct {
    struct {
        enum view_notice_level level;
        char text[TUI_NOTICE_LONGEST];
        int64_t until_ns;
    } all[TUI_NOTICES]; /* the oldest first */
    size_t n;
    struct view_notice shown[TUI_NOTICES];
    bool added; /* a notice was added since tui_notices_fill */
} tui_notices;

/* Adds a notice; if there is no room, the oldest one is removed. */
void tui_notices_add(tui_notices *s, enum view_notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* End all notices, those of a level, those of other levels, those with that text. */
void tui_notices_end(tui_notices *s);
void tui_notices_end_level(tui_notices *s, enum view_notice_level level);
void tui_notices_end_others(tui_notices *s, enum view_notice_level level);
void tui_notices_end_text(tui_notices *s, const char *text);
/* Sets when the notice that was added last ends. */
void tui_notices_limit_last(tui_notices *s, int64_t until_ns);
/* When the next notice ends; INT64_MAX: there is none. */
int64_t tui_notices_deadline(const tui_notices *s);
/* Removes those that have ended. *out: the others and, if there is room, `message` (NULL: none); returns how many. They
 * are valid until the next change. */
size_t tui_notices_fill(tui_notices *s, int64_t now_ns, const char *message, const struct view_notice **out);

#endif
