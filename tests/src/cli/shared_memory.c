/* In front of the C library: the allocation of this number fails, from 1; what is told in the environment:
 *
 *     STARVE_AT      the number; with a '+' behind it all that follow fail too. Absent: none fails
 *     STARVE_COUNT   a file that gets, at the program's end, how many allocations there were */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
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

static atomic_long count;
static long at;
static bool all;

__attribute__((constructor)) static void begin(void)
{
    const char *told = getenv("STARVE_AT");
    if (!told) return;
    all = strchr(told, '+') != NULL;
    at = strtol(told, NULL, 10);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("STARVE_COUNT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)count);
    if (write(fd, text, (size_t)n) != n) _exit(99);
    close(fd);
}

static bool fails(void)
{
    long n = ++count;
    if (!at || (all ? n < at : n != at)) return false;
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
