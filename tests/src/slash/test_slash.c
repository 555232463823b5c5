/* Slash commands taken apart; the options of /set: of a conversation and of the screen, from the configuration file, by
 * completion. */
#include "tests/check.h"

#include "src/slash/commands.h"

TEST(commands_are_taken_apart)
{
    slash_call call;
    bool command;
    tdm_error err;
    REQUIRE(!slashes_parse(&call, &command, "/edit 3", false, &err));
    CHECK(command && call.id == SLASH_EDIT && call.number == 3);
    slashes_free(&call);
    REQUIRE(!slashes_parse(&call, &command, "/load my garden ", false, &err));
    CHECK_INT(SLASH_RESUME, call.id);
    CHECK_STR("my garden", call.argument);
    slashes_free(&call);
    CHECK(!slashes_parse(&call, &command, "/etc/hosts says", false, &err) && !command);
    CHECK(!slashes_parse(&call, &command, "/help", true, &err) && !command);
    CHECK_INT(TDM_E_NOT_FOUND, slashes_parse(&call, &command, "/hepl", false, &err));
    CHECK_STR("unknown command /hepl; did you mean /help?", err.text);
    CHECK_INT(TDM_E_ARG, slashes_parse(&call, &command, "/edit x", false, &err));
    CHECK_INT(TDM_E_ARG, slashes_parse(&call, &command, "/speculation most", false, &err));
    CHECK_INT(TDM_E_ARG, slashes_parse(&call, &command, "/export", false, &err));
    CHECK_INT(TDM_E_ARG, slashes_parse(&call, &command, "/quit now", false, &err));
    size_t n;
    const char *const *names = slashes_names(&n);
    for (size_t i = 0; i < n; i++) {
        slash_id id = slashes_find(names[i], strlen(names[i]));
        CHECK(i < SLASH_COUNT ? id == i : id < SLASH_COUNT);
    }
}

static int looked;

static void say(void *ctx, const char *text, size_t n)
{
    char *said = ctx;
    snprintf(said + strlen(said), 8000 - strlen(said), "%.*s", (int)n, text);
}

static void look(void *ctx)
{
    (void)ctx;
    looked++;
}

/* /set with that argument in a program without a model; what it says, or the error. */
static const char *set(options *o, bool screen, const char *argument)
{
    static char said[8000];
    static tdm_error err;
    app a;
    commands_result result;
    char copy[200];
    snprintf(copy, sizeof copy, "%s", argument);
    said[0] = 0;
    app_init(&a, o);
    const commands_front front = {.ctx = said, .say = say, .look = screen ? look : NULL};
    const slash_call call = {.id = SLASH_SET, .argument = argument[0] ? copy : NULL};
    tdm_status status = commands_run(&a, &front, &call, &result, &err);
    app_close(&a);
    return status ? err.text : said;
}

TEST(settings_of_the_screen)
{
    options o = {0};
    looked = 0;
    CHECK_STR("follow: auto (auto, top, stream)\n", set(&o, true, "follow"));
    CHECK_STR("follow: top\n", set(&o, true, "follow top"));
    CHECK_INT(1, options_int(&o, OPTION_FOLLOW, 0));
    CHECK_INT(1, looked);
    CHECK_STR("follow: 'down' is not allowed; expected auto, top, stream", set(&o, true, "follow down"));
    CHECK_INT(1, options_int(&o, OPTION_FOLLOW, 0));
    CHECK_STR("motion: off\n", set(&o, true, "motion = off"));
    CHECK_STR("esc-stops: on\n", set(&o, true, "esc-stops on"));
    CHECK_INT(3, looked);
    CHECK_STR("esc-delay: 200\n", set(&o, true, "esc-delay 200"));
    CHECK_STR("esc-delay: '0' is not allowed; expected 1 to 10000", set(&o, true, "esc-delay 0"));
    CHECK_STR("there is no setting 'folow'; did you mean 'follow'?", set(&o, true, "folow top"));
    CHECK_STR("there is no setting 'model'; /set lists them", set(&o, true, "model x"));
    CHECK_STR("follow belongs to the full screen", set(&o, false, "follow top"));
    const char *all = set(&o, true, "");
    for (option_id id = 0; id < OPTION_COUNT; id++)
        if (option_table[id].flags & (LIVE | LOOK) && !strstr(all, option_table[id].name))
            CHECK_FAIL("%s is not listed", option_table[id].name);
    CHECK(!strstr(set(&o, false, ""), "follow"));
    options_free(&o);
}

TEST(they_stand_in_the_configuration_file)
{
    char path[300];
    options o = {0};
    tdm_error err;
    snprintf(path, sizeof path, "%s/config", check_tmp());
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs("follow = stream\ndraft-marks = mark\nmotion = off\nmouse = on\nesc-stops = on\ntheme = light\n", f);
    fclose(f);
    REQUIRE(options_read_file(&o, path, &err));
    CHECK_INT(2, options_int(&o, OPTION_FOLLOW, 0));
    CHECK_INT(1, options_int(&o, OPTION_DRAFT_MARKS, 0));
    CHECK_INT(0, options_int(&o, OPTION_MOTION, 1));
    CHECK_INT(1, options_int(&o, OPTION_MOUSE, 0));
    CHECK(options_flag(&o, OPTION_ESC_STOPS));
    CHECK_INT(FROM_FILE, o.values[OPTION_THEME].origin);
    options_free(&o);
    f = fopen(path, "w");
    REQUIRE(f);
    fputs("draft-marks = some\n", f);
    fclose(f);
    CHECK(!options_read_file(&o, path, &err));
    CHECK(strstr(err.text, "config:1: draft-marks: 'some' is not allowed; expected full, mark, off"));
    options_free(&o);
}

static void check_completion(const char *line, const char *expected)
{
    struct completion c;
    char found[2000] = "";
    complete_line(&commands_completer, line, strlen(line), false, NULL, &c);
    for (size_t i = 0; i < c.count; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "", c.names[i]);
    completion_free(&c);
    CHECK_STR(expected, found);
}

TEST(completion)
{
    check_completion("/set dr", "draft-marks");
    check_completion("/set draft-marks ", "full mark off");
    check_completion("/set width ", "full 20 400");
    check_completion("/set motion ", "off on");
    check_completion("/set esc-stops o", "on off");
    check_completion("/set temp ", "0 100");
    check_completion("/set pause ", "auto 0 60000");
    check_completion("/set speculation h", "history");
    check_completion("/set model ", ""); /* no setting: it has a command of its own */
    check_completion("/set temp 1 ", "");
    check_completion("/zoom ", "in out");
    check_completion("/zoom in ", "");
    check_completion("/help mo", "model monitor mouse");
    check_completion("/copy ", "view");
    check_completion("/detach ", "all");
    check_completion("/detach all ", "");
    check_completion("/theme m", "mono");
    check_completion("/undo ", "");
}

TEST_MAIN(T(commands_are_taken_apart), T(settings_of_the_screen), T(they_stand_in_the_configuration_file),
          T(completion))
