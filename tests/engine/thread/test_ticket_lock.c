/* The lock goes to who asked first, however often its owner takes it again. */
#include "engine/thread/ticket_lock.h"

#include <pthread.h>
#include <sched.h>

#include "tests/check.h"

enum { THREADS = 3, ROUNDS = 200 };

static struct ticket_lock turns;
static int had[THREADS + 1], order; /* when each had it for the first time; guarded by the lock */

static void *take_once(void *ctx)
{
    ticket_lock_take(&turns);
    had[*(int *)ctx] = ++order;
    ticket_lock_give(&turns);
    return NULL;
}

TEST(who_takes_it_again_at_once_comes_last)
{
    ticket_lock_init(&turns);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread[THREADS];
        int own[THREADS] = {0, 1, 2};
        order = 0;
        ticket_lock_take(&turns);
        for (int i = 0; i < THREADS; i++) {
            REQUIRE(!pthread_create(&thread[i], NULL, take_once, &own[i]));
            while (ticket_lock_count(&turns) < (uint32_t)i + 2) sched_yield(); /* until it waits */
        }
        ticket_lock_give(&turns);
        ticket_lock_take(&turns);
        CHECK_INT(THREADS, order);
        for (int i = 0; i < THREADS; i++) CHECK_INT(i + 1, had[i]);
        ticket_lock_give(&turns);
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    }
    CHECK_INT(0, ticket_lock_count(&turns));
    ticket_lock_destroy(&turns);
}

static void *take_often(void *ctx)
{
    for (int i = 0; i < ROUNDS * 10; i++) {
        ticket_lock_take(&turns);
        ticket_lock_take(&turns);
        ++*(int *)ctx;
        ticket_lock_give(&turns);
        ++*(int *)ctx;
        ticket_lock_give(&turns);
    }
    return NULL;
}

TEST(its_owner_may_take_it_again)
{
    pthread_t thread[THREADS];
    int count = 0;
    ticket_lock_init(&turns);
    for (int i = 0; i < THREADS; i++) REQUIRE(!pthread_create(&thread[i], NULL, take_often, &count));
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    CHECK_INT(THREADS * ROUNDS * 20, count);
    ticket_lock_destroy(&turns);
}

TEST_MAIN(T(who_takes_it_again_at_once_comes_last), T(its_owner_may_take_it_again))
