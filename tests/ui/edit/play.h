/* Plays a key script through decoder and input in a child process (readline is global) and reports what came of it.
 *
 * The script's bytes are fed as the terminal would send them. \376 waits 600 ms (an Esc before it is the key Esc), \374
 * 100 ms, \375 only begins a new read. The report is "ACTION(text) ACTION ... => draft|with the cursor as a bar", with
 * \n shown as $; SUBMIT takes the draft into the history, EDITOR replaces it by "edited", others only show. */
#ifndef TANDEM_TESTS_PLAY_H
#define TANDEM_TESTS_PLAY_H

#include "ui/edit/input.h"

#define WAIT "\376"
#define READ "\375"
#define PAUSE "\374"

struct play {
    const char *inputrc;           /* contents; NULL: empty */
    const char *const *history;    /* NULL-ended; may be NULL */
    const struct completer *completer;
    const char *history_path;      /* may be NULL */
    bool queued, esc_stops, chips;
    int columns;                   /* of a row on the screen; 0: endless */
    const char *const *suggestions; /* NULL-ended; may be NULL */
    /* Run at the end in the child, after the script; appends to the report. May be NULL. */
    void (*then)(struct input *in, int64_t now, char *report, size_t size);
};

/* The report, in a static buffer. */
const char *play(const struct play *how, const char *script);
const char *keys(const char *script);                       /* emacs mode, no inputrc */
const char *keys_with(const char *inputrc, const char *script);

#endif
