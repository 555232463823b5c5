/* What can be attached: files, folders, patterns; and what can't. */
#include "tests/check.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/attach/attach.h"
#include "src/attach/kind.h"
#include "src/attach/read.h"

static tdm_error err;

static const char *path(const char *name)
{
    static char room[4][400];
    static int next;
    char *at = room[next++ % 4];
    snprintf(at, 400, "%s/%s", check_tmp(), name);
    return at;
}

static void put(const char *name, const char *bytes, size_t n)
{
    FILE *f = fopen(path(name), "w");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) CHECK_FAIL("%s", name);
}

/* Its text, or what is wrong. */
static const char *found(const char *name)
{
    static char out[2000];
    attach_found f;
    err = (tdm_error){0};
    if (attach_find(&f, name, NULL, NULL, &err)) {
        const char *of = strstr(err.text, check_tmp()) ? err.text + strlen(check_tmp()) + 1 : err.text;
        snprintf(out, sizeof out, "%s", of);
    } else {
        snprintf(out, sizeof out, "%s|%s|%s", f.name, f.left_out, f.text.bytes);
    }
    attach_found_free(&f);
    return out;
}

static void make_folder(void)
{
    static bool made;
    if (made) return;
    made = true;
    mkdir(path("d"), 0700);
    mkdir(path("d/sub"), 0700);
    mkdir(path("d/.hidden"), 0700);
    put("d/b.txt", "two", 3);
    put("d/a.txt", "one", 3);
    put("d/sub/c.txt", "three", 5);
    put("d/.hidden/x", "no", 2);
    put("d/picture", "\211PNG\0\0", 6);
    if (symlink("a.txt", path("d/link"))) CHECK_FAIL("symlink");
    if (mkfifo(path("d/fifo"), 0600)) CHECK_FAIL("mkfifo");
}

TEST(a_file_a_folder_a_pattern)
{
    make_folder();
    CHECK_STR("a.txt||a.txt:\n\none\n\n", found(path("d/a.txt")));
    CHECK_STR("d/ (3)|1 binary file, 1 link, 1 other left out|a.txt:\n\none\n\nb.txt:\n\ntwo\n\nc.txt:\n\nthree\n\n",
              found(path("d")));
    CHECK_STR("d/ (3)|1 binary file, 1 link, 1 other left out|a.txt:\n\none\n\nb.txt:\n\ntwo\n\nc.txt:\n\nthree\n\n",
              found(path("d//")));
    CHECK_STR("*.txt (2)||a.txt:\n\none\n\nb.txt:\n\ntwo\n\n", found(path("d/*.txt")));
    CHECK_STR("d/*.x: no file is called so", found(path("d/*.x")));
    char here[400];
    REQUIRE(getcwd(here, sizeof here) && !chdir(check_tmp()));
    CHECK_STR("d/?.txt (2)||d/a.txt:\n\none\n\nd/b.txt:\n\ntwo\n\n", found("d/?.txt"));
    CHECK_STR("a.txt||d/a.txt:\n\none\n\n", found("d/a.txt"));
    setenv("HOME", check_tmp(), 1);
    CHECK_STR("a.txt||a.txt:\n\none\n\n", found("~/d/a.txt"));
    put("d/[x].md", "odd", 3); /* a name that looks like a pattern is a name */
    CHECK_STR("[x].md||d/[x].md:\n\nodd\n\n", found("d/[x].md"));
    CHECK(!unlink("d/[x].md") && !chdir(here));
}

TEST(what_is_no_text_file_is_refused_in_a_line)
{
    char expected[200];
    make_folder();
    CHECK_STR("d/link: a symbolic link, expected a file", found(path("d/link")));
    CHECK_STR("d/fifo: a named pipe, expected a file", found(path("d/fifo"))); /* and nobody waits for it */
    CHECK_STR("/dev/null: a device, expected a file", found("/dev/null"));
    CHECK_STR("nothing: can't be opened: No such file or directory", found(path("nothing")));
    CHECK_STR("d/picture: binary (zero bytes, or over a tenth no text); expected a text or a picture",
              found(path("d/picture")));
    mkdir(path("empty"), 0700);
    CHECK_STR("empty: expected a text or a picture, found none", found(path("empty")));
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s/s", check_tmp());
    REQUIRE(s >= 0 && !bind(s, (struct sockaddr *)&name, sizeof name));
    CHECK_STR("s: a socket, expected a file", found(path("s")));
    close(s);
    FILE *f = fopen(path("large"), "w");
    REQUIRE(f && !ftruncate(fileno(f), ATTACH_BYTES + 1));
    fclose(f);
    snprintf(expected, sizeof expected, "large: %d bytes, expected at most %d", ATTACH_BYTES + 1, ATTACH_BYTES);
    CHECK_STR(expected, found(path("large")));
}

TEST(more_files_than_may_be)
{
    char name[60], expected[100];
    mkdir(path("many"), 0700);
    for (int i = 0; i <= ATTACH_FILES; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        put(name, "", 0);
    }
    snprintf(expected, sizeof expected, "many: %d files, expected at most %d", ATTACH_FILES + 1, ATTACH_FILES);
    CHECK_STR(expected, found(path("many")));
    CHECK(!unlink(path("many/0")) && !strncmp(found(path("many")), "many/ (1000)|", 13));
}

TEST(names_and_texts_are_harmless)
{
    put("bad\033[31m\377.txt", "x\377y", 3);
    CHECK_STR("bad?[31m?.txt||bad?[31m?.txt:\n\nx\357\277\275y\n\n", found(path("bad\033[31m\377.txt")));
    CHECK(kind_is_text("", 0) && kind_is_text("caf\351 au lait", 11) && !kind_is_text("a\0b", 3));
    CHECK(!kind_is_text("\1\2\3\4\1\2\3\4\1\2\3\4\1\2\3\4\377abc", 20));
    char name[6];
    attach_name(name, sizeof name, "ab\303\274\303\274");
    CHECK_STR("ab\303\274", name);
}

static bool stops(void *ctx)
{
    return --*(int *)ctx < 0;
}

TEST(texts_of_other_systems_are_cleaned)
{
    put("windows", "\357\273\277one\r\ntwo\r\n", 13);
    put("old", "one\rtwo\r", 8);
    CHECK_STR("windows||windows:\n\none\ntwo\n\n\n", found(path("windows")));
    CHECK_STR("old||old:\n\none\ntwo\n\n\n", found(path("old")));
}

TEST(reading_can_be_stopped)
{
    attach_found f;
    int left = 2;
    make_folder();
    CHECK_INT(TDM_E_CANCELLED, attach_find(&f, path("d"), stops, &left, &err));
    attach_found_free(&f);
}

TEST(a_change_on_the_disk_is_seen)
{
    attachments a = {0};
    attachment one;
    char note[100];
    int place;
    put("c.txt", "one", 3);
    REQUIRE(!attach_read(&one, path("c.txt"), NULL, NULL, note, &err) && !attach_add(&a, &one, &place, &err));
    CHECK(!attach_look(&a) && !a.all[0].changed);
    put("c.txt", "longer", 6);
    CHECK(attach_look(&a) && a.all[0].changed && !attach_look(&a));
    REQUIRE(!attach_read(&one, path("c.txt"), NULL, NULL, note, &err) && !attach_add(&a, &one, &place, &err));
    CHECK(a.n == 1 && !attach_look(&a) && !a.all[0].changed);
    CHECK(!unlink(path("c.txt")) && attach_look(&a) && a.all[0].changed);
    attach_clear(&a);
}

TEST_MAIN(T(a_file_a_folder_a_pattern), T(what_is_no_text_file_is_refused_in_a_line), T(more_files_than_may_be),
          T(names_and_texts_are_harmless), T(texts_of_other_systems_are_cleaned), T(reading_can_be_stopped),
          T(a_change_on_the_disk_is_seen))
