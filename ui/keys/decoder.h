/* From the terminal's bytes to events: keys, pastes, mouse, answers of the terminal, and plain bytes for readline.
 *
 * The decoder is the only reader of the terminal. It needs raw mode with ISIG and IXON off and curses' keypad mode off,
 * knows neither curses nor a file descriptor nor a clock, and is used by one thread:
 *
 *     decoder_feed(d, bytes, n, now);            after each read(); on a timeout with n = 0
 *     while (decoder_next(d, &event)) ...        the event's data is valid until the next call on this decoder
 *     wait at most until decoder_deadline(d)     then feed again with n = 0
 *
 * Time (CLOCK_MONOTONIC, ns) matters in three places: an Esc without another byte within esc_ns is the key Esc; a
 * sequence that breaks off is dropped after sequence_ns; and a paste ends only when DECODER_PASTE_GAP_NS pass in
 * silence after its end mark. The last rule keeps pasted text from acting as typed keys: if the text itself contains an
 * end mark, its rest arrives in the same burst, and all of that burst up to the last mark belongs to the paste. Bytes
 * after the last mark of a burst are typed input and come after the paste.
 *
 * A paste is handed over whole, however large, up to paste_limit; the rest of a longer one is counted and dropped.
 * Nothing that arrives between the marks is ever taken for a key. If the end mark gets lost, the text so far is handed
 * over after DECODER_PASTE_STALL_NS of silence (event.more is set), and the next burst decides: a key, or one line such
 * as a user types, ends the paste and is typed; an end mark, several lines or anything larger belong to the paste.
 *
 * Terminals in 8-bit mode (0x9b in place of Esc [) are understood once the terminal has shown this mode. Sequences that
 * aren't understood are dropped, so that they can't end up in the draft, and so is the rest of an answer that broke
 * off.
 */
#ifndef TANDEM_UI_DECODER_H
#define TANDEM_UI_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/keys/keys.h"

/* The modes that are set on entry, and the sequences that undo them on leaving (also written by emergency restoration).
 * Kitty's protocol at level 1 and xterm's modifyOtherKeys tell Shift-Enter apart; terminals without them ignore
 * both. */
#define DECODER_MODES_ON  "\033[?2004h\033[>1u\033[>4;1m"
#define DECODER_MODES_OFF "\033[>4;0m\033[<u\033[?2004l"
#define DECODER_MOUSE_ON  "\033[?1000h\033[?1002h\033[?1006h"
#define DECODER_MOUSE_OFF "\033[?1006l\033[?1002l\033[?1000l"

#define DECODER_ESC_NS         50000000   /* default of decoder_options.esc_ns */
#define DECODER_SEQUENCE_NS    500000000  /* default of decoder_options.sequence_ns */
#define DECODER_PASTE_GAP_NS   25000000
#define DECODER_PASTE_STALL_NS 1000000000
#define DECODER_PASTE_LIMIT    (64u << 20)

enum decoder_kind {
    DECODER_BYTES,  /* data, length: for readline. An Alt combination is Esc and the key in one event */
    DECODER_KEY,    /* code, mods; data, length: the bytes as they came, for the user's inputrc */
    DECODER_ESC,    /* Esc alone */
    DECODER_PASTE,  /* data, length, dropped, more: raw pasted text, see engine/base/clean.h */
    DECODER_MOUSE,  /* mouse */
    DECODER_ANSWER, /* answer, params; data, length: text of a string answer */
};

enum decoder_answer {
    DECODER_DA1,       /* device attributes: params */
    DECODER_DA2,       /* secondary attributes: params */
    DECODER_MODE,      /* DECRPM: params[0] the mode (2026: synchronised output), params[1] 0 unknown, 1 set, 2 reset */
    DECODER_CURSOR,    /* params[0] row, params[1] column, from 1 */
    DECODER_XTVERSION, /* data: name and version */
    DECODER_KITTY,     /* params[0]: flags of the keyboard protocol */
    DECODER_FOCUS_IN,
    DECODER_FOCUS_OUT,
    DECODER_OSC,       /* data: "11;rgb:..." */
    DECODER_DCS,       /* data */
    DECODER_STATUS,    /* another CSI answer; final holds its last byte */
    DECODER_BROKEN,    /* a string answer without its end; it was dropped */
};

enum decoder_mouse_action { DECODER_PRESS, DECODER_RELEASE, DECODER_MOTION, DECODER_WHEEL };

enum { DECODER_PARAMS = 16 };

struct decoder_event {
    enum decoder_kind kind;
    int64_t time_ns; /* of the feed that brought the last byte */
    const char *data;
    size_t length;
    enum key_code code;
    unsigned mods; /* of KEY and MOUSE */
    size_t dropped; /* PASTE: bytes beyond the limit or memory */
    bool more;      /* PASTE: the end mark has not come yet */
    enum decoder_mouse_action mouse;
    int button;      /* 1 left, 2 middle, 3 right, 0 none; WHEEL: -1 up, 1 down, -2 left, 2 right */
    int row, column; /* MOUSE, from 0 */
    enum decoder_answer answer;
    int params[DECODER_PARAMS]; /* absent ones are -1 */
    int param_count;
    char final;
};

struct decoder_options {
    int64_t esc_ns, sequence_ns; /* 0: the defaults; a slow line needs a longer esc_ns */
    size_t paste_limit;          /* 0: the default */
};

struct decoder;

/* options may be NULL. NULL without memory. */
struct decoder *decoder_open(const struct decoder_options *options);
void decoder_close(struct decoder *d);

/* Adds what terminfo says about this terminal; lookup gets a capability name ("kcuu1", "kf1", "kDC5") and returns its
 * string, or NULL (ncurses: tigetstr, whose (char *)-1 counts as NULL too). Only sequences that begin with Esc count.
 * The usual xterm, linux, rxvt and screen forms need no terminfo. */
void decoder_add_terminfo(struct decoder *d, const char *(*lookup)(void *context, const char *capability),
                          void *context);
/* Adds one sequence. False when it doesn't begin with Esc, is shorter than 3 or longer than 15 bytes, or the table is
 * full. */
bool decoder_add_sequence(struct decoder *d, const char *sequence, enum key_code code, unsigned mods);

/* A string answer (OSC, DCS) was requested and may come until then, in pieces on a slow line: until it is there, an Esc
 * or `Esc ]` without another byte waits sequence_ns instead of esc_ns, so that the answer's rest does not act as
 * keys. */
void decoder_expect_string(struct decoder *d, int64_t until_ns);

/* Sets esc_ns from now on; 0: the default. */
void decoder_set_esc(struct decoder *d, int64_t esc_ns);

/* Takes n bytes that were read at now_ns. False without memory: some bytes are lost, but the decoder stays usable. */
bool decoder_feed(struct decoder *d, const char *bytes, size_t n, int64_t now_ns);
bool decoder_next(struct decoder *d, struct decoder_event *event);

/* When to feed again even without bytes; INT64_MAX: never. */
int64_t decoder_deadline(const struct decoder *d);

/* Bytes of a paste that is still arriving, 0 without one: a progress mark for the screen. */
size_t decoder_pasting(const struct decoder *d);

#endif
