/* Saves the conversation on a thread of its own, so that nobody who handles events waits for the disk. The front end
 * hands over a copy of the conversation and goes on. While one is being written, the newest that was handed over since
 * waits, and older ones are dropped: their text is in it. So texts reach the file in the order of keeper_put.
 *
 * While a reply is being written, keeper_ready says when the next copy is worth making: a program that is killed keeps
 * the reply to within about a second.
 *
 * One thread, the front end's, calls these functions. All of them take NULL, which saves nothing. */
#ifndef TANDEM_SRC_KEEPER_H
#define TANDEM_SRC_KEEPER_H

#include "src/session/store.h"

typedef struct keeper keeper;

/* NULL without memory. */
keeper *keeper_new(void);
/* Waits until all is written. */
void keeper_free(keeper *k);
/* A byte is written to this descriptor when a save has failed, or when one succeeds after that; -1: none. */
void keeper_set_wake(keeper *k, int fd);

/* Text has come that no file has. */
void keeper_text_came(keeper *k);
/* All that has come is handed over, or is not to be saved; what comes next is saved at its first character. */
void keeper_rest(keeper *k);
/* When keeper_ready may say so: INT64_MAX while there is nothing to save. */
int64_t keeper_deadline(const keeper *k);
/* Has text come, is it time to save it, and is nothing being written? Then the caller saves it. The next time is in a
 * second, or later where writing is much work. */
bool keeper_ready(keeper *k, int64_t now_ns);

/* Saves s, which it takes over, in the background. Text that came before is part of it. Where the system gives no
 * thread, it is written before this returns. */
void keeper_put(keeper *k, const store_place *place, const session *s);
/* Is something being written, or waiting to be? */
bool keeper_busy(keeper *k);
/* Waits until nothing is. */
void keeper_wait(keeper *k);
/* Has a save ended since this was asked last? Then true, and the result of the latest is in *status and *err. */
bool keeper_take(keeper *k, tdm_status *status, tdm_error *err);

#endif
