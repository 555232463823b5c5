/* Mapped files that another program makes shorter, writes into, or that are many. */
#include "tests/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/model/map.h"
#include "engine/model/mapped.h"

enum { BYTES = 3 * 65536 }; /* more than a page of any machine */

static char path[512];

static bool write_file(size_t bytes, char with)
{
    static char text[BYTES];
    snprintf(path, sizeof path, "%s/file", check_tmp());
    memset(text, with, sizeof text);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool good = fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes;
    if (fd >= 0) close(fd);
    return good;
}

/* So that the time of modification differs, however coarse the file system's clock is. */
static void make_older(void)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    CHECK(!utimensat(AT_FDCWD, path, times, 0));
}

static void hold_line(const char *expected, const tdm_error *err)
{
    char line[700];
    snprintf(line, sizeof line, expected, path);
    CHECK_STR(line, err->text);
    CHECK_INT(TDM_E_IO, err->code);
}

TEST(what_is_copied_of_a_shorter_file_is_an_error)
{
    struct map m;
    tdm_error err = {0};
    static char to[BYTES];
    REQUIRE(write_file(BYTES, 'a') && !map_open(&m, path, &err));
    CHECK(!map_copy(m.data, BYTES, to, &err) && to[0] == 'a' && to[BYTES - 1] == 'a');
    CHECK(!map_check(&m, &err));
    REQUIRE(!truncate(path, 100000));
    CHECK(!map_copy(m.data + 99990, 10, to, &err));
    CHECK(map_copy(m.data + 99990, 11, to, &err));
    hold_line("%s shrank while it was in use: expected 196608 bytes, found 100000", &err);
    CHECK(map_copy(m.data + BYTES - 1, 1, to, &err));
    /* It is whole again, and so is what is read of it. */
    REQUIRE(write_file(BYTES, 'b'));
    CHECK(!map_copy(m.data, BYTES, to, &err) && to[BYTES - 1] == 'b');
    map_close(&m);
}

TEST(a_file_that_lacks_less_than_a_page_is_noticed)
{
    struct map m;
    tdm_error err = {0};
    REQUIRE(write_file(BYTES, 'a') && !map_open(&m, path, &err));
    REQUIRE(!truncate(path, BYTES - 1));
    CHECK_INT(0, m.data[BYTES - 1]); /* nothing else tells */
    CHECK(map_check(&m, &err));
    hold_line("%s shrank while it was in use: expected 196608 bytes, found 196607", &err);
    map_close(&m);
}

TEST(a_file_that_is_written_into_is_noticed)
{
    struct map m;
    tdm_error err = {0};
    REQUIRE(write_file(BYTES, 'a'));
    make_older();
    REQUIRE(!map_open(&m, path, &err));
    CHECK(!map_check(&m, &err));
    REQUIRE(write_file(BYTES, 'b'));
    CHECK(map_check(&m, &err));
    hold_line("%s changed while it was read: another program writes it", &err);
    map_close(&m);
}

TEST(an_address_tells_its_file)
{
    enum { MANY = 100 }; /* more than one block of the list */
    static struct map maps[MANY];
    tdm_error err = {0};
    tdm_mapped found;
    int local = 0;
    REQUIRE(write_file(BYTES, 'a'));
    for (int i = 0; i < MANY; i++) REQUIRE(!map_open(&maps[i], path, &err));
    REQUIRE(!truncate(path, 5));
    for (int i = 0; i < MANY; i++) {
        CHECK(mapped_find(maps[i].data) == maps[i].mapped && mapped_find(maps[i].data + BYTES - 1) == maps[i].mapped);
        CHECK(tdm_mapped_find(maps[i].data + 70000, &found));
        CHECK_STR(path, found.path);
        CHECK(found.bytes == BYTES && found.bytes_now == 5);
    }
    CHECK(!tdm_mapped_find(&local, &found) && !tdm_mapped_find(NULL, &found));
    const uint8_t *was = maps[7].data;
    for (int i = 0; i < MANY; i++) map_close(&maps[i]);
    CHECK(!tdm_mapped_find(was, &found));
}

TEST(names_are_fit_for_a_line)
{
    struct map m;
    tdm_error err = {0};
    char odd[600];
    REQUIRE(write_file(10, 'a'));
    snprintf(odd, sizeof odd, "%s/a\033[31m\n", check_tmp());
    REQUIRE(!rename(path, odd) && !map_open(&m, odd, &err));
    CHECK_STR("/a?[31m?", strrchr(mapped_path(m.mapped), '/'));
    map_close(&m);
}

TEST(empty_files_and_memory_are_not_listed)
{
    struct map m;
    tdm_error err = {0};
    char to[4];
    REQUIRE(write_file(0, 'a') && !map_open(&m, path, &err));
    CHECK(!m.mapped && !m.data && !map_check(&m, &err));
    map_close(&m);
    CHECK(!map_copy("abc", 4, to, &err) && !strcmp(to, "abc"));
}

TEST_MAIN(T(what_is_copied_of_a_shorter_file_is_an_error), T(a_file_that_lacks_less_than_a_page_is_noticed),
          T(a_file_that_is_written_into_is_noticed), T(an_address_tells_its_file), T(names_are_fit_for_a_line),
          T(empty_files_and_memory_are_not_listed))
