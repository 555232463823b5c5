/* Commands of the program, and tandem-pull, in which one allocation after the other fails (shared_memory.c): each
 * ends with status 0, or with a line and status 1, and never by a signal. In its short form some allocations of
 * each; TANDEM_LONG=1: all. */
#include "tests/check.h"
#include "tests/seeing.h"
#include "engine/base/clock.h"
#include "tests/src/tui/rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/files/files.h"
#include "tests/src/cli/shared_memory.h"

enum { MAX_ARGUMENTS = 8 };

/* What a command ended with. */
struct ended {
    int status; /* -1: by a signal, or not within its time */
    char *out;  /* what it printed */
    char *told; /* what it said on standard error */
};

static char library[4096], home[1024];
static const char *program; /* NULL: $TANDEM */
static struct starved *starved; /* the program's too */

static const char *in_home(const char *name)
{
    static char path[2][sizeof home + 32];
    static unsigned calls;
    char *out = path[calls++ % 2];
    snprintf(out, sizeof *path, "%s/%s", home, name);
    return out;
}

/* The allocation of this number from now on fails, and if so all that follow; 0: none does. */
static bool map_starved(void)
{
    if (starved) munmap(starved, sizeof *starved);
    int fd = open(in_home("starved"), O_RDWR | O_CREAT, 0600);
    bool good = fd >= 0 && !ftruncate(fd, sizeof *starved);
    void *live = good ? mmap(NULL, sizeof *starved, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    starved = live == MAP_FAILED ? NULL : live;
    CHECK(starved != NULL);
    if (starved) setenv("STARVED", in_home("starved"), 1);
    return starved;
}

static bool prepare(void)
{
    if (check_slow()) {
        check_skipped = "a sanitizer has an allocator of its own, and an emulator would be preloaded itself";
        return false;
    }
    ssize_t n = readlink("/proc/self/exe", library, sizeof library - 32);
    library[n > 0 ? n : 0] = 0;
    strcpy(strrchr(library, '/'), "/shared_memory.so");
    snprintf(home, sizeof home, "%s", check_tmp());
    CHECK(access(library, R_OK) == 0);
    return map_starved();
}

static void starve(long at, bool all)
{
    starved->all = all;
    starved->at = at ? starved->count + at : 0;
}

static _Noreturn void be_program(const char *const *arguments, const char *input)
{
    static const char *const names[] = {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"};
    const char *argv[MAX_ARGUMENTS + 2] = {program ? program : getenv("TANDEM") ? getenv("TANDEM") : "build/tandem"};
    for (int i = 0; arguments[i]; i++) argv[i + 1] = arguments[i];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) setenv(names[i], home, 1);
    setenv("LD_PRELOAD", library, 1);
    int in = open(in_home("in"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    int out = open(in_home("out"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    int err = open(in_home("err"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    bool good = write(in, input, strlen(input)) == (ssize_t)strlen(input) && lseek(in, 0, SEEK_SET) == 0;
    if (!good || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(99);
    alarm(CHECK_PATIENCE_MS / 1000);
    execv(argv[0], (char **)argv);
    _exit(98);
}

static char *text_in(const char *name)
{
    char *text = NULL;
    size_t n;
    return files_read(in_home(name), 1 << 20, &text, &n, NULL) ? strdup("") : text;
}

static struct ended run(const char *const *arguments, const char *input)
{
    struct ended e = {.status = -1};
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) be_program(arguments, input);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) e.status = WEXITSTATUS(status);
    e.out = text_in("out");
    e.told = text_in("err");
    return e;
}

static void drop(struct ended *e)
{
    free(e->out);
    free(e->told);
}

/* Of every allocation, or of a few that lie evenly. */
static long step_of(long count, long few)
{
    return getenv("TANDEM_LONG") || count < few ? 1 : count / few;
}

/* The status, where it is one that a lack of memory may have. What is printed then is the same as ever, if it should
 * be (same: not NULL), or a line speaks of memory. */
static int try_at(const char *const *arguments, const char *input, long at, bool all, const char *same)
{
    starve(at, all);
    struct ended e = run(arguments, input);
    starve(0, false);
    bool good = e.status == 0 || (e.status == 1 && e.told[0]);
    if (good && same && strcmp(e.out, same)) good = strstr(e.told, "memory") != NULL;
    if (!good) {
        CHECK_FAIL("%s, allocation %ld%s: status %d, '%s'\n%s", arguments[0], at, all ? "+" : "", e.status, e.told,
                   e.out);
    }
    drop(&e);
    return e.status;
}

static void try(const char *const *arguments, const char *input, long few, bool same)
{
    starve(0, false);
    struct ended first = run(arguments, input); /* makes what later ones find */
    drop(&first);
    long before = starved->count;
    struct ended whole = run(arguments, input);
    CHECK_INT(0, whole.status);
    long count = starved->count - before, step = step_of(count, few);
    CHECK(count > 20);
    for (long at = 1 + step / 2; at <= count; at += step) try_at(arguments, input, at, false, same ? whole.out : NULL);
    CHECK_INT(1, try_at(arguments, input, 1, true, NULL)); /* all of them */
    drop(&whole);
}

#define TRY(input, few, same, ...)                                                                                     \
    do {                                                                                                               \
        if (prepare()) try((const char *const[]){__VA_ARGS__, NULL}, input, few, same);                                \
    } while (0)

TEST(a_prompt)
{
    TRY("", 3, true, "run", "Hi", "-n", "2", "--temp", "0");
    TRY("", 2, false, "run", "Hi", "-n", "2", "--json", "--answers", "2");
}

/* Each line comes to its reply, or another line says that it did not. */
TEST(a_conversation)
{
    TRY("Hi\n/help quit\n/undo\nHow are you?\n/regen\n/quit\n", 4, true, "--plain", "-n", "2", "--temp", "0");
    TRY("Hi\n/sessions\n/answers 2\n/quit\n", 2, false, "--plain", "-n", "2");
}

TEST(a_conversation_that_is_resumed)
{
    static const char *const first[] = {"--plain", "-n", "2", NULL};
    if (!prepare()) return;
    struct ended e = run(first, "Hi\n/quit\n");
    CHECK_INT(0, e.status);
    drop(&e);
    TRY("Hi\n/quit\n", 2, false, "--plain", "--resume", "-n", "2");
}

TEST(what_is_told)
{
    const char *sees = seeing_model();
    TRY("", 2, false, "info");
    TRY("", 1, false, "info", "--json");
    if (sees) TRY("", 2, false, "info", sees);
    TRY("", 2, false, "models");
    TRY("", 1, false, "models", "--json");
    TRY("", 3, true, "config");
    TRY("", 2, true, "tokenize", "Hi");
}

/* ---- A download -------------------------------------------------------------------------------------------------- */

/* A server of the tests' own (server.py); 0: there is none. */
static pid_t start_hub(char address[64])
{
    char port[1100], log[1100];
    snprintf(port, sizeof port, "%s/port", home);
    snprintf(log, sizeof log, "%s/log", home);
    pid_t child = fork();
    if (!child) {
        execlp("python3", "python3", "tests/src/pull/server.py", port, log, (char *)NULL);
        _exit(127);
    }
    for (int64_t until = clock_ns() + CHECK_PATIENCE_NS; clock_ns() < until && !waitpid(child, NULL, WNOHANG);) {
        char *text = access(port, R_OK) ? strdup("") : text_in("port");
        snprintf(address, 64, "http://127.0.0.1:%d", atoi(text));
        bool there = *text;
        free(text);
        if (there) return child;
        usleep(20000);
    }
    return 0;
}

static const char *pull_beside(void)
{
    static char path[4096];
    const char *tandem = getenv("TANDEM") ? getenv("TANDEM") : "build/tandem", *slash = strrchr(tandem, '/');
    snprintf(path, sizeof path, "%.*standem-pull", slash ? (int)(slash + 1 - tandem) : 0, tandem);
    return access(path, X_OK) ? NULL : path;
}

/* Nothing is there already, or libcrypto would have nothing to do. */
static void fetch_at(long at, bool all)
{
    static const char *const arguments[] = {"a/ud-GGUF", NULL};
    char command[2048];
    snprintf(command, sizeof command, "rm -rf '%s/hub'", home);
    CHECK_INT(0, system(command));
    try_at(arguments, "", at, all, NULL);
}

TEST(a_download)
{
    char address[64], hub[1100];
    if (!pull_beside()) SKIP("tandem-pull was not built");
    if (!prepare()) return;
    pid_t child = start_hub(address);
    if (!child) SKIP("python3 is not installed");
    snprintf(hub, sizeof hub, "%s/hub", home);
    setenv("HF_ENDPOINT", address, 1);
    setenv("HF_HUB_CACHE", hub, 1);
    program = pull_beside();
    long before = starved->count;
    fetch_at(0, false);
    long count = starved->count - before, step = step_of(count, 50);
    CHECK(count > 1000);
    for (long at = 1; at <= count; at += step) {
        fetch_at(at, false);
        if (at / step % 8 == 0) fetch_at(at, true);
    }
    program = NULL;
    unsetenv("HF_ENDPOINT");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- The screen -------------------------------------------------------------------------------------------------- */

static bool open_screen(void)
{
    static const char *const arguments[] = {"--temp", "0", "-n", "8", NULL};
    static char preload[sizeof library + 16];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    rig_environment(preload);
    setenv("VK_DRIVER_FILES", "/none", 1); /* a driver that has no memory may end the program that loads it */
    setenv("VK_ICD_FILENAMES", "/none", 1);
    return rig_start(home, 24, 80, "xterm-256color", arguments);
}

static int close_screen(void)
{
    rig_kill(SIGTERM);
    int status = rig_end();
    CHECK(!rig_alternate());
    CHECK(rig_cooked());
    rig_environment(NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Takes what comes until one of the texts is there, or for that long. */
static bool shows(const char *const *texts, int ms)
{
    for (int64_t until = clock_ns() + ms * INT64_C(1000000); clock_ns() < until;) {
        if (!rig_take(50)) return false;
        for (const char *const *text = texts; *text; text++)
            if (rig_shows(*text)) return true;
    }
    return false;
}

static int on_screen(void)
{
    static const char *const done[] = {"READY", "FAILED", "memory", "read before Enter", NULL};
    if (!open_screen()) return -1;
    rig_type("Hi\r");
    shows(done, 10000);
    rig_resize(30, 100); /* the largest pieces that ncurses asks for */
    rig_take(50);
    return close_screen();
}

TEST(the_screen)
{
    if (!prepare()) return;
    starve(0, false);
    long before = starved->count;
    CHECK_INT(0, on_screen());
    long count = starved->count - before, step = step_of(count, 3);
    CHECK(count > 1000);
    for (long at = 1 + step / 2; at <= count; at += step) {
        for (int all = 0; all < 2; all++) {
            starve(at, all);
            int status = on_screen();
            if (status != 0 && status != 1)
                CHECK_FAIL("allocation %ld%s of %ld: status %d", at, all ? "+" : "", count, status);
            if (status == 1 && !rig_shows("tandem: "))
                CHECK_FAIL("allocation %ld%s of %ld: not a word", at, all ? "+" : "", count);
        }
    }
    starve(0, false);
}

/* In one program, one allocation after the other of a turn: the next turn is what it always is. */
TEST(turns_on_the_screen)
{
    static const char *const first[] = {"Hello! I am Tandem", NULL}, *const next[] = {"I can help with", NULL};
    static const char *const lost[] = {"Enter takes it", "I can help with", NULL};
    static const char *const whole[] = {"length limit", NULL}, *const ended[] = {"length limit", "memory", NULL};
    if (!prepare() || !open_screen()) return;
    CHECK(rig_wait("IDLE"));
    long step = step_of(600, 5);
    for (long at = 1; at <= 600; at += step) {
        rig_type("/new\r");
        CHECK(rig_wait_gone("I can help with"));
        rig_type("Hi\r");
        /* To its end: before that the next one would be queued, and joined by another. */
        CHECK(shows(first, CHECK_PATIENCE_MS) && shows(whole, CHECK_PATIENCE_MS));
        starve(at, false);
        rig_type("How are you?\r");
        shows(ended, 500);
        starve(0, false);
        rig_type("\x15What can you do?\r"); /* a line that lacks keys is refused once */
        bool there = shows(lost, CHECK_PATIENCE_MS);
        if (there && !rig_shows("I can help with")) rig_type("\r");
        if (!shows(next, CHECK_PATIENCE_MS)) {
            CHECK_FAIL("allocation %ld: not the next reply", at);
            rig_print();
        }
    }
    CHECK_INT(0, close_screen());
}

TEST_MAIN(T(a_prompt), T(a_conversation), T(a_conversation_that_is_resumed), T(what_is_told), T(a_download),
          T(the_screen), T(turns_on_the_screen))
