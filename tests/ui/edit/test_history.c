#include "tests/check.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/edit/history.h"

static const char *path_of(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    return path;
}

static void write_file(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fwrite(data, 1, n, f);
    fclose(f);
}

static const char *read_file(const char *path)
{
    static char data[65536];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(data, 1, sizeof data - 1, f) : 0;
    if (f) fclose(f);
    data[n] = 0;
    return data;
}

static void check_entries(const struct history_file *h, const char *expected)
{
    char all[4096] = "";
    for (size_t i = 0; i < history_file_count(h); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s|", history_file_entry(h, i));
    CHECK_STR(expected, all);
}

TEST(entries_come_back_whole)
{
    const char *path = path_of("new/folders/history");
    tdm_error err;
    struct history_file *h = history_file_open(path, 0, &err);
    CHECK_INT(TDM_OK, err.code);
    CHECK_INT(TDM_OK, history_file_add(h, "one", true, NULL));
    CHECK_INT(TDM_OK, history_file_add(h, "two\nlines \\n and a tab\t\033[0m", true, NULL));
    CHECK_INT(TDM_OK, history_file_add(h, " \n", true, NULL));
    CHECK_INT(TDM_OK, history_file_add(h, "\303\244", true, NULL));
    CHECK_INT(TDM_OK, history_file_add(h, "\303\244", true, NULL));
    history_file_close(h);
    CHECK_STR("one\ntwo\\nlines \\\\n and a tab\\x09\\x1b[0m\n\303\244\n", read_file(path));
    h = history_file_open(path, 0, NULL);
    check_entries(h, "one|two\nlines \\n and a tab\t\033[0m|\303\244|");
    history_file_close(h);
    struct stat st;
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(stat(path_of("new"), &st) == 0 && (st.st_mode & 0777) == 0700);
}

TEST(programs_share_it)
{
    const char *path = path_of("shared");
    struct history_file *a = history_file_open(path, 0, NULL), *b = history_file_open(path, 0, NULL);
    history_file_add(a, "a1", true, NULL);
    history_file_add(b, "b1", true, NULL);
    history_file_add(a, "private", false, NULL);
    history_file_add(a, "a2", true, NULL);
    check_entries(a, "a1|private|b1|a2|");
    check_entries(b, "a1|b1|");
    unsigned long generation = history_file_generation(b);
    history_file_refresh(b);
    check_entries(b, "a1|b1|a2|");
    CHECK(generation == history_file_generation(b));
    history_file_close(a);
    history_file_close(b);
    CHECK_STR("a1\nb1\na2\n", read_file(path));
}

TEST(many_writers_lose_nothing)
{
    const char *path = path_of("many");
    for (int p = 0; p < 4; p++) {
        if (fork()) continue;
        struct history_file *h = history_file_open(path, 0, NULL);
        char text[32];
        for (int i = 0; i < 100; i++) {
            snprintf(text, sizeof text, "p%d i%d", p, i);
            history_file_add(h, text, true, NULL);
        }
        history_file_close(h);
        _exit(0);
    }
    while (wait(NULL) > 0) {}
    struct history_file *h = history_file_open(path, 0, NULL);
    CHECK_INT(400, history_file_count(h));
    history_file_close(h);
}

TEST(it_stays_bounded)
{
    const char *path = path_of("bounded");
    struct history_file *h = history_file_open(path, 20, NULL), *other = history_file_open(path, 20, NULL);
    char text[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "entry %d", i);
        history_file_add(h, text, true, NULL);
    }
    CHECK(history_file_count(h) <= 25);
    CHECK_STR("entry 999", history_file_entry(h, history_file_count(h) - 1));
    unsigned long generation = history_file_generation(other);
    history_file_refresh(other);
    CHECK(generation != history_file_generation(other));
    CHECK_STR("entry 999", history_file_entry(other, history_file_count(other) - 1));
    CHECK(history_file_count(other) <= 25);
    CHECK(strlen(read_file(path)) < 26 * 10);
    history_file_close(h);
    history_file_close(other);
}

TEST(damage_is_harmless)
{
    static const char damaged[] =
        "good\nstray \\q escape\n\\x0\n\\x00\n\\\nnot \377 utf-8\nctrl \001 here\n\n   \nalso good\ncut sho";
    const char *path = path_of("damaged");
    write_file(path, damaged, sizeof damaged - 1);
    struct history_file *h = history_file_open(path, 0, NULL);
    check_entries(h, "good|also good|");
    history_file_add(h, "new", true, NULL);
    check_entries(h, "good|also good|cut sho|new|");
    history_file_close(h);
    h = history_file_open(path, 0, NULL);
    check_entries(h, "good|also good|cut sho|new|");
    write_file(path, "other\n", 6); /* replaced under our feet */
    history_file_refresh(h);
    check_entries(h, "other|");
    unlink(path);
    history_file_add(h, "again", true, NULL);
    CHECK_STR("again\n", read_file(path));
    history_file_close(h);
    char zeros[1000] = {0};
    write_file(path, zeros, sizeof zeros);
    h = history_file_open(path, 0, NULL);
    CHECK_INT(0, history_file_count(h));
    history_file_close(h);
}

TEST(a_byte_order_mark_is_no_part_of_the_first_entry)
{
    const char *path = path_of("marked");
    write_file(path, "\357\273\277one\n\357\273\277two\n", 14);
    struct history_file *h = history_file_open(path, 0, NULL);
    check_entries(h, "one|\357\273\277two|");
    history_file_add(h, "three", true, NULL);
    check_entries(h, "one|\357\273\277two|three|");
    history_file_close(h);
    h = history_file_open(path, 0, NULL);
    check_entries(h, "one|\357\273\277two|three|");
    history_file_close(h);
}

/* But it is of an entry that has one and gets to the beginning of the file. */
TEST(an_entry_keeps_a_byte_order_mark_of_its_own)
{
    const char *path = path_of("own-mark");
    struct history_file *h = history_file_open(path, 0, NULL);
    history_file_add(h, "\357\273\277one", true, NULL);
    check_entries(h, "\357\273\277one|");
    history_file_close(h);
    h = history_file_open(path, 0, NULL);
    check_entries(h, "\357\273\277one|");
    history_file_close(h);
}

TEST(without_a_file_it_works_in_memory)
{
    tdm_error err;
    struct history_file *h = history_file_open("/dev/null/x", 0, &err);
    CHECK_INT(TDM_E_IO, err.code);
    CHECK_INT(TDM_OK, history_file_add(h, "a", true, NULL));
    check_entries(h, "a|");
    history_file_close(h);
    history_file_close(history_file_open(path_of("looked/at"), 0, &err));
    CHECK_INT(TDM_OK, err.code);
    CHECK(access(path_of("looked"), F_OK)); /* the first entry makes it */
    h = history_file_open("/dev/null", 0, &err); /* a common way to have no history */
    CHECK_INT(TDM_OK, history_file_add(h, "a", true, NULL));
    check_entries(h, "a|");
    history_file_close(h);
    h = history_file_open(NULL, 0, &err);
    CHECK_INT(TDM_OK, err.code);
    history_file_add(h, "a", true, NULL);
    history_file_refresh(h);
    check_entries(h, "a|");
    history_file_close(h);
}

static bool is_secret(void *ctx, const char *text)
{
    ++*(int *)ctx;
    return strstr(text, "secret");
}

TEST(what_is_erased_is_gone_everywhere)
{
    const char *path = path_of("erased");
    tdm_error err;
    struct history_file *h = history_file_open(path, 0, &err), *other = history_file_open(path, 0, &err);
    static const char *const texts[] = {"one", "a secret", "two", "secret\nlines", "three"};
    for (int i = 0; i < 5; i++) CHECK_INT(TDM_OK, history_file_add(h, texts[i], true, NULL));
    history_file_refresh(other);
    CHECK_INT(5, history_file_count(other));
    unsigned long before = history_file_generation(other);
    FILE *f = fopen(path, "a");
    REQUIRE(f);
    fputs("a broken secr\\", f); /* the end of a write that was cut short */
    fclose(f);
    int asked = 0;
    CHECK_INT(TDM_OK, history_file_erase(path, is_secret, &asked, &err));
    CHECK_INT(5, asked);
    CHECK_STR("one\ntwo\nthree\n", read_file(path));
    history_file_refresh(other);
    check_entries(other, "one|two|three|");
    CHECK(history_file_generation(other) != before);
    history_file_add(h, "four", true, NULL);
    CHECK_STR("one\ntwo\nthree\nfour\n", read_file(path));
    history_file_close(h);
    history_file_close(other);
    CHECK_INT(TDM_OK, history_file_erase(path_of("no/such"), is_secret, &asked, &err));
    CHECK(access(path_of("no"), F_OK));
    CHECK_INT(TDM_OK, history_file_erase("/dev/null", is_secret, &asked, &err));
    CHECK_INT(5, asked);
}

TEST(a_link_stays_a_link)
{
    char link_path[320];
    const char *path = path_of("linked");
    snprintf(link_path, sizeof link_path, "%s.link", path);
    write_file(path, "", 0);
    REQUIRE(symlink(path, link_path) == 0);
    struct history_file *h = history_file_open(link_path, 5, NULL);
    char text[16];
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof text, "%d", i);
        history_file_add(h, text, true, NULL);
    }
    history_file_close(h);
    struct stat st;
    CHECK(lstat(link_path, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(strstr(read_file(path), "49\n"));
}

TEST(what_is_no_file_is_not_waited_for)
{
    tdm_error err;
    REQUIRE(!mkfifo(path_of("fifo"), 0600));
    struct history_file *h = history_file_open(path_of("fifo"), 0, &err);
    CHECK_INT(TDM_E_IO, err.code);
    CHECK(strstr(err.text, "/fifo: expected a regular file, found a FIFO"));
    CHECK_INT(TDM_OK, history_file_add(h, "a", true, &err));
    check_entries(h, "a|");
    history_file_close(h);
    REQUIRE(!symlink("/dev/null", path_of("none")));
    h = history_file_open(path_of("none"), 0, &err);
    CHECK_INT(TDM_OK, err.code); /* it is meant to be forgotten */
    CHECK_INT(TDM_OK, history_file_add(h, "b", true, &err));
    check_entries(h, "b|");
    history_file_close(h);
}

TEST_MAIN(T(entries_come_back_whole), T(programs_share_it), T(many_writers_lose_nothing), T(it_stays_bounded),
          T(damage_is_harmless), T(a_byte_order_mark_is_no_part_of_the_first_entry),
          T(an_entry_keeps_a_byte_order_mark_of_its_own), T(without_a_file_it_works_in_memory),
          T(what_is_erased_is_gone_everywhere), T(a_link_stays_a_link), T(what_is_no_file_is_not_waited_for))
