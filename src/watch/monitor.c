/* `tandem monitor`: what a running Tandem does, on this terminal or as JSON lines, through that program's socket; or
 * what one did, from a file (src/watch/recording.h). */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/json/json.h"
#include "engine/os/file.h"
#include "src/cli/subcommands.h"
#include "src/io/number.h"
#include "src/io/output.h"
#include "src/process/crash.h"
#include "src/process/interrupt.h"
#include "src/process/stopping.h"
#include "src/watch/monitor_json.h"
#include "src/io/frames.h"
#include "src/watch/recording.h"
#include "src/watch/tui_socket.h"
#include "ui/keys/decoder.h"
#include "ui/monitor/blocks.h"
#include "ui/screen.h"
#include "ui/terminal/ground.h"
#include "ui/terminal/probe.h"
#include "ui/terminal/questions.h"
#include "ui/terminal/term.h"
#include "ui/terminal/term_name.h"

enum { LIMIT = 64, LIST_PATIENCE_MS = 1500, SILENT_S = 3, BEHIND_MS = 250 };

static const int64_t second = 1000000000;

typedef struct {
    int fd;
    frames lines;
    recording kept; /* what comes is written there, too */
} peer;

/* ---- Finding and reading --------------------------------------------------------------------------------------- */

static int connect_to(const char *folder, int pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/%d.sock", folder, pid);
    int fd = n > 0 && (size_t)n < sizeof address.sun_path ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 && tui_socket_same_user(fd)) return fd;
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
    while (d && n < LIMIT && (e = readdir(d))) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        if (pid <= 0 || pid > INT32_MAX || strcmp(end, ".sock")) continue;
        int fd = connect_to(folder, (int)pid);
        if (fd < 0) continue;
        close(fd);
        pids[n++] = (int)pid;
    }
    if (d) closedir(d);
    return n;
}

/* Takes what is there. False: the other end has left, or sends what no Tandem does (err tells). */
static bool take_bytes(peer *p, tdm_error *err)
{
    char bytes[16384];
    for (;;) {
        ssize_t n = recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0) return file_again(n);
        if (n == 0) return false;
        if (frames_feed(&p->lines, bytes, (size_t)n, err)) return false;
        if ((size_t)n < sizeof bytes) return true;
    }
}

/* Waits for the next object; NULL: none within the time, or the end. */
static json_object *wait_for_object(peer *p, int ms)
{
    int64_t until = clock_ns() + ms * (second / 1000);
    tdm_error err;
    json_object *o = NULL;
    while (!frames_line(&p->lines, "the monitor's line", &o, &err) && !o) {
        int64_t left = (until - clock_ns()) / (second / 1000);
        struct pollfd fd = {p->fd, POLLIN, 0};
        if (left <= 0 || poll(&fd, 1, (int)left) <= 0 || !take_bytes(p, &err)) break;
    }
    return o;
}

/* A line about each, as far as it reports: "  4711  idle  51m q6_k". */
static void say_running(const char *folder, const int *pids, int n)
{
    for (int i = 0; i < n; i++) {
        peer p = {.fd = connect_to(folder, pids[i])};
        json_object *o = p.fd >= 0 ? wait_for_object(&p, LIST_PATIENCE_MS) : NULL;
        const char *fields[] = {json_text(o, "state", NULL), json_text(o, "model", NULL)};
        if (fields[1])
            output_note("  %-8d %-10.100s %.200s", pids[i], fields[0] ? fields[0] : "silent", fields[1]);
        else
            output_note("  %-8d %.100s", pids[i], fields[0] ? fields[0] : "silent");
        json_free(o);
        frames_free(&p.lines);
        if (p.fd >= 0) close(p.fd);
    }
}

/* The next line that has come, written to the recording where there is one. NULL with TDM_OK: none. */
static tdm_status next_line(peer *p, json_object **out, tdm_error *err)
{
    tdm_status status = frames_line(&p->lines, "the monitor's line", out, err);
    if (!status && *out && p->kept.out) status = recording_add(&p->kept, *out, err);
    if (!status) return TDM_OK;
    json_free(*out);
    *out = NULL;
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

/* Every object as it came, on a line of its own: what is no JSON never gets further. */
static int stream_json(peer *p)
{
    tdm_error err = {0};
    bool more = true;
    interrupt_catch();
    while (more && !interrupt_seen() && output_good()) {
        struct pollfd fds[2] = {{p->fd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
        json_object *o;
        poll(fds, 2, -1);
        if (fds[0].revents) more = take_bytes(p, &err);
        while (!next_line(p, &o, &err) && o) {
            frames_print(o);
            output_flush();
        }
        more = more && !err.code;
    }
    if (err.code) output_note("tandem: %s", err.text);
    return err.code ? 1 : 0; /* that program has left */
}

/* ---- The screen ------------------------------------------------------------------------------------------------ */

typedef struct {
    peer *from;     /* NULL: a file is played */
    replay *replay; /* NULL: it is live */
    struct term *term;
    struct screen *screen;
    struct canvas *canvas;
    struct decoder *decoder;
    struct view view;
    monitor_json_room *room;
    json_object *now; /* what the view points into */
    int64_t heard_ns; /* when the last line came */
    bool quit, gone, keys;
    const char *theme;   /* the option's text */
    int64_t ground_until_ns; /* so long the first frame waits for the terminal to tell its background */
    tdm_error err; /* why it ended */
} watch;

static void act(watch *w, const struct key_row *row, unsigned char byte)
{
    struct view_monitor *m = &w->view.monitor;
    double live = m->live_s > 0 ? m->live_s : 20;
    switch (row->action) {
    case ACTION_QUIT: w->quit = true; break;
    case ACTION_VIEW: m->turn_view = !m->turn_view; break;
    case ACTION_KEYS: w->keys = true; break;
    case ACTION_HOLD: m->hold = !m->hold; break;
    case ACTION_ZOOM_IN: m->live_s = live > 2 ? live / 2 : live; break;
    case ACTION_ZOOM_OUT: m->live_s = live < 40 ? live * 2 : live; break;
    case ACTION_INSPECT:
        m->inspect = !m->inspect;
        m->hold = m->inspect;
        m->inspect_back = 0;
        break;
    case ACTION_INSPECT_LEFT:
        m->inspect_back += m->inspect && m->inspect_back < blocks_lane_cols(w->canvas->cols) - 1;
        break;
    case ACTION_INSPECT_RIGHT: m->inspect_back -= m->inspect && m->inspect_back > 0; break;
    case ACTION_PANEL: m->hidden ^= 1u << (byte - '1'); break;
    case ACTION_REDRAW: term_redraw(w->term); break;
    default: break;
    }
}

/* One key: the page of keys takes any and closes. */
static void press(watch *w, const struct decoder_event *e, unsigned char byte)
{
    const struct key_row *row = e->kind == DECODER_KEY ? keys_find_code(KEYS_MONITOR, e->code, e->mods)
                                : byte                 ? keys_find_byte(KEYS_MONITOR, byte)
                                                       : NULL;
    if (w->keys && byte != 3)
        w->keys = false;
    else if (row)
        act(w, row, byte);
}

static void answer(watch *w, const struct decoder_event *e)
{
    enum ground ground = ground_from_event(e);
    if (e->answer == DECODER_MODE && e->params[0] == 2026)
        term_set_synchronised(w->term, e->params[1] == 1 || e->params[1] == 2);
    if (e->answer == DECODER_DA1) w->ground_until_ns = 0; /* the last of all answers */
    if (ground == GROUND_UNKNOWN) return;
    w->view.options.theme = ground_theme(w->theme, ground);
    w->ground_until_ns = 0;
}

static void take_keys(watch *w)
{
    char bytes[256];
    struct decoder_event e;
    ssize_t n = term_read(w->term, bytes, sizeof bytes);
    if (n > 0) questions_heard(bytes, (size_t)n);
    if (n > 0) decoder_feed(w->decoder, bytes, (size_t)n, clock_ns());
    else if (!file_again(n)) w->quit = true;
    while (decoder_next(w->decoder, &e)) {
        if (e.kind == DECODER_ANSWER) answer(w, &e);
        if (e.kind == DECODER_ESC) press(w, &e, 0x1b);
        if (e.kind == DECODER_KEY) press(w, &e, 0);
        for (size_t i = 0; e.kind == DECODER_BYTES && i < e.length; i++) press(w, &e, (unsigned char)e.data[i]);
    }
}

static void take_line(watch *w, json_object *o)
{
    monitor_json_read(&w->view, w->room, o);
    json_free(w->now);
    w->now = o;
    w->heard_ns = clock_ns();
}

static void take_lines(watch *w)
{
    json_object *o;
    bool more = true;
    if (w->replay) {
        while (!replay_take(w->replay, clock_ns(), &o, &w->err) && o) take_line(w, o);
        if (w->err.code) json_free(o);
    } else {
        more = take_bytes(w->from, &w->err);
        while (!next_line(w->from, &o, &w->err) && o) {
            if (!w->now) monitor_json_check(o, &w->err); /* one that speaks otherwise does so from the start */
            take_line(w, o);
        }
    }
    if (!more || w->err.code) w->quit = w->gone = true;
}

static void fill_keys(watch *w)
{
    static struct view_item items[16];
    size_t n, count = 0;
    const struct key_row *rows = keys_table(&n);
    w->view.popup = (struct view_popup){0};
    if (!w->keys) return;
    for (size_t i = 0; i < n && count < sizeof items / sizeof *items; i++)
        if (rows[i].context == KEYS_MONITOR) items[count++] = (struct view_item){rows[i].shown, rows[i].help, NULL};
    w->view.popup = (struct view_popup){.kind = VIEW_POPUP_PAGER, .title = "keys of the monitor", .items = items,
                                        .n_items = count, .footer = "any key closes"};
}

static void draw(watch *w)
{
    int rows, cols;
    term_size(w->term, &rows, &cols);
    if (rows > LAYOUT_MAX_ROWS) rows = LAYOUT_MAX_ROWS;
    if (cols > LAYOUT_MAX_COLS) cols = LAYOUT_MAX_COLS;
    if ((rows != w->canvas->rows || cols != w->canvas->cols) && !canvas_resize(w->canvas, rows, cols)) return;
    int64_t now = clock_ns(), silent = w->replay ? 0 : now - w->heard_ns;
    w->view.now_ns = w->replay ? replay_clock(w->replay, now) : now;
    w->view.monitor.silent_s = silent > SILENT_S * second ? 1e-9 * (double)silent : 0;
    fill_keys(w);
    screen_draw(w->screen, &w->view, w->canvas);
    term_present(w->term, w->canvas, w->view.options.theme);
}

static void stop(watch *w)
{
    char typed[1024];
    size_t n = questions_wait(typed, sizeof typed, QUESTIONS_END_NS); /* what answers now, would answer a shell */
    if (n) decoder_feed(w->decoder, typed, n, clock_ns());
    term_suspend(w->term);
    stopping_stop();
    stopping_over(); /* is known */
    term_resume(w->term);
}

static void run(watch *w)
{
    while (!w->quit && !interrupt_seen() && !term_has_failed(w->term)) {
        if (stopping_asked()) stop(w);
        if (stopping_over() || term_is_behind(w->term)) term_continue(w->term);
        bool behind = term_is_behind(w->term);
        struct pollfd fds[3] = {{behind ? -1 : STDIN_FILENO, POLLIN, 0}, {w->from ? w->from->fd : -1, POLLIN, 0},
                                {interrupt_fd(), POLLIN, 0}};
        bool waits = clock_ns() < w->ground_until_ns; /* for the colours of the first frame */
        if (!waits) draw(w);
        int64_t at = decoder_deadline(w->decoder), line = w->replay ? replay_deadline(w->replay) : INT64_MAX;
        if (waits && w->ground_until_ns < at) at = w->ground_until_ns;
        int64_t ms = ((line < at ? line : at) - clock_ns()) / (second / 1000) + 1;
        int most = behind ? BEHIND_MS : 1000;
        poll(fds, 3, ms < 0 ? 0 : ms < most ? (int)ms : most);
        if (fds[0].revents) take_keys(w);
        else if (clock_ns() >= decoder_deadline(w->decoder)) decoder_feed(w->decoder, NULL, 0, clock_ns());
        take_lines(w);
    }
}

static bool ask_for_lanes(const peer *p)
{
    return send(p->fd, "l", 1, MSG_NOSIGNAL) == 1;
}

/* One of both: a running program, or a file. */
static int show(peer *p, replay *file, const options *o)
{
    watch w = {.from = p, .replay = file, .heard_ns = clock_ns(), .theme = options_text(o, OPTION_THEME)};
    char typed[PROBE_TYPED];
    size_t n_typed;
    struct term_name name;
    theme_use(o->themes, o->n_themes);
    stopping_catch(-1);
    crash_catch();
    interrupt_catch_all();
    probe_utf8(STDIN_FILENO, STDOUT_FILENO, interrupt_leave_fd(), typed, &n_typed);
    w.room = calloc(1, sizeof *w.room);
    w.screen = screen_new();
    w.canvas = canvas_new(24, 80);
    const struct decoder_options decoding = {.esc_ns = options_int(o, OPTION_ESC_DELAY, 0) * (second / 1000)};
    w.decoder = decoder_open(&decoding);
    bool known = term_name_choose(&name, getenv("TERM"), getenv("COLORTERM"), STDOUT_FILENO);
    if (name.note[0]) output_note("tandem: %s", name.note);
    bool ready = known && w.room && w.screen && w.canvas && w.decoder && (!p || ask_for_lanes(p)) &&
                 (w.term = term_open(name.name, STDOUT_FILENO, STDIN_FILENO, interrupt_leave_fd(), -1));
    enum ground ground = ground_from_environment(getenv("COLORFGBG"));
    if (ready) {
        w.view.options = (struct view_options){.colours = term_colours(w.term),
                                               .ascii = options_flag(o, OPTION_ASCII) || MB_CUR_MAX == 1,
                                               .no_motion = !options_int(o, OPTION_MOTION, 1),
                                               .theme = ground_theme(w.theme, ground)};
        w.view.monitor.form = VIEW_FORM_FULL;
        w.view.monitor.alone = true;
        w.ground_until_ns = ground_ask(w.term, w.decoder, w.theme, clock_ns());
        questions_asked(STDIN_FILENO, clock_ns());
        term_write(w.term, QUESTIONS_SCREEN, sizeof QUESTIONS_SCREEN - 1);
        run(&w);
        if (term_has_failed(w.term)) error_set(&w.err, TDM_E_NOMEM, "out of memory");
        term_close(w.term);
    } else {
        output_note("tandem: this terminal can't hold a screen; --json writes lines");
    }
    if (w.err.code)
        output_note("tandem: %s", w.err.text);
    else if (w.gone) output_print("tandem: that program has left\n");
    json_free(w.now);
    decoder_close(w.decoder);
    canvas_free(w.canvas);
    screen_free(w.screen);
    free(w.room);
    return ready && !w.err.code ? 0 : 1;
}

/* ---- All ------------------------------------------------------------------------------------------------------- */

static int play_file(const options *o, const char *path)
{
    replay r;
    tdm_error err;
    json_object *line = NULL;
    int status = 0;
    if (replay_open(&r, path, &err)) {
        output_note("tandem: %s", err.text);
        return 1;
    }
    if (!options_flag(o, OPTION_JSON)) {
        status = show(NULL, &r, o);
    } else {
        interrupt_catch();
        err.code = TDM_OK;
        while (!err.code && !interrupt_seen() && output_good() && replay_deadline(&r) < INT64_MAX) {
            replay_take(&r, replay_deadline(&r), &line, &err); /* as fast as they are read */
            if (line) frames_print(line);
        }
        if (err.code) output_note("tandem: %s", err.text);
        status = err.code ? 1 : 0;
    }
    replay_close(&r);
    return status;
}

static int watch_peer(peer *p, const options *o)
{
    tdm_error err;
    const char *path = options_text(o, OPTION_RECORD);
    if (path && recording_open(&p->kept, path, &err)) {
        output_note("tandem: %s", err.text);
        return 1;
    }
    if (p->kept.out && options_flag(o, OPTION_JSON)) ask_for_lanes(p); /* the file has them */
    int status = options_flag(o, OPTION_JSON) ? stream_json(p) : show(p, NULL, o);
    return recording_close(&p->kept) ? status : 1;
}

int monitor_main(options *o)
{
    char folder[200];
    int pids[LIMIT];
    int64_t wanted = 0;
    if (o->n_arguments > 1) return subcommands_usage(o, "one process id at most");
    if (o->n_arguments && !number_int(o->arguments[0], 1, INT32_MAX, &wanted))
        return subcommands_usage(o, "'%s' is no process id", o->arguments[0]);
    const char *played = options_text(o, OPTION_REPLAY);
    if (played && (o->n_arguments || options_given(o, OPTION_RECORD)))
        return subcommands_usage(o, "--replay shows a file: neither a process id nor --record goes with it");
    if (played) return play_file(o, played);
    if (!subcommands_may_write(o, options_text(o, OPTION_RECORD))) return 1;
    if (!tui_socket_folder(folder, sizeof folder)) {
        output_note("tandem: no place for sockets: neither XDG_RUNTIME_DIR nor HOME is set, or its name is too long");
        return 1;
    }
    if (access(folder, F_OK) == 0 && !tui_socket_folder_is_safe(folder)) {
        output_note("tandem: %s: others may write there, or it is theirs: not trusted", folder);
        return 1;
    }
    int n = wanted ? 0 : list(folder, pids);
    if (!wanted && n != 1) {
        output_note(n ? "tandem: several are running; name one: tandem monitor PID"
                      : "tandem: none is running; `tandem` in another terminal begins a conversation");
        say_running(folder, pids, n);
        return 1;
    }
    peer p = {.fd = connect_to(folder, wanted ? (int)wanted : pids[0])};
    if (p.fd < 0) {
        output_note("tandem: process %d is no conversation on the full screen", wanted ? (int)wanted : pids[0]);
        return 1;
    }
    int status = watch_peer(&p, o);
    close(p.fd);
    frames_free(&p.lines);
    return status;
}
