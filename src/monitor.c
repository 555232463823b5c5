/* `tandem monitor`: what a running Tandem does, on this terminal or as JSON lines, through that program's socket. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/interrupt.h"
#include "src/jsonio.h"
#include "src/mains.h"
#include "src/monitor_json.h"
#include "src/number.h"
#include "src/output.h"
#include "src/tui_socket.h"
#include "ui/decoder.h"
#include "ui/screen.h"
#include "ui/term.h"

enum { LONGEST_LINE = 4 << 20, MOST = 64 };

typedef struct {
    int fd;
    char *bytes; /* what has come and isn't a line yet */
    size_t n, room;
} stream;

/* ---- Finding and reading --------------------------------------------------------------------------------------- */

static int connect_to(const char *folder, int pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/%d.sock", folder, pid);
    int fd = n > 0 && (size_t)n < sizeof address.sun_path ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    if (errno == ECONNREFUSED) unlink(address.sun_path); /* left behind by a crash */
    close(fd);
    return -1;
}

/* Process ids of the running ones. */
static int list(const char *folder, int *pids)
{
    int n = 0;
    DIR *d = opendir(folder);
    struct dirent *e;
    while (d && n < MOST && (e = readdir(d))) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        if (pid <= 0 || strcmp(end, ".sock")) continue;
        int fd = connect_to(folder, (int)pid);
        if (fd < 0) continue;
        close(fd);
        pids[n++] = (int)pid;
    }
    if (d) closedir(d);
    return n;
}

/* Takes what is there; 1: a line is in *line (its text up to the newline, to be freed), 0: not yet, -1: the end. */
static int take_line(stream *s, char **line)
{
    char *end;
    while (!(end = s->n ? memchr(s->bytes, '\n', s->n) : NULL)) {
        if (s->room - s->n < 65536) {
            char *larger = s->room < LONGEST_LINE ? realloc(s->bytes, s->room + 262144) : NULL;
            if (!larger) return -1;
            s->bytes = larger;
            s->room += 262144;
        }
        ssize_t n = recv(s->fd, s->bytes + s->n, s->room - s->n, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
        if (n <= 0) return -1;
        s->n += (size_t)n;
    }
    size_t length = (size_t)(end - s->bytes);
    *line = strndup(s->bytes, length);
    s->n -= length + 1;
    memmove(s->bytes, end + 1, s->n);
    return *line ? 1 : -1;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static int stream_json(stream *s)
{
    interrupt_catch();
    while (!interrupt_seen() && output_good()) {
        struct pollfd fds[2] = {{s->fd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
        char *line;
        int got;
        poll(fds, 2, -1);
        while ((got = take_line(s, &line)) > 0) {
            output_text(line, strlen(line));
            output_print("\n");
            output_flush();
            free(line);
        }
        if (got < 0) return 0; /* that program has left */
    }
    return 0;
}

/* ---- The screen ------------------------------------------------------------------------------------------------ */

typedef struct {
    stream *from;
    struct term *term;
    struct screen *screen;
    struct canvas *canvas;
    struct decoder *decoder;
    struct view view;
    monitor_json_room *room;
    json_object *now; /* what the view points into */
    bool quit, gone;
} watch;

static void act(watch *w, const struct key_row *row, unsigned char byte)
{
    struct view_monitor *m = &w->view.monitor;
    double live = m->live_s > 0 ? m->live_s : 20;
    switch (row->action) {
    case ACTION_QUIT: w->quit = true; break;
    case ACTION_HOLD: m->hold = !m->hold; break;
    case ACTION_ZOOM_IN: m->live_s = live > 2 ? live / 2 : live; break;
    case ACTION_ZOOM_OUT: m->live_s = live < 40 ? live * 2 : live; break;
    case ACTION_PANEL: m->hidden ^= 1u << (byte - '1'); break;
    case ACTION_REDRAW: term_redraw(w->term); break;
    default: break;
    }
}

static void take_keys(watch *w)
{
    char bytes[256];
    struct decoder_event e;
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) w->quit = true;
    else decoder_feed(w->decoder, bytes, (size_t)n, clock_ns());
    while (decoder_next(w->decoder, &e)) {
        if (e.kind == DECODER_ESC) w->quit = true;
        for (size_t i = 0; e.kind == DECODER_BYTES && i < e.length; i++) {
            const struct key_row *row = keys_find_byte(KEYS_MONITOR, (unsigned char)e.data[i]);
            if (row) act(w, row, (unsigned char)e.data[i]);
        }
    }
}

static void take_lines(watch *w)
{
    char *line;
    int got;
    while ((got = take_line(w->from, &line)) > 0) {
        json_object *o;
        if (!jsonio_parse(&o, "monitor", line, strlen(line), NULL)) {
            monitor_json_read(&w->view, w->room, o);
            json_object_put(w->now);
            w->now = o;
        }
        free(line);
    }
    if (got < 0) w->quit = w->gone = true;
}

static void draw(watch *w)
{
    int rows, cols;
    term_size(w->term, &rows, &cols);
    if (rows > LAYOUT_MAX_ROWS) rows = LAYOUT_MAX_ROWS;
    if (cols > LAYOUT_MAX_COLS) cols = LAYOUT_MAX_COLS;
    if ((rows != w->canvas->rows || cols != w->canvas->cols) && !canvas_resize(w->canvas, rows, cols)) return;
    w->view.now_ns = clock_ns();
    screen_draw(w->screen, &w->view, w->canvas);
    term_present(w->term, w->canvas, w->view.options.theme);
}

static void run(watch *w)
{
    interrupt_catch();
    while (!w->quit && !interrupt_seen()) {
        struct pollfd fds[3] = {{STDIN_FILENO, POLLIN, 0}, {w->from->fd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
        draw(w);
        poll(fds, 3, 1000);
        if (fds[0].revents) take_keys(w);
        else if (clock_ns() >= decoder_deadline(w->decoder)) decoder_feed(w->decoder, NULL, 0, clock_ns());
        take_lines(w);
    }
}

static int show(stream *s, const options *o)
{
    watch w = {.from = s};
    w.room = calloc(1, sizeof *w.room);
    w.screen = screen_new();
    w.canvas = canvas_new(24, 80);
    w.decoder = decoder_open(NULL);
    bool ready = w.room && w.screen && w.canvas && w.decoder && send(s->fd, "l", 1, MSG_NOSIGNAL) == 1 &&
                 (w.term = term_open(stdout, stdin, -1));
    if (ready) {
        w.view.options = (struct view_options){.colours = term_colours(w.term),
                                               .ascii = options_flag(o, OPTION_ASCII) || MB_CUR_MAX == 1,
                                               .no_motion = !options_int(o, OPTION_MOTION, 1),
                                               .theme = (enum view_theme)options_int(o, OPTION_THEME, 0)};
        w.view.monitor.form = VIEW_FORM_FULL;
        run(&w);
        term_close(w.term);
    } else {
        fputs("tandem: this terminal can't hold a screen; --json writes lines\n", stderr);
    }
    if (w.gone) output_print("tandem: that program has left\n");
    json_object_put(w.now);
    decoder_close(w.decoder);
    canvas_free(w.canvas);
    screen_free(w.screen);
    free(w.room);
    return ready ? 0 : 1;
}

/* ---- All ------------------------------------------------------------------------------------------------------- */

int monitor_main(options *o)
{
    char folder[200];
    int pids[MOST];
    int64_t wanted = 0;
    if (o->n_arguments > 1) return mains_usage(o, "one process id at most");
    if (o->n_arguments && !number_int(o->arguments[0], 1, INT32_MAX, &wanted))
        return mains_usage(o, "'%s' is no process id", o->arguments[0]);
    if (!tui_socket_folder(folder, sizeof folder)) {
        fputs("tandem: XDG_RUNTIME_DIR is not set: running programs can't be found\n", stderr);
        return 1;
    }
    int n = wanted ? 0 : list(folder, pids);
    if (!wanted && n != 1) {
        fputs(n ? "tandem: several are running; name one: tandem monitor PID\n" : "tandem: none is running\n", stderr);
        for (int i = 0; i < n; i++) fprintf(stderr, "  %d\n", pids[i]);
        return 1;
    }
    stream s = {.fd = connect_to(folder, wanted ? (int)wanted : pids[0])};
    if (s.fd < 0) {
        fprintf(stderr, "tandem: process %d tells nothing\n", wanted ? (int)wanted : pids[0]);
        return 1;
    }
    int status = options_flag(o, OPTION_JSON) ? stream_json(&s) : show(&s, o);
    close(s.fd);
    free(s.bytes);
    return status;
}
