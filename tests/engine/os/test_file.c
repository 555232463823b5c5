#include "tests/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/os/atomic_file.h"
#include "engine/os/file.h"

static const char *below(const char *name)
{
    static char path[512];
    static const char *folder;
    if (!folder) folder = check_tmp();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static long size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : (long)st.st_size;
}

TEST(folders_are_made_with_those_above)
{
    tdm_error err = {0};
    CHECK_INT(TDM_OK, file_make_folders(below("a//b/c/"), 0700, &err));
    CHECK_INT(TDM_OK, file_make_folders(below("a/b"), 0700, &err));
    struct stat st;
    REQUIRE(!stat(below("a/b/c"), &st));
    CHECK(S_ISDIR(st.st_mode));
    CHECK_INT(0700, st.st_mode & 0777);
    CHECK_INT(TDM_OK, atomic_file_put(below("a/file"), "x", 1, &err));
    CHECK_INT(TDM_E_IO, file_make_folders(below("a/file/b"), 0700, &err));
    CHECK(strstr(err.text, "the folder can't be made: Not a directory"));
}

TEST(a_file_is_there_whole_or_not_at_all)
{
    tdm_error err = {0};
    const char *path = below("whole");
    struct atomic_file *f;
    REQUIRE(!atomic_file_put(path, "old", 3, &err));
    REQUIRE(!atomic_file_new(&f, path, &err));
    REQUIRE(!atomic_file_write(f, "longer", 6, &err));
    CHECK_INT(6, (int)atomic_file_written(f));
    CHECK_INT(3, size_of(path));
    struct stat fresh, st;
    REQUIRE(!fstat(atomic_file_descriptor(f), &fresh));
    REQUIRE(!atomic_file_commit(f, &err));
    REQUIRE(!stat(path, &st));
    CHECK_INT(6, (int)st.st_size);
    CHECK(st.st_ino == fresh.st_ino);
    CHECK_INT(0600, st.st_mode & 0777);

    REQUIRE(!atomic_file_new(&f, path, &err));
    REQUIRE(!atomic_file_write(f, "x", 1, &err));
    atomic_file_abort(f);
    CHECK_INT(6, size_of(path));
}

TEST(a_shared_file_has_the_umask_s_permissions)
{
    tdm_error err = {0};
    const char *path = below("shared");
    struct atomic_file *f;
    mode_t mask = umask(027);
    REQUIRE(!atomic_file_new_shared(&f, path, &err));
    CHECK_INT(027, umask(mask));
    REQUIRE(!atomic_file_commit(f, &err));
    struct stat st;
    REQUIRE(!stat(path, &st));
    CHECK_INT(0640, st.st_mode & 0777);
}

TEST(a_file_of_the_user_s_keeps_its_mode_and_its_links)
{
    tdm_error err = {0};
    struct stat st;
    char target[512];
    snprintf(target, sizeof target, "%s", below("mine"));
    REQUIRE(!atomic_file_put(target, "old", 3, &err) && !chmod(target, 0644));
    REQUIRE(!symlink("mine", below("link")));
    CHECK_INT(TDM_OK, atomic_file_replace(below("link"), "longer", 6, &err));
    REQUIRE(!lstat(below("link"), &st));
    CHECK(S_ISLNK(st.st_mode));
    CHECK_INT(6, size_of(target));
    REQUIRE(!stat(target, &st));
    CHECK_INT(0644, st.st_mode & 0777);
    REQUIRE(!mkfifo(below("fifo"), 0600));
    CHECK_INT(TDM_E_IO, atomic_file_replace(below("fifo"), "x", 1, &err));
    CHECK(strstr(err.text, "/fifo: nobody reads it"));
    int fd;
    CHECK_INT(TDM_E_IO, file_open(below("fifo"), &fd, &err));
    CHECK(strstr(err.text, "expected a regular file, found a FIFO"));
    CHECK_INT(TDM_E_IO, file_create(below("fifo"), 0600, &fd, &err));
    CHECK(strstr(err.text, "/fifo: nobody reads it"));
    CHECK_INT(TDM_E_IO, file_open("/dev/zero", &fd, &err));
    CHECK(strstr(err.text, "/dev/zero: expected a regular file, found a device"));
    CHECK_INT(TDM_OK, file_open("/dev/null", &fd, &err)); /* empty on purpose */
    close(fd);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int served = socket(AF_UNIX, SOCK_STREAM, 0), here = open(".", O_RDONLY | O_DIRECTORY);
    REQUIRE(here >= 0 && !chdir(check_tmp())); /* the address has no room for the folder's name */
    CHECK_INT(0, bind(served, (struct sockaddr *)&address, sizeof address));
    REQUIRE(!fchdir(here));
    CHECK_INT(TDM_E_IO, file_open(below("socket"), &fd, &err));
    CHECK(strstr(err.text, "/socket: expected a regular file, found a socket"));
    CHECK_INT(TDM_E_IO, file_create(below("socket"), 0600, &fd, &err));
    CHECK(strstr(err.text, "/socket: expected a regular file, found a socket"));
    close(served), close(here);
    CHECK_INT(TDM_OK, file_create(below("made"), 0640, &fd, &err));
    CHECK(!(fcntl(fd, F_GETFL) & O_NONBLOCK) && file_write_all(fd, "x", 1));
    close(fd);
    CHECK_INT(1, size_of(below("made")));
    CHECK_INT(TDM_OK, atomic_file_replace("/dev/null", "x", 1, &err));
    CHECK(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
}

TEST(what_a_killed_program_left_is_swept)
{
    tdm_error err = {0};
    char left[512];
    struct atomic_file *f;
    snprintf(left, sizeof left, "%s", below("x.tandem-new-01234567"));
    REQUIRE(!atomic_file_put(left, "half", 4, &err) && !atomic_file_put(below("x.backup"), "x", 1, &err));
    REQUIRE(!atomic_file_new(&f, below("live"), &err) && !atomic_file_write(f, "x", 1, &err));
    atomic_file_sweep(check_tmp());
    CHECK_INT(-1, size_of(left));
    CHECK_INT(1, size_of(below("x.backup")));
    CHECK_INT(TDM_OK, atomic_file_commit(f, &err)); /* its temporary file was not taken */
    CHECK_INT(1, size_of(below("live")));
}

TEST(what_cannot_be_written_is_said_with_its_path)
{
    tdm_error err = {0};
    CHECK_INT(TDM_E_IO, atomic_file_put("/nonexistent/x", "x", 1, &err));
    CHECK_STR("/nonexistent/x: can't be written: No such file or directory", err.text);
    CHECK(!file_write_all(-1, "x", 1));
    CHECK(file_write_all(-1, "", 0));
}

TEST_MAIN(T(folders_are_made_with_those_above), T(a_file_is_there_whole_or_not_at_all),
          T(a_shared_file_has_the_umask_s_permissions), T(a_file_of_the_user_s_keeps_its_mode_and_its_links),
          T(what_a_killed_program_left_is_swept), T(what_cannot_be_written_is_said_with_its_path))
