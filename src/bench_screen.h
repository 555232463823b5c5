/* The program in a pseudo-terminal, read through a terminal emulation (libvterm): what a user would see, and when the
 * terminal got it. For `tandem bench glyph`. One thread. */
#ifndef TANDEM_SRC_BENCH_SCREEN_H
#define TANDEM_SRC_BENCH_SCREEN_H

#include <sys/types.h>
#include <vterm.h>

#include "engine/tandem.h"

enum { BENCH_SCREEN_ROWS = 40, BENCH_SCREEN_COLS = 100 };

typedef struct {
    pid_t child;
    int fd;
    VTerm *vt;
    VTermScreen *cells;
    int64_t got_ns; /* when the last bytes came */
} bench_screen;

/* Starts this program with these arguments (NULL-terminated, arguments[0] its name), without the user's configuration. */
tdm_status bench_screen_open(bench_screen *s, const char *const *arguments, tdm_error *err);
void bench_screen_close(bench_screen *s);

tdm_status bench_screen_keys(bench_screen *s, const char *bytes, size_t n, tdm_error *err);
/* Takes what comes within wait_ms; returns at the first bytes. TDM_E_IO when the program has ended, TDM_E_CANCELLED
 * after Ctrl-C. */
tdm_status bench_screen_take(bench_screen *s, int wait_ms, tdm_error *err);
/* A row without trailing blanks; what is not ASCII is '~'. */
void bench_screen_row(const bench_screen *s, int row, char out[BENCH_SCREEN_COLS + 1]);
/* The first row at or below `from` that holds the text, or -1. */
int bench_screen_find(const bench_screen *s, int from, const char *text);
/* Takes what comes until a row holds the text. */
tdm_status bench_screen_wait(bench_screen *s, const char *text, tdm_error *err);

#endif
