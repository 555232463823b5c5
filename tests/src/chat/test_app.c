/* The program's conversation without a front end: models for two kinds of units, also after /model; and the state file
 * that is written while nobody does anything. */
#include "tests/check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/fnv.h"
#include "src/chat/consent.h"
#include "src/files/agreed.h"
#include "tests/engine/unit/tree.h"
#include "tests/src/chat/app_rig.h"

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
    CHECK_INT(2, tdm_chat_path(a.chat, TDM_FRONT, NULL, 0));
    say(&a, "Two");
    tdm_unit_info unit;
    tdm_unit_describe(a.machine, TDM_PREFILL_UNIT, &unit);
    CHECK_STR("blas", unit.kind);
    app_close(&a);
    options_free(&o);
}

TEST(a_conversation_outlives_its_model)
{
    use_empty_folders("left");
    char name[APP_MODEL_NAME];
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    REQUIRE(!app_send(&a, "Two", 3, clock_ns(), &err));
    CHECK_INT(TDM_E_BUSY, app_leave_model(&a, name, &err));
    CHECK(a.chat && await(&a, TDM_EV_END));
    CHECK_INT(TDM_OK, app_leave_model(&a, name, &err));
    CHECK(!a.chat && !a.models.model && a.left);
    CHECK_STR("tiny-a", name);
    CHECK(!a.info.name && !a.info.notices); /* they were the model's */
    app_keep_draft(&a, "typed without a model");
    load_pair next;
    REQUIRE(load_pair_open(&next, &o, "tests/goldens/tiny-b", &(load_how){0}, &err) == TDM_OK);
    CHECK_INT(TDM_OK, app_switch_model(&a, &next, "tests/goldens/tiny-b", &err));
    CHECK(!a.left);
    CHECK_INT(4, tdm_chat_path(a.chat, TDM_FRONT, NULL, 0));
    say(&a, "Three");
    CHECK_INT(TDM_OK, app_leave_model(&a, name, &err));
    app_close(&a); /* as after a model that could not be loaded */
    options_free(&o);
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --resume"));
    CHECK_INT(6, tdm_chat_path(a.chat, TDM_FRONT, NULL, 0));
    CHECK_STR("typed without a model", a.draft);
    app_close(&a);
    options_free(&o);
}

TEST(a_private_conversation_outlives_its_model_in_memory)
{
    use_empty_folders("left-private");
    char name[APP_MODEL_NAME];
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat --private -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    CHECK_INT(TDM_OK, app_leave_model(&a, name, &err));
    load_pair next;
    REQUIRE(load_pair_open(&next, &o, "tests/goldens/tiny-b", &(load_how){0}, &err) == TDM_OK);
    CHECK_INT(TDM_OK, app_switch_model(&a, &next, "tests/goldens/tiny-b", &err));
    CHECK_INT(2, tdm_chat_path(a.chat, TDM_FRONT, NULL, 0));
    CHECK_INT(-1, a.open.slot.lock);
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
    CHECK(a.open.unsaved[0]);
    say(&a, "Two");
    app_close(&a);
    options_free(&o);
}

TEST(another_form_for_the_prefill_unit_counts_for_its_model_alone)
{
    use_empty_folders("forms");
    options o;
    app a;
    REQUIRE(
        start(&a, &o,
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

static int on_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    (void)ctx;
    (void)step;
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
    char *path = store_state_path(a.open.slot.id);
    REQUIRE(path);
    CHECK(stat(path, &st) != 0);
    app_idle(&a);
    /* Meanwhile the conversation goes on. */
    say(&a, "Two");
    state_writer_wait(&a.state_writer);
    CHECK(a.state_writer.idle_io);
    REQUIRE(stat(path, &st) == 0);
    CHECK_INT(0600, st.st_mode & 0777);
    CHECK(a.open.state_old); /* of the first turn */
    off_t first = st.st_size;
    app_idle(&a);
    state_writer_wait(&a.state_writer);
    REQUIRE(stat(path, &st) == 0);
    CHECK(st.st_size >= first); /* the thread may have come late and seen both turns */
    app_idle(&a); /* nothing is new */
    CHECK(!a.state_writer.task.running);
    app_close(&a);
    options_free(&o);

    /* Resumed, nothing has to be read again but what the next message adds. */
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --resume"));
    CHECK(strstr(notice, "resumed"));
    CHECK(tdm_chat_wait_idle(a.chat, CHECK_PATIENCE_MS));
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
    char *path = store_state_path(a.open.slot.id);
    app_idle(&a);
    state_writer_wait(&a.state_writer);
    CHECK(access(path, F_OK) != 0); /* larger than all may be together */
    app_close(&a);
    options_free(&o);
    free(path);
}

TEST(a_session_is_named_after_words_and_not_after_what_is_attached)
{
    use_empty_folders("named");
    options o;
    app a;
    char path[300];
    int place;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    snprintf(path, sizeof path, "%s/notes.txt", check_tmp());
    FILE *f = fopen(path, "w");
    REQUIRE(f != NULL);
    fputs("wood", f);
    fclose(f);
    REQUIRE(attach_file(&a.attach.files, path, a.models.model, 200, &place, &err) == TDM_OK);
    CHECK_INT(TDM_OK, app_new(&a, NULL, &err)); /* it stays attached */
    CHECK_INT(1, a.attach.files.n);
    say(&a, "What is it?");
    CHECK_INT(0, a.attach.files.n);
    CHECK_STR("What is it?", a.open.name);
    app_close(&a);
    options_free(&o);
}

/* ---- What was attached ------------------------------------------------------------------------------------------ */

static void attach(app *a, const char *name, const char *text)
{
    char path[300];
    int place;
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) CHECK_FAIL("%s", path);
    if (attach_file(&a->attach.files, path, a->models.model, 300, &place, &err)) CHECK_FAIL("%s", err.text);
}

/* What a user message begins with that was attached; "?": it is no message of the user's. */
static const char *attached_to(const app *a, int node)
{
    static char text[400];
    tdm_node n;
    if (tdm_chat_node(a->chat, TDM_FRONT, node, &n, NULL)) return "?";
    snprintf(text, sizeof text, "%.*s", (int)app_attached(a, &n), n.text);
    if (n.role != TDM_USER) strcpy(text, "?");
    tdm_node_free(&n);
    return text;
}

static void check_queued(app *a, const char *words)
{
    char *text = app_unqueue(a);
    CHECK_STR(words, text ? text : "nothing");
    free(text);
}

TEST(a_queued_message_comes_back_as_it_was)
{
    use_empty_folders("queued");
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a -c 1024 --ignore-eos -n 500 --pace 0.001"));
    check_queued(&a, "nothing");
    CHECK(!app_queued(&a));
    CHECK(!app_send(&a, "One", 3, clock_ns(), &err) && !app_queued(&a));
    CHECK(await_held(&a, TDM_EV_TEXT));
    attach(&a, "a.txt", "wood");
    attach(&a, "b.txt", "iron");
    CHECK(!app_send(&a, "What is it?", 11, clock_ns(), &err));
    CHECK_STR("What is it?", app_queued(&a));
    CHECK_INT(0, a.attach.files.n);
    attach(&a, "c.txt", "gold");
    CHECK(!app_send(&a, "And this?", 9, clock_ns(), &err));
    attach(&a, "b.txt", "tin"); /* read anew: once is enough */
    check_queued(&a, "What is it?\nAnd this?");
    CHECK(!app_queued(&a));
    REQUIRE(a.attach.files.n == 3);
    CHECK_STR("a.txt:\n\nwood\n\n", a.attach.files.all[0].text);
    CHECK_STR("c.txt:\n\ngold\n\n", a.attach.files.all[1].text);
    CHECK_STR("b.txt:\n\ntin\n\n", a.attach.files.all[2].text);
    check_queued(&a, "nothing");
    attach_remove(&a.attach.files, 1);
    CHECK(!app_answers(&a, 2, "Which?", 6, clock_ns(), &err));
    CHECK(!app_send(&a, "Say.", 4, clock_ns(), &err));
    CHECK_INT(2, a.open.sent.answers); /* the most that either gets */
    tdm_chat_stop(a.chat, TDM_FRONT);
    CHECK(await(&a, TDM_EV_TURN));
    check_queued(&a, "nothing"); /* it has been sent */
    CHECK_STR("a.txt:\n\nwood\n\nb.txt:\n\ntin\n\n", attached_to(&a, 3));
    CHECK_STR("", attached_to(&a, 1));
    /* What waits when the conversation is left comes back as well. */
    CHECK(await_held(&a, TDM_EV_TEXT));
    attach(&a, "a.txt", "wood");
    CHECK(!app_send(&a, "Lost?", 5, clock_ns(), &err));
    CHECK(!app_new(&a, NULL, &err));
    CHECK_STR("Lost?", app_queued(&a));
    check_queued(&a, "Lost?");
    CHECK_INT(1, a.attach.files.n);
    app_close(&a);
    options_free(&o);
}

TEST(what_was_attached_stays_known)
{
    use_empty_folders("attached");
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a -c 1024 --ignore-eos -n 5 --seed 1"));
    attach(&a, "a.txt", "wood");
    say(&a, "What is it?");
    CHECK_STR("a.txt:\n\nwood\n\n", attached_to(&a, 1));
    say(&a, "And then?");
    CHECK_STR("", attached_to(&a, 3));
    /* Written anew: the file is the same, until it is changed. */
    CHECK(!tdm_chat_edit(a.chat, 1, &err));
    say(&a, "a.txt:\n\nwood\n\nWhat was it?");
    CHECK_STR("a.txt:\n\nwood\n\n", attached_to(&a, 5));
    CHECK(!tdm_chat_edit(a.chat, 5, &err));
    say(&a, "a.txt:\n\nWood\n\nWhat was it?");
    CHECK_STR("", attached_to(&a, 7));
    CHECK(!app_new(&a, NULL, &err));
    say(&a, "Other");
    CHECK_STR("", attached_to(&a, 1));
    CHECK(!app_resume(&a, "What is it?", notice, &err));
    CHECK_STR("a.txt:\n\nwood\n\n", attached_to(&a, 1));
    CHECK_STR("", attached_to(&a, 3));
    CHECK_STR("a.txt:\n\nwood\n\n", attached_to(&a, 5));
    CHECK_STR("?", attached_to(&a, 2));
    app_close(&a);
    options_free(&o);
}

/* ---- Drafts, private turns -------------------------------------------------------------------------------------- */

TEST(a_draft_stays_with_its_session)
{
    use_empty_folders("draft");
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    app_keep_draft(&a, " \n");
    CHECK(!a.draft);
    app_keep_draft(&a, "half a thought");
    app_close(&a);
    options_free(&o);
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --resume"));
    char *draft = app_take_draft(&a);
    CHECK_STR("half a thought", draft);
    free(draft);
    CHECK(!app_take_draft(&a));
    say(&a, "Two"); /* it is saved without */
    app_close(&a);
    options_free(&o);
    REQUIRE(start(&a, &o, "tandem chat --private -m tests/goldens/tiny-a --ignore-eos -n 5 --resume"));
    CHECK(!a.draft);
    app_keep_draft(&a, "secret");
    app_close(&a);
    options_free(&o);
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --resume"));
    CHECK(!a.draft);
    app_close(&a);
    options_free(&o);
}

TEST(a_draft_needs_no_model)
{
    use_empty_folders("early");
    options o;
    app a;
    REQUIRE(parse(&o, "tandem chat -m tests/goldens/tiny-a"));
    app_init(&a, &o);
    app_keep_draft(&a, "before anything was loaded");
    app_close(&a);
    options_free(&o);
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --resume"));
    CHECK_STR("before anything was loaded", a.draft);
    CHECK_INT(0, tdm_chat_nodes(a.chat, TDM_FRONT));
    app_close(&a);
    options_free(&o);
}

/* ---- Looking, and folders that can't be written ------------------------------------------------------------------ */

/* One number for all files of the state folder: names, contents, times of change. */
static uint64_t all_files(void)
{
    char command[400];
    uint64_t sum = FNV_START;
    char piece[4096];
    snprintf(command, sizeof command,
             "cd \"$XDG_STATE_HOME\" && find . -type f ! -name '*.lock' -printf '%%p %%T@ ' -exec cksum {} \\; | sort");
    FILE *f = popen(command, "r");
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f));) sum = fnv_bytes(sum, piece, n);
    return f && !pclose(f) ? sum : 0;
}

static const char looking[] = "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --resume";

TEST(who_only_looks_changes_no_file)
{
    use_empty_folders("looking");
    options o;
    app a;
    for (int drafted = 0; drafted < 2; drafted++) {
        REQUIRE(start(&a, &o, drafted ? looking : "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
        say(&a, "One");
        if (drafted) app_keep_draft(&a, "half a thought");
        app_close(&a);
        options_free(&o);
        uint64_t before = all_files();
        REQUIRE(before && start(&a, &o, looking));
        CHECK(!strncmp(notice, "resumed 'One'", 13));
        app_begin_save(&a);
        char *draft = app_take_draft(&a);
        CHECK(!draft == !drafted);
        if (draft) app_keep_draft(&a, draft);
        free(draft);
        app_close(&a);
        options_free(&o);
        CHECK(all_files() == before);
    }
    REQUIRE(start(&a, &o, looking)); /* and who says something does */
    uint64_t before = all_files();
    say(&a, "Two");
    app_close(&a);
    options_free(&o);
    CHECK(all_files() != before);
}

TEST(a_folder_that_cannot_be_written_is_read)
{
    enum { NOBODY = 65534 };
    use_empty_folders("read-only");
    options o;
    app a;
    char command[300];
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    app_close(&a);
    options_free(&o);
    bool root = geteuid() == 0; /* whom no mode stops */
    REQUIRE(!chmod(check_tmp(), 0755));
    snprintf(command, sizeof command, "%s chmod -R a-w \"$XDG_STATE_HOME\"",
             root ? "chown -R 65534 \"$XDG_STATE_HOME\" &&" : "");
    REQUIRE(!system(command) && (!root || !seteuid(NOBODY)));
    bool started = start(&a, &o, looking);
    CHECK(started && strstr(notice, "resumed 'One'"));
    CHECK(strstr(notice, "nothing is saved"));
    if (started) {
        say(&a, "Two");
        CHECK_INT(4, tdm_chat_nodes(a.chat, TDM_FRONT));
        app_close(&a);
        options_free(&o);
    }
    CHECK(!root || !seteuid(0));
    CHECK_INT(0, system("chmod -R u+w \"$XDG_STATE_HOME\""));
}

/* Whatever turns it private: the start, the command, a conversation that comes back to the front. */
TEST(what_is_private_leaves_nothing)
{
    use_empty_folders("private");
    options o;
    app a;
    struct rlimit limit = {0};
    prctl(PR_SET_DUMPABLE, 1);
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    CHECK_INT(1, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    CHECK(!options_flag(&o, OPTION_PRIVATE));
    CHECK_INT(TDM_OK, app_set_private(&a, true, &err));
    CHECK_INT(0, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    CHECK(!getrlimit(RLIMIT_CORE, &limit) && limit.rlim_cur == 0); /* of the programs that it starts */
    CHECK(options_flag(&o, OPTION_PRIVATE)); /* what loads models, and keeps consents, looks at it */
    consent_keep(&o, "http://127.0.0.1:9");
    CHECK(!agreed_with("http://127.0.0.1:9"));
    CHECK_INT(TDM_OK, app_set_private(&a, false, &err));
    CHECK(!options_flag(&o, OPTION_PRIVATE));
    CHECK_INT(0, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)); /* it has been in memory */
    consent_keep(&o, "http://127.0.0.1:9");
    CHECK(agreed_with("http://127.0.0.1:9"));
    app_close(&a);
    options_free(&o);
    prctl(PR_SET_DUMPABLE, 1);
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --private --ignore-eos -n 5"));
    CHECK_INT(0, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    app_close(&a);
    options_free(&o);
}

/* One number for all that the folder of the sessions holds. */
static uint64_t fingerprint(void)
{
    uint64_t sum = 0;
    FILE *f = popen("cd \"$XDG_STATE_HOME\"/tandem/sessions && ls && cksum *.json *.state", "r");
    char line[400];
    while (f && fgets(line, sizeof line, f)) sum = fnv_bytes(sum ? sum : FNV_START, line, strlen(line));
    if (!f || pclose(f) || !sum) CHECK_FAIL("no sessions and states");
    return sum;
}

/* The session that is resumed stays as it was, and so does the state beside it. */
TEST(what_is_said_privately_in_a_saved_session_is_in_no_file)
{
    use_empty_folders("resumed-private");
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    app_close(&a);
    options_free(&o);
    uint64_t before = fingerprint();
    REQUIRE(start(&a, &o, "tandem chat --private -m tests/goldens/tiny-a --ignore-eos -n 5 --resume"));
    say(&a, "Two");
    CHECK_INT(4, tdm_chat_nodes(a.chat, TDM_FRONT));
    app_keep(&a, clock_ns());
    app_idle(&a);
    CHECK(!a.open.state_old);
    app_close(&a);
    options_free(&o);
    CHECK_INT(before, fingerprint());
}

TEST(private_turns_are_counted)
{
    use_empty_folders("private");
    options o;
    app a;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    CHECK_INT(0, app_memory_turns(&a));
    REQUIRE(!app_new(&a, NULL, &err));
    CHECK_INT(TDM_OK, app_set_private(&a, true, &err));
    say(&a, "Two");
    say(&a, "Three");
    CHECK_INT(2, app_memory_turns(&a));
    REQUIRE(!app_resume(&a, "One", notice, &err));
    CHECK(strstr(notice, "private"));
    CHECK_INT(0, app_memory_turns(&a));
    say(&a, "Four");
    CHECK_INT(1, app_memory_turns(&a));
    CHECK_INT(TDM_OK, app_set_private(&a, true, &err)); /* is on: nothing is erased */
    CHECK_INT(1, app_memory_turns(&a));
    CHECK_INT(TDM_OK, app_set_private(&a, false, &err)); /* and now it is saved */
    CHECK_INT(0, app_memory_turns(&a));
    app_close(&a);
    options_free(&o);
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --resume One"));
    CHECK_INT(4, tdm_chat_nodes(a.chat, TDM_FRONT));
    app_close(&a);
    options_free(&o);
}

#define SUPPLY "/sys/class/power_supply/BAT0/"

static tdm_reading reading_of(const app *a)
{
    tdm_chat_options c;
    tdm_chat_options_of(a->chat, &c);
    return c.reading;
}

TEST(on_battery_it_reads_as_the_option_says)
{
    use_empty_folders("battery");
    options o;
    app a;
    char line[100];
    const char *root = tree_new();
    const int64_t later = INT64_C(60) * 1000000000;
    int64_t now = clock_ns();
    tree_write(root, "Battery", SUPPLY "type");
    tree_write(root, "Charging", SUPPLY "status");
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    a.battery.root = root;
    CHECK(!app_look_at_battery(&a, now, line));
    CHECK_INT(TDM_READ_ALWAYS, reading_of(&a));
    tree_write(root, "Discharging", SUPPLY "status");
    CHECK(!app_look_at_battery(&a, now + 1, line)); /* not for every event */
    CHECK(app_look_at_battery(&a, now += later, line));
    CHECK_STR("on battery: read ahead at pauses only (/set on-battery full: always)", line);
    CHECK_INT(TDM_READ_AT_PAUSES, reading_of(&a));
    CHECK(!app_look_at_battery(&a, now += later, line)); /* told once */
    say(&a, "One");
    static const char *const words[] = {"full", "off", "pauses"};
    static const tdm_reading meant[] = {TDM_READ_ALWAYS, TDM_READ_NEVER, TDM_READ_AT_PAUSES};
    for (int i = 0; i < 3; i++) {
        REQUIRE(option_set(&o, OPTION_ON_BATTERY, words[i], FROM_CONVERSATION, &err));
        CHECK(!app_configure(&a, &err));
        CHECK_INT(meant[i], reading_of(&a));
    }
    tree_write(root, "Charging", SUPPLY "status");
    CHECK(app_look_at_battery(&a, now += later, line));
    CHECK_STR("on mains: read ahead as before", line);
    CHECK_INT(TDM_READ_ALWAYS, reading_of(&a));
    app_close(&a);
    options_free(&o);
}

static tdm_chat_status status_of(const app *a)
{
    tdm_chat_status s;
    tdm_chat_status_of(a->chat, &s);
    return s;
}

TEST(checkpoints_are_given_back_while_memory_is_short)
{
    use_empty_folders("pressure");
    options o;
    app a;
    char line[100];
    const char *root = tree_new();
    const int64_t later = INT64_C(10) * 1000000000;
    int64_t now = clock_ns();
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5 --checkpoint-memory 64M"));
    a.memory.pressure.root = root;
    for (int i = 0; i < 4; i++) say(&a, "A message that is worth some checkpoints");
    tdm_chat_status before = status_of(&a);
    REQUIRE(before.checkpoints > 3);
    CHECK(!app_look_at_memory(&a, now += later, line)); /* the kernel tells nothing */
    CHECK_INT((int)before.checkpoints, (int)status_of(&a).checkpoints);
    tree_write(root, "some avg10=40.00 avg60=0.00 avg300=0.00 total=1", "/proc/pressure/memory");
    CHECK(app_look_at_memory(&a, now += later, line));
    CHECK_STR("memory is short: checkpoints are given back; undo and edits may read more again", line);
    tdm_chat_status after = status_of(&a);
    CHECK(after.checkpoints >= 1 && after.checkpoints < before.checkpoints);
    CHECK(after.checkpoint_bytes <= before.checkpoint_bytes / 2 + 1 && after.checkpoint_bytes > 0);
    CHECK(after.state_bytes < before.state_bytes); /* the system has the memory */
    CHECK(a.memory.given_back == before.checkpoint_bytes - after.checkpoint_bytes);
    while (status_of(&a).checkpoint_bytes) CHECK(!app_look_at_memory(&a, now += later, line)); /* told once */
    CHECK(!app_look_at_memory(&a, now += later, line));
    say(&a, "It goes on"); /* without any */
    tree_write(root, "some avg10=0.00 avg60=0.00 avg300=0.00 total=1", "/proc/pressure/memory");
    CHECK(!app_look_at_memory(&a, now += later, line));
    CHECK(app_look_at_memory(&a, now += 4 * later, line));
    CHECK_STR("memory is no longer short: checkpoints are kept as before", line);
    CHECK(status_of(&a).checkpoint_budget == before.checkpoint_budget && !a.memory.given_back);
    say(&a, "Another");
    CHECK(status_of(&a).checkpoints > 0);
    app_close(&a);
    options_free(&o);
}

TEST_MAIN(T(units_of_another_kind_survive_a_change_of_model), T(a_conversation_outlives_its_model),
          T(a_private_conversation_outlives_its_model_in_memory),
          T(a_change_of_model_that_cannot_be_saved_is_one_all_the_same),
          T(another_form_for_the_prefill_unit_counts_for_its_model_alone),
          T(a_pair_loaded_with_progress_leaves_signals_alone),
          T(an_idle_program_writes_the_state_at_the_lowest_priority), T(states_keep_to_their_limit),
          T(a_session_is_named_after_words_and_not_after_what_is_attached), T(a_queued_message_comes_back_as_it_was),
          T(what_was_attached_stays_known), T(a_draft_stays_with_its_session), T(a_draft_needs_no_model),
          T(who_only_looks_changes_no_file), T(a_folder_that_cannot_be_written_is_read),
          T(what_is_private_leaves_nothing), T(private_turns_are_counted),
          T(what_is_said_privately_in_a_saved_session_is_in_no_file), T(on_battery_it_reads_as_the_option_says),
          T(checkpoints_are_given_back_while_memory_is_short))
