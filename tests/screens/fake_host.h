/* The machine that the front end runs on in a screen test, linked in place of the C library's clock and waiting and of
 * ui/terminal/term.c: a clock that stands still unless the front end waits, keys out of a script, a terminal that is a
 * canvas.
 *
 * The front end's own loop runs (src/tui/tui.c). Whenever it waits and nothing is there for it, the clock goes on by as
 * much as the script said, stopping where the front end wanted to be woken; then the script's next command is asked
 * for. What the front end prints, writes past its screen, or does with the terminal appears on standard output. */
#ifndef TANDEM_TESTS_SCREENS_FAKE_HOST_H
#define TANDEM_TESTS_SCREENS_FAKE_HOST_H

#include "ui/draw/canvas.h"

struct host {
    int rows, cols, colours;
    struct canvas *canvas; /* what the terminal shows */
    enum view_theme theme;
    const char *ground;    /* what the terminal answers about its background: "ffff/ffff/ffff"; NULL: nothing */
    int frames;            /* shown since the script asked last */
    int64_t now_ns;
    int64_t wait_ns;       /* the script's: that much time is to pass before its next command */
    bool awaits_wake;      /* a thread is going to wake the loop: wait for it in real time */
    bool was_woken;        /* something has, since the script asked last */
    const char *typed;     /* bytes for standard input, the script's */
    size_t n_typed;
    bool (*next)(void);    /* carries out the script's next command; false: there is none */
    bool running;
};
extern struct host host;

/* full: nothing that is written reaches the disk; slow: it does once the disk is free, or after 20 s. */
void host_disk(const char *state);
/* What the program believes of the machine's memory. */
void host_memory(bool is_short);
/* The environment of a front end whose files are below `home`, nothing of the user's. */
void host_environment(const char *home);
void host_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
