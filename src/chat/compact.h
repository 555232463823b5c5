/* Making room in the context: the older turns become a summary at the beginning of a branch of its own, in front of the
 * last turns, which stay as they are. The decode unit drafts the summary as the reply to a turn that is no part of the
 * conversation, behind as many of its turns as leave room for that; what it wrote goes into the draft as the argument
 * of /compact, where it can be read and changed. One thread. */
#ifndef TANDEM_SRC_COMPACT_H
#define TANDEM_SRC_COMPACT_H

#include "src/chat/app.h"

enum { COMPACT_KEPT_TURNS = 2 };

/* Whether there are older turns, and no reply is being written. TDM_E_BUSY, TDM_E_NOT_FOUND. */
tdm_status compact_check(const app *a, tdm_error *err);
/* After that: asks the model for a summary; it comes by events like any reply, and then app_take_draft has it.
 * TDM_E_CONTEXT: there is no room for it. */
tdm_status compact_ask(app *a, tdm_error *err);
/* At TDM_EV_END: if it was that, the conversation is again what it was before, and the reply is the draft, unless it
 * was stopped; a->compact.ended says so, and a->compact.said what a user is told. */
void compact_end(app *a, const tdm_event *e);

/* The conversation is being left: the summary that is being drafted is given up, and its turn taken back. */
void compact_give_up(app *a);

/* Puts the text in place of all but the last turns, or of those that the drafted summary was made of; *turns: how many
 * it stands for. The nodes are numbered anew, and the version before stays as branch number *branch. TDM_E_BUSY,
 * TDM_E_NOT_FOUND: there are no older turns. */
tdm_status compact_replace(app *a, const char *text, size_t n, int *turns, int *branch, tdm_error *err);

/* Whether compact_offer's line is due: true once each time that the context has become that full. */
bool compact_due(app *a);
/* The line. The built-in model is too small for summaries, so the line offers the user's own instead. */
const char *compact_offer(const app *a);

#endif
