/* The words of a draft that name files, and the attachments that come and go with them. */
#include "tests/check.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/attach/mentions.h"

static tdm_error err;
static mentions m;
static attachments a;
static attach_job *job;
static int ends[2];

static void put(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) CHECK_FAIL("%s", name);
}

/* Takes what was asked for, as a front end does. */
static void settle(void)
{
    attach_result r;
    while (attach_job_busy(job)) {
        struct pollfd fd = {.fd = ends[0], .events = POLLIN};
        char byte;
        if (poll(&fd, 1, CHECK_PATIENCE_MS) < 1 || read(ends[0], &byte, 1) < 1) CHECK_FAIL("nothing comes");
        while (attach_job_take(job, &r)) {
            int place;
            if (!r.status && mentions_wants(&m, r.what)) attach_add(&a, &r.one, &place, &err);
            if (r.status) mentions_as_text(&m, r.what, true);
            attach_result_free(&r);
        }
    }
}

/* The names of what is attached once the draft is this one; | is its cursor. */
static const char *named(const char *draft, mentions_state state)
{
    static char out[300];
    char text[300];
    const char *bar = strchr(draft, '|');
    size_t cursor = bar ? (size_t)(bar - draft) : strlen(draft);
    snprintf(text, sizeof text, "%.*s%s", (int)cursor, draft, bar ? bar + 1 : "");
    mentions_follow(&m, &a, job, text, strlen(text), cursor, state);
    settle();
    out[0] = 0;
    for (int i = 0; i < a.n; i++) snprintf(out + strlen(out), sizeof out - strlen(out), "%s,", a.all[i].name);
    return out;
}

static bool begin(void)
{
    if (!job) {
        put("a.md", "a\n");
        put("b c.md", "b\n");
        mkdir("d", 0700);
        put("d/in.md", "in\n");
        put("d/in.md.bak", "bak\n");
    }
    return job || (!pipe(ends) && (job = attach_job_open(ends[1])));
}

TEST(words_come_and_go)
{
    REQUIRE(!chdir(check_tmp()) && begin());
    CHECK_STR("a.md,", named("What does @a.md say?", MENTIONS_OVER));
    CHECK(!mentions_wait(&m, &a) && a.all[0].of_draft && a.all[0].tokens < 0); /* there is no model to count with */
    CHECK_STR("a.md,b c.md,", named("@a.md, @\"b c.md\"", MENTIONS_OVER));
    CHECK_STR("b c.md,", named("@\"b c.md\" and a.md", MENTIONS_OVER));
    CHECK_STR("", named("", MENTIONS_OVER));
    CHECK_STR("a.md,", named("(@a.md).", MENTIONS_OVER));
    CHECK_STR("a.md,", named("@a.md @a.md", MENTIONS_OVER));
    CHECK_STR("", named("@nothing and @a.md.bak", MENTIONS_OVER));
}

TEST(a_word_that_is_being_typed)
{
    REQUIRE(!chdir(check_tmp()) && begin());
    CHECK_STR("", named("@d/in.md|", MENTIONS_TYPING));
    CHECK_STR("in.md,", named("@d/in.md|", MENTIONS_PAUSED));
    CHECK_STR("in.md.bak,", named("@d/in.md.bak|", MENTIONS_PAUSED));
    CHECK_STR("", named("@d|", MENTIONS_PAUSED)); /* it may become a path below it */
    CHECK_STR("d/ (2),", named("@d |", MENTIONS_TYPING));
    CHECK_STR("d/ (2),", named("@d|", MENTIONS_TYPING)); /* what is there stays there */
    CHECK_STR("a.md,", named("|@a.md", MENTIONS_TYPING));
    CHECK_STR("", named("", MENTIONS_OVER));
}

TEST(what_is_taken_back_or_can_not_be_read_is_text)
{
    REQUIRE(!chdir(check_tmp()) && begin());
    CHECK_STR("a.md,", named("@a.md x", MENTIONS_OVER));
    mentions_as_text(&m, "a.md", true);
    attach_remove(&a, 0);
    CHECK_STR("", named("@a.md xy", MENTIONS_OVER));
    CHECK_STR("", named("@a.md| xy", MENTIONS_TYPING));
    CHECK_STR("", named("@a.md xy", MENTIONS_OVER));
    CHECK_STR("", named("xy", MENTIONS_OVER));
    CHECK_STR("a.md,", named("@a.md xy", MENTIONS_OVER)); /* another word */
    CHECK_STR("", named("", MENTIONS_OVER));
    CHECK(!symlink("a.md", "link"));
    CHECK_STR("", named("@link x", MENTIONS_OVER));
    CHECK(!mentions_wait(&m, &a) && !attach_job_busy(job)); /* it isn't tried again and again */
    named("", MENTIONS_OVER);
    mentions_leave(&m, &a, "@a.md", 5);
    CHECK_STR("", named("@a.md", MENTIONS_OVER));
    named("", MENTIONS_OVER);
}

/* What has gone from the disk stays; what a command attached isn't the word's. */
TEST(whose_it_is)
{
    attachment one;
    char note[100];
    int place;
    REQUIRE(!chdir(check_tmp()) && begin());
    put("gone.md", "gone\n");
    CHECK_STR("gone.md,", named("@gone.md x", MENTIONS_OVER));
    CHECK(!unlink("gone.md"));
    CHECK_STR("gone.md,", named("@gone.md xy", MENTIONS_OVER));
    CHECK(attach_look(&a) && a.all[0].changed);
    CHECK_STR("", named("", MENTIONS_OVER));
    REQUIRE(!attach_read(&one, "a.md", NULL, NULL, note, &err) && !attach_add(&a, &one, &place, &err));
    CHECK_STR("a.md,", named("@a.md", MENTIONS_OVER));
    CHECK_STR("a.md,", named("", MENTIONS_OVER));
    attach_clear(&a);
    mentions_free(&m);
    attach_job_close(job);
}

TEST_MAIN(T(words_come_and_go), T(a_word_that_is_being_typed), T(what_is_taken_back_or_can_not_be_read_is_text),
          T(whose_it_is))
