/* Copying to the clipboard: wl-copy, xclip or pbcopy if there is a display and the program is found, else tmux's own
 * command within tmux, else the terminal's OSC 52 sequence, which also works over ssh. tmux takes that sequence from
 * programs only with `set-clipboard on`, which is not its default, and would drop it silently.
 *
 * A helper program is run with a pipe and without a shell, and gets at most CLIPBOARD_WAIT_MS; if it fails, the next
 * way is tried. OSC 52 is not written here (one writer to the terminal): the caller writes result.escape. Whether the
 * terminal took it can't be known; result.confirmed says so. UI thread; blocks as long as the helper takes (some 5 ms).
 */
#ifndef TANDEM_UI_CLIPBOARD_H
#define TANDEM_UI_CLIPBOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

#define CLIPBOARD_WAIT_MS 1000
/* The smallest known limit of terminals for an OSC 52 sequence is 100,000 characters; this many bytes of text make at
 * most 99,992 characters of base64. */
#define CLIPBOARD_OSC52_MAX 74994

/* The receiver of the sequence, if it needs a special form. */
enum clipboard_terminal {
    CLIPBOARD_USUAL,
    CLIPBOARD_SCREEN, /* GNU screen, which passes on only wrapped sequences */
    CLIPBOARD_TMUX,
};

struct clipboard_options {
    const char *path;            /* $PATH; NULL: no helper programs */
    char *const *environment;    /* of helper programs; NULL: the program's own */
    const char *wayland_display; /* $WAYLAND_DISPLAY; NULL or empty: no wl-copy */
    const char *display;         /* $DISPLAY; NULL or empty: no xclip */
    bool tmux;                   /* the terminal is tmux, and $TMUX has its socket */
    enum clipboard_terminal terminal;
    bool no_terminal;            /* there is no terminal to write to (`--plain` into a pipe) */
};

struct clipboard_result {
    const char *way;  /* "copied with wl-copy", "sent to the terminal (OSC 52)": static */
    size_t bytes;
    bool confirmed;   /* the helper ended with status 0; tmux's: the text is in its buffer at least */
    char *escape;     /* OSC 52: to be written to the terminal as it is, then freed; else NULL */
    char text[96];    /* "1,234 bytes copied with wl-copy" */
};

/* TDM_E_UNSUPPORTED: no way, or too large for OSC 52 (the line has the sizes). TDM_E_NOMEM. */
tdm_status clipboard_copy(const struct clipboard_options *options, const char *data, size_t n,
                          struct clipboard_result *result, tdm_error *err);

/* The contents of the clipboard, at most `most` bytes, malloc'ed with a zero after them: by wl-paste, xclip, pbpaste
 * or, within tmux, from its newest buffer; terminals are not asked, since most don't answer. TDM_E_NOT_FOUND: no way,
 * or it is empty; TDM_E_FORMAT: it is longer. */
tdm_status clipboard_paste(const struct clipboard_options *options, size_t most, char **out, size_t *n, tdm_error *err);

/* A picture in the clipboard, as the bytes of a file, by wl-paste or xclip; otherwise as clipboard_paste(). */
tdm_status clipboard_paste_picture(const struct clipboard_options *options, size_t most, char **out, size_t *n,
                                   tdm_error *err);

#endif
