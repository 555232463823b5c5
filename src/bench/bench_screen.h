/* The full screen of the program tandem, the one beside this program, in a pseudo-terminal, for the suites that
 * measure what a user sees (`tandem bench glyph`, `tandem bench screen`): without the user's configuration, with a
 * patience, ended by Ctrl-C. One thread. */
#ifndef TANDEM_SRC_BENCH_SCREEN_H
#define TANDEM_SRC_BENCH_SCREEN_H

#include "src/bench/bench.h"
#include "src/bench/pty.h"

/* room for these forms */
enum { BENCH_SCREEN_ROWS = 40, BENCH_SCREEN_STRIP_COLS = 100, BENCH_SCREEN_PANEL_COLS = 120 };

/* Starts `tandem COMMAND --temp 0 --seed 1 --ignore-eos` with the model and the units of the bench, and these arguments
 * (NULL-terminated). */
tdm_status bench_screen_open(bench *b, pty *s, int cols, const char *command, const char *const *arguments,
                             tdm_error *err);
/* Types, as a user would. */
tdm_status bench_screen_keys(pty *s, const char *text, tdm_error *err);
/* Takes what comes within wait_ms; returns at the first bytes. TDM_E_IO when the program has ended, TDM_E_CANCELLED
 * after Ctrl-C. */
tdm_status bench_screen_take(pty *s, int wait_ms, tdm_error *err);
/* Takes what comes until a row holds the text, or none does. */
tdm_status bench_screen_wait(pty *s, const char *text, tdm_error *err);
tdm_status bench_screen_wait_gone(pty *s, const char *text, tdm_error *err);
/* Lets the program go on for so long. */
tdm_status bench_screen_rest(pty *s, double seconds, tdm_error *err);

#endif
