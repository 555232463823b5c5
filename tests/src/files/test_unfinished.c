/* The list of folders in which files of the user's are being written. */
#include "tests/check.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/os/atomic_file.h"
#include "src/files/files.h"
#include "src/files/unfinished.h"

static char home[300], folder[320];

static void use(const char *name)
{
    char state[400];
    snprintf(home, sizeof home, "%s/%s", check_tmp(), name);
    snprintf(folder, sizeof folder, "%s/a folder\n", home); /* any name will do */
    snprintf(state, sizeof state, "%s/tandem", home);
    setenv("XDG_STATE_HOME", home, 1);
    CHECK(!mkdir(home, 0700) && !mkdir(state, 0700) && !mkdir(folder, 0700));
}

static const char *in(const char *name)
{
    static char path[2][500];
    static unsigned calls;
    char *out = path[calls++ % 2];
    snprintf(out, sizeof *path, "%s/%s", folder, name);
    return out;
}

static bool there(const char *name)
{
    char *path = files_path(FILES_STATE, name);
    bool is = path && !access(path, F_OK);
    free(path);
    return is;
}

static int files_in(void)
{
    char command[400];
    snprintf(command, sizeof command, "exit $(ls -A '%s' | wc -l)", folder);
    return WEXITSTATUS(system(command));
}

/* A program that is killed while it writes a file there. */
static void leave(const char *name)
{
    int status = 0;
    pid_t child = fork();
    if (!child) {
        struct atomic_file *f;
        unfinished_begin(in(name));
        if (!atomic_file_new(&f, in(name), NULL)) raise(SIGKILL);
        _exit(1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

TEST(a_written_file_is_in_no_list)
{
    use("written");
    CHECK_INT(0, unfinished_replace(in("a.md"), "text", 4, NULL));
    CHECK_INT(1, files_in());
    CHECK(!there("unfinished"));
    tdm_error err = {0};
    CHECK_INT(TDM_E_IO, unfinished_replace("/no/such/folder/a.md", "text", 4, &err));
    CHECK(!there("unfinished"));
}

TEST(a_start_sweeps_what_a_kill_left)
{
    use("left");
    leave("a.md");
    CHECK_INT(1, files_in());
    CHECK(there("unfinished"));
    int list = unfinished_begin(in("b.md")); /* it is not left: a program writes there */
    struct atomic_file *f;
    REQUIRE(!atomic_file_new(&f, in("b.md"), NULL));
    CHECK_INT(1, files_in()); /* which takes along what is left */
    files_sweep();
    CHECK(there("unfinished"));
    CHECK_INT(0, atomic_file_commit(f, NULL));
    unfinished_end(list);
    CHECK(!there("unfinished"));
    leave("c.md");
    files_sweep();
    CHECK_INT(1, files_in());
    CHECK(!there("unfinished"));
}

TEST(links_lead_to_the_folder_that_is_meant)
{
    char link[500];
    use("links");
    snprintf(link, sizeof link, "%s/link.md", home);
    REQUIRE(!symlink(in("a.md"), link) && !atomic_file_put(in("a.md"), "old", 3, NULL));
    int status = 0;
    pid_t child = fork();
    if (!child) {
        struct atomic_file *f;
        unfinished_begin(link);
        if (!atomic_file_new(&f, link, NULL)) raise(SIGKILL);
        _exit(1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK_INT(2, files_in());
    files_sweep();
    CHECK_INT(1, files_in());
}

TEST(without_a_state_folder_there_is_no_list)
{
    char nowhere[400];
    use("nowhere");
    snprintf(nowhere, sizeof nowhere, "%s/none", home);
    setenv("XDG_STATE_HOME", nowhere, 1);
    CHECK_INT(0, unfinished_replace(in("a.md"), "text", 4, NULL));
    CHECK(access(nowhere, F_OK));
}

TEST_MAIN(T(a_written_file_is_in_no_list), T(a_start_sweeps_what_a_kill_left),
          T(links_lead_to_the_folder_that_is_meant), T(without_a_state_folder_there_is_no_list))
