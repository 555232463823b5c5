#include "src/plain/tty.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <readline/readline.h>

#include "src/process/crash.h"
#include "src/process/stopping.h"
#include "ui/readline/clusters.h"
#include "ui/readline/stand_in.h"
#include "ui/terminal/restore.h"

static enum { NOT_OURS, FREE, TYPING, QUIET } state; /* no terminal; as it was; readline's modes; without echo */
static bool behind;
static struct termios before;
static int ahead; /* bytes that waited in the terminal when readline's modes were set and are not read yet */

static bool remember(const char *undo)
{
    if (tcgetattr(STDIN_FILENO, &before)) return false;
    restore_arm(STDIN_FILENO, &before, STDOUT_FILENO, undo, isatty(STDOUT_FILENO) ? strlen(undo) : 0);
    return true;
}

static void prepare(int meta)
{
    const char *pastes = rl_variable_value("enable-bracketed-paste");
    remember(pastes && !strcmp(pastes, "on") ? "\033[?2004l\n" : "\n"); /* the line that is typed stays readable */
    rl_prep_terminal(meta); /* binds the terminal's own Backspace, each time */
    stand_in_everywhere(clusters_stand_in);
    if (ioctl(STDIN_FILENO, FIONREAD, &ahead)) ahead = 0;
    state = TYPING;
}

static void give_back(void)
{
    if (restore_in_front(STDIN_FILENO)) rl_deprep_terminal(); /* else its modes are a shell's */
    restore_disarm();
    state = FREE;
}

void plain_tty_open(void)
{
    state = FREE;
    rl_prep_term_function = prepare;
    rl_deprep_term_function = give_back;
    crash_catch();
    stopping_catch(-1);
}

void plain_tty_echo(bool on)
{
    if (on && state == QUIET) {
        if (restore_in_front(STDIN_FILENO)) tcsetattr(STDIN_FILENO, TCSANOW, &before);
        restore_disarm();
        state = FREE;
    } else if (!on && state == FREE && remember("")) {
        struct termios quiet = before;
        /* Line by line, a Ctrl-D that is typed now would come to readline as another key. */
        quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
        quiet.c_cc[VMIN] = 1;
        quiet.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
        state = QUIET;
    }
}

void plain_tty_forget(void)
{
    if (state != NOT_OURS && restore_in_front(STDIN_FILENO)) tcflush(STDIN_FILENO, TCIFLUSH);
}

void plain_tty_typed(char *bytes, size_t n)
{
    for (size_t i = 0; i < n && ahead > 0; i++, ahead--)
        if (!bytes[i]) bytes[i] = (char)before.c_cc[VEOF];
}

/* Takes the modes again that another program has changed. */
static void take_again(void)
{
    if (state == TYPING) {
        give_back();
        prepare(1);
        rl_forced_update_display();
    } else if (state == QUIET) {
        plain_tty_echo(true);
        plain_tty_echo(false);
    }
}

bool plain_tty_look(void)
{
    if (state == NOT_OURS) return true;
    if (stopping_asked()) {
        restore_now();
        stopping_stop();
    }
    if (!stopping_over() && !behind) return true;
    behind = !restore_in_front(STDIN_FILENO);
    if (!behind) take_again();
    return !behind;
}
