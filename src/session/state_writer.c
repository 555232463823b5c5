#include "src/session/state_writer.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/session/store.h"

/* linux/ioprio.h, which older systems lack: the class stands above 13 bits of priority; 0 is the calling thread. */
enum { IOPRIO_WHO_THREAD = 1, IOPRIO_IDLE_CLASS = 3, IOPRIO_CLASS_BIT = 13 };

static bool lower_io_priority(void)
{
    int wanted = IOPRIO_IDLE_CLASS << IOPRIO_CLASS_BIT;
    return !syscall(SYS_ioprio_set, IOPRIO_WHO_THREAD, 0, wanted) &&
           syscall(SYS_ioprio_get, IOPRIO_WHO_THREAD, 0) >> IOPRIO_CLASS_BIT == IOPRIO_IDLE_CLASS;
}

static void run(void *arg)
{
    state_writer *s = arg;
    s->idle_io = lower_io_priority();
    /* A state only saves time, so the user learns of no failure. */
    if (!tdm_chat_save_state(s->chat, s->path, NULL)) store_trim_states(s->limit);
}

void state_writer_begin(state_writer *s, tdm_chat *chat, char *path, uint64_t limit)
{
    state_writer_wait(s);
    *s = (state_writer){.chat = chat, .path = path, .limit = limit};
    if (task_begin(&s->task, run, s, -1)) return;
    free(path);
    s->path = NULL;
}

void state_writer_wait(state_writer *s)
{
    task_wait(&s->task);
    free(s->path);
    s->path = NULL;
}
