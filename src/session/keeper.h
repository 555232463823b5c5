/* Saves the conversation while a reply is being written, on a thread of its own: a program that is killed keeps the
 * reply to within about a second. The front end gives a copy of the conversation and goes on; nobody waits for the
 * disk.
 *
 * One thread, the front end's, calls these functions. What is saved in another way (app_save) waits for the thread
 * before, so that an older text never replaces a newer one. */
#ifndef TANDEM_SRC_KEEPER_H
#define TANDEM_SRC_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>

#include "src/session/store.h"

typedef struct {
    bool pending;    /* text has come that no file has */
    int64_t next_ns; /* not before this */
    pthread_t thread;
    bool running;    /* to be joined */
    atomic_bool done;
    store_place place;
    session s;       /* the thread's while it runs, as is what follows */
    tdm_status status;
    tdm_error err;
    int64_t cost_ns; /* of the processor */
} keeper;

/* When keeper_ready may say so: INT64_MAX while there is nothing to save. */
int64_t keeper_deadline(const keeper *k);
/* Is it time to begin, and nothing being written? The next time is in a second, or later where writing is much work. */
bool keeper_ready(keeper *k, int64_t now_ns);
/* Begins to write s, which it takes over; keeper_end goes before. */
void keeper_begin(keeper *k, const store_place *place, const session *s);
/* Waits until nothing is being written. True when something was: its result is in status and err. */
bool keeper_end(keeper *k);

#endif
