/* Writes a session's state file on a thread of its own, at the lowest I/O priority: nobody waits for it, and it makes
 * nothing else wait that uses the disk.
 *
 * One thread, the front end's, calls these functions. The chat must not be closed, nor its conversation replaced,
 * before saver_wait. */
#ifndef TANDEM_SRC_SAVER_H
#define TANDEM_SRC_SAVER_H

#include <pthread.h>

#include "engine/tandem.h"

typedef struct {
    pthread_t thread;
    bool running; /* to be joined */
    bool idle_io; /* the thread had the idle I/O class; valid once it has been waited for */
    tdm_chat *chat;
    char *path;
    uint64_t limit;
} saver;

/* Begins to write the chat's state to path, which it takes over (malloc'ed); then the oldest states are removed until
 * all take at most `limit` bytes. One that is still being written is waited for. */
void saver_begin(saver *s, tdm_chat *chat, char *path, uint64_t limit);
/* Waits until nothing is being written. */
void saver_wait(saver *s);

#endif
