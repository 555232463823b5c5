#include "tests/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/atomic_file.h"
#include "engine/base/file.h"

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
    REQUIRE(!atomic_file_new(&f, path, &err));
    atomic_file_share(f);
    CHECK_INT(027, umask(mask));
    REQUIRE(!atomic_file_commit(f, &err));
    struct stat st;
    REQUIRE(!stat(path, &st));
    CHECK_INT(0640, st.st_mode & 0777);
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
          T(a_shared_file_has_the_umask_s_permissions), T(what_cannot_be_written_is_said_with_its_path))
