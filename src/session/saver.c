#include "src/session/saver.h"

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

static void *run(void *arg)
{
    saver *s = arg;
    s->idle_io = lower_io_priority();
    /* A state only saves time: what goes wrong with it isn't worth a word. */
    if (!tdm_chat_save_state(s->chat, s->path, NULL)) store_trim_states(s->limit);
    return NULL;
}

void saver_begin(saver *s, tdm_chat *chat, char *path, uint64_t limit)
{
    saver_wait(s);
    *s = (saver){.chat = chat, .path = path, .limit = limit};
    s->running = !pthread_create(&s->thread, NULL, run, s);
    if (s->running) return;
    free(path);
    s->path = NULL;
}

void saver_wait(saver *s)
{
    if (!s->running) return;
    pthread_join(s->thread, NULL);
    free(s->path);
    s->path = NULL;
    s->running = false;
}
