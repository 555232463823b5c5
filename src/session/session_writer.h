/* Saves the conversation on a thread of its own, so that a thread that handles events does not wait for the disk. The
 * front end hands over a copy of the conversation and continues. While one copy is being written, only the newest of
 * the later ones waits, since it contains the text of the others. So texts reach the file in the order of
 * session_writer_put.
 *
 * While a reply is being written, session_writer_ready says when to make the next copy: if the program is killed, at
 * most about the last second of a reply is lost.
 *
 * One thread, the front end's, calls these functions. All of them take NULL, which saves nothing. */
#ifndef TANDEM_SRC_SESSION_WRITER_H
#define TANDEM_SRC_SESSION_WRITER_H

#include "src/session/store.h"

typedef struct session_writer session_writer;

/* NULL without memory. */
session_writer *session_writer_new(void);
/* Waits until all is written. */
void session_writer_free(session_writer *k);
/* Writes a byte to this descriptor when a save has failed, or when one succeeds after that; -1: none. */
void session_writer_set_wake(session_writer *k, int fd);

/* Notes that there is text that is not in a file yet. */
void session_writer_text_came(session_writer *k);
/* Called when all text was handed over or need not be saved: the next text is saved at its first character. */
void session_writer_rest(session_writer *k);
/* When session_writer_ready can become true; INT64_MAX: there is nothing to save. */
int64_t session_writer_deadline(const session_writer *k);
/* Whether text has come, it is time to save it, and nothing is being written. Then the caller saves it. The next time
 * is in a second, or later if writing takes long. */
bool session_writer_ready(session_writer *k, int64_t now_ns);

/* Saves s, which it takes over, in the background. Text that came before is part of it. If no thread can be made, it is
 * written before this returns. */
void session_writer_put(session_writer *k, const session_slot *slot, const session *s);
/* Is something being written, or waiting to be? */
bool session_writer_busy(session_writer *k);
/* Waits until nothing is being written. */
void session_writer_wait(session_writer *k);
/* Has a save ended since the last call? Then true, and the result of the latest is in *status and *err. */
bool session_writer_take(session_writer *k, tdm_status *status, tdm_error *err);

#endif
