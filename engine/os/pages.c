#include "engine/os/pages.h"

#include <stdint.h>
#include <sys/mman.h>

/* The bytes that are mapped: whole large pages, so that the end is not in small ones. Less than one stays as it is. */
static size_t whole(size_t bytes)
{
    return bytes < PAGES_LARGE ? bytes : (bytes + PAGES_LARGE - 1) & ~(size_t)(PAGES_LARGE - 1);
}

void *pages_map(size_t bytes)
{
    if (!bytes || bytes > SIZE_MAX - 2 * PAGES_LARGE) return NULL;
    size_t n = whole(bytes), more = n < PAGES_LARGE ? 0 : PAGES_LARGE;
    char *p = mmap(NULL, n + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (!more) return p;
    size_t before = -(uintptr_t)p & (PAGES_LARGE - 1);
    if (before) munmap(p, before);
    munmap(p + before + n, more - before);
#ifdef MADV_HUGEPAGE
    madvise(p + before, n, MADV_HUGEPAGE); /* only a wish: small pages serve as well */
#endif
    return p + before;
}

void pages_unmap(void *memory, size_t bytes)
{
    if (memory) munmap(memory, whole(bytes));
}
