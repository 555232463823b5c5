#include "ui/readline/line_memory.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default"))) /* for the library */

/* Some thousand times what a line of ordinary length takes. */
enum { RESERVE = 256 << 10 };

static void *reserve;
static void (*on_failure)(void);

EXPORT void *xmalloc(size_t size);
EXPORT void *xrealloc(void *old, size_t size);

void line_memory_reserve(void (*failed)(void))
{
    on_failure = failed;
    if (!reserve) reserve = malloc(RESERVE);
}

/* Once more, with what was set aside. */
static void *again(void *old, size_t size)
{
    free(reserve);
    reserve = NULL;
    void *p = realloc(old, size);
    if (p) return p;
    if (on_failure) on_failure();
    abort();
}

void *xmalloc(size_t size)
{
    return xrealloc(NULL, size);
}

void *xrealloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p) p = again(old, size ? size : 1);
    if (!reserve) reserve = malloc(RESERVE); /* there may be memory again */
    return p;
}
