/* Writes a session's state file on a thread of its own, at the lowest I/O priority: no code waits for it, and it delays
 * nothing else that uses the disk.
 *
 * One thread, the front end's, calls these functions. The chat must not be closed, nor its conversation replaced,
 * before state_writer_wait. */
#ifndef TANDEM_SRC_STATE_WRITER_H
#define TANDEM_SRC_STATE_WRITER_H

#include "engine/tandem.h"
#include "src/process/task.h"

typedef struct {
    task task;
    bool idle_io; /* the thread had the idle I/O class; valid once it has been waited for */
    tdm_chat *chat;
    char *path;
    uint64_t limit;
} state_writer;

/* Begins to write the chat's state to path, which it takes over (malloc'ed); then the oldest states are removed until
 * all take at most `limit` bytes. It first waits for a state that is still being written. */
void state_writer_begin(state_writer *s, tdm_chat *chat, char *path, uint64_t limit);
/* Waits until nothing is being written. */
void state_writer_wait(state_writer *s);

#endif
