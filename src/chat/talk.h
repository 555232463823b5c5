/* A front end's functions for the conversation in front, which also work while there is none: before app_start and
 * between two models. Then a status is left unchanged, counts are 0, and functions that change something fail with
 * TDM_E_BUSY. Otherwise each is the function of engine/tandem.h with the same name.
 *
 * One thread: the front end's. */
#ifndef TANDEM_SRC_TALK_H
#define TANDEM_SRC_TALK_H

#include "src/chat/app.h"

/* Is there a conversation? */
bool app_talks(const app *a);
void app_status(const app *a, tdm_chat_status *now);
/* The status of the conversation in the background. */
void app_status_background(const app *a, tdm_back_status *now);
void app_chat_options(const app *a, tdm_chat_options *out);

/* Its messages: their number in all branches, those of the path, and a copy of one (tdm_node_free). */
int app_nodes(const app *a);
int app_path(const app *a, int *path, int room);
tdm_status app_node(const app *a, int node, tdm_node *out, tdm_error *err);
tdm_status app_select(app *a, int node, tdm_error *err);
/* 0: the next message goes to the end of the path again. */
tdm_status app_edit(app *a, int node, tdm_error *err);

/* A descriptor that is readable when there is an event (-1: there is no conversation); and the next event. */
int app_events_fd(const app *a);
bool app_next_event(app *a, tdm_event *e);

/* The progress of a picture of the draft or of a message. */
void app_picture(const app *a, const tdm_picture *seen, tdm_picture_status *out);

void app_stop(app *a);
void app_stop_answer(app *a, int node);
/* Sends the queued message at once, and ends the reply that it waits for. */
void app_send_now(app *a, int64_t enter_ns);

/* Handles the end of a reply's text that no event delivered for lack of memory (tdm_event.lost): from such an END it
 * makes the missing TEXT event, with its text in *node (tdm_node_free). False: no text was lost, or there is no memory
 * for it even now; then only the conversation has it. */
bool lost_text(const tdm_chat *c, const tdm_event *end, tdm_node *node, tdm_event *text);

/* The words that a span of the monitor evaluated. */
size_t app_span_text(const app *a, const tdm_span *span, char *out, size_t room);

/* ---- Waiting for a chat, for Ctrl-C (src/process/interrupt.h) and for one more descriptor ------------------------ */

enum { TALK_CHAT = 1, TALK_OTHER = 2 };

/* Waits, and returns which are ready, or 0 after timeout_ms. c NULL and other -1 are left out. A signal ends the wait
 * like a timeout (see interrupt_seen()); once Ctrl-C was seen, it no longer ends waits. */
int talk_wait_for(const tdm_chat *c, int other, int timeout_ms);
/* Waits until tdm_chat_wait_idle() returns true; false: Ctrl-C was pressed, or the program is to leave. */
bool talk_wait_idle(tdm_chat *c);

#endif
