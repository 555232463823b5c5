/* The meaning of Enter and Ctrl-C in the present state: pure functions of a few flags, so that the rules can be read
 * and tested in one place. The caller carries out the result and keeps the two small structs between calls. UI thread.
 */
#ifndef TANDEM_UI_INPUT_RULES_H
#define TANDEM_UI_INPUT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#define INPUT_CUT_NS       500000000  /* Enter on the empty draft cuts the reply only this long after queueing */
#define INPUT_SAME_PRESS_NS 400000000 /* a Ctrl-C this soon after one that stopped a reply is the same one */
#define INPUT_QUIT_NS      2000000000 /* how long 'Ctrl-C again quits' is valid */

struct input_situation {
    bool top_open;    /* something that Ctrl-C closes is open: a page, a menu, the editing of a turn */
    bool replying;    /* a prompt is being read, or its reply written */
    bool queued;      /* a message waits for the reply's end */
    bool draft_empty; /* for Enter a draft of blanks alone is empty; for Ctrl-C only one without any text, while no
                         history entry replaces it */
    int64_t queued_ns; /* when it was queued or joined */
};

enum input_enter {
    INPUT_ENTER_NOTHING,
    INPUT_ENTER_SEND,
    INPUT_ENTER_QUEUE,
    INPUT_ENTER_JOIN, /* to the queued message, on a line of its own */
    INPUT_ENTER_CUT,  /* stop the reply and send the queued message */
};
enum input_enter input_rule_enter(const struct input_situation *s, int64_t now_ns);

/* Ctrl-X Enter: send now. CUT also when the text is still in the draft (queue or join it first); SEND without a
 * reply. */
enum input_enter input_rule_send_now(const struct input_situation *s);

enum input_interrupt {
    INPUT_INTERRUPT_NOTHING,   /* the same press as the last one */
    INPUT_INTERRUPT_CLOSE,     /* close the topmost open thing */
    INPUT_INTERRUPT_STOP,      /* stop the reply; its text so far is kept */
    INPUT_INTERRUPT_TAKE_BACK, /* the queued message comes back into the draft */
    INPUT_INTERRUPT_CLEAR,     /* the draft, into the history: input_take(in, NULL, true, ...) */
    INPUT_INTERRUPT_ASK,       /* say 'Ctrl-C again quits' */
    INPUT_INTERRUPT_QUIT,      /* leave with status 0 */
};

struct input_presses {
    int64_t stopped_ns, asked_ns; /* 0: not lately */
};
enum input_interrupt input_rule_interrupt(const struct input_situation *s, struct input_presses *presses,
                                          int64_t now_ns);

#endif
