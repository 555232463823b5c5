/* Threads that are held in the middle, while others must get further. A lock that a held thread has there would stop
 * the others for good: after a minute without any movement all is `stuck`, nothing is held any more, and the test has
 * failed. */
#ifndef TANDEM_TESTS_GPU_HELD_H
#define TANDEM_TESTS_GPU_HELD_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/tandem/base.h"

/* ---- Threads that wait for a word -------------------------------------------------------------------------------- */

extern pthread_mutex_t held_mutex; /* of all that is waited for */
extern atomic_bool held_stuck;
void held_wait_for_change(void); /* with the mutex; sets held_stuck when there is none for too long */

/* For as long as `what` is false and anything moves. With the mutex. */
#define HELD_WAIT(what)                                                                                                \
    while (!(what) && !held_stuck) held_wait_for_change()

void held_set(bool *what, bool value);
void held_until(const bool *what); /* fails where it is stuck */

/* ---- One thread, which is held again and again ------------------------------------------------------------------- */

/* Runs `what` in a thread, which begins with held_begun and ends with held_end. holds: held_here holds it. */
void held_start(pthread_t *thread, void *(*what)(void *), void *ctx, bool holds);
void held_begun(void);
void held_end(void);
bool held_runs(void);  /* between held_start and held_end */
bool held_is_me(void); /* the same, and the caller is that thread */
int held_count(void);  /* how often it was held */

/* Another round, each time when the thread is held; until it has ended. */
void held_go_on(void (*round)(void *), void *ctx);
/* The thread stays here until a round that began after it came has been made. Others go through. */
void held_here(void);
/* That, for a progress callback that counts its calls: ctx: int by step. */
int held_at_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total);

#endif
