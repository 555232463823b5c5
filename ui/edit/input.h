/* The draft: GNU readline 8.2 behind events, without a terminal.
 *
 * readline is one global object, so there is ONE input per process: a second input_open() fails while one is open. One
 * thread. readline reads nothing and writes nothing here: it gets its bytes from input_feed_event(), its output goes to
 * /dev/null, it sets up no terminal, catches no signal, sets no LINES or COLUMNS; the things that it would draw (search
 * prompt, completion list, 'display all?', vi mode) are data in struct input_view. The user's inputrc is read, with
 * rl_readline_name "tandem" for `$if`; errors in it become the view's message. The locale of the process (LC_CTYPE)
 * counts, so call setlocale() first; if the environment names another one, its LC_ALL or LC_CTYPE is set to the
 * process's, since readline reads the environment again for every line.
 *
 * The loop of the program:
 *
 *     poll() the terminal, until the earliest of decoder_deadline(), input_deadline() and the program's own deadlines
 *     decoder_feed() what was read
 *     while decoder_next(d, &e): the program handles mouse and answers, keys in browse mode go to keys_find_*(), all
 *     else to input_feed_event(in, &e)
 *     while input_next_action(in, &a): do what a says
 *     input_view(in, now, &view); draw where view.version has changed or input_deadline() has passed
 *
 * input_next_action() processes events up to the next action; feeding alone processes none. So keys typed after an
 * Enter edit the draft that the program leaves after handling that Enter. If an action takes the keys away from the
 * input (browse mode), input_unread() hands back what is still queued.
 *
 * The program's keys are bound in the emacs, vi-insert and vi-command maps, and only if inputrc left readline's
 * default. Each has a name for inputrc ("\C-ob": tandem-browse); see ui/keys/keys.h. Ctrl-C, Ctrl-Z and Ctrl-D on the
 * empty draft always belong to the program, like a terminal's special characters, except after ^V.
 */
#ifndef TANDEM_UI_INPUT_H
#define TANDEM_UI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tandem.h"
#include "ui/edit/complete.h"
#include "ui/edit/history.h"
#include "ui/keys/decoder.h"
#include "ui/keys/keys.h"

#define INPUT_MENU_NS 400000000 /* a pending Ctrl-X shows its menu after this */

struct input_options {
    struct history_file *history;     /* may be NULL; used until input_close() */
    const struct completer *completer; /* may be NULL */
    const char *home;                 /* for ~ in file names; may be NULL */
};

struct input_action {
    enum key_action action;
    int64_t time_ns;  /* when the key's last byte was read: the clock of TTFT starts here */
    int count;        /* numeric argument, 1 without one */
    /* SUBMIT: the draft (a doubled backslash at its end is one), valid UTF-8, valid until the next call. The draft
     * itself stays until input_take(); to refuse a message is to do nothing. */
    const char *text;
    size_t length;
    bool pasted;      /* its first byte came from a paste, so it is never a command */
};

/* The input as it is to be drawn. Pointers are valid until the next call that changes the input. */
struct input_view {
    uint64_t version;    /* changes whenever anything below may have changed */
    const char *text;    /* the line as readline shows it, \n within; text[length] is 0 */
    size_t length, cursor;
    bool is_draft;       /* false during a search: text is a match or the search string, and the draft is put aside */
    bool pasted;         /* the draft's first byte came from a paste */
    const char *prompt;  /* "(reverse-i-search)`ab': ", "(arg: 4) ", or NULL */
    char vi_mode;        /* 0 emacs, 'i' insert, 'c' command, 'r' replace */
    bool overwrite;      /* emacs overwrite mode */
    bool recording;      /* a keyboard macro is being defined */
    const char *prefix;  /* keys of an unfinished sequence ("^X"), or NULL; one that begins with Esc waits for inputrc's
                            keyseq-timeout (0: for ever) */
    bool menu;           /* the prefix is Ctrl-X and older than INPUT_MENU_NS: show its keys */
    const struct completion *list; /* candidates to show, or NULL; each is list->names[i], list->notes[i] may be NULL */
    size_t ask;          /* not 0: 'display all <ask>?' instead of a list (y, n) */
    bool chip_marked;    /* Backspace has marked the last attachment: once more is ACTION_RUB_CHIP */
    const char *message; /* a notice until the next key ("line 3: unknown variable"), or NULL */
    uint64_t bells;      /* how often the bell rang; `bell` is the user's kind of bell */
    const char *bell;    /* "none", "visible", "audible": bell-style in inputrc */
};

struct input;

/* NULL with *err: TDM_E_BUSY when one is open, TDM_E_NOMEM, TDM_E_IO. */
struct input *input_open(const struct input_options *options, tdm_error *err);
void input_close(struct input *in);

/* Queues BYTES, KEY, ESC and PASTE (others are ignored). The event's data is copied. False without memory. */
bool input_feed_event(struct input *in, const struct decoder_event *event);
/* Processes the queue up to the next action. False when the queue is empty. */
bool input_next_action(struct input *in, struct input_action *action);
/* Returns the next queued event, unprocessed. Its data is valid until the next call. */
bool input_unread(struct input *in, struct decoder_event *event);

void input_view(struct input *in, int64_t now_ns, struct input_view *view);
/* When the view will change without an event (the menu, an Esc without a following key); INT64_MAX: never. */
int64_t input_deadline(const struct input *in, int64_t now_ns);

/* Ends the draft and returns it, valid UTF-8 (caller frees); the input is then empty, its undo list and place in the
 * history forgotten. remember: add it to the history, memory only if `persist` is false. NULL without memory. */
char *input_take(struct input *in, size_t *length, bool remember, bool persist);
/* Whether an entry of the history is shown instead of the draft, or one was changed. */
bool input_is_past(const struct input *in);
/* Whether the line is an unchanged entry, so that nothing is lost with the line. */
bool input_is_entry(const struct input *in);
/* For Ctrl-C, after input_take: restores the entries that were changed and not sent. */
void input_mend_past(struct input *in);
/* Replaces the draft, which is lost, by another one (`/edit`, a queued message that comes back). */
void input_set_text(struct input *in, const char *text);
/* Replaces the draft's text as one undo step (the text from $EDITOR). */
void input_replace(struct input *in, const char *text);
/* Inserts text at the cursor as one undo step, as a paste does. */
void input_insert_paste(struct input *in, const char *data, size_t n);
void input_add_history(struct input *in, const char *text, bool persist);
/* Puts the cursor before that byte of the draft, or before the character that it is part of; does nothing during a
 * search. */
void input_set_cursor(struct input *in, size_t byte);
/* Ends a search, a prefix or a list. True if there was one. */
bool input_close_top(struct input *in);
/* Replaces the message of the view (NULL: none). */
void input_set_message(struct input *in, const char *text);

/* Facts on which the keys Up, Esc and Tab on the empty draft depend. Suggestions are not copied. */
void input_set_queued(struct input *in, bool queued);
/* Whether there are attachments, which Backspace at the draft's beginning marks and takes back. */
void input_set_chips(struct input *in, bool any);
/* Columns of a row of the draft on the screen, by which Up and Down move; 0: as if rows were endless. */
void input_set_columns(struct input *in, int columns);
void input_set_esc_stops(struct input *in, bool on);
void input_set_suggestions(struct input *in, const char *const *texts, size_t n);

#endif
