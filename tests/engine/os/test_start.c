/* A program that is started ignores, blocks and inherits nothing of what this one does with signals; and this one
 * undoes what it was started with where that would keep it from working. */
#include "tests/check.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/os/start.h"
#include "engine/os/file.h"

extern char **environ;

static char *const argv[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};

static void be_in_the_way(void)
{
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigaddset(&some, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &some, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGRTMIN + 5, SIG_IGN);
}

/* kept: the standard signals that are still ignored; 0: none is, of all. */
static void check_told(pid_t child, const int ends[2], uint64_t kept)
{
    char text[400];
    size_t n = 0;
    close(ends[1]);
    for (ssize_t got; n < sizeof text - 1 && (got = file_read(ends[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = 0;
    close(ends[0]);
    waitpid(child, NULL, 0);
    /* Two that glibc has a spawned program ignore, and the two that an emulator makes of them. */
    const uint64_t librarys_own = UINT64_C(15) << 31;
    char *blocked = strstr(text, "SigBlk:"), *ignored = strstr(text, "SigIgn:");
    REQUIRE(blocked && ignored);
    CHECK(strtoull(blocked + 7, NULL, 16) == 0);
    /* An emulator has other numbers for those behind the standard ones. */
    const uint64_t found = strtoull(ignored + 7, NULL, 16) & ~librarys_own, standard = (UINT64_C(1) << 31) - 1;
    if (kept ? (found & standard) != kept : found) CHECK_FAIL("ignored: %.16s", ignored + 8);
}

TEST(spawned)
{
    int ends[2];
    pid_t child;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    REQUIRE(!pipe(ends));
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    start_attributes(&attributes, POSIX_SPAWN_SETSID);
    REQUIRE(!posix_spawnp(&child, "grep", &files, &attributes, argv, environ));
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    check_told(child, ends, 0);
}

static void check_forked(void (*start)(void), uint64_t kept)
{
    int ends[2];
    REQUIRE(!pipe(ends));
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        start();
        dup2(ends[1], STDOUT_FILENO);
        execvp("grep", argv);
        _exit(127);
    }
    check_told(child, ends, kept);
}

TEST(forked)
{
    check_forked(start_signals, 0);
}

TEST(started)
{
    const uint64_t one = 1;
    check_forked(start_standard, one << (SIGPIPE - 1) | one << (SIGXFSZ - 1) | one << (SIGINT - 1));
}

int main(int argc, char **arguments)
{
    static const struct check_test tests[] = {T(spawned), T(forked), T(started)};
    be_in_the_way();
    return check_main(argc, arguments, tests, (int)(sizeof tests / sizeof *tests));
}
