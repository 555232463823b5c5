/* The session's file is written in the background: nobody waits for the disk, and nothing is lost. */
#include "tests/check.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/chat/compact.h"
#include "tests/src/chat/app_rig.h"

/* A slow disk: the writer goes on once somebody waits for it, once the file that it is to replace is gone, or after a
 * time that no disk takes. */
static const char *_Atomic held_path;
static atomic_bool waited, gave_up;
static atomic_int flushes; /* begun, of sessions' files; after each its folder is flushed */

/* The name of the model is written in the background, too, whenever that thread comes to it. */
static bool is_sessions_file(int fd)
{
    char link[64], path[400] = "";
    struct stat st;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return !fstat(fd, &st) && S_ISREG(st.st_mode) && readlink(link, path, sizeof path - 1) > 0 && strstr(path, ".json");
}

int fsync(int fd)
{
    const char *path = atomic_load(&held_path);
    if (is_sessions_file(fd)) atomic_fetch_add(&flushes, 1);
    for (int ms = 0; path && atomic_load(&held_path) == path && !atomic_load(&waited) && !access(path, F_OK); ms++) {
        if (ms == CHECK_PATIENCE_MS) atomic_store(&gave_up, true);
        if (ms == CHECK_PATIENCE_MS) break;
        usleep(1000);
    }
    return (int)syscall(SYS_fsync, fd);
}

int pthread_join(pthread_t thread, void **result)
{
    int (*real)(pthread_t, void **);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_join");
    atomic_store(&waited, true);
    return real(thread, result);
}

/* The file of the open session. */
static void file_of(const app *a, char path[400])
{
    char *state = store_state_path(a->open.slot.id);
    snprintf(path, 400, "%.*s.json", state ? (int)(strlen(state) - strlen(".state")) : 0, state ? state : "");
    free(state);
}

/* How many messages the file of the open session has; -1: it can't be read. */
static int saved_messages(const app *a)
{
    session s;
    if (store_peek(a->open.slot.id, false, &s, &err)) return -1;
    int n = s.n;
    session_free(&s);
    return n;
}

/* Whoever clears the folder of sessions loses no conversation that is open. */
TEST(a_folder_that_is_deleted_is_made_again)
{
    use_empty_folders("deleted");
    options o;
    app a;
    char path[400], command[500];
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    app_settle(&a);
    CHECK_INT(2, saved_messages(&a));
    file_of(&a, path);
    *strrchr(path, '/') = 0;
    snprintf(command, sizeof command, "rm -r '%s'", path);
    CHECK_INT(0, system(command));
    say(&a, "Two");
    app_settle(&a);
    CHECK_STR("", a.open.unsaved);
    CHECK_INT(4, saved_messages(&a));
    CHECK_INT(TDM_E_BUSY, store_delete(a.open.slot.id, NULL, &err)); /* for others it is still open */
    app_close(&a);
    options_free(&o);
}

/* The disk takes what is written only once the reply has ended: no event waits for it. */
TEST(no_event_waits_for_the_disk)
{
    use_empty_folders("slow-disk");
    options o;
    app a;
    char path[400];
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    app_settle(&a);
    CHECK_INT(2, saved_messages(&a));
    file_of(&a, path);
    atomic_store(&waited, false);
    atomic_store(&held_path, path);
    int before = atomic_load(&flushes);
    say(&a, "Two"); /* its beginning, its first character and its end are worth a save each */
    app_rename(&a, "another name", &err);
    CHECK(app_saving(&a));
    CHECK(!atomic_load(&waited) && !atomic_load(&gave_up));
    CHECK_INT(2, saved_messages(&a));
    atomic_store(&held_path, NULL);
    app_settle(&a);
    CHECK(!app_saving(&a));
    CHECK_STR("", a.open.unsaved);
    CHECK_INT(4, saved_messages(&a));
    int after = atomic_load(&flushes) - before;
    CHECK(after >= 1 && after <= 2); /* what waited was replaced by what came */
    app_close(&a);
    options_free(&o);
}

TEST(neither_going_public_nor_a_summary_waits_for_the_disk)
{
    use_empty_folders("slow-public");
    options o;
    app a;
    int turns, branch;
    REQUIRE(start(&a, &o, "tandem chat --private -m tests/goldens/tiny-a --ignore-eos -n 5"));
    for (int i = 0; i < 3; i++) say(&a, "One");
    atomic_store(&waited, false);
    atomic_store(&held_path, ".");
    CHECK_INT(TDM_OK, app_set_private(&a, false, &err));
    CHECK(app_saving(&a));
    CHECK_INT(TDM_OK, compact_replace(&a, "Notes", 5, &turns, &branch, &err));
    CHECK(app_saving(&a) && !atomic_load(&waited) && !atomic_load(&gave_up));
    atomic_store(&held_path, NULL);
    app_settle(&a);
    CHECK_STR("", a.open.unsaved);
    CHECK_INT(10, saved_messages(&a)); /* the branch of the summary has the last two turns once more */
    app_close(&a);
    options_free(&o);
}

/* Leaving waits for the last text, however slow the disk is, and a kill leaves an older one whole. */
TEST(leaving_waits_for_the_disk_and_a_kill_leaves_a_whole_file)
{
    use_empty_folders("slow-end");
    options o;
    app a;
    char path[400], id[40];
    session s;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    app_settle(&a);
    file_of(&a, path);
    snprintf(id, sizeof id, "%s", a.open.slot.id);
    REQUIRE(!app_snapshot(&a, &s, &err));
    atomic_store(&waited, false);
    atomic_store(&held_path, path);
    pid_t child = fork(); /* a program that saves to a disk that never answers */
    REQUIRE(child >= 0);
    if (!child) {
        session_writer *k = session_writer_new();
        for (int i = 0, began = atomic_load(&flushes); i < 3; i++) {
            session_free(&s);
            if (store_peek(id, false, &s, NULL)) _exit(1);
            s.name[0] = (char)('a' + i);
            session_writer_put(k, &a.open.slot, &s);
            s = (session){0};
            while (atomic_load(&flushes) == began) usleep(500);
        }
        raise(SIGKILL);
    }
    int how = 0;
    waitpid(child, &how, 0);
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    session_free(&s);
    CHECK_INT(2, saved_messages(&a));
    say(&a, "Two");
    CHECK_INT(2, saved_messages(&a));
    app_close(&a);
    atomic_store(&held_path, NULL);
    REQUIRE(!store_peek(id, false, &s, &err));
    CHECK_INT(4, s.n);
    CHECK(s.n == 4 && s.nodes[3].length > 0);
    session_free(&s);
    options_free(&o);
}

/* The front end hears of a failure, and of the end of it, without asking. */
TEST(a_save_that_fails_wakes_the_front_end)
{
    use_empty_folders("wakes");
    options o;
    app a;
    char path[400], aside[420], byte;
    int ends[2];
    REQUIRE(!pipe(ends));
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    session_writer_set_wake(a.open.session_writer, ends[1]);
    say(&a, "One");
    app_settle(&a);
    struct pollfd woken = {.fd = ends[0], .events = POLLIN};
    CHECK_INT(0, poll(&woken, 1, 0)); /* all went well: nobody is disturbed */
    file_of(&a, path);
    snprintf(aside, sizeof aside, "%s-aside", path);
    REQUIRE(!rename(path, aside) && !mkdir(path, 0700));
    CHECK(!app_rename(&a, "nowhere", &err));
    CHECK_INT(1, poll(&woken, 1, CHECK_PATIENCE_MS));
    CHECK_INT(1, (int)read(ends[0], &byte, 1));
    CHECK(app_saved(&a) && a.open.unsaved[0]);
    REQUIRE(!rmdir(path) && !rename(aside, path));
    CHECK(!app_rename(&a, "here", &err));
    CHECK_INT(1, poll(&woken, 1, CHECK_PATIENCE_MS));
    CHECK(app_saved(&a));
    CHECK_STR("", a.open.unsaved);
    app_close(&a);
    options_free(&o);
    close(ends[0]);
    close(ends[1]);
}

static void delete_while_writing(bool for_good)
{
    options o;
    app a;
    bool open = false;
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    app_settle(&a);
    char *state = store_state_path(a.open.slot.id), id[40], path[400];
    snprintf(id, sizeof id, "%s", a.open.slot.id);
    file_of(&a, path);
    REQUIRE(access(path, F_OK) == 0);
    REQUIRE(begin_reply(&a, "Two"));
    atomic_store(&waited, false);
    atomic_store(&held_path, path);
    app_keep(&a, clock_ns() + (int64_t)60 * 1000000000);
    CHECK(app_saving(&a));
    CHECK(app_delete(&a, id, for_good, &open, &err) == TDM_OK);
    CHECK(open && a.open.slot.lock < 0 && !app_saving(&a) && !a.state_writer.task.running);
    atomic_store(&held_path, NULL);
    app_settle(&a);
    CHECK(access(path, F_OK) != 0);
    CHECK_INT(0, tdm_chat_nodes(a.chat, TDM_FRONT));
    app_close(&a);
    CHECK(access(path, F_OK) != 0 && access(state, F_OK) != 0);
    options_free(&o);
    free(state);
}

TEST(deleting_waits_for_what_is_being_written)
{
    use_empty_folders("writers");
    delete_while_writing(false);
    delete_while_writing(true);
}

TEST(a_deletion_that_fails_leaves_the_session_open)
{
    use_empty_folders("stays");
    options o;
    app a;
    bool open;
    char trash[400];
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "One");
    snprintf(trash, sizeof trash, "%s/tandem/trash", getenv("XDG_STATE_HOME"));
    FILE *f = fopen(trash, "w"); /* a file where the folder should be */
    REQUIRE(f != NULL);
    fclose(f);
    CHECK(app_delete(&a, a.open.slot.id, false, &open, &err) != TDM_OK);
    CHECK(a.open.slot.lock >= 0);
    CHECK_INT(TDM_E_BUSY, store_delete(a.open.slot.id, NULL, &err));
    say(&a, "Two");
    CHECK_STR("", a.open.unsaved);
    CHECK_INT(4, tdm_chat_nodes(a.chat, TDM_FRONT));
    REQUIRE(!unlink(trash));
    CHECK_INT(TDM_OK, app_delete(&a, a.open.slot.id, false, &open, &err));
    CHECK(open && a.open.slot.lock < 0);
    app_close(&a);
    options_free(&o);
}

TEST(a_conversation_that_cannot_be_saved_is_not_left)
{
    use_empty_folders("full-disk");
    options o;
    app a;
    char state[400];
    REQUIRE(start(&a, &o, "tandem chat -m tests/goldens/tiny-a --ignore-eos -n 5"));
    say(&a, "Other");
    CHECK_INT(TDM_OK, app_new(&a, NULL, &err));
    snprintf(state, sizeof state, "%s", getenv("XDG_STATE_HOME"));
    setenv("XDG_STATE_HOME", "/dev/null", 1);
    say(&a, "One");
    app_settle(&a);
    CHECK_INT(TDM_E_IO, app_new(&a, "next", &err));
    CHECK(!strncmp(err.text, "not saved; make room, or /private on gives it up: ", 50));
    CHECK_INT(2, tdm_chat_nodes(a.chat, TDM_FRONT));
    CHECK(!a.open.name || strcmp(a.open.name, "next"));
    setenv("XDG_STATE_HOME", state, 1); /* there is room for the reading, and still none for what is written */
    char folder[500];
    snprintf(folder, sizeof folder, "%s/tandem/sessions", state);
    if (geteuid()) { /* root writes everywhere */
        REQUIRE(!chmod(folder, 0500));
        CHECK(app_resume(&a, "Other", notice, &err) != TDM_OK);
        CHECK_INT(2, tdm_chat_nodes(a.chat, TDM_FRONT));
        REQUIRE(!chmod(folder, 0700));
    }
    setenv("XDG_STATE_HOME", "/dev/null", 1);
    CHECK_INT(TDM_OK, app_set_private(&a, true, &err)); /* it is given up */
    CHECK_STR("", a.open.unsaved);
    CHECK_INT(TDM_OK, app_new(&a, NULL, &err));
    CHECK_INT(0, tdm_chat_nodes(a.chat, TDM_FRONT));
    app_close(&a);
    options_free(&o);
}

TEST_MAIN(T(a_folder_that_is_deleted_is_made_again), T(no_event_waits_for_the_disk),
          T(neither_going_public_nor_a_summary_waits_for_the_disk),
          T(leaving_waits_for_the_disk_and_a_kill_leaves_a_whole_file),
          T(a_save_that_fails_wakes_the_front_end), T(deleting_waits_for_what_is_being_written),
          T(a_deletion_that_fails_leaves_the_session_open), T(a_conversation_that_cannot_be_saved_is_not_left))
