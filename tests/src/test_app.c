/* The program's conversation without a front end: models for two kinds of units, also after /model; and the state file
 * that is written while nobody does anything. */
#include "tests/check.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/app.h"

static tdm_error err;
static char notice[400];

static bool parse(options *o, const char *line)
{
    static char room[500];
    static char *argv[40];
    int argc = 0;
    snprintf(room, sizeof room, "%s", line);
    for (char *word = strtok(room, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    if (!options_parse(o, argc, argv, &err)) CHECK_FAIL("%s", err.text);
    return !err.code;
}

static void use_empty_folders(const char *name)
{
    static const char *const kinds[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"};
    for (int i = 0; i < 3; i++) {
        char folder[300];
        snprintf(folder, sizeof folder, "%s/%s-%d", check_tmp(), name, i);
        setenv(kinds[i], folder, 1);
    }
}

static bool start(app *a, options *o, const char *line)
{
    load_pair models;
    err = (tdm_error){0};
    if (!parse(o, line)) return false;
    app_init(a, o);
    if (load_pair_open(&models, o, options_text(o, OPTION_MODEL), &(load_how){0}, &err) ||
        app_start(a, &models, notice, &err)) {
        CHECK_FAIL("%s", err.text);
        return false;
    }
    return true;
}

/* Says something and waits for the reply. */
static void say(app *a, const char *text)
{
    int64_t until = clock_ns() + (int64_t)60 * 1000000000;
    bool ended = false;
    if (app_send(a, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    while (!ended && clock_ns() < until) {
        struct pollfd fd = {.fd = tdm_chat_fd(a->chat), .events = POLLIN};
        tdm_event e;
        poll(&fd, 1, 1000);
        while (tdm_chat_next_event(a->chat, &e)) {
            app_event(a, &e, 0);
            ended |= e.kind == TDM_EV_END;
            if (e.kind == TDM_EV_ERROR) CHECK_FAIL("%.*s", (int)e.length, e.text);
        }
    }
    CHECK(ended);
    CHECK_INT(5, a->last.reply_tokens);
    CHECK(tdm_chat_wait_idle(a->chat, 60000));
}

static const char *kernels_of(const tdm_model *m)
{
    tdm_model_info info;
    if (!m) return "";
    tdm_model_describe(m, &info);
    return info.kernels;
}

TEST(units_of_another_kind_survive_a_change_of_model)
{
    use_empty_folders("kinds");
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat --private -m tests/goldens/tiny-a --prefill-kind blas --ignore-eos -n 5"));
    CHECK_STR("blas", kernels_of(a.models.prefill));
    CHECK(strcmp("blas", kernels_of(a.models.model)) != 0);
    say(&a, "One");
    load_pair next;
    REQUIRE(load_pair_open(&next, &o, "tests/goldens/tiny-b", &(load_how){0}, &err) == TDM_OK);
    REQUIRE(app_switch_model(&a, &next, "tests/goldens/tiny-b", &err) == TDM_OK);
    CHECK_STR("blas", kernels_of(a.models.prefill));
    CHECK_STR("tests/goldens/tiny-b", a.model_path);
    CHECK_INT(2, tdm_chat_path(a.chat, NULL, 0));
    say(&a, "Two");
    tdm_unit_info unit;
    tdm_unit_describe(a.machine, TDM_PREFILL_UNIT, &unit);
    CHECK_STR("blas", unit.kind);
    app_close(&a);
    options_free(&o);
}

TEST(a_change_of_model_that_cannot_be_saved_is_one_all_the_same)
{
    options o;
    app a;
    use_empty_folders("unsaved");
    setenv("XDG_STATE_HOME", "/dev/null", 1);
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    load_pair next;
    REQUIRE(load_pair_open(&next, &o, "tests/goldens/tiny-b", &(load_how){0}, &err) == TDM_OK);
    CHECK_INT(TDM_OK, app_switch_model(&a, &next, "tests/goldens/tiny-b", &err));
    CHECK_STR("tests/goldens/tiny-b", a.model_path);
    CHECK(a.unsaved[0]);
    say(&a, "Two");
    app_close(&a);
    options_free(&o);
}

TEST(another_form_for_the_prefill_unit_counts_for_its_model_alone)
{
    use_empty_folders("forms");
    options o;
    app a;
    REQUIRE(start(&a, &o,
                  "tandem chat --private -m tests/goldens/tiny-a --prefill-model tests/goldens/tiny-a --ignore-eos -n 5"));
    CHECK(a.models.prefill && a.models.prefill != a.models.model);
    say(&a, "One");
    load_pair next;
    REQUIRE(load_pair_open(&next, &o, "tests/goldens/tiny-b", &(load_how){0}, &err) == TDM_OK);
    CHECK(next.prefill == NULL);
    REQUIRE(app_switch_model(&a, &next, "tests/goldens/tiny-b", &err) == TDM_OK);
    say(&a, "Two");
    REQUIRE(load_pair_open(&next, &o, "tests/goldens/tiny-a", &(load_how){0}, &err) == TDM_OK);
    CHECK(next.prefill != NULL);
    REQUIRE(app_switch_model(&a, &next, "tests/goldens/tiny-a", &err) == TDM_OK);
    say(&a, "Three");
    app_close(&a);
    options_free(&o);
}

static int steps;

static int on_progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    (void)ctx;
    (void)what;
    (void)done;
    (void)total;
    steps++;
    return 0;
}

/* The full screen loads with a progress of its own and keeps its signal handlers. */
TEST(a_pair_loaded_with_progress_leaves_signals_alone)
{
    options o;
    load_pair pair;
    struct sigaction mine = {.sa_handler = SIG_IGN}, found;
    REQUIRE(parse(&o, "tandem chat -m tests/goldens/tiny-a --decode-kind blas"));
    REQUIRE(!sigaction(SIGINT, &mine, NULL));
    REQUIRE(load_pair_open(&pair, &o, "tests/goldens/tiny-a", &(load_how){.progress = on_progress}, &err) == TDM_OK);
    REQUIRE(!sigaction(SIGINT, NULL, &found));
    CHECK(found.sa_handler == SIG_IGN);
    CHECK(steps > 0);
    CHECK_STR("blas", kernels_of(pair.model));
    CHECK(pair.prefill && strcmp("blas", kernels_of(pair.prefill)) != 0);
    load_pair_close(&pair);
    options_free(&o);
}

TEST(an_idle_program_writes_the_state_at_the_lowest_priority)
{
    use_empty_folders("idle");
    options o;
    app a;
    struct stat st;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    char *path = store_state_path(a.place.id);
    REQUIRE(path);
    CHECK(stat(path, &st) != 0);
    app_idle(&a);
    /* Meanwhile the conversation goes on. */
    say(&a, "Two");
    saver_wait(&a.saver);
    CHECK(a.saver.idle_io);
    REQUIRE(stat(path, &st) == 0);
    CHECK_INT(0600, st.st_mode & 0777);
    CHECK(a.state_old); /* of the first turn */
    off_t first = st.st_size;
    app_idle(&a);
    saver_wait(&a.saver);
    REQUIRE(stat(path, &st) == 0);
    CHECK(st.st_size >= first); /* the thread may have come late and seen both turns */
    app_idle(&a); /* nothing is new */
    CHECK(!a.saver.running);
    app_close(&a);
    options_free(&o);

    /* Resumed, nothing has to be read again but what the next message adds. */
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --resume"));
    CHECK(strstr(notice, "resumed"));
    CHECK(tdm_chat_wait_idle(a.chat, 60000));
    tdm_chat_status now;
    tdm_chat_status_of(a.chat, &now);
    CHECK(now.read == now.target && now.target > 20);
    CHECK(now.ahead < 16); /* the opening of a first user turn, before the session was there */
    app_close(&a);
    options_free(&o);
    free(path);
}

TEST(states_keep_to_their_limit)
{
    use_empty_folders("limit");
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --state-disk 1K"));
    say(&a, "One");
    char *path = store_state_path(a.place.id);
    app_idle(&a);
    saver_wait(&a.saver);
    CHECK(access(path, F_OK) != 0); /* larger than all may be together */
    app_close(&a);
    options_free(&o);
    free(path);
}

TEST_MAIN(T(units_of_another_kind_survive_a_change_of_model),
          T(a_change_of_model_that_cannot_be_saved_is_one_all_the_same),
          T(another_form_for_the_prefill_unit_counts_for_its_model_alone),
          T(a_pair_loaded_with_progress_leaves_signals_alone),
          T(an_idle_program_writes_the_state_at_the_lowest_priority), T(states_keep_to_their_limit))
