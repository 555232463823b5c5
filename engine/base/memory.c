#include "engine/base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t pages_bytes(int which)
{
    long pages = sysconf(which), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* The number after `key` at the start of a line; of the first line where key is "". */
static bool read_number(const char *path, const char *key, uint64_t *out)
{
    FILE *file = fopen(path, "re");
    char line[256];
    bool found = false;
    size_t n = strlen(key);
    while (file && !found && fgets(line, sizeof line, file))
        found = !strncmp(line, key, n) && sscanf(line + n, "%" SCNu64, out) == 1;
    if (file) fclose(file);
    return found;
}

/* The files of one version's groups. */
struct version {
    const char *folder, *limit, *usage, *droppable;
};

/* What the group `path` and those above it leave. Groups that are not visible from here (a container's) are skipped. */
static uint64_t left_in_groups(const char *root, const struct version *v, const char *path)
{
    char group[PATH_MAX], file[PATH_MAX + 64];
    uint64_t least = UINT64_MAX;
    snprintf(group, sizeof group, "%s", path);
    for (;;) {
        uint64_t limit, usage = 0, droppable = 0;
        snprintf(file, sizeof file, "%s%s%s/%s", root, v->folder, group, v->limit);
        if (read_number(file, "", &limit)) { /* "max" is no number */
            snprintf(file, sizeof file, "%s%s%s/%s", root, v->folder, group, v->usage);
            read_number(file, "", &usage);
            snprintf(file, sizeof file, "%s%s%s/memory.stat", root, v->folder, group);
            read_number(file, v->droppable, &droppable);
            usage = usage > droppable ? usage - droppable : 0;
            uint64_t left = limit > usage ? limit - usage : 1; /* 0 would say that nothing is known */
            if (left < least) least = left;
        }
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

static uint64_t left_by_groups(const char *root)
{
    static const struct version one = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                       "total_inactive_file "},
                                two = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
    char path[PATH_MAX], line[PATH_MAX];
    uint64_t least = UINT64_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) { /* number:controllers:path */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        if (strcmp(controllers + 1, "") && strcmp(controllers + 1, "memory")) continue;
        if (!strcmp(group, "/")) *group = 0;
        uint64_t left = left_in_groups(root, controllers[1] ? &one : &two, group);
        if (left < least) least = left;
    }
    if (file) fclose(file);
    return least;
}

uint64_t memory_available_in(const char *root)
{
    char path[PATH_MAX];
    uint64_t bytes = 0, left = left_by_groups(root);
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_number(path, "MemAvailable:", &bytes)) bytes *= 1024;
    else bytes = pages_bytes(_SC_AVPHYS_PAGES);
    return bytes && left < bytes ? left : bytes;
}

uint64_t memory_available(void)
{
    return memory_available_in("");
}

uint64_t memory_total(void)
{
    return pages_bytes(_SC_PHYS_PAGES);
}
