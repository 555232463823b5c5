#include "tests/fuzzed.h"

#include "tests/check.h"

const char *fuzzed_file(const char *name, const void *bytes, size_t n)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) abort();
    return path;
}
