/* The chat's events on their way to the front end: a queue with a descriptor that is readable while events wait that the
 * reader was told of.
 *
 * Consecutive pieces of text of one node and kind that wait in the queue are joined, so a slow reader costs memory by
 * the length of the text only. Threads: any thread posts, one takes; the queue has its own lock, which is never held
 * while another is taken.
 */
#ifndef TANDEM_CHAT_EVENTS_H
#define TANDEM_CHAT_EVENTS_H

#include "engine/tandem.h"

struct events;

tdm_status events_open(struct events **out, tdm_error *err);
void events_close(struct events *q);

/* Copies the event and its text. Without memory the event is dropped and counted: the next notice tells. The reader sleeps
 * on until events_signal(). */
void events_post(struct events *q, const tdm_event *event);
void events_post_line(struct events *q, tdm_event_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the descriptor readable if something was posted. Called when the poster has let go of the locks that the reader
 * will want: it may run at once, on the poster's own CPU. */
void events_signal(struct events *q);

int events_fd(const struct events *q);
/* The oldest event; its text stays valid until the next call. */
bool events_take(struct events *q, tdm_event *out);

#endif
