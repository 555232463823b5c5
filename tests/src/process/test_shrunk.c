/* A model's file that becomes shorter while it is read through its map: every program says so in one line, gives the
 * terminal back and ends with status 1, whichever of its threads has read; a signal of another cause stays one. The
 * commands run with shared_shrink.c, which truncates the file as soon as it is mapped. */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/model/map.h"
#include "engine/os/file.h"
#include "engine/thread/team.h"
#include "src/files/files.h"
#include "src/process/shrunk.h"

enum { BYTES = 1 << 20, LEFT = 5000, COLUMNS = 200 };

/* ---- The handler ------------------------------------------------------------------------------------------------ */

/* What the children do that are to end. */
static const uint8_t *mapped;
static size_t volatile sink;

static void map_and_shrink(void)
{
    static char zeros[BYTES];
    static struct map m;
    tdm_error err;
    char path[512];
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    snprintf(path, sizeof path, "%s/mapped", check_tmp());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || !file_write_all(fd, zeros, BYTES) || map_open(&m, path, &err) || ftruncate(fd, LEFT)) _exit(90);
    mapped = m.data;
}

static void read_all(void)
{
    for (size_t i = 0; i < BYTES; i += 512) sink += mapped[i];
}

static void read_member(void *ctx, struct member *m)
{
    uint32_t begin, end;
    (void)ctx;
    while (member_claim(m, 64, 1, &begin, &end)) read_all();
}

static void read_in_a_team(void)
{
    struct team *team;
    tdm_error err;
    if (team_open(&team, 4, NULL, &err)) _exit(91);
    team_run(team, read_member, NULL);
}

/* A file that the engine has not mapped. */
static void read_another(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/mapped", check_tmp());
    int fd = open(path, O_RDONLY);
    mapped = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) _exit(92);
    read_all();
}

static void be_signalled(void)
{
    raise(SIGBUS);
}

static void say(const char *line)
{
    file_write_all(STDERR_FILENO, line, strlen(line));
    file_write_all(STDERR_FILENO, "\n", 1);
}

static void give_back(void)
{
    static const char text[] = "given back\n";
    file_write_all(STDERR_FILENO, text, sizeof text - 1);
}

/* The wait status of a child in which that happens; what it writes to standard error is in *line, malloc'ed. */
static int ended(void (*what)(void), void (*hook)(void), char **line)
{
    char path[512];
    size_t n;
    int status = -1;
    snprintf(path, sizeof path, "%s/err", check_tmp());
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        int err = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (err < 0 || dup2(err, STDERR_FILENO) < 0) _exit(93);
        map_and_shrink();
        shrunk_catch(hook, say);
        what();
        _exit(94);
    }
    waitpid(child, &status, 0);
    if (files_read(path, 1 << 16, line, &n, NULL)) *line = NULL;
    return status;
}

static void check_line(void (*what)(void), void (*hook)(void), const char *before)
{
    char *line, expected[800];
    int status = ended(what, hook, &line);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    snprintf(expected, sizeof expected, "%standem: %s/mapped shrank while it was in use: expected %d bytes, found %d\n",
             before, check_tmp(), BYTES, LEFT);
    CHECK_STR(expected, line);
    free(line);
}

TEST(reading_beyond_the_new_end_is_one_line)
{
    check_line(read_all, NULL, "");
    check_line(read_all, give_back, "given back\n");
}

TEST(on_the_threads_of_a_team_too)
{
    for (int i = 0; i < 20; i++) check_line(read_in_a_team, give_back, "given back\n");
}

static void check_signal(void (*what)(void))
{
    char *line;
    if (check_slow()) return; /* a sanitizer may make an end of its own of it */
    int status = ended(what, give_back, &line);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    CHECK_STR("given back\n", line);
    free(line);
}

TEST(other_causes_stay_what_they_are)
{
    check_signal(read_another);
    check_signal(be_signalled);
}

/* ---- The commands ------------------------------------------------------------------------------------------------ */

static char preload[4200];

static bool prepare(void)
{
    static const char variable[] = "LD_PRELOAD=";
    size_t begin = strlen(variable);
    if (check_slow()) {
        check_skipped = "a sanitizer has to be the first library, and an emulator would be preloaded itself";
        return false;
    }
    strcpy(preload, variable);
    ssize_t n = readlink("/proc/self/exe", preload + begin, sizeof preload - begin - 32);
    preload[begin + (n > 0 ? (size_t)n : 0)] = 0;
    strcpy(strrchr(preload, '/'), "/shared_shrink.so");
    CHECK(!access(preload + begin, R_OK));
    rig_environment(preload);
    return true;
}

/* Copies a file of the goldens to where it will shrink. */
static bool put(const char *from, const char *to)
{
    char *bytes;
    size_t n;
    if (files_read(from, 64 << 20, &bytes, &n, NULL)) return false;
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool good = fd >= 0 && file_write_all(fd, bytes, n);
    if (fd >= 0) close(fd);
    free(bytes);
    return good;
}

static bool put_file(char out[512])
{
    snprintf(out, 512, "%s/shrinks-300000.gguf", check_tmp());
    return put("tests/goldens/gguf/tiny-a-q8_0.gguf", out);
}

static bool put_folder(char out[512])
{
    static const char *const files[] = {"config.json", "tokenizer.json", "model.safetensors"};
    bool good = true;
    snprintf(out, 512, "%s/shrinks-300000", check_tmp());
    mkdir(out, 0700);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[100], to[600];
        snprintf(from, sizeof from, "tests/goldens/tiny-a/%s", files[i]);
        snprintf(to, sizeof to, "%s/%s", out, files[i]);
        good = good && put(from, to);
    }
    return good;
}

static const char words[] = " shrank while it was in use: expected ", found[] = "found 300000";

/* The program has said it, has given the terminal back, and ends. */
static void check_end(void)
{
    CHECK(rig_wait(found));
    CHECK(rig_shows(words));
    int status = rig_end();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) CHECK_FAIL("ended with %#x", (unsigned)status);
    CHECK(!rig_alternate());
    CHECK(rig_cooked());
}

static void check_command(const char *model, const char *const *arguments)
{
    char home[600];
    snprintf(home, sizeof home, "%s/home", check_tmp());
    const char *told[12] = {0};
    for (int i = 0; arguments[i]; i++) told[i] = strcmp(arguments[i], "MODEL") ? arguments[i] : model;
    if (!rig_start(home, 24, COLUMNS, "xterm-256color", told)) CHECK_FAIL("%s does not start", arguments[0]);
    else check_end();
}

TEST(every_command_ends_in_one_line)
{
    static const char *const commands[][10] = {
        {"run", "-m", "MODEL", "Hello"},
        {"eval", "-m", "MODEL", "--ids", "1,2,3,4", "--perplexity"},
        {"info", "-m", "MODEL"},
        {"convert", "MODEL", "/dev/null", "--type", "q8_0"},
        {"bench", "model", "-m", "MODEL", "--quick"},
        {"chat", "--plain", "-m", "MODEL"},
        {"chat", "-m", "MODEL"},
    };
    if (!prepare()) return;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (int folder = 0; folder < 2; folder++) {
            char model[512];
            REQUIRE(folder ? put_folder(model) : put_file(model));
            check_command(model, commands[i]);
        }
}

/* A conversation that goes over to such a model. */
static void check_change(const char *const *arguments, const char *prompt, const char *answered)
{
    char model[512], home[600], line[700], saved[700];
    REQUIRE(put_file(model));
    snprintf(home, sizeof home, "%s/%s", check_tmp(), arguments[1]);
    REQUIRE(rig_start(home, 24, COLUMNS, "xterm-256color", arguments) && rig_wait(prompt));
    rig_type("What is the capital of Peru?\r");
    REQUIRE(rig_wait("Lima") && rig_wait(answered));
    /* What was said is on the disk, and stays there. */
    snprintf(saved, sizeof saved, "grep -rq Lima %s --include='*.json'", home);
    for (int i = 0; i < 200 && system(saved); i++) rig_take(100);
    snprintf(line, sizeof line, "/model %s\r", model);
    rig_type(line);
    check_end();
    CHECK(!system(saved));
}

TEST(a_conversation_keeps_its_saved_turns)
{
    static const char *const screen[] = {"chat", "--temp", "0", NULL},
                             *const plain[] = {"chat", "--plain", "--temp", "0", NULL};
    if (!prepare()) return;
    check_change(screen, "IDLE", "IDLE");
    check_change(plain, "Ctrl-D leaves", "first ");
}

/* Experts are read while a reply is written: that is an error of the turn, and the conversation goes on. */
static void check_experts(const char *const *arguments, const char *prompt, const char *answered, const char *changed)
{
    char model[512], home[600];
    const char *told[12] = {0};
    int n = 0;
    snprintf(model, sizeof model, "%s/experts.gguf", check_tmp());
    snprintf(home, sizeof home, "%s/experts%s", check_tmp(), arguments[1]);
    REQUIRE(put("tests/goldens/gguf/tiny-d-q8_0.gguf", model));
    for (; arguments[n]; n++) told[n] = arguments[n];
    told[n] = "-m", told[n + 1] = model;
    REQUIRE(rig_start(home, 24, COLUMNS, "xterm-256color", told) && rig_wait(prompt));
    rig_type("Hello.\r");
    REQUIRE(rig_wait(answered));
    REQUIRE(!truncate(model, 100000));
    rig_type("And then?\r");
    CHECK(rig_wait(words));
    rig_type("/model builtin\r");
    REQUIRE(rig_wait(changed));
    rig_type("What is the capital of Peru?\r");
    CHECK(rig_wait("Lima") && rig_wait(" 9 out"));
    LEAVE();
}

TEST(a_turn_fails_and_the_conversation_goes_on)
{
    static const char *const screen[] = {"chat", "--temp", "0", "--expert-memory", "200K", "-n", "20", NULL},
                             *const plain[] = {"chat", "--plain", "--temp", "0", "--expert-memory", "200K", "-n", "20",
                                               NULL};
    rig_environment(NULL);
    check_experts(screen, "IDLE", "length limit", "51m q6_k");
    check_experts(plain, "Ctrl-D leaves", "cut off", "going on with Tandem Demo");
}

TEST_MAIN(T(a_turn_fails_and_the_conversation_goes_on), T(reading_beyond_the_new_end_is_one_line),
          T(on_the_threads_of_a_team_too), T(other_causes_stay_what_they_are), T(every_command_ends_in_one_line),
          T(a_conversation_keeps_its_saved_turns))
