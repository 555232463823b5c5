/* What is attached to the next message: read, counted together, removed. */
#include "tests/check.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "src/attach/attach.h"

#define SCRIPT "#!/bin/sh\nprintf '\\357\\273\\277one\\r\\ntwo'\n"

static tdm_error err;
static const tdm_model_options tiny = {.path = "tests/goldens/tiny-a"};

static const char *file(const char *name, const char *text, size_t n)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f)) CHECK_FAIL("%s", path);
    return path;
}

static const char *joined(const attachments *a)
{
    static char text[1000];
    if (attach_length(a) >= sizeof text) return "";
    text[attach_join(a, text)] = 0;
    return text;
}

TEST(files_stand_one_after_the_other)
{
    tdm_model *m;
    attachments a = {0};
    int place = -1;
    REQUIRE(tdm_model_open(&m, &tiny, &err) == TDM_OK);
    CHECK_STR("", joined(&a));
    REQUIRE(attach_file(&a, file("one.txt", "first", 5), m, 1000, &place, &err) == TDM_OK);
    CHECK_INT(0, place);
    int tokens = a.all[0].tokens;
    CHECK(tokens > 2 && tokens == attach_tokens(&a));
    REQUIRE(attach_file(&a, file("two.txt", "second \377", 8), m, 1000, &place, &err) == TDM_OK);
    CHECK_INT(1, place);
    CHECK_STR("one.txt", a.all[0].name);
    CHECK_STR("one.txt:\n\nfirst\n\ntwo.txt:\n\nsecond \357\277\275\n\n", joined(&a));
    CHECK_INT(attach_tokens(&a), a.all[0].tokens + a.all[1].tokens);
    /* The same once more doesn't stand there twice. */
    REQUIRE(attach_file(&a, file("one.txt", "changed", 7), m, 1000, &place, &err) == TDM_OK);
    CHECK_INT(0, place);
    CHECK_INT(2, a.n);
    CHECK_STR("one.txt:\n\nchanged\n\ntwo.txt:\n\nsecond \357\277\275\n\n", joined(&a));
    attach_remove(&a, 0);
    CHECK_STR("two.txt:\n\nsecond \357\277\275\n\n", joined(&a));
    CHECK_INT(a.all[0].tokens, attach_tokens(&a));
    attach_clear(&a);
    CHECK_INT(0, a.n);
    CHECK_STR("", joined(&a));
    tdm_model_close(m);
}

TEST(what_does_not_fit_or_is_no_text_changes_nothing)
{
    tdm_model *m;
    attachments a = {0};
    int place = -1;
    char expected[400];
    REQUIRE(tdm_model_open(&m, &tiny, &err) == TDM_OK);
    const char *path = file("one.txt", "first", 5);
    REQUIRE(attach_file(&a, path, m, 1000, &place, &err) == TDM_OK);
    int tokens = a.all[0].tokens;
    attach_clear(&a);
    CHECK_INT(TDM_E_CONTEXT, attach_file(&a, path, m, tokens, &place, &err));
    snprintf(expected, sizeof expected, "%s: %d tokens, but only %d are free", path, tokens, tokens);
    CHECK_STR(expected, err.text);
    REQUIRE(attach_file(&a, path, m, tokens + 1, &place, &err) == TDM_OK);
    REQUIRE(attach_file(&a, path, m, tokens + 1, &place, &err) == TDM_OK); /* in its own place */
    path = file("two.txt", "first", 5);
    CHECK_INT(TDM_E_CONTEXT, attach_file(&a, path, m, 2 * tokens, &place, &err)); /* the first counts */
    snprintf(expected, sizeof expected, "%s: %d tokens, but only %d are free beside what is attached", path, tokens,
             tokens);
    CHECK_STR(expected, err.text);
    CHECK_INT(TDM_E_FORMAT, attach_file(&a, file("zero", "a\0b", 3), m, 1000, &place, &err));
    CHECK(attach_file(&a, "/no/such/file", m, 1000, &place, &err));
    CHECK_INT(1, a.n);
    attach_clear(&a);
    for (int i = 0; i < ATTACH_MAX; i++) {
        char name[20];
        snprintf(name, sizeof name, "%d", i);
        REQUIRE(attach_file(&a, file(name, "x", 1), m, 100000, &place, &err) == TDM_OK);
    }
    CHECK_INT(TDM_E_ARG, attach_file(&a, file("more", "x", 1), m, 100000, &place, &err));
    CHECK_INT(ATTACH_MAX, a.n);
    attach_clear(&a);
    tdm_model_close(m);
}

/* As that of a file: a clipboard of another system has other line ends. */
TEST(text_of_the_clipboard_is_cleaned)
{
    tdm_model *m;
    attachments a = {0};
    char *before = strdup(getenv("PATH")), *path;
    const char *program = file("wl-paste", SCRIPT, sizeof SCRIPT - 1);
    REQUIRE(tdm_model_open(&m, &tiny, &err) == TDM_OK && !chmod(program, 0700));
    REQUIRE(asprintf(&path, "%s:%s", check_tmp(), before) > 0);
    setenv("PATH", path, 1);
    setenv("WAYLAND_DISPLAY", "wayland-0", 1);
    CHECK_INT(TDM_OK, attach_clipboard(&a, m, 1000, &err));
    CHECK_STR("clipboard:\n\none\ntwo\n\n", joined(&a));
    setenv("PATH", before, 1);
    unsetenv("WAYLAND_DISPLAY");
    attach_clear(&a);
    tdm_model_close(m);
    free(before);
    free(path);
}

TEST_MAIN(T(text_of_the_clipboard_is_cleaned), T(files_stand_one_after_the_other),
          T(what_does_not_fit_or_is_no_text_changes_nothing))
