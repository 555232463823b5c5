#include "tests/src/tui/rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/bench/pty.h"
#include "tests/check.h"

enum { LONGEST = 1 << 18 };

static struct {
    pty pty;
    char reports[320];          /* a sanitizer's, by pattern */
    char said[LONGEST];         /* all that was written, the latest part of it */
    size_t n_said, said_from;   /* from where rig_said looks */
} rig = {.pty.fd = -1};

static const char *rig_lc_all = "C.UTF-8", *rig_more;
static bool rig_utf8 = true;

void rig_locale(const char *lc_all, bool utf8)
{
    rig_lc_all = lc_all;
    rig_utf8 = utf8;
}

void rig_environment(const char *variable)
{
    rig_more = variable;
}

static void keep(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    if (n > LONGEST / 2) n = LONGEST / 2;
    if (rig.n_said + n >= LONGEST) {
        size_t gone = rig.n_said > LONGEST / 2 ? rig.n_said - LONGEST / 2 : 0;
        memmove(rig.said, rig.said + gone, rig.n_said -= gone);
        rig.said_from -= gone < rig.said_from ? gone : rig.said_from;
    }
    memcpy(rig.said + rig.n_said, bytes, n);
    rig.n_said += n;
    rig.said[rig.n_said] = 0;
}

bool rig_start(const char *home, int rows, int cols, const char *term, const char *const *arguments)
{
    /* All of them: no key of a test reaches the models of whoever runs it. */
    static const char *const homes[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME",
                                        "HOME"};
    enum { HOMES = sizeof homes / sizeof *homes };
    const char *program = getenv("TANDEM");
    const char *argv[32] = {program ? program : "build/tandem"};
    char home_is[HOMES][340], locale[64], address[380], undefined[380];
    const char *environment[20];
    int n = 0;
    for (int i = 0, at = 1; i < 29 && arguments[i]; i++) {
        argv[at++] = arguments[i];
        /* The first rest is the test's, unless it says otherwise behind this. */
        if (!i && !strcmp(arguments[i], "chat")) argv[at++] = "--measure-idle=off";
    }
    for (int i = 0; i < HOMES; i++) {
        snprintf(home_is[i], sizeof home_is[i], "%s=%s", homes[i], home);
        environment[n++] = home_is[i];
    }
    snprintf(locale, sizeof locale, "LC_ALL=%s", rig_lc_all);
    environment[n++] = locale;
    environment[n++] = "INPUTRC=/dev/null";
    environment[n++] = "VISUAL=true";
    /* Without these, also where the program was not begun by tests/run. */
    environment[n++] = "NO_COLOR";
    environment[n++] = "DISPLAY";
    environment[n++] = "WAYLAND_DISPLAY";
    environment[n++] = "TMUX";
    environment[n++] = "HF_HOME";
    environment[n++] = "HF_HUB_CACHE";
    /* A terminal is no place for what a sanitizer says. */
    snprintf(address, sizeof address, "ASAN_OPTIONS=log_path=%s/sanitizer", home);
    snprintf(undefined, sizeof undefined, "UBSAN_OPTIONS=log_path=%s/sanitizer", home);
    if (!getenv("ASAN_OPTIONS")) environment[n++] = address;
    if (!getenv("UBSAN_OPTIONS")) environment[n++] = undefined;
    if (rig_more) environment[n++] = rig_more;
    environment[n] = NULL;
    snprintf(rig.reports, sizeof rig.reports, "%s/sanitizer.*", home);
    pty_close(&rig.pty);
    rig.n_said = rig.said_from = 0;
    const pty_options o = {.rows = rows, .cols = cols, .term = term, .no_utf8 = !rig_utf8, .environment = environment};
    if (pty_open(&rig.pty, argv[0], argv, &o, NULL)) return false;
    rig.pty.seen = keep;
    return true;
}

void rig_type_n(const char *bytes, size_t n)
{
    pty_keys(&rig.pty, bytes, n, NULL);
}

void rig_type(const char *bytes)
{
    rig_type_n(bytes, strlen(bytes));
}

void rig_resize(int rows, int cols)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    rig.pty.rows = rows;
    rig.pty.cols = cols;
    vterm_set_size(rig.pty.vt, rows, cols);
    ioctl(rig.pty.fd, TIOCSWINSZ, &size);
}

pid_t rig_pid(void)
{
    return rig.pty.child;
}

void rig_kill(int number)
{
    if (rig.pty.child > 0) kill(rig.pty.child, number); /* else the whole group would be meant */
}

bool rig_take(int ms)
{
    return !pty_take(&rig.pty, ms, NULL);
}

int rig_row(const char *text)
{
    return pty_find(&rig.pty, 0, text);
}

void rig_text(int row, char out[RIG_ROW])
{
    _Static_assert((int)PTY_ROW <= (int)RIG_ROW, "a row of the pseudo-terminal");
    pty_row(&rig.pty, row, out);
}

bool rig_shows(const char *text)
{
    return rig_row(text) >= 0;
}

bool rig_coloured(void)
{
    VTermScreenCell cell;
    for (int row = 0; row < rig.pty.rows; row++)
        for (int col = 0; col < rig.pty.cols; col++)
            if (vterm_screen_get_cell(rig.pty.screen, (VTermPos){row, col}, &cell) &&
                !(VTERM_COLOR_IS_DEFAULT_FG(&cell.fg) && VTERM_COLOR_IS_DEFAULT_BG(&cell.bg)))
                return true;
    return false;
}

int rig_colour(const char *text)
{
    VTermScreenCell cell;
    int row = rig_row(text);
    char line[RIG_ROW];
    if (row < 0) return -1;
    rig_text(row, line);
    VTermPos at = {row, (int)(strstr(line, text) - line)};
    if (!vterm_screen_get_cell(rig.pty.screen, at, &cell) || !VTERM_COLOR_IS_INDEXED(&cell.fg)) return -1;
    return cell.fg.indexed.idx;
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
    char row[PTY_ROW];
    glob_t found;
    for (int i = 0; i < rig.pty.rows; i++) {
        pty_row(&rig.pty, i, row);
        printf("# |%s\n", row);
    }
    if (glob(rig.reports, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) print_file(found.gl_pathv[i]);
    globfree(&found);
}

static bool wait_until(const char *text, bool there)
{
    int64_t until = clock_ns() + CHECK_PATIENCE_NS;
    while (rig_shows(text) != there && clock_ns() < until && rig_take(100)) {
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

bool rig_said(const char *text)
{
    int64_t until = clock_ns() + CHECK_PATIENCE_NS;
    for (;;) {
        rig.said[rig.n_said] = 0;
        char *found = strstr(rig.said + rig.said_from, text);
        if (found) {
            rig.said_from = (size_t)(found - rig.said) + strlen(text);
            return true;
        }
        if (clock_ns() < until && rig_take(100)) continue;
        printf("# '%s' was not said after: %s\n", text, rig.said + rig.said_from);
        return false;
    }
}

int rig_count(const char *bytes)
{
    int n = 0;
    for (const char *at = rig.said; (at = strstr(at, bytes)); at++) n++;
    return n;
}

pid_t rig_grandchild(void)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)rig.pty.child, (int)rig.pty.child);
    FILE *in = fopen(path, "r");
    if (in && fscanf(in, "%d", &pid) != 1) pid = 0;
    if (in) fclose(in);
    return pid;
}

/* A thread that waits for a CPU is no sleeper. */
static bool all_threads_sleep(void)
{
    char path[64], stat[256];
    bool sleep = true;
    snprintf(path, sizeof path, "/proc/%d/task", (int)rig.pty.child);
    DIR *threads = opendir(path);
    for (struct dirent *one; sleep && threads && (one = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", (int)rig.pty.child, one->d_name);
        FILE *in = one->d_name[0] != '.' ? fopen(path, "r") : NULL;
        const char *name_ends = in && fgets(stat, sizeof stat, in) ? strrchr(stat, ')') : NULL;
        sleep = !name_ends || name_ends[2] == 'S';
        if (in) fclose(in);
    }
    if (threads) closedir(threads);
    return threads && sleep;
}

bool rig_wait_rest(void)
{
    enum { LOOKS = 50, EVERY_MS = 20 };
    int64_t until = clock_ns() + CHECK_PATIENCE_NS, look = 0;
    for (int rests = 0; rests < LOOKS; rests = all_threads_sleep() ? rests + 1 : 0) {
        for (look = clock_ns() + EVERY_MS * INT64_C(1000000); clock_ns() < look;)
            if (!rig_take((int)((look - clock_ns()) / 1000000) + 1)) return false;
        if (clock_ns() > until) {
            printf("# it does not come to rest\n");
            return false;
        }
    }
    return true;
}

bool rig_is_cooked(void)
{
    struct termios modes;
    return !tcgetattr(rig.pty.fd, &modes) && (modes.c_lflag & ICANON) && (modes.c_lflag & ECHO);
}

bool rig_stall(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/0", (int)rig.pty.child);
    int fd = open(path, O_RDWR | O_NOCTTY);
    bool stalls = fd >= 0 && !tcflow(fd, TCOOFF);
    if (fd >= 0) close(fd);
    return stalls;
}

int rig_end(void)
{
    return pty_end(&rig.pty, 0);
}

bool rig_files_have(const char *home, const char *word)
{
    char command[600];
    snprintf(command, sizeof command, "grep -rqsF '%s' '%s'", word, home);
    return !system(command);
}

bool rig_alternate(void)
{
    return rig.pty.alternate;
}

bool rig_cooked(void)
{
    return rig.pty.cooked;
}
