#include "tests/tui/rig.h"

#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <vterm.h>

enum { PATIENCE_MS = 60000, WIDEST = 400 };

static struct {
    pid_t pid;
    int master;
    int rows, cols;
    VTerm *vt;
    VTermScreen *screen;
    bool alternate, ended, cooked;
    int status;
    char answers[4096];
    size_t n_answers;
    char reports[320]; /* a sanitizer's, by pattern */
} rig = {.master = -1};

static const char *rig_lc_all = "C.UTF-8";
static bool rig_utf8 = true;

void rig_locale(const char *lc_all, bool utf8)
{
    rig_lc_all = lc_all;
    rig_utf8 = utf8;
}

static int on_property(VTermProp prop, VTermValue *value, void *user)
{
    (void)user;
    if (prop == VTERM_PROP_ALTSCREEN) rig.alternate = value->boolean;
    return 1;
}

static const VTermScreenCallbacks callbacks = {.settermprop = on_property};

/* Answers of the terminal to questions. They are kept until the emulation has taken all that was read: typing takes what
 * the program writes meanwhile. */
static void on_output(const char *bytes, size_t n, void *user)
{
    (void)user;
    if (n > sizeof rig.answers - rig.n_answers) n = sizeof rig.answers - rig.n_answers;
    memcpy(rig.answers + rig.n_answers, bytes, n);
    rig.n_answers += n;
}

static void answer(void)
{
    char bytes[sizeof rig.answers];
    size_t n = rig.n_answers;
    memcpy(bytes, rig.answers, n);
    rig.n_answers = 0;
    if (n) rig_type_n(bytes, n);
}

bool rig_start(const char *home, int rows, int cols, const char *term, const char *const *arguments)
{
    const char *program = getenv("TANDEM");
    const char *argv[32] = {program ? program : "build/tandem"};
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    for (int i = 0; i < 30 && arguments[i]; i++) argv[i + 1] = arguments[i];
    if (rig.vt) vterm_free(rig.vt);
    rig.rows = rows;
    rig.cols = cols;
    rig.alternate = rig.ended = rig.cooked = false;
    rig.n_answers = 0;
    snprintf(rig.reports, sizeof rig.reports, "%s/sanitizer.*", home);
    rig.vt = vterm_new(rows, cols);
    vterm_set_utf8(rig.vt, rig_utf8);
    vterm_output_set_callback(rig.vt, on_output, NULL);
    rig.screen = vterm_obtain_screen(rig.vt);
    vterm_screen_set_callbacks(rig.screen, &callbacks, NULL);
    vterm_screen_enable_altscreen(rig.screen, 1);
    vterm_screen_reset(rig.screen, 1);
    rig.pid = forkpty(&rig.master, NULL, NULL, &size);
    if (rig.pid == 0) {
        setenv("TERM", term, 1);
        setenv("XDG_STATE_HOME", home, 1);
        setenv("XDG_CONFIG_HOME", home, 1);
        setenv("LC_ALL", rig_lc_all, 1);
        setenv("XDG_RUNTIME_DIR", home, 1);
        setenv("INPUTRC", "/dev/null", 1);
        setenv("VISUAL", "true", 1);
        char report[340];
        snprintf(report, sizeof report, "log_path=%s/sanitizer", home); /* a terminal is no place for it */
        setenv("ASAN_OPTIONS", report, 0);
        setenv("UBSAN_OPTIONS", report, 0);
        unsetenv("NO_COLOR");
        unsetenv("DISPLAY");
        unsetenv("WAYLAND_DISPLAY");
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    return rig.pid > 0;
}

void rig_type_n(const char *bytes, size_t n)
{
    while (n) {
        struct pollfd p = {.fd = rig.master, .events = POLLIN | POLLOUT};
        if (poll(&p, 1, PATIENCE_MS) <= 0) return;
        if (p.revents & POLLIN) rig_take(0); /* or both would wait for each other */
        if (!(p.revents & POLLOUT)) {
            if (rig.ended) return;
            continue;
        }
        ssize_t done = write(rig.master, bytes, n < 1024 ? n : 1024);
        if (done < 0 && errno != EAGAIN && errno != EINTR) return;
        if (done <= 0) continue;
        bytes += done;
        n -= (size_t)done;
    }
}

void rig_type(const char *bytes)
{
    rig_type_n(bytes, strlen(bytes));
}

void rig_resize(int rows, int cols)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    rig.rows = rows;
    rig.cols = cols;
    vterm_set_size(rig.vt, rows, cols);
    ioctl(rig.master, TIOCSWINSZ, &size);
}

pid_t rig_pid(void)
{
    return rig.pid;
}

void rig_kill(int number)
{
    kill(rig.pid, number);
}

bool rig_take(int ms)
{
    char buffer[16384];
    struct pollfd p = {.fd = rig.master, .events = POLLIN};
    if (rig.ended) return false;
    while (poll(&p, 1, ms) > 0) {
        ssize_t n = read(rig.master, buffer, sizeof buffer);
        if (n <= 0) {
            rig.ended = true;
            return false;
        }
        vterm_input_write(rig.vt, buffer, (size_t)n);
        answer();
        ms = 0;
    }
    return true;
}

/* A row as UTF-8 without its trailing blanks. */
static void row_text(int row, char out[WIDEST * 24])
{
    size_t n = 0, end = 0;
    for (int col = 0; col < rig.cols; col++) {
        VTermScreenCell cell;
        vterm_screen_get_cell(rig.screen, (VTermPos){row, col}, &cell);
        if (cell.chars[0] == UINT32_MAX) continue; /* the second half of a wide one */
        uint32_t c = cell.chars[0] ? cell.chars[0] : ' ';
        if (c < 0x80) {
            out[n++] = (char)c;
        } else if (c < 0x800) {
            out[n++] = (char)(0xc0 | c >> 6);
            out[n++] = (char)(0x80 | (c & 0x3f));
        } else {
            if (c >= 0x10000) out[n++] = (char)(0xf0 | c >> 18);
            out[n++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
            out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            out[n++] = (char)(0x80 | (c & 0x3f));
        }
        if (c != ' ') end = n;
    }
    out[end] = 0;
}

int rig_row(const char *text)
{
    static char row[WIDEST * 24];
    for (int i = 0; i < rig.rows; i++) {
        row_text(i, row);
        if (strstr(row, text)) return i;
    }
    return -1;
}

bool rig_shows(const char *text)
{
    return rig_row(text) >= 0;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static void print_file(const char *path)
{
    char line[1024];
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in)) printf("# %s", line);
    if (in) fclose(in);
}

void rig_print(void)
{
    static char row[WIDEST * 24];
    glob_t found;
    for (int i = 0; i < rig.rows; i++) {
        row_text(i, row);
        printf("# |%s\n", row);
    }
    if (glob(rig.reports, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) print_file(found.gl_pathv[i]);
    globfree(&found);
}

static bool wait_until(const char *text, bool there)
{
    int64_t until = now_ms() + PATIENCE_MS;
    while (rig_shows(text) != there && now_ms() < until && rig_take(100)) {
    }
    if (rig_shows(text) == there) return true;
    printf("# %s for '%s'; the screen:\n", there ? "waited" : "waited for the end", text);
    rig_print();
    return false;
}

bool rig_wait(const char *text)
{
    return wait_until(text, true);
}

bool rig_wait_gone(const char *text)
{
    return wait_until(text, false);
}

int rig_end(void)
{
    struct termios modes;
    int64_t until = now_ms() + PATIENCE_MS;
    while (now_ms() < until && rig_take(100)) {
        if (waitpid(rig.pid, &rig.status, WNOHANG) != rig.pid) continue;
        rig_take(0);
        rig.pid = -1;
        break;
    }
    if (rig.pid > 0) {
        if (!rig.ended) kill(rig.pid, SIGKILL); /* it hangs: the status will say so */
        waitpid(rig.pid, &rig.status, 0);
    }
    rig.cooked = tcgetattr(rig.master, &modes) == 0 && (modes.c_lflag & ICANON) && (modes.c_lflag & ECHO);
    close(rig.master);
    rig.master = -1;
    return rig.status;
}

bool rig_alternate(void)
{
    return rig.alternate;
}

bool rig_cooked(void)
{
    return rig.cooked;
}
