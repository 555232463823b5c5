#include "tests/engine/unit/tree.h"

#include "tests/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *tree_new(void)
{
    static char roots[64][256];
    static int n;
    if (n == 64) abort();
    snprintf(roots[n], sizeof roots[n], "%s/tree-%d", check_tmp(), n);
    if (mkdir(roots[n], 0755)) abort();
    return roots[n++];
}

void tree_write(const char *root, const char *text, const char *path, ...)
{
    char file[1024];
    size_t n = (size_t)snprintf(file, sizeof file, "%s", root);
    va_list args;
    va_start(args, path);
    vsnprintf(file + n, sizeof file - n, path, args);
    va_end(args);
    for (char *slash = file + n + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(file, 0755);
        *slash = '/';
    }
    FILE *f = fopen(file, "w");
    if (!f || fprintf(f, "%s\n", text) < 0 || fclose(f)) {
        perror(file);
        abort();
    }
}
