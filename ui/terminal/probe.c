#include "ui/terminal/probe.h"

#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "engine/os/file.h"
#include "engine/os/inout.h"
#include "ui/terminal/restore.h"

enum { PATIENCE_MS = 330 };

/* The column in an answer "ESC [ row ; column R" within text, which is taken out; 0: there is none. */
static int take_answer(char *text, size_t *n)
{
    for (size_t i = 0; i + 5 < *n; i++) {
        int row, column, length = 0;
        text[*n] = 0;
        if (sscanf(text + i, "\033[%3d;%3dR%n", &row, &column, &length) != 2 || length == 0) continue;
        *n -= (size_t)length;
        memmove(text + i, text + i + length, *n - i);
        return column;
    }
    return 0;
}

/* Reads until the answer is there. */
static int wait_for_answer(int in, char *typed, size_t *n)
{
    int column = 0;
    struct pollfd fd = {.fd = in, .events = POLLIN};
    while (!column && *n < PROBE_TYPED - 1 && poll(&fd, 1, PATIENCE_MS) > 0) {
        ssize_t got = read(in, typed + *n, PROBE_TYPED - 1 - *n);
        if (file_again(got)) continue;
        if (got <= 0) break;
        *n += (size_t)got;
        column = take_answer(typed, n);
    }
    return column;
}

static bool set_locale(void)
{
    static const char *const names[] = {"C.UTF-8", "C.utf8", "en_US.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_CTYPE, names[i]) && MB_CUR_MAX > 1) return true;
    return false;
}

bool probe_utf8(int in, int out, int leave, char *typed, size_t *n)
{
    static const char question[] = "\r\xc3\xa9\033[6n", wipe[] = "\r  \r";
    struct termios before, raw;
    struct outlet terminal;
    *n = 0;
    if (MB_CUR_MAX > 1) return true;
    if (tcgetattr(in, &before)) return false;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    outlet_open(&terminal, out, leave);
    restore_arm(in, &before, out, wipe, sizeof wipe - 1);
    bool asked = tcsetattr(in, TCSANOW, &raw) == 0 && outlet_write(&terminal, question, sizeof question - 1);
    int column = asked ? wait_for_answer(in, typed, n) : 0;
    outlet_write(&terminal, wipe, sizeof wipe - 1);
    tcsetattr(in, TCSANOW, &before);
    restore_disarm();
    outlet_close(&terminal);
    return column == 2 && set_locale(); /* 3: two characters of a byte each */
}
