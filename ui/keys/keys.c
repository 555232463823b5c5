#include "ui/keys/keys.h"

#include <string.h>

static const struct key_row rows[] = {
    /* context, action, sequence, code, mods, shown, function, command, help */
    {KEYS_CHAT, ACTION_SUBMIT, NULL, 0, 0, "Enter", NULL, NULL, "send; while a reply is written: queue"},
    {KEYS_CHAT, ACTION_SEND_NOW, "\\C-x\\C-m", 0, 0, "^X Enter", "tandem-send-now", "/send",
     "stop the reply and send now"},
    {KEYS_CHAT, ACTION_NEWLINE, NULL, 0, 0, "^J, Alt-Enter", NULL, NULL, 
     "new line; so do Shift-Enter where told apart, a backslash at the end"},
    {KEYS_CHAT, ACTION_INTERRUPT, NULL, 0, 0, "^C", NULL, NULL, "close, stop the reply, clear the draft, quit"},
    {KEYS_CHAT, ACTION_LEAVE, NULL, 0, 0, "^D", NULL, "/quit", "leave (on the empty draft)"},
    {KEYS_CHAT, ACTION_SUSPEND, NULL, 0, 0, "^Z", NULL, NULL, "suspend"},
    {KEYS_CHAT, ACTION_HISTORY, NULL, KEYCODE_UP, 0, "Up, Down", NULL, NULL,
     "line, history; empty draft: takes the queued message back"},
    {KEYS_CHAT, ACTION_SEARCH_HISTORY, NULL, 0, 0, "^R, ^S", NULL, NULL, "search the history"},
    {KEYS_CHAT, ACTION_COMPLETE, NULL, 0, 0, "Tab", NULL, NULL,
     "complete, also @FILE; on the empty draft: things to try"},
    {KEYS_CHAT, ACTION_UNDO, NULL, 0, 0, "^_, ^X ^U", NULL, NULL, "undo in the draft"},
    {KEYS_CHAT, ACTION_EDITOR, "\\C-x\\C-e", 0, 0, "^X ^E", "tandem-editor", NULL, "the draft in $EDITOR"},
    {KEYS_CHAT, ACTION_REDRAW, "\\C-l", 0, 0, "^L", "tandem-redraw", NULL, "draw the screen again"},
    {KEYS_CHAT, ACTION_PAGE_UP, NULL, KEYCODE_PAGE_UP, 0, "PgUp", "tandem-page-up", NULL, "scroll up a page"},
    {KEYS_CHAT, ACTION_PAGE_DOWN, NULL, KEYCODE_PAGE_DOWN, 0, "PgDn", "tandem-page-down", NULL, "scroll down a page"},
    {KEYS_CHAT, ACTION_TOP, NULL, KEYCODE_HOME, KEYMOD_CTRL, "Ctrl-Home", "tandem-top", NULL, "first line"},
    {KEYS_CHAT, ACTION_BOTTOM, NULL, KEYCODE_END, KEYMOD_CTRL, "Ctrl-End", "tandem-bottom", NULL, "last line"},
    {KEYS_CHAT, ACTION_KEYS, "\\C-x?", KEYCODE_F1, 0, "^X ?, F1", "tandem-keys", "/keys", "all keys"},
    {KEYS_CHAT, ACTION_BROWSE, "\\C-xb", KEYCODE_F1 + 1, 0, "^X b, F2", "tandem-browse", "/browse", "browse the turns"},
    {KEYS_CHAT, ACTION_FIND, "\\C-x/", KEYCODE_F1 + 2, 0, "^X /, F3", "tandem-find", "/find",
     "search this conversation"},
    {KEYS_CHAT, ACTION_MONITOR, "\\C-xm", KEYCODE_F1 + 3, 0, "^X m, F4", "tandem-monitor", "/monitor",
     "form of the monitor"},
    {KEYS_CHAT, ACTION_VIEW, "\\C-xv", KEYCODE_F1 + 4, 0, "^X v, F5", "tandem-view", "/view", "live or turn view"},
    {KEYS_CHAT, ACTION_HOLD, "\\C-xf", KEYCODE_F1 + 5, 0, "^X f, F6", "tandem-hold", "/hold", "hold the picture"},
    {KEYS_CHAT, ACTION_ZOOM_IN, "\\C-x+", 0, 0, "^X +", "tandem-zoom-in", "/zoom in", "zoom in"},
    {KEYS_CHAT, ACTION_ZOOM_OUT, "\\C-x-", 0, 0, "^X -", "tandem-zoom-out", "/zoom out", "zoom out"},
    {KEYS_CHAT, ACTION_INSPECT, "\\C-xi", 0, 0, "^X i", "tandem-inspect", NULL, "what the lanes' spans were"},
    {KEYS_CHAT, ACTION_LEGEND, "\\C-xl", 0, 0, "^X l", "tandem-legend", "/monitor legend",
     "what the lanes' letters mean"},
    {KEYS_CHAT, ACTION_FOLD, "\\C-xt", KEYCODE_F1 + 6, 0, "^X t, F7", "tandem-fold", "/fold", "fold thinking"},
    {KEYS_CHAT, ACTION_RAW, "\\C-xr", KEYCODE_F1 + 7, 0, "^X r, F8", "tandem-raw", "/raw", "raw text"},
    {KEYS_CHAT, ACTION_COPY, "\\C-xy", 0, 0, "^X y", "tandem-copy", "/copy", "copy the last reply"},
    {KEYS_CHAT, ACTION_COPY_VIEW, "\\C-xc", 0, 0, "^X c", "tandem-copy-view", "/copy view",
     "plain text to select from"},
    {KEYS_CHAT, ACTION_SPECULATION, "\\C-xo", KEYCODE_F1 + 8, 0, "^X o, F9", "tandem-speculation", "/speculation",
     "reading ahead on or off"},
    {KEYS_CHAT, ACTION_SESSIONS, "\\C-xs", 0, 0, "^X s", "tandem-sessions", "/sessions", "sessions"},
    {KEYS_CHAT, ACTION_VISIT, "\\C-xg", 0, 0, "^X g", "tandem-visit", "/visit", "to the reply elsewhere"},
    {KEYS_CHAT, ACTION_PROMPTS, "\\C-xp", 0, 0, "^X p", "tandem-prompts", "/p", "prompts of the library"},
    {KEYS_CHAT, ACTION_ATTACHMENTS, "\\C-xa", 0, 0, "^X a", "tandem-attachments", "/attach", "attachments"},
    {KEYS_CHAT, ACTION_RUB_CHIP, NULL, 0, 0, "Backspace", NULL, "/detach",
     "at the draft's beginning: marks the last attachment, then takes it back"},
    {KEYS_CHAT, ACTION_LOOK, "\\C-x1", 0, 0, "^X 1-8", "tandem-look", "/answers",
     "look at an answer"},
    {KEYS_CHAT, ACTION_STOP_ANSWER, "\\C-xk", 0, 0, "^X k", "tandem-stop-answer", NULL,
     "stop the one looked at"},
    {KEYS_CHAT, ACTION_SENSORS, "\\C-xw", 0, 0, "^X w", "tandem-sensors", "/sensors", "how to allow sensors"},

    {KEYS_BROWSE, ACTION_LINE_DOWN, "j", KEYCODE_DOWN, 0, "j, Down", NULL, NULL, "line down"},
    {KEYS_BROWSE, ACTION_LINE_UP, "k", KEYCODE_UP, 0, "k, Up", NULL, NULL, "line up"},
    {KEYS_BROWSE, ACTION_PAGE_DOWN, " ", KEYCODE_PAGE_DOWN, 0, "Space, PgDn", NULL, NULL, "page down"},
    {KEYS_BROWSE, ACTION_PAGE_UP, "b", KEYCODE_PAGE_UP, 0, "b, PgUp", NULL, NULL, "page up"},
    {KEYS_BROWSE, ACTION_TOP, "g", KEYCODE_HOME, 0, "g, Home", NULL, NULL, "first line"},
    {KEYS_BROWSE, ACTION_BOTTOM, "G", KEYCODE_END, 0, "G, End", NULL, NULL, "last line"},
    {KEYS_BROWSE, ACTION_FIND, "/", 0, 0, "/", NULL, "/find", "search down"},
    {KEYS_BROWSE, ACTION_FIND_BACK, "?", 0, 0, "?", NULL, NULL, "search up"},
    {KEYS_BROWSE, ACTION_FIND_NEXT, "n", 0, 0, "n", NULL, NULL, "next match"},
    {KEYS_BROWSE, ACTION_FIND_PREVIOUS, "N", 0, 0, "N", NULL, NULL, "previous match"},
    {KEYS_BROWSE, ACTION_TURN_PREVIOUS, "[", 0, 0, "[", NULL, NULL, "previous turn"},
    {KEYS_BROWSE, ACTION_TURN_NEXT, "]", 0, 0, "]", NULL, NULL, "next turn"},
    {KEYS_BROWSE, ACTION_COPY_TURN, "y", 0, 0, "y", NULL, "/copy", "copy the turn"},
    {KEYS_BROWSE, ACTION_COPY_CODE, "c", 0, 0, "c", NULL, "/copy 1", "copy a code block"},
    {KEYS_BROWSE, ACTION_OPEN_LINK, "o", 0, 0, "o", NULL, NULL, "open a link"},
    {KEYS_BROWSE, ACTION_EDIT_TURN, "e", 0, 0, "e", NULL, "/edit", "edit the message"},
    {KEYS_BROWSE, ACTION_REGENERATE, "r", 0, 0, "r", NULL, "/regen", "another reply"},
    {KEYS_BROWSE, ACTION_FOLD, "t", 0, 0, "t", NULL, "/fold", "fold thinking, a long message"},
    {KEYS_BROWSE, ACTION_RAW, "u", 0, 0, "u", NULL, "/raw", "raw text"},
    {KEYS_BROWSE, ACTION_BRANCH_PREVIOUS, "{", 0, 0, "{", NULL, "/branch", "previous branch"},
    {KEYS_BROWSE, ACTION_BRANCH_NEXT, "}", 0, 0, "}", NULL, "/branch", "next branch"},
    {KEYS_BROWSE, ACTION_BACK, "\r\033q\n\003", 0, 0, "Enter, Esc, q, ^C", NULL, NULL, "back to the input"},

    {KEYS_INSPECT, ACTION_INSPECT_LEFT, NULL, KEYCODE_LEFT, 0, "Left", NULL, NULL, "earlier"},
    {KEYS_INSPECT, ACTION_INSPECT_RIGHT, NULL, KEYCODE_RIGHT, 0, "Right", NULL, NULL, "later"},
    {KEYS_INSPECT, ACTION_INSPECT, "\033", 0, 0, "Esc, ^X i", NULL, NULL, "no more; typing drafts meanwhile"},

    {KEYS_MONITOR, ACTION_QUIT, "q\033\003", 0, 0, "q, Esc, ^C", NULL, NULL, "leave"},
    {KEYS_MONITOR, ACTION_VIEW, "v", 0, 0, "v", NULL, "/view", "live or turn view"},
    {KEYS_MONITOR, ACTION_HOLD, "f", 0, 0, "f", NULL, "/hold", "hold the picture"},
    {KEYS_MONITOR, ACTION_ZOOM_IN, "+=", 0, 0, "+", NULL, "/zoom in", "zoom in"},
    {KEYS_MONITOR, ACTION_ZOOM_OUT, "-", 0, 0, "-", NULL, "/zoom out", "zoom out"},
    {KEYS_MONITOR, ACTION_INSPECT, "i", 0, 0, "i", NULL, NULL, "what the lanes' spans were"},
    {KEYS_MONITOR, ACTION_INSPECT_LEFT, NULL, KEYCODE_LEFT, 0, "Left", NULL, NULL, "earlier"},
    {KEYS_MONITOR, ACTION_INSPECT_RIGHT, NULL, KEYCODE_RIGHT, 0, "Right", NULL, NULL, "later"},
    {KEYS_MONITOR, ACTION_PANEL, "123456", 0, 0, "1-6", NULL, NULL,
     "lanes, cores, charts, read ahead, turns, the rest"},
    {KEYS_MONITOR, ACTION_KEYS, "?", KEYCODE_F1, 0, "?", NULL, "/keys", "all keys"},
    {KEYS_MONITOR, ACTION_REDRAW, "\014", 0, 0, "^L", NULL, NULL, "draw the screen again"},

    {KEYS_DEMO, ACTION_DEMO_PAUSE, " ", 0, 0, "Space", NULL, NULL, "pause, go on"},
    {KEYS_DEMO, ACTION_DEMO_NEXT, "n", 0, 0, "n", NULL, NULL, "next turn"},
    {KEYS_DEMO, ACTION_DEMO_AGAIN, "r", 0, 0, "r", NULL, NULL, "again from the beginning"},
    {KEYS_DEMO, ACTION_DEMO_TIMES, "x", 0, 0, "x", NULL, NULL, "times as measured, or as of a larger model"},
    {KEYS_DEMO, ACTION_BACK, "q\033\003", 0, 0, "q, Esc, ^C", NULL, NULL, "leave"},
    {KEYS_DEMO, ACTION_REDRAW, "\014", 0, 0, "^L", NULL, NULL, "draw the screen again"},
    {KEYS_DEMO, ACTION_SUSPEND, "\032", 0, 0, "^Z", NULL, NULL, "suspend"},
};

enum { ROWS = sizeof rows / sizeof *rows };

const struct key_row *keys_table(size_t *n)
{
    *n = ROWS;
    return rows;
}

const struct key_row *keys_find_byte(enum key_context context, unsigned char byte)
{
    if (context == KEYS_CHAT || !byte) return NULL;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].context == context && rows[i].sequence && strchr(rows[i].sequence, byte)) return &rows[i];
    return NULL;
}

const struct key_row *keys_find_code(enum key_context context, enum key_code code, unsigned mods)
{
    if (code == KEYCODE_NONE) return NULL;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].context == context && rows[i].code == code && rows[i].mods == mods) return &rows[i];
    return NULL;
}

const struct key_row *keys_find_action(enum key_context context, enum key_action action)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].context == context && rows[i].action == action) return &rows[i];
    return NULL;
}

int keys_in_menu(const struct key_row *row, const char **key)
{
    static const char prefix[] = "\\C-x";
    if (row->context != KEYS_CHAT || !row->sequence || strncmp(row->sequence, prefix, sizeof prefix - 1)) return 0;
    const char *rest = row->sequence + sizeof prefix - 1;
    *key = !strcmp(rest, "\\C-m")       ? "Enter"
           : !strcmp(rest, "\\C-e")     ? "^E"
           : row->action == ACTION_LOOK ? "1-8"
                                        : rest;
    return 1;
}
