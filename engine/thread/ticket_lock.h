/* A ticket lock: threads get it in the order in which they ask for it. With a mutex, a thread with many short pieces of
 * work releases the lock, takes it again at once, and so gets it before the threads that sleep while they wait, which
 * may have to wait for all of the pieces. Here a thread waits for at most one piece of each other thread.
 *
 * The thread that holds it may take it again, and gives it back as often.
 */
#ifndef TANDEM_THREAD_TICKET_LOCK_H
#define TANDEM_THREAD_TICKET_LOCK_H

#include <pthread.h>
#include <stdint.h>

struct ticket_lock {
    pthread_mutex_t mutex; /* of what follows; held for a moment */
    pthread_cond_t given;
    uint64_t asked, at; /* how many asked for it; whose turn it is */
    uint32_t taken;     /* how often the thread whose turn it is has taken it; 0: not yet */
    pthread_t owner;    /* while it is taken */
};

void ticket_lock_init(struct ticket_lock *t);
void ticket_lock_destroy(struct ticket_lock *t); /* while no thread holds it or asks for it */
void ticket_lock_take(struct ticket_lock *t);
void ticket_lock_give(struct ticket_lock *t);
/* How many threads have it or wait for it. */
uint32_t ticket_lock_count(struct ticket_lock *t);

#endif
