#include "engine/thread/ticket_lock.h"

#include "engine/base/error.h"

void ticket_lock_init(struct ticket_lock *t)
{
    *t = (struct ticket_lock){0};
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->given, NULL);
}

void ticket_lock_destroy(struct ticket_lock *t)
{
    pthread_cond_destroy(&t->given);
    pthread_mutex_destroy(&t->mutex);
}

void ticket_lock_take(struct ticket_lock *t)
{
    pthread_mutex_lock(&t->mutex);
    if (!t->taken || !pthread_equal(t->owner, pthread_self())) {
        uint64_t own = t->asked++;
        while (t->at != own) pthread_cond_wait(&t->given, &t->mutex);
        t->owner = pthread_self();
    }
    t->taken++;
    pthread_mutex_unlock(&t->mutex);
}

void ticket_lock_give(struct ticket_lock *t)
{
    pthread_mutex_lock(&t->mutex);
    assert_always(t->taken && pthread_equal(t->owner, pthread_self()));
    if (!--t->taken) {
        t->at++;
        pthread_cond_broadcast(&t->given);
    }
    pthread_mutex_unlock(&t->mutex);
}

uint32_t ticket_lock_count(struct ticket_lock *t)
{
    pthread_mutex_lock(&t->mutex);
    uint32_t n = (uint32_t)(t->asked - t->at);
    pthread_mutex_unlock(&t->mutex);
    return n;
}
