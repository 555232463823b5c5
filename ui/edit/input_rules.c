#include "ui/edit/input_rules.h"

enum input_enter input_rule_enter(const struct input_situation *s, int64_t now_ns)
{
    if (!s->draft_empty) return !s->replying ? INPUT_ENTER_SEND : s->queued ? INPUT_ENTER_JOIN : INPUT_ENTER_QUEUE;
    if (s->queued && s->replying && now_ns - s->queued_ns >= INPUT_CUT_NS) return INPUT_ENTER_CUT;
    return INPUT_ENTER_NOTHING;
}

enum input_enter input_rule_send_now(const struct input_situation *s)
{
    if (s->draft_empty && !s->queued) return INPUT_ENTER_NOTHING;
    return s->replying ? INPUT_ENTER_CUT : INPUT_ENTER_SEND;
}

enum input_interrupt input_rule_interrupt(const struct input_situation *s, struct input_presses *presses,
                                          int64_t now_ns)
{
    int64_t asked = presses->asked_ns, stopped = presses->stopped_ns;
    presses->asked_ns = 0;
    if (s->top_open) return INPUT_INTERRUPT_CLOSE;
    if (stopped && now_ns - stopped < INPUT_SAME_PRESS_NS) return INPUT_INTERRUPT_NOTHING;
    if (s->replying) {
        presses->stopped_ns = now_ns;
        return INPUT_INTERRUPT_STOP;
    }
    if (s->queued) return INPUT_INTERRUPT_TAKE_BACK;
    if (!s->draft_empty) return INPUT_INTERRUPT_CLEAR;
    if (asked && now_ns - asked < INPUT_QUIT_NS) return INPUT_INTERRUPT_QUIT;
    presses->asked_ns = now_ns;
    return INPUT_INTERRUPT_ASK;
}
