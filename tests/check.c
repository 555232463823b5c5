#include "tests/check.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

int check_failures;
const char *check_skipped;

static char tmp_dir[256];

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_tmp(void)
{
    if (tmp_dir[0]) nftw(tmp_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *check_tmp(void)
{
    if (!tmp_dir[0]) {
        const char *folder = getenv("TMPDIR");
        snprintf(tmp_dir, sizeof tmp_dir, "%s/XXXXXX", folder ? folder : "/tmp");
        if (!mkdtemp(tmp_dir)) abort();
        atexit(remove_tmp);
    }
    return tmp_dir;
}

#ifndef __has_feature /* clang's way to tell */
#define __has_feature(name) 0
#endif

bool check_slow(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || __has_feature(address_sanitizer) ||                 \
    __has_feature(thread_sanitizer)
    return true;
#endif
    return getenv("TEST_RUNNER");
}

const char *check_shared(const char *path)
{
    static char full[1024];
    const char *root = getenv("TANDEM_SHARED");
    snprintf(full, sizeof full, "%s/%s", root ? root : "../shared", path);
    if (access(full, R_OK) == 0) return full;
    check_skipped = "needs ../shared";
    return NULL;
}

const char *check_data(const char *path)
{
    static char full[1024];
    snprintf(full, sizeof full, "tests/%s", path);
    return full;
}

static const char *running; /* the test, in the process that runs them */
static pid_t runner;

/* A library may call exit(), or a test return as if it were a program: then no test behind it would have run. */
static void report_early_end(void)
{
    if (running && getpid() == runner) printf("not ok %s: it ended the program\n", running);
}

int check_main(int argc, char **argv, const struct check_test *tests, int n)
{
    int failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    runner = getpid();
    atexit(report_early_end);
    for (int i = 0; i < n; i++) {
        if (argc > 1 && !strstr(tests[i].name, argv[1])) continue;
        check_failures = 0;
        check_skipped = NULL;
        running = tests[i].name;
        tests[i].run();
        if (check_failures) {
            failed++;
            printf("not ok %s\n", tests[i].name);
        } else if (check_skipped) {
            printf("skip %s: %s\n", tests[i].name, check_skipped);
        } else {
            printf("ok %s\n", tests[i].name);
        }
    }
    running = NULL;
    return failed ? 1 : 0;
}
