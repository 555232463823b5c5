/* Key names and the one table of the program's own keys.
 *
 * The bindings (ui/edit/input.c), the menu of Ctrl-X, the help page `?` and the manual are made from the table: a key
 * that is not in it does not exist. Keys belong to a context; only one context owns the keys at a time. Everything here
 * is constant data: safe from any thread.
 */
#ifndef TANDEM_UI_KEYS_H
#define TANDEM_UI_KEYS_H

#include <stddef.h>

enum key_code {
    KEYCODE_NONE,
    KEYCODE_UP,
    KEYCODE_DOWN,
    KEYCODE_LEFT,
    KEYCODE_RIGHT,
    KEYCODE_HOME,
    KEYCODE_END,
    KEYCODE_INSERT,
    KEYCODE_DELETE,
    KEYCODE_PAGE_UP,
    KEYCODE_PAGE_DOWN,
    KEYCODE_BEGIN, /* the keypad's middle key */
    KEYCODE_ENTER, /* only with a modifier: a plain Enter is the byte \r */
    KEYCODE_TAB,   /* only with a modifier */
    KEYCODE_BACKSPACE,
    KEYCODE_SPACE,
    KEYCODE_F1, /* F1..F24 are consecutive */
    KEYCODE_F24 = KEYCODE_F1 + 23,
    KEYCODE_COUNT
};

enum { KEYMOD_SHIFT = 1, KEYMOD_ALT = 2, KEYMOD_CTRL = 4, KEYMOD_META = 8 }; /* xterm's bits: parameter - 1 */

enum key_context { KEYS_CHAT, KEYS_BROWSE, KEYS_INSPECT, KEYS_MONITOR, KEYS_DEMO };

/* The actions that keys request from the program. */
enum key_action {
    ACTION_NONE,
    /* from the input; ui/edit/input.h describes their data */
    ACTION_SUBMIT,     /* Enter: the text of the draft, which stays until input_take() */
    ACTION_INTERRUPT,  /* Ctrl-C, if it closed nothing in the input itself */
    ACTION_LEAVE,      /* Ctrl-D on the empty draft */
    ACTION_SUSPEND,    /* Ctrl-Z */
    ACTION_TAKE_BACK,  /* Up on the empty draft while a message is queued */
    ACTION_STOP,       /* Esc on the empty draft with `/set esc-stops on` */
    ACTION_SEND_NOW,   /* cut the reply and send */
    ACTION_RUB_CHIP,   /* Backspace at the draft's beginning, pressed once more: the last attachment goes */
    ACTION_EDITOR,     /* the draft in $EDITOR */
    ACTION_NEWLINE,    /* help text only: done by the input itself */
    ACTION_COMPLETE,   /* help text only */
    ACTION_HISTORY,    /* help text only */
    ACTION_SEARCH_HISTORY, /* help text only */
    ACTION_UNDO,       /* help text only */
    /* the screen */
    ACTION_REDRAW,
    ACTION_PAGE_UP,
    ACTION_PAGE_DOWN,
    ACTION_TOP,
    ACTION_BOTTOM,
    ACTION_BROWSE,
    ACTION_FIND,
    ACTION_MONITOR,
    ACTION_VIEW,
    ACTION_HOLD,
    ACTION_ZOOM_IN,
    ACTION_ZOOM_OUT,
    ACTION_INSPECT,
    ACTION_LEGEND,
    ACTION_FOLD,
    ACTION_RAW,
    ACTION_COPY,
    ACTION_COPY_VIEW,
    ACTION_SPECULATION,
    ACTION_SESSIONS,
    ACTION_VISIT,
    ACTION_ATTACHMENTS,
    ACTION_PROMPTS,
    ACTION_SENSORS,
    ACTION_KEYS,
    ACTION_LOOK,        /* the count is the number of an answer */
    ACTION_STOP_ANSWER, /* the selected one */
    /* browse mode */
    ACTION_LINE_DOWN,
    ACTION_LINE_UP,
    ACTION_FIND_BACK,
    ACTION_FIND_NEXT,
    ACTION_FIND_PREVIOUS,
    ACTION_TURN_PREVIOUS,
    ACTION_TURN_NEXT,
    ACTION_COPY_TURN,
    ACTION_COPY_CODE,
    ACTION_OPEN_LINK,
    ACTION_EDIT_TURN,
    ACTION_REGENERATE,
    ACTION_BRANCH_PREVIOUS,
    ACTION_BRANCH_NEXT,
    ACTION_BACK,
    /* the cursor over the lanes, while it is shown */
    ACTION_INSPECT_LEFT,
    ACTION_INSPECT_RIGHT,
    /* `tandem monitor` */
    ACTION_PANEL, /* the digit is in the key */
    ACTION_QUIT,
    /* the demo; it is left by ACTION_BACK */
    ACTION_DEMO_PAUSE,
    ACTION_DEMO_NEXT,
    ACTION_DEMO_AGAIN,
    ACTION_DEMO_TIMES,
    ACTION_COUNT
};

struct key_row {
    enum key_context context;
    enum key_action action;
    /* Chat: inputrc notation ("\\C-xb"), bound by ui/edit/input.c; other contexts: the byte; or NULL. */
    const char *sequence;
    enum key_code code;   /* a second name: a function key (or the only one), KEYCODE_NONE without */
    unsigned mods;        /* of code */
    const char *shown;    /* as help writes it: "^X b, F2" */
    const char *function; /* chat: the name for the user's inputrc ("tandem-browse"), or NULL */
    const char *command;  /* the slash command that does the same, or NULL */
    const char *help;     /* lower case, no full stop */
};

/* All rows in the order in which help shows them, grouped by context. */
const struct key_row *keys_table(size_t *n);

/* The row that owns a byte (all contexts but CHAT) or a key code (any context), or NULL. Esc is the byte 0x1b. */
const struct key_row *keys_find_byte(enum key_context context, unsigned char byte);
const struct key_row *keys_find_code(enum key_context context, enum key_code code, unsigned mods);
/* The first row of an action in a context, or NULL: for hints in rules. */
const struct key_row *keys_find_action(enum key_context context, enum key_action action);

/* Is it an entry of the menu of Ctrl-X? *key gets the key that follows Ctrl-X, as help writes it ("b", "Enter"). */
int keys_in_menu(const struct key_row *row, const char **key);

#endif
