/* What is attached to the next message: read, counted together, removed. */
#include "tests/check.h"

#include "src/chat/attach.h"

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
    for (int i = 0; i < ATTACH_MOST; i++) {
        char name[20];
        snprintf(name, sizeof name, "%d", i);
        REQUIRE(attach_file(&a, file(name, "x", 1), m, 100000, &place, &err) == TDM_OK);
    }
    CHECK_INT(TDM_E_ARG, attach_file(&a, file("more", "x", 1), m, 100000, &place, &err));
    CHECK_INT(ATTACH_MOST, a.n);
    attach_clear(&a);
    tdm_model_close(m);
}

TEST_MAIN(T(files_stand_one_after_the_other), T(what_does_not_fit_or_is_no_text_changes_nothing))
