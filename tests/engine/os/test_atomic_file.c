/* Files that are replaced: what a path leads to stays what it is, and what a killed program left goes. */
#include "engine/os/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static char folder[300];

/* A path in a folder of the test's own; up to four at a time. */
static const char *in(const char *name)
{
    static char paths[4][600];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void use_folder(const char *name)
{
    snprintf(folder, sizeof folder, "%s/%s", check_tmp(), name);
    mkdir(folder, 0700);
}

static const char *contents(const char *path)
{
    static char text[100];
    memset(text, 0, sizeof text);
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    bool good = fread(text, 1, sizeof text - 1, f) > 0 || !ferror(f);
    fclose(f);
    return good ? text : NULL;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) ? 0 : st.st_mode;
}

static bool there(const char *path)
{
    return mode_of(path) != 0;
}

TEST(a_file_of_the_users_keeps_its_mode)
{
    use_folder("mode");
    tdm_error err = {0};
    static const unsigned modes[] = {0644, 0600, 0664, 0755, 0400};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        REQUIRE(!atomic_file_put(in("a"), "old", 3, &err));
        REQUIRE(!chmod(in("a"), modes[i]));
        CHECK_INT(0, atomic_file_replace(in("a"), "new", 3, &err));
        CHECK_STR("new", contents(in("a")));
        CHECK_INT(modes[i], mode_of(in("a")) & 07777);
    }
    CHECK_INT(0, atomic_file_replace(in("fresh"), "x", 1, &err));
    CHECK_INT(0600, mode_of(in("fresh")) & 07777);
}

TEST(links_stay_links)
{
    use_folder("links");
    tdm_error err = {0};
    REQUIRE(!mkdir(in("real"), 0700));
    REQUIRE(!atomic_file_put(in("real/target"), "old", 3, &err));
    REQUIRE(!symlink("real/target", in("link")) && !symlink("link", in("second")));
    REQUIRE(!symlink("real/new", in("dangling")) && !symlink("turn", in("turn")));
    CHECK_INT(0, atomic_file_replace(in("second"), "new", 3, &err));
    CHECK(S_ISLNK(mode_of(in("link"))) && S_ISLNK(mode_of(in("second"))));
    CHECK_STR("new", contents(in("real/target")));
    CHECK_INT(0, atomic_file_replace(in("dangling"), "x", 1, &err));
    CHECK(S_ISLNK(mode_of(in("dangling"))));
    CHECK_STR("x", contents(in("real/new")));
    CHECK_INT(TDM_E_IO, atomic_file_replace(in("turn"), "x", 1, &err));
    CHECK(S_ISLNK(mode_of(in("turn"))));
}

TEST(devices_and_fifos_stay)
{
    use_folder("devices");
    tdm_error err = {0};
    char got[8] = "";
    REQUIRE(!mkfifo(in("fifo"), 0600));
    CHECK_INT(TDM_E_IO, atomic_file_replace(in("fifo"), "x", 1, &err));
    CHECK(strstr(err.text, "nobody reads it"));
    int fd = open(in("fifo"), O_RDONLY | O_NONBLOCK);
    REQUIRE(fd >= 0);
    CHECK_INT(0, atomic_file_replace(in("fifo"), "abc", 3, &err));
    CHECK_INT(3, read(fd, got, sizeof got));
    close(fd);
    CHECK(S_ISFIFO(mode_of(in("fifo"))));
    CHECK_INT(TDM_E_IO, atomic_file_put(in("fifo"), "x", 1, &err));
    CHECK(strstr(err.text, "expected a regular file, found a FIFO"));
    CHECK(S_ISFIFO(mode_of(in("fifo"))));
    unsigned null = mode_of("/dev/null");
    CHECK_INT(0, atomic_file_replace("/dev/null", "abc", 3, &err));
    CHECK_INT(null, mode_of("/dev/null"));
    CHECK_INT(TDM_E_IO, atomic_file_replace(folder, "abc", 3, &err));
    CHECK(strstr(err.text, "found a folder"));
}

TEST(names_may_be_as_long_as_names_can_be)
{
    use_folder("long");
    tdm_error err = {0};
    char name[256] = "";
    for (int i = 0; i < 127; i++) strcat(name, "\xc3\xa9");
    strcat(name, "x"); /* 255 bytes */
    CHECK_INT(0, atomic_file_put(in(name), "x", 1, &err));
    CHECK_STR("x", contents(in(name)));
}

/* The file that a program leaves which is killed while it writes it. */
static void leave(const char *path)
{
    pid_t child = fork();
    if (!child) {
        struct atomic_file *f;
        if (!atomic_file_new(&f, path, NULL)) raise(SIGKILL);
        _exit(1);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

TEST(what_was_left_goes_and_what_is_written_stays)
{
    use_folder("left");
    tdm_error err = {0};
    struct atomic_file *f;
    REQUIRE(!atomic_file_put(in("kept"), "x", 1, &err));
    REQUIRE(!atomic_file_put(in("a.tandem-backup"), "x", 1, &err));
    REQUIRE(!atomic_file_put(in("a.tandem-new-ABCDEFGH"), "x", 1, &err)); /* such letters the program doesn't use */
    REQUIRE(!mkdir(in("b.tandem-new-01234567"), 0700));
    REQUIRE(!symlink("kept", in("c.tandem-new-01234567")));
    REQUIRE(!atomic_file_new(&f, in("written"), &err));
    REQUIRE(!atomic_file_write(f, "now", 3, &err));
    leave(in("kept"));
    atomic_file_sweep(folder);
    static const char *const stay[] = {"kept", "a.tandem-backup", "a.tandem-new-ABCDEFGH", "b.tandem-new-01234567",
                                       "c.tandem-new-01234567"};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        if (!there(in(stay[i]))) CHECK_FAIL("%s is gone", stay[i]);
    CHECK_INT(0, atomic_file_commit(f, &err));
    CHECK_STR("now", contents(in("written")));
    char command[400];
    snprintf(command, sizeof command, "test $(ls -A '%s' | wc -l) = 6", folder);
    CHECK_INT(0, system(command));
    atomic_file_sweep(in("no such folder"));
}

static int files(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

TEST(the_next_file_takes_what_was_left_along)
{
    use_folder("next");
    tdm_error err = {0};
    struct atomic_file *live;
    leave(in("a"));
    leave(in("b"));
    CHECK_INT(1, files()); /* the second has swept what the first left */
    REQUIRE(!atomic_file_new(&live, in("live"), &err));
    CHECK_INT(1, files());
    REQUIRE(!symlink("kept", in("link")));
    CHECK_INT(0, atomic_file_replace(in("link"), "x", 1, &err));
    leave(in("link"));
    CHECK_INT(4, files()); /* what is written is left alone */
    CHECK_INT(0, atomic_file_put(in("c"), "x", 1, &err));
    CHECK_INT(4, files());
    CHECK_INT(0, atomic_file_commit(live, &err));
    CHECK(there(in("live")) && there(in("c")) && there(in("link")) && there(in("kept")));
}

TEST_MAIN(T(a_file_of_the_users_keeps_its_mode), T(links_stay_links), T(devices_and_fifos_stay),
          T(names_may_be_as_long_as_names_can_be), T(what_was_left_goes_and_what_is_written_stays),
          T(the_next_file_takes_what_was_left_along))
