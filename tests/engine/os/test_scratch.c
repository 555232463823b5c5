/* Folders of their own for files that other programs are given. */
#include "tests/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/os/scratch.h"

static bool put(const struct scratch *s, const char *name)
{
    char path[PATH_MAX + 40];
    snprintf(path, sizeof path, "%s/%s", s->path, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

TEST(it_goes_with_all_that_lies_in_it)
{
    struct scratch s;
    struct stat st;
    REQUIRE(!scratch_make(&s, check_tmp(), NULL));
    CHECK(!stat(s.path, &st) && (st.st_mode & 0777) == 0700);
    CHECK(put(&s, "draft.md") && put(&s, ".draft.md.swp") && put(&s, "draft.md~"));
    scratch_remove(&s);
    CHECK(stat(s.path, &st) && s.lock < 0);
    scratch_remove(&s); /* there is none any more */
    tdm_error err = {0};
    CHECK_INT(TDM_E_IO, scratch_make(&s, "/no/such/folder", &err));
    CHECK(strstr(err.text, "/no/such/folder: "));
}

/* The folder that a program leaves which is killed. */
static bool leave(const char *folder, struct scratch *out)
{
    int tell[2], status = 0;
    if (pipe(tell)) return false;
    pid_t child = fork();
    if (!child) {
        struct scratch s;
        bool told = !scratch_make(&s, folder, NULL) && put(&s, "draft.md") && put(&s, "draft.md~") &&
                    write(tell[1], &s, sizeof s) == sizeof s;
        raise(told ? SIGKILL : SIGTERM);
    }
    bool told = read(tell[0], out, sizeof *out) == sizeof *out;
    close(tell[0]);
    close(tell[1]);
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && told;
}

TEST(what_was_left_goes_and_what_is_used_stays)
{
    char folder[400], other[500];
    struct scratch held, left;
    struct stat st;
    snprintf(folder, sizeof folder, "%s/swept", check_tmp());
    REQUIRE(!mkdir(folder, 0700) && !scratch_make(&held, folder, NULL) && put(&held, "draft.md"));
    REQUIRE(leave(folder, &left) && !stat(left.path, &st));
    snprintf(other, sizeof other, "%s/tandem-draft-x", folder);
    REQUIRE(!mkdir(other, 0700));
    scratch_sweep(folder);
    CHECK(stat(left.path, &st) && !stat(held.path, &st) && !stat(other, &st));
    /* Another program has inherited it: this one's end doesn't matter. */
    int inherited = dup(held.lock);
    close(held.lock);
    scratch_sweep(folder);
    CHECK(!stat(held.path, &st));
    close(inherited);
    scratch_sweep(folder);
    CHECK(stat(held.path, &st));
    scratch_sweep("/no/such/folder");
}

TEST_MAIN(T(it_goes_with_all_that_lies_in_it), T(what_was_left_goes_and_what_is_used_stays))
