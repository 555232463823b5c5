/* In front of the C library: a file that is mapped, and whose path has `shrinks-N` in it, has N bytes from then on, as
 * if another program had truncated it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void shrink(int fd)
{
    char link[64], path[4096];
    struct stat st;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *at = strstr(path, "shrinks-");
    off_t bytes = at ? strtol(at + strlen("shrinks-"), NULL, 10) : 0;
    if (bytes && !fstat(fd, &st) && st.st_size > bytes && truncate(path, bytes)) _exit(97);
}

__attribute__((visibility("default"))) void *mmap(void *address, size_t size, int protection, int flags, int fd,
                                                  off_t offset)
{
    void *p = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    if (p != MAP_FAILED && fd >= 0 && protection == PROT_READ) shrink(fd);
    return p;
}
