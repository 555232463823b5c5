#include "engine/model/mapped.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/harmless.h"

/* Places are never freed, only taken again, since the thread that looks for an address holds no lock. */
struct mapped {
    _Atomic(uintptr_t) begin; /* 0: free */
    _Atomic(uint64_t) bytes;
    int fd;
    char *path;
};

enum { BLOCK = 32 };

struct block {
    struct mapped places[BLOCK];
    _Atomic(struct block *) next;
};

static struct block first;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static struct mapped *free_place(void)
{
    for (struct block *b = &first;;) {
        for (int i = 0; i < BLOCK; i++)
            if (!atomic_load(&b->places[i].begin)) return &b->places[i];
        struct block *next = atomic_load(&b->next);
        if (!next) {
            if (!(next = calloc(1, sizeof *next))) return NULL;
            atomic_store(&b->next, next);
        }
        b = next;
    }
}

struct mapped *mapped_add(const char *path, int fd, const void *data, uint64_t bytes)
{
    char *copy = strdup(path);
    if (!copy) return NULL;
    harmless_line(copy);
    pthread_mutex_lock(&changing);
    struct mapped *m = free_place();
    if (m) {
        m->fd = fd;
        m->path = copy;
        atomic_store(&m->bytes, bytes);
        atomic_store(&m->begin, (uintptr_t)data);
    }
    pthread_mutex_unlock(&changing);
    if (!m) free(copy);
    return m;
}

void mapped_remove(struct mapped *m)
{
    pthread_mutex_lock(&changing);
    int fd = m->fd;
    char *path = m->path;
    atomic_store(&m->begin, 0);
    pthread_mutex_unlock(&changing);
    close(fd);
    free(path);
}

const struct mapped *mapped_find(const void *address)
{
    for (const struct block *b = &first; b; b = atomic_load(&b->next))
        for (int i = 0; i < BLOCK; i++) {
            const struct mapped *m = &b->places[i];
            uintptr_t begin = atomic_load(&m->begin);
            if (begin && (uintptr_t)address - begin < atomic_load(&m->bytes)) return m;
        }
    return NULL;
}

const char *mapped_path(const struct mapped *m)
{
    return m->path;
}

int mapped_fd(const struct mapped *m)
{
    return m->fd;
}

const uint8_t *mapped_data(const struct mapped *m)
{
    return (const uint8_t *)atomic_load(&m->begin);
}

uint64_t mapped_bytes(const struct mapped *m)
{
    return atomic_load(&m->bytes);
}
