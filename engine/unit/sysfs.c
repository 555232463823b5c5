#include "engine/unit/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_path(const char *root, char *text, size_t size, const char *format, va_list args)
{
    char path[512];
    size_t n = (size_t)snprintf(path, sizeof path, "%s", root);
    if (n < sizeof path) n += (size_t)vsnprintf(path + n, sizeof path - n, format, args);
    if (n >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t got = 0;
    ssize_t r = 0;
    while (got + 1 < size && (r = read(fd, text + got, size - 1 - got)) > 0) got += (size_t)r;
    int saved = errno;
    close(fd);
    errno = saved;
    if (r < 0) return false;
    if (got && text[got - 1] == '\n') got--;
    text[got] = 0;
    return true;
}

bool sysfs_text(const char *root, char *text, size_t size, const char *path, ...)
{
    va_list args;
    va_start(args, path);
    bool ok = read_path(root, text, size, path, args);
    va_end(args);
    return ok;
}

bool sysfs_number(const char *root, int64_t *value, const char *path, ...)
{
    char text[32], *end;
    va_list args;
    va_start(args, path);
    bool ok = read_path(root, text, sizeof text, path, args);
    va_end(args);
    if (!ok) return false;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno || end == text || *end) {
        errno = EINVAL;
        return false;
    }
    *value = v;
    return true;
}

static int by_length(const void *a, const void *b)
{
    size_t x = strlen(a), y = strlen(b);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

int sysfs_list(const char *root, const char *folder, const char *prefix, char (*names)[64], int max)
{
    char path[512];
    if ((size_t)snprintf(path, sizeof path, "%s%s", root, folder) >= sizeof path) return 0;
    DIR *d = opendir(path);
    if (!d) return 0;
    int n = 0;
    for (struct dirent *e; n < max && (e = readdir(d));)
        if (!strncmp(e->d_name, prefix, strlen(prefix)) && strlen(e->d_name) < 64) strcpy(names[n++], e->d_name);
    closedir(d);
    qsort(names, (size_t)n, sizeof *names, by_length);
    return n;
}
