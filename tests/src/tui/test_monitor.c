/* `tandem monitor` end to end: against a running chat, and against others who sit at the socket. */
#include "tests/check.h"
#include "tests/json_line.h"
#include "tests/src/tui/rig.h"
#include "tests/ui/golden.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/json/json.h"
#include "src/watch/monitor_json.h"
#include "src/watch/tui_socket.h"

static char home[64];

/* Listens as a Tandem with that process id would. */
static int listen_as(int pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(home, sizeof home, "%s", check_tmp());
    snprintf(address.sun_path, sizeof address.sun_path, "%s/tandem", home);
    mkdir(address.sun_path, 0700);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/tandem/%d.sock", home, pid);
    unlink(address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4)) return -1;
    return fd;
}

/* A child that writes the bytes to whoever connects, then closes, or keeps silent until it is killed. */
static pid_t serve(int fd, const char *bytes, bool closes)
{
    pid_t child = fork();
    if (child) {
        close(fd);
        return child;
    }
    for (;;) {
        int peer = accept(fd, NULL, NULL);
        if (peer < 0) _exit(1);
        for (size_t n = strlen(bytes), at = 0; at < n;) {
            ssize_t done = write(peer, bytes + at, n - at);
            if (done <= 0) break;
            at += (size_t)done;
        }
        if (closes) close(peer);
    }
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Both outputs of `tandem monitor ARGUMENTS`; *status its exit status. */
static const char *run(const char *arguments, int *status)
{
    static char out[65536];
    char command[1000];
    const char *program = getenv("TANDEM");
    snprintf(command, sizeof command, "XDG_RUNTIME_DIR='%s' '%s' monitor %s 2>&1", home,
             program ? program : "build/tandem", arguments);
    FILE *in = popen(command, "r");
    if (!in) return "";
    size_t n = fread(out, 1, sizeof out - 1, in);
    out[n] = 0;
    int ended = pclose(in);
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    return out;
}

TEST(several_are_listed_and_a_stale_socket_goes)
{
    static const char *const chat[] = {"chat", "--temp", "0", "-c", "1024", NULL};
    char path[400], line[100];
    int status, other = listen_as((int)getpid()), stale = listen_as(999999999);
    struct stat st;
    REQUIRE(other >= 0 && stale >= 0);
    CHECK(run("", &status) && status == 1);
    close(stale);
    REQUIRE(rig_start(home, 24, 80, "xterm-256color", chat) && rig_wait("IDLE"));
    snprintf(path, sizeof path, "%s/tandem/%d.sock", home, (int)rig_pid());
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    snprintf(path, sizeof path, "%s/tandem", home);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0700);
    const char *out = run("", &status);
    CHECK_INT(1, status);
    CHECK(strstr(out, "several are running"));
    snprintf(line, sizeof line, "  %-8d silent\n", (int)getpid());
    CHECK(strstr(out, line));
    snprintf(line, sizeof line, "  %-8d idle       51m q6_k\n", (int)rig_pid());
    CHECK(strstr(out, line));
    snprintf(path, sizeof path, "%s/tandem/999999999.sock", home);
    CHECK(access(path, F_OK) != 0);
    close(other);
    rig_type("\x04");
    CHECK_INT(0, rig_end());
    CHECK_STR("tandem: none is running; `tandem` in another terminal begins a conversation\n", run("", &status));
    CHECK_INT(1, status);
}

TEST(a_place_for_sockets_without_a_runtime_folder)
{
    char folder[200], usual[60], wanted[400];
    listen_as((int)getpid());
    setenv("XDG_STATE_HOME", home, 1);
    unsetenv("XDG_RUNTIME_DIR");
    snprintf(usual, sizeof usual, "/run/user/%u", (unsigned)geteuid());
    bool there = tui_socket_folder_is_safe(usual);
    if (there) snprintf(wanted, sizeof wanted, "%s/tandem", usual);
    else snprintf(wanted, sizeof wanted, "%s/tandem/run", home);
    REQUIRE(tui_socket_folder(folder, sizeof folder));
    CHECK_STR(wanted, folder);
    setenv("XDG_RUNTIME_DIR", home, 1);
    snprintf(wanted, sizeof wanted, "%s/tandem", home);
    REQUIRE(tui_socket_folder(folder, sizeof folder));
    CHECK_STR(wanted, folder);
}

TEST(a_peer_that_is_no_tandem)
{
    static const struct {
        const char *bytes, *said;
        int status;
    } peers[] = {
        {"\033[31mHTTP/1.1 400 Bad Request\r\n\r\n", "tandem: the monitor's line: byte 0: not valid JSON", 1},
        {"{\"a\":1}\n[7]\n", "{\"a\":1}\ntandem: the monitor's line: expected an object\n", 1},
        {"{\"a\":1}\n{\"half of a li", "{\"a\":1}\n", 0}, /* it has left */
    };
    char pid[20];
    snprintf(pid, sizeof pid, "--json %d", (int)getpid());
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        int status, fd = listen_as((int)getpid());
        REQUIRE(fd >= 0);
        pid_t child = serve(fd, peers[i].bytes, true);
        const char *out = run(pid, &status);
        CHECK_INT(peers[i].status, status);
        if (strncmp(out, peers[i].said, strlen(peers[i].said))) CHECK_FAIL("%zu: %s", i, out);
        CHECK(!strchr(out, '\033'));
        end(child);
    }
}

TEST(a_folder_that_others_may_write_to)
{
    char path[400], arguments[20];
    int status, fd = listen_as((int)getpid());
    REQUIRE(fd >= 0);
    snprintf(path, sizeof path, "%s/tandem", home);
    chmod(path, 0777);
    CHECK(strstr(run("", &status), "not trusted"));
    CHECK_INT(1, status);
    snprintf(arguments, sizeof arguments, "%d", (int)getpid());
    CHECK(strstr(run(arguments, &status), "not trusted"));
    chmod(path, 0700);
    close(fd);
}

TEST(the_screen)
{
    static struct sample s;
    char pid[20], *bytes;
    int fd = listen_as((int)getpid());
    REQUIRE(fd >= 0);
    sample_init(&s);
    sample_move(&s, clock_ns());
    s.view.monitor.turn_start_ns = s.view.now_ns - 5000000000;
    s.view.monitor.turn_end_ns = s.view.now_ns;
    json_object *o = monitor_json_write(&s.view, true);
    REQUIRE(asprintf(&bytes, "%s\n{\"stops here", json_line(o)) > 0);
    json_free(o);
    pid_t child = serve(fd, bytes, false);
    free(bytes);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    const char *const arguments[] = {"monitor", pid, NULL};
    REQUIRE(rig_start(home, 30, 100, "xterm-256color", arguments) && rig_wait("tandem 4711"));
    CHECK(rig_wait("PREFILL has read 128 of its 155 tokens"));
    CHECK(rig_wait("last 20 s"));
    rig_type("v");
    CHECK(rig_wait("turn 5.0 s"));
    rig_type("?");
    CHECK(rig_wait("keys of the monitor"));
    CHECK(rig_wait("hold the picture"));
    rig_type("q"); /* closes the page alone */
    CHECK(rig_wait_gone("keys of the monitor"));
    rig_type("i");
    CHECK(rig_wait("INSPECT PREFILL") && rig_wait("Left Right move"));
    rig_type("\033[D\033[D");
    /* Two of the 65 columns of 5 s to the left of the last one. */
    CHECK(rig_wait("INSPECT PREFILL  -0.23 s: ~ helps, 32 tokens"));
    rig_type("i");
    CHECK(rig_wait_gone("INSPECT"));
    rig_type("5");
    CHECK(rig_wait_gone("TURNS"));
    CHECK(rig_wait("no news for"));
    rig_resize(12, 40); /* the lanes stay in the smallest terminal; there is no prompt of a chat */
    CHECK(rig_wait("302 tok/s  busy") && rig_wait("q leave  ? keys"));
    CHECK(rig_row("PREFILL ") > 0 && !rig_shows("Enter sends"));
    rig_resize(5, 20);
    CHECK(rig_wait("pre ") && rig_wait("dec ") && rig_wait("q leave  ? keys") && rig_row("q leave") == 4);
    CHECK(!rig_shows(">\n") && !rig_shows("Enter"));
    rig_type("q");
    CHECK_INT(0, rig_end());
    CHECK(!rig_alternate() && rig_cooked());
    end(child);
}

/* The colours are those for the background that the terminal tells, else its environment. The terminal here answers
 * nothing by itself: what it would say is typed. */
TEST(the_background)
{
    static struct sample s;
    char pid[20], *bytes;
    int fd = listen_as((int)getpid());
    REQUIRE(fd >= 0);
    sample_init(&s);
    sample_move(&s, clock_ns());
    json_object *o = monitor_json_write(&s.view, true);
    REQUIRE(asprintf(&bytes, "%s\n", json_line(o)) > 0);
    json_free(o);
    pid_t child = serve(fd, bytes, false);
    free(bytes);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    const char *const arguments[] = {"monitor", pid, NULL};
    int dark, light;
    REQUIRE(rig_start(home, 30, 100, "xterm-256color", arguments) && rig_wait("tandem 4711"));
    dark = rig_colour("ANSWERING");
    rig_type("\033]11;rgb:ffff/ffff/ffff\033\\");
    rig_type("?");
    CHECK(rig_wait("keys of the monitor"));
    rig_type("q");
    CHECK(rig_wait_gone("keys of the monitor"));
    light = rig_colour("ANSWERING");
    CHECK(dark != light);
    rig_type("q");
    CHECK_INT(0, rig_end());
    rig_environment("COLORFGBG=0;15");
    REQUIRE(rig_start(home, 30, 100, "xterm-256color", arguments) && rig_wait("tandem 4711"));
    CHECK_INT(light, rig_colour("ANSWERING"));
    rig_type("\033]11;rgb:0000/0000/0000\033\\"); /* what the terminal says goes before it */
    rig_type("?");
    CHECK(rig_wait("keys of the monitor"));
    rig_type("q");
    CHECK(rig_wait_gone("keys of the monitor"));
    CHECK_INT(dark, rig_colour("ANSWERING"));
    rig_type("q");
    CHECK_INT(0, rig_end());
    rig_environment(NULL);
    end(child);
}

/* What was shown is kept, without a word, and shown again. */
TEST(a_recording)
{
    static struct sample s;
    char arguments[600], path[300], *bytes, text[20000];
    int status, fd = listen_as((int)getpid());
    REQUIRE(fd >= 0);
    sample_init(&s);
    s.view.status.session = "a name";
    json_object *early = monitor_json_write(&s.view, false); /* sent before the lanes were asked for */
    json_object *o = monitor_json_write(&s.view, true), *later;
    s.view.now_ns += 2000000000; /* long enough to be seen */
    s.view.status.state = VIEW_IDLE;
    s.view.monitor.pid = 4712;
    later = monitor_json_write(&s.view, true);
    REQUIRE(asprintf(&bytes, "%s\n%s\n%s\n", json_line(early), json_line(o), json_line(later)) > 0);
    const char *kept = strchr(bytes, '\n') + 1;
    json_free(early);
    json_free(o);
    json_free(later);
    pid_t child = serve(fd, bytes, true);
    snprintf(path, sizeof path, "%s/kept.jsonl", home);
    snprintf(arguments, sizeof arguments, "--json --record '%s' %d", path, (int)getpid());
    CHECK_STR("", strstr(run(arguments, &status), "a name") ? "the name was told" : "");
    CHECK_INT(0, status);
    end(child);
    struct stat st;
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    FILE *in = fopen(path, "r");
    REQUIRE(in);
    size_t n = fread(text, 1, sizeof text - 1, in);
    text[n] = 0;
    fclose(in);
    char *second = strchr(text, '\n');
    CHECK(second && !strncmp(text, kept, (size_t)(second - text))); /* the first line as it came */
    static const char changes[] = "{\"changes\":{\"pid\":[\"is\",4712],\"state\":[\"is\",\"idle\"],";
    CHECK(second && !strncmp(second + 1, changes, sizeof changes - 1) && 8 * strlen(second) < strlen(text));
    snprintf(arguments, sizeof arguments, "--json --replay '%s'", path);
    CHECK_STR(kept, run(arguments, &status));
    snprintf(arguments, sizeof arguments, "%s/old.jsonl", home); /* as older versions wrote them */
    REQUIRE((in = fopen(arguments, "w")));
    fputs(kept, in);
    fclose(in);
    snprintf(arguments, sizeof arguments, "--json --replay '%s/old.jsonl'", home);
    CHECK_STR(kept, run(arguments, &status));
    free(bytes);
    const char *const play[] = {"monitor", "--replay", path, NULL};
    REQUIRE(rig_start(home, 30, 100, "xterm-256color", play) && rig_wait("ANSWERING  tandem 4711"));
    CHECK(rig_wait("IDLE  tandem 4712")); /* the last picture stays */
    CHECK(!rig_shows("no news"));
    rig_type("q");
    CHECK_INT(0, rig_end());
    snprintf(arguments, sizeof arguments, "--json --replay '%s'", path);
    CHECK(strstr(run(arguments, &status), "\"pid\":4712") && status == 0);
    snprintf(arguments, sizeof arguments, "--replay '%s' 7", path);
    CHECK(strstr(run(arguments, &status), "neither a process id") && status == 2);
}

TEST(files_that_are_no_recordings)
{
    static const struct {
        const char *bytes, *said;
    } files[] = {
        {"", "empty: expected lines of --record"},
        {"{\"schema\":9,\"now_ns\":5}\n", "line 1: schema 9, expected 1"},
        {"{\"a\":1}\n", "line 1: no \"schema\""},
        {"{\"schema\":1}\n", "line 1: no time in \"now_ns\""},
        {"{\"schema\":1,\"now_ns\":5}\n[]\n", "line 2: the monitor's line: expected an object"},
        {"{\"changes\":{}}\n", "line 1: changes, and nothing before them"},
        {"{\"schema\":1,\"now_ns\":5}\n{\"changes\":{\"now_ns\":[\"gone\"]}}\n", "line 2: no time in \"now_ns\""},
        {"{\"schema\":1,\"now_ns\":5}\n{\"changes\":{\"now_ns\":6}}\n", "line 2: a change that is none of"},
        {"\033]0;x\a\n", "line 1: the monitor's line: byte 0: not valid JSON"}};
    char path[300], arguments[600], said[400];
    int status, fd = listen_as((int)getpid());
    close(fd);
    snprintf(path, sizeof path, "%s/kept.jsonl", home);
    snprintf(arguments, sizeof arguments, "--json --replay '%s'", path);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *out = fopen(path, "w");
        REQUIRE(out);
        fputs(files[i].bytes, out);
        fclose(out);
        const char *found = run(arguments, &status);
        snprintf(said, sizeof said, "tandem: %s: %s", path, files[i].said);
        if (!strstr(found, said) || strchr(found, '\033') || status != 1) CHECK_FAIL("%zu: %d, %s", i, status, found);
    }
    snprintf(arguments, sizeof arguments, "--replay '%s'", home);
    CHECK(strstr(run(arguments, &status), "expected a regular file, found a folder") && status == 1);
    CHECK(strstr(run("--replay /nowhere/x", &status), "/nowhere/x: can't be opened: No such file") && status == 1);
}

/* Nobody asks for the shares; a key gives the measurement up, and the next rest begins it again. */
TEST(the_cores_are_measured_at_the_first_rest)
{
    static const char *const chat[] = {"chat", "--temp", "0", "-c", "1024", "--measure-idle=on", NULL};
    snprintf(home, sizeof home, "%s/rest", check_tmp());
    mkdir(home, 0700);
    REQUIRE(rig_start(home, 40, 120, "xterm-256color", chat) && rig_wait("IDLE"));
    rig_type("/monitor full\r");
    CHECK(rig_wait("SHARE: not measured yet"));
    CHECK(rig_wait("SHARE of what was measured") && rig_wait("memory "));
    rig_type("\x04");
    CHECK_INT(0, rig_end());
}

TEST_MAIN(T(the_cores_are_measured_at_the_first_rest), T(a_recording), T(files_that_are_no_recordings),
          T(several_are_listed_and_a_stale_socket_goes),
          T(a_place_for_sockets_without_a_runtime_folder),
          T(a_peer_that_is_no_tandem),
          T(a_folder_that_others_may_write_to), T(the_screen), T(the_background))
