/* Making room in the context: a summary replaces the older turns at the beginning of a new branch, before the last
 * turns, which stay unchanged. The model drafts the summary as the reply to a turn that is not part of the
 * conversation, after as many of its turns as leave room for it. The reply becomes the argument of /compact in the
 * draft, where the user can read and change it. One thread. */
#ifndef TANDEM_SRC_COMPACT_H
#define TANDEM_SRC_COMPACT_H

#include "src/chat/app.h"

enum { COMPACT_KEPT_TURNS = 2 };

/* TDM_OK: there are older turns, and no reply is being written. Else TDM_E_NOT_FOUND, TDM_E_BUSY. */
tdm_status compact_check(const app *a, tdm_error *err);
/* After that: asks the model for a summary; its text comes by events like any reply, and app_take_draft returns it
 * afterwards. TDM_E_CONTEXT: there is no room for it. */
tdm_status compact_ask(app *a, tdm_error *err);
/* Call it at TDM_EV_END: if the reply was a summary, restores the conversation, and makes the reply the draft unless it
 * was stopped; sets a->compact.ended, and a->compact.said for the user. */
void compact_end(app *a, const tdm_event *e);

/* When the conversation is left: stops a summary that is being drafted, and removes its turn. */
void compact_give_up(app *a);

/* Replaces all but the last turns, or those from which the summary was drafted, by the text; *turns: how many it
 * replaces. Nodes get new numbers, and the previous version stays as branch number *branch. TDM_E_BUSY,
 * TDM_E_NOT_FOUND: there are no older turns. */
tdm_status compact_replace(app *a, const char *text, size_t n, int *turns, int *branch, tdm_error *err);

/* Whether compact_offer's line is due: true once each time the context becomes that full. */
bool compact_due(app *a);
/* The line. The built-in model is too small for summaries, so the line offers the user's own instead. */
const char *compact_offer(const app *a);

#endif
