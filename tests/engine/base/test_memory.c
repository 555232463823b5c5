/* What memory is free, from made-up files of the system. */
#include "tests/check.h"

#include <sys/stat.h>

#include "engine/base/memory.h"

enum { MB = 1 << 20 };

static char root[200];

static void put(const char *path, const char *text)
{
    char full[400];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = strchr(full + strlen(root) + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(full, 0700);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) CHECK_FAIL("%s: cannot write", full);
}

static void start(const char *name, const char *groups)
{
    snprintf(root, sizeof root, "%s/%s", check_tmp(), name);
    mkdir(root, 0700);
    put("/proc/meminfo", "MemTotal:  9216 kB\nMemFree: 1024 kB\nMemAvailable:    8192 kB\nBuffers: 1 kB\n");
    if (groups) put("/proc/self/cgroup", groups);
}

TEST(without_groups_it_is_what_the_system_says)
{
    start("plain", NULL);
    CHECK_INT(8 * MB, memory_available_in(root));
    start("no_limit", "0::/user.slice/a\n");
    put("/sys/fs/cgroup/user.slice/a/memory.max", "max\n");
    put("/sys/fs/cgroup/user.slice/a/memory.current", "4096\n");
    CHECK_INT(8 * MB, memory_available_in(root));
    CHECK(memory_available() > 0);
}

TEST(the_tightest_group_counts)
{
    start("two", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "7340032\n"); /* 7 MB */
    put("/sys/fs/cgroup/a/b/memory.current", "1048576\n");
    CHECK_INT(6 * MB, memory_available_in(root));
    put("/sys/fs/cgroup/a/memory.max", "6291456\n"); /* 6 MB, of which 3 are used; 1 of these can be dropped */
    put("/sys/fs/cgroup/a/memory.current", "3145728\n");
    put("/sys/fs/cgroup/a/memory.stat", "anon 2097152\nfile 1048576\ninactive_file 1048576\n");
    CHECK_INT(4 * MB, memory_available_in(root));
    put("/sys/fs/cgroup/a/memory.current", "7340032\n"); /* beyond: next to nothing is left, which is known */
    CHECK_INT(1, memory_available_in(root));
}

TEST(groups_of_the_first_version_and_of_containers)
{
    start("one", "9:cpu,memory2:/x\n4:memory:/docker/x\n0::/\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5242880\n"); /* the container's own, without its path */
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "2097152\n");
    put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 1048576\n");
    CHECK_INT(4 * MB, memory_available_in(root));
}

TEST_MAIN(T(without_groups_it_is_what_the_system_says), T(the_tightest_group_counts),
          T(groups_of_the_first_version_and_of_containers))
