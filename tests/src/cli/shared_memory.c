/* In front of the C library: allocations fail as the file says that STARVED in the environment names (a struct starved,
 * shared_memory.h), at any time while the program runs. Without it none fails. */
#include "tests/src/cli/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static struct starved own, *now = &own;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("STARVED");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *live = (void *)syscall(SYS_mmap, NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)0);
    if (live == MAP_FAILED) _exit(99);
    now = live;
    close(fd);
}

static bool fails(void)
{
    long n = ++now->count, at = now->at;
    if (!at || (now->all ? n < at : n != at)) return false;
    errno = ENOMEM;
    return true;
}

EXPORT void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = fails() ? NULL : __libc_memalign(alignment, size);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails()) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}
