#include "tests/screens/fake_host.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/cli/program.h"
#include "src/watch/pressure.h"
#include "ui/keys/decoder.h"
#include "ui/terminal/ground.h"
#include "ui/terminal/questions.h"
#include "ui/terminal/term.h"

struct host host;

void host_print(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    for (int done = 0; done < n;) {
        ssize_t wrote = write(STDOUT_FILENO, text + done, (size_t)(n - done));
        if (wrote < 0) _exit(5);
        done += (int)wrote;
    }
    if (n >= 0) free(text);
}

void host_environment(const char *home)
{
    static const char *const folders[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
                                          "HOME"};
    static const char *const gone[] = {"NO_COLOR", "COLORFGBG", "DISPLAY", "WAYLAND_DISPLAY",
                                       "TMUX",     "EDITOR",    "HF_HOME", "HF_HUB_CACHE"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) setenv(folders[i], home, 1);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) unsetenv(gone[i]);
    setenv("TERM", "xterm-256color", 1);
    setenv("VISUAL", "true", 1);
    setenv("INPUTRC", "/dev/null", 1);
    setenv("TANDEM_DATADIR", "assets", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TZ", "UTC", 1);
    setlocale(LC_ALL, "C.UTF-8");
}

/* ---- src/cli/program.h ----------------------------------------------------------------------------------------- */

/* What a script has put there stands for the programs beside this one. */
bool program_find(const char *name, char out[PATH_MAX])
{
    return snprintf(out, PATH_MAX, "%s/bin/%s", getenv("HOME"), name) < PATH_MAX && !access(out, X_OK);
}

/* ---- The C library's --------------------------------------------------------------------------------------------
 *
 * A definition in the program comes before the library's. 2026-11-21 14:00 UTC is when the clock begins. */

enum { BEGINS_S = 1795269600 };

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (!host.running) return (int)syscall(SYS_clock_gettime, clock, t);
    t->tv_sec = host.now_ns / 1000000000 + (clock == CLOCK_REALTIME ? BEGINS_S : 0);
    t->tv_nsec = host.now_ns % 1000000000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out) *out = t.tv_sec;
    return t.tv_sec;
}

pid_t getpid(void)
{
    return host.running ? 4711 : (pid_t)syscall(SYS_getpid);
}

int isatty(int fd)
{
    (void)fd;
    return 1;
}

ssize_t read(int fd, void *buffer, size_t n)
{
    if (!host.running || fd != STDIN_FILENO) return (ssize_t)syscall(SYS_read, fd, buffer, n);
    if (n > host.n_typed) n = host.n_typed;
    if (!n) return 0;
    memcpy(buffer, host.typed, n);
    host.typed += n;
    host.n_typed -= n;
    return (ssize_t)n;
}

static enum { FREE, SLOW, FULL } _Atomic disk; /* for files: their folders are flushed as always */

void host_disk(const char *state)
{
    atomic_store(&disk, !strcmp(state, "full") ? FULL : !strcmp(state, "slow") ? SLOW : FREE);
}

int fsync(int fd)
{
    enum { PATIENCE_MS = 20000 };
    struct stat st;
    if (!fstat(fd, &st) && !S_ISREG(st.st_mode)) return (int)syscall(SYS_fsync, fd);
    for (int ms = 0; atomic_load(&disk) == SLOW; ms++) {
        if (ms == PATIENCE_MS) host_print("-- nobody frees the disk\n");
        if (ms >= PATIENCE_MS) break;
        usleep(1000);
    }
    if (!host.running || atomic_load(&disk) != FULL) return (int)syscall(SYS_fsync, fd);
    errno = ENOSPC;
    return -1;
}

/* ---- src/watch/pressure.h: the machine of the test has memory as the script says */

static pressure_change memory;

void host_memory(bool is_short)
{
    memory = is_short ? PRESSURE_SHORT : PRESSURE_OVER;
}

pressure_change pressure_look(pressure *p, int64_t now_ns)
{
    (void)p, (void)now_ns;
    pressure_change change = memory;
    memory = PRESSURE_AS_BEFORE;
    return change;
}

int pressure_fd(const pressure *p)
{
    (void)p;
    return -1;
}

int64_t pressure_deadline(const pressure *p)
{
    (void)p;
    return INT64_MAX;
}

void pressure_close(pressure *p)
{
    (void)p;
}

static int really_poll(struct pollfd *fds, nfds_t n, int ms)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return (int)syscall(SYS_ppoll, fds, n, ms < 0 ? NULL : &wait, NULL, 0);
}

/* A loop that wants to be woken at once, again and again while no time passes, would not sleep on a real machine. */
static void count_spins(void)
{
    static int64_t at;
    static int spins;
    if (at != host.now_ns) spins = 0;
    at = host.now_ns;
    static bool told;
    if (++spins < 100) return;
    if (!told) host_print("-- the loop spins\n");
    told = true;
    host.now_ns += 1000000;
}

/* poll(2) under a name of our own: its declaration says that the array is only written. */
int host_poll(struct pollfd *fds, nfds_t n, int timeout) __asm__("poll");

int host_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    enum { LOOP = 3, PATIENCE_MS = 20000 }; /* the front end's loop waits for more than that at once, others for less */
    if (!host.running || n <= LOOP) return really_poll(fds, n, timeout);
    static bool over;
    int64_t left_ns = timeout < 0 ? INT64_MAX : INT64_C(1000000) * timeout;
    for (;;) {
        int terminal = fds[0].fd;
        fds[0].fd = -1;
        int ready = really_poll(fds, n, host.awaits_wake || terminal < 0 ? PATIENCE_MS : 0);
        fds[0].fd = terminal;
        host.awaits_wake = false;
        if (ready > 0) host.was_woken = true;
        if (ready < 0 && errno != EINTR) return ready;
        if (ready < 0) continue;
        if (host.n_typed && terminal == STDIN_FILENO) {
            fds[0].revents = POLLIN;
            ready++;
        }
        if (ready) return ready;
        if (left_ns == 0) {
            if (timeout == 0) count_spins();
            return 0;
        }
        if (host.wait_ns) {
            int64_t step = host.wait_ns < left_ns ? host.wait_ns : left_ns;
            host.now_ns += step;
            host.wait_ns -= step;
            if (left_ns != INT64_MAX) left_ns -= step;
        } else if (!host.next()) {
            if (over) _exit(6); /* it was told to leave and waits */
            over = true;
            raise(SIGTERM); /* to this thread: another one of the process may take it too late */
        }
    }
}

/* ---- ui/terminal/term.h ---------------------------------------------------------------------------------------- */

struct term {
    int unused;
};

struct term *term_open(const char *name, int out, int in, int leave, int colours)
{
    static struct term term;
    (void)name, (void)out, (void)in, (void)leave, (void)colours;
    host.canvas = canvas_new(host.rows, host.cols);
    return host.canvas ? &term : NULL;
}

void term_close(struct term *term)
{
    if (!term) return;
    canvas_free(host.canvas);
    host.canvas = NULL;
    host_print("-- gives the terminal back\n");
}

int term_colours(const struct term *term)
{
    (void)term;
    return host.colours;
}

bool term_strikes(const struct term *term)
{
    (void)term;
    return false;
}

void term_size(const struct term *term, int *rows, int *cols)
{
    (void)term;
    *rows = host.rows;
    *cols = host.cols;
}

void term_present(struct term *term, const struct canvas *canvas, enum view_theme theme)
{
    (void)term;
    if (!canvas_resize(host.canvas, canvas->rows, canvas->cols)) _exit(7);
    memcpy(host.canvas->cells, canvas->cells, sizeof *canvas->cells * (size_t)canvas->rows * (size_t)canvas->cols);
    host.canvas->cursor_row = canvas->cursor_row;
    host.canvas->cursor_col = canvas->cursor_col;
    host.theme = theme;
    host.frames++;
}

const char *term_capability(void *unused, const char *name)
{
    (void)unused, (void)name;
    return NULL;
}

void term_redraw(struct term *term)
{
    (void)term;
}

void term_set_synchronised(struct term *term, bool on)
{
    (void)term, (void)on;
}

void term_set_mouse(struct term *term, bool mouse, bool wheel_as_keys)
{
    (void)term;
    host_print("-- mouse %s, wheel %s\n", mouse ? "on" : "off", wheel_as_keys ? "as keys" : "off");
}

ssize_t term_read(struct term *term, void *bytes, size_t n)
{
    (void)term;
    return read(STDIN_FILENO, bytes, n);
}

void term_write(struct term *term, const char *bytes, size_t n)
{
    (void)term;
    if (!n || !strncmp(bytes, QUESTIONS_SCREEN, n) || !strncmp(bytes, QUESTIONS_KITTY, n)) return;
    if (n == sizeof GROUND_QUERY - 1 && !memcmp(bytes, GROUND_QUERY, n)) {
        static char answer[64];
        int length = host.ground ? snprintf(answer, sizeof answer, "\033]11;rgb:%.40s\033\\", host.ground) : 0;
        host.typed = answer;
        host.n_typed = (size_t)length;
        return;
    }
    host_print("-- writes ");
    for (size_t i = 0; i < n; i++)
        host_print((unsigned char)bytes[i] < 0x20 ? "^%c" : "%c", bytes[i] < 0x20 ? bytes[i] + 64 : bytes[i]);
    host_print("\n");
}

void term_suspend(struct term *term)
{
    (void)term;
    host_print("-- leaves the screen\n");
}

void term_resume(struct term *term)
{
    (void)term;
    host_print("-- comes back\n");
}

void term_set_modes(struct term *term, const char *on, const char *off)
{
    (void)term, (void)on, (void)off;
}

void term_take_keys(struct term *term, bool on)
{
    (void)term, (void)on;
}

bool term_continue(struct term *term)
{
    (void)term;
    return true;
}

void term_cell_size(const struct term *t, int *width, int *height)
{
    (void)t;
    *width = *height = 0;
}

bool term_set_graphics(struct term *t, enum graphics_way way)
{
    (void)t;
    return way != GRAPHICS_SIXEL;
}

bool term_has_failed(const struct term *term)
{
    (void)term;
    return false;
}

bool term_is_behind(const struct term *term)
{
    (void)term;
    return false;
}
