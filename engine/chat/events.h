/* The queue of events from the chat to the front end, with a descriptor that becomes readable when events are
 * signalled.
 *
 * Consecutive pieces of text of one node and kind are joined in the queue, so that the memory for a slow reader is
 * bounded by the length of the text. Threads: any thread may post, one takes; the queue has a lock of its own, and no
 * other lock is taken while it is held.
 */
#ifndef TANDEM_CHAT_EVENTS_H
#define TANDEM_CHAT_EVENTS_H

#include "engine/tandem.h"

struct events;

tdm_status events_open(struct events **out, tdm_error *err);
void events_close(struct events *q);

/* Sets memory aside for this many events for which a front end may wait (TDM_EV_REPLY, TDM_EV_END, TDM_EV_COLD), so
 * that they can't be dropped. Memory that is left from an earlier call counts. */
tdm_status events_reserve(struct events *q, int n, tdm_error *err);

/* Copies the event and its text. Without memory, and without any set aside for it, the event is dropped: false; then
 * the reader gets an error event that says so, and a TDM_EV_PATH, since it has to read the whole conversation again.
 * Does not wake the reader: events_signal() does. */
bool events_post(struct events *q, const tdm_event *event);
void events_post_line(struct events *q, tdm_event_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the descriptor readable if something was posted. Call it after releasing the locks that the reader will take:
 * the reader may run at once, on the caller's CPU. */
void events_signal(struct events *q);

/* The two dialogues have changed places. Drops the queued events of the one that was in the back. With `keep` the
 * replies' events of the other one become events of the dialogue in the back; otherwise they are dropped, too. */
void events_change_places(struct events *q, bool keep);

int events_fd(const struct events *q);
/* The oldest event; its text stays valid until the next call. */
bool events_take(struct events *q, tdm_event *out);

#endif
