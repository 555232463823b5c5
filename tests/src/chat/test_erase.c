/* A session that is erased is in no file any more: neither its own ones, nor the history of sent messages. */
#include "tests/check.h"

#include <utime.h>

#include "src/files/files.h"
#include "tests/src/chat/app_rig.h"
#include "ui/edit/history.h"

/* As a front end does when a line is entered. */
static void enter(const char *text)
{
    char *path = files_path(FILES_STATE, "history");
    struct history_file *h = history_file_open(path, 0, &err);
    CHECK_INT(TDM_OK, history_file_add(h, text, true, &err));
    history_file_close(h);
    free(path);
}

static const char *entered(void)
{
    static char all[4096];
    char *path = files_path(FILES_STATE, "history");
    struct history_file *h = history_file_open(path, 0, &err);
    all[0] = 0;
    for (size_t i = 0; i < history_file_count(h); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s|", history_file_entry(h, i));
    history_file_close(h);
    free(path);
    return all;
}

static void enter_and_say(app *a, const char *text)
{
    enter(text);
    say(a, text);
}

#define MODEL "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"

TEST(the_open_session_takes_its_words_along)
{
    use_empty_folders("open");
    options o;
    app a;
    bool open;
    REQUIRE(start(&a, &o, MODEL));
    enter("of another session");
    enter_and_say(&a, "What is a wombat?");
    enter_and_say(&a, "  Two lines,\n of a wombat ");
    enter("/system Be a wombat.");
    CHECK_INT(TDM_OK, app_set_system(&a, "Be a wombat.", 12, &err));
    enter("/p explain a wombat?");
    enter("/rename my wombat");
    CHECK_INT(TDM_OK, app_rename(&a, "my wombat", &err));
    enter("/delete my wombat --now");
    enter("/undo");
    CHECK_INT(TDM_OK, app_delete(&a, a.open.slot.id, true, &open, &err));
    CHECK(open);
    CHECK_STR("of another session|/undo|", entered());
    app_close(&a);
    options_free(&o);
}

TEST(so_does_one_that_is_not_open)
{
    use_empty_folders("saved");
    options o;
    app a;
    bool open;
    char id[40];
    REQUIRE(start(&a, &o, MODEL));
    enter_and_say(&a, "What is a wombat?");
    snprintf(id, sizeof id, "%s", a.open.slot.id);
    CHECK_INT(TDM_OK, app_new(&a, NULL, &err));
    enter_and_say(&a, "What is an aardvark?");
    CHECK_INT(TDM_OK, app_delete(&a, id, true, &open, &err));
    CHECK(!open);
    CHECK_STR("What is an aardvark?|", entered());
    CHECK_INT(TDM_OK, app_delete(&a, a.open.slot.id, false, &open, &err)); /* to the trash: it may come back */
    CHECK_STR("What is an aardvark?|", entered());
    app_close(&a);
    options_free(&o);
}

/* A message that came while the last one was answered is a part of the next one. */
TEST(messages_that_became_one_are_known)
{
    use_empty_folders("joined");
    options o;
    app a;
    bool open;
    REQUIRE(start(&a, &o, MODEL));
    enter("one wombat");
    enter("another\nwombat");
    enter("wombat");
    say(&a, "one wombat\nanother\nwombat");
    enter("one wombat more");
    CHECK_INT(TDM_OK, app_delete(&a, a.open.slot.id, true, &open, &err));
    CHECK_STR("one wombat more|", entered());
    app_close(&a);
    options_free(&o);
}

TEST(the_trash_takes_them_along_when_its_time_is_over)
{
    use_empty_folders("trash");
    options o;
    app a;
    bool open;
    char name[80];
    REQUIRE(start(&a, &o, MODEL));
    enter_and_say(&a, "What is a wombat?");
    snprintf(name, sizeof name, "trash/%s.json", a.open.slot.id);
    CHECK_INT(TDM_OK, app_delete(&a, a.open.slot.id, false, &open, &err));
    app_close(&a);
    options_free(&o);
    char *path = files_path(FILES_STATE, name);
    CHECK_INT(0, utime(path, &(struct utimbuf){1, 1}));
    free(path);
    REQUIRE(start(&a, &o, MODEL));
    CHECK_STR("", entered());
    app_close(&a);
    options_free(&o);
}

TEST_MAIN(T(the_open_session_takes_its_words_along), T(so_does_one_that_is_not_open),
          T(messages_that_became_one_are_known), T(the_trash_takes_them_along_when_its_time_is_over))
