/* The loop of the full-screen front end: waits for keys, the chat, the loader, the editor and signals; draws what has
 * changed, at most thirty times a second while text streams, at once after a key and for the first glyph of a reply.
 *
 * Signals only set flags and write to a pipe, but for those that end the program in an error (crash.h). */
#include "src/tui/tui.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/atomic_file.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/slice.h"
#include "src/cli/crash.h"
#include "src/cli/files.h"
#include "src/cli/interrupt.h"
#include "src/cli/output.h"
#include "src/plain/plain.h"
#include "src/tui/tui_private.h"
#include "ui/terminal/probe.h"
#include "ui/text/paste.h"

enum { IDLE_S = 30, TICK_MS = 100, RESTLESS_S = 3 };

void tui_set(char **at, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    free(*at);
    *at = copy;
}

void tui_quit(tui *t)
{
    t->quit = true;
}

void tui_notice_add(tui *t, enum view_notice_level level, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) return;
    tui_notices_add(&t->notices, level, text, clock_ns());
    t->dirty = true;
}

/* ---- Signals --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped, continued;
static int wake_end = -1;

static void wake(void)
{
    int kept = errno;
    ssize_t n = write(wake_end, "s", 1); /* a full pipe wakes as well */
    (void)n;
    errno = kept;
}

static void on_change(int number)
{
    if (number == SIGTSTP) stopped = 1;
    if (number == SIGCONT) continued = 1;
    wake();
}

static void catch_signals(void)
{
    static const int change[] = {SIGWINCH, SIGTSTP, SIGCONT};
    struct sigaction a = {.sa_handler = on_change, .sa_flags = SA_RESTART};
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) sigaction(change[i], &a, NULL);
    crash_catch();
    interrupt_catch();
}

/* ---- Drawing --------------------------------------------------------------------------------------------------- */

void tui_draw(tui *t)
{
    if (t->away) return;
    int rows, cols;
    term_size(t->term, &rows, &cols);
    if (rows > LAYOUT_MAX_ROWS) rows = LAYOUT_MAX_ROWS;
    if (cols > LAYOUT_MAX_COLS) cols = LAYOUT_MAX_COLS;
    if ((rows != t->canvas->rows || cols != t->canvas->cols) && !canvas_resize(t->canvas, rows, cols)) return;
    int64_t now = clock_ns();
    input_set_columns(t->input, layout_input_cols(rows, cols, t->monitor.form) - 2);
    tui_view_fill(t, now);
    screen_draw(t->screen, &t->view, t->canvas);
    term_present(t->term, t->canvas, t->look.theme);
    t->frame_ns = now;
    t->dirty = t->urgent = false;
}

/* ---- Input ----------------------------------------------------------------------------------------------------- */

static bool keys_are_elsewhere(const tui *t)
{
    return t->popup.kind || t->browse.on || tui_keys_in_monitor(t);
}

void tui_input(tui *t)
{
    struct input_action a;
    struct decoder_event e;
    /* While an editor or the copy view has the screen, what was typed before it waits. */
    while (!t->quit && !t->away && input_next_action(t->input, &a)) {
        tui_act(t, tui_draft_act(t, &a));
        t->dirty = t->urgent = true;
        /* The keys may belong to somebody else now: then what is queued still is theirs, until they give them back. */
        while (!t->quit && !t->away && keys_are_elsewhere(t) && input_unread(t->input, &e)) tui_keys_event(t, &e);
    }
    tui_draft_tell(t);
}

static void read_terminal(tui *t)
{
    static char bytes[1 << 16];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) {
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
        t->quit = true; /* the terminal is gone */
        return;
    }
    if (t->copy_view) {
        tui_outside_copy_view_end(t);
        return;
    }
    decoder_feed(t->decoder, bytes, (size_t)n, clock_ns());
}

static void take_keys(tui *t)
{
    struct decoder_event e;
    while (!t->quit && decoder_next(t->decoder, &e)) {
        tui_keys_event(t, &e);
        t->dirty = t->urgent = true;
    }
    tui_input(t);
}

/* ---- The draft of a program that had to leave ------------------------------------------------------------------------ */

/* Both with an empty line between, where there are both; malloc'ed. */
static char *joined(const char *a, const char *b)
{
    char *text;
    bool both = a && *a && b && *b;
    return asprintf(&text, "%s%s%s", a ? a : "", both ? "\n\n" : "", b ? b : "") < 0 ? NULL : text;
}

static char *typed(tui *t)
{
    struct input_view in;
    input_close_top(t->input); /* a search shows something else */
    input_view(t->input, clock_ns(), &in);
    return strndup(in.text, in.length);
}

void tui_take_draft(tui *t)
{
    char *kept = app_take_draft(&t->app), *clean = kept ? paste_clean(kept, strlen(kept), NULL) : NULL;
    char *now = typed(t), *both = clean ? joined(clean, now) : NULL;
    if (both) {
        input_set_text(t->input, both);
        tui_draft_tell(t);
    }
    free(both);
    free(now);
    free(clean);
    free(kept);
}

/* All that was typed and is in no conversation yet. */
static void keep_draft(tui *t)
{
    if (!t->input) return;
    char *now = typed(t), *before = joined(t->queued ? t->queued : t->waiting, t->editing ? t->before_edit : NULL);
    char *all = joined(before, now);
    if (all) app_keep_draft(&t->app, all);
    free(all);
    free(before);
    free(now);
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

static bool is_restless(const tui *t, int64_t now)
{
    if (t->load.state == TUI_LOAD_RUNNING) return true;
    return t->app.chat && (t->status.phase != TDM_IDLE || now - t->status_changed_ns < RESTLESS_S * TUI_S);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When something has to be done although nothing comes. */
static int64_t deadline(tui *t, int64_t now)
{
    int64_t at = earlier(decoder_deadline(t->decoder), tui_demo_deadline(t));
    if (t->app.chat && t->app.state_old && t->status.phase == TDM_IDLE)
        at = earlier(at, t->idle_since_ns + IDLE_S * TUI_S);
    at = earlier(at, tui_socket_deadline(&t->socket));
    at = earlier(at, app_keep_deadline(&t->app));
    if (t->away) return at;
    at = earlier(at, input_deadline(t->input, now));
    int64_t frame = t->frame_ns + TUI_FRAME_MS * TUI_MS;
    if (t->dirty) at = earlier(at, frame);
    if (is_restless(t, now)) at = earlier(at, t->frame_ns + TICK_MS * TUI_MS);
    at = earlier(at, tui_notices_deadline(&t->notices));
    if (t->answered_until_ns > now) at = earlier(at, t->answered_until_ns);
    if (t->context_until_ns > now) at = earlier(at, t->context_until_ns);
    int ms = t->dirty ? -1 : screen_timeout_ms(t->screen, &t->view); /* of the frame that was drawn; another is due */
    if (ms >= 0) {
        int64_t next = t->view.now_ns + ms * TUI_MS;
        at = earlier(at, next > frame ? next : frame);
    }
    return earlier(at, tui_figures_deadline(t, now));
}

static void wait_for_something(tui *t)
{
    enum { TERMINAL, CHAT, WAKE, INTERRUPT, EDITOR, WATCHER, ALL };
    struct pollfd fds[ALL] = {
        [TERMINAL] = {t->editor ? -1 : STDIN_FILENO, POLLIN, 0},
        [CHAT] = {t->app.chat ? tdm_chat_fd(t->app.chat) : -1, POLLIN, 0},
        [WAKE] = {t->wake[0], POLLIN, 0},
        [INTERRUPT] = {interrupt_fd(), POLLIN, 0},
        [EDITOR] = {t->editor ? editor_fd(t->editor) : -1, POLLIN, 0},
        [WATCHER] = {t->socket.listening, POLLIN, 0},
    };
    int64_t now = clock_ns(), at = deadline(t, now);
    int64_t ms = at == INT64_MAX ? -1 : at <= now ? 0 : (at - now + TUI_MS - 1) / TUI_MS;
    int n = poll(fds, ALL, ms > 60000 ? 60000 : (int)ms);
    if (n < 0) return;
    char gone[64];
    if (fds[WAKE].revents & POLLIN) {
        while (read(t->wake[0], gone, sizeof gone) == (ssize_t)sizeof gone) {
        }
        t->dirty = t->urgent = true;
    }
    if (fds[INTERRUPT].revents & POLLIN) t->quit = true;
    if (fds[TERMINAL].revents & (POLLIN | POLLHUP | POLLERR)) read_terminal(t);
    if (t->quit) return;
    if (!t->editor && clock_ns() >= decoder_deadline(t->decoder)) decoder_feed(t->decoder, NULL, 0, clock_ns());
    take_keys(t);
    if (fds[CHAT].revents & POLLIN) tui_turns_events(t);
    if (t->editor && fds[EDITOR].revents) tui_outside_edited(t);
    now = clock_ns();
    if (fds[WATCHER].revents & POLLIN) tui_socket_accept(&t->socket, now);
    if (tui_socket_deadline(&t->socket) <= now) {
        tui_view_fill(t, now);
        tui_socket_tell(&t->socket, &t->view, now);
    }
    if (n == 0 || now >= at) t->dirty = true;
    if (n == 0 && t->app.chat && now >= t->idle_since_ns + IDLE_S * TUI_S) app_idle(&t->app);
}

/* Where all was read before Enter, the reply's first token is there within a fraction of a millisecond: it is drawn with
 * the message, in one frame instead of two. */
static void await_glyph(tui *t)
{
    struct pollfd chat = {.fd = t->app.chat ? tdm_chat_fd(t->app.chat) : -1, .events = POLLIN};
    if (!t->turns.just_sent) return;
    t->turns.just_sent = false;
    int64_t until = clock_ns() + TUI_MS;
    while (t->turns.waits_for_glyph && clock_ns() < until && poll(&chat, 1, 1) > 0) tui_turns_events(t);
}

static void run(tui *t)
{
    while (!t->quit) {
        int64_t now = clock_ns();
        if (stopped && !t->away) {
            stopped = 0;
            tui_outside_suspend(t);
        }
        if (continued) {
            continued = 0;
            term_redraw(t->term);
            t->urgent = true;
        }
        tui_load_end(t);
        if (tui_demo_deadline(t) <= now) tui_demo_step(t, now);
        await_glyph(t);
        if (t->urgent || (t->dirty && now - t->frame_ns >= TUI_FRAME_MS * TUI_MS)) tui_draw(t);
        app_keep(&t->app, clock_ns()); /* the first character is on the screen by now */
        wait_for_something(t);
    }
}

/* ---- Opening and closing --------------------------------------------------------------------------------------- */

bool tui_possible(const options *o)
{
    const char *term = getenv("TERM");
    return !options_flag(o, OPTION_PLAIN) && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
           strcmp(term, "dumb") != 0;
}

static bool open_screen(tui *t)
{
    char typed[PROBE_TYPED];
    size_t n_typed;
    probe_utf8(STDIN_FILENO, STDOUT_FILENO, typed, &n_typed);
    if (pipe2(t->wake, O_CLOEXEC | O_NONBLOCK)) return false;
    wake_end = t->wake[1];
    catch_signals();
    if (!(t->term = term_open(stdout, stdin, -1))) return false;
    t->screen = screen_new();
    t->canvas = canvas_new(24, 80);
    t->decoder = decoder_open(NULL);
    if (!t->screen || !t->canvas || !t->decoder) return false;
    decoder_add_terminfo(t->decoder, term_capability, NULL);
    if (n_typed) decoder_feed(t->decoder, typed, n_typed, clock_ns());
    term_write(t->term, DECODER_MODES_ON, strlen(DECODER_MODES_ON));
    term_write(t->term, "\033[?2026$p", 9); /* does it know synchronised updates? */
    return true;
}

static void open_history(tui *t)
{
    tdm_error err = {0};
    char *path = t->app.private ? NULL : files_path(FILES_STATE, "history");
    t->history = history_file_open(path, 0, &err);
    if (err.code) tui_notice_add(t, VIEW_NOTICE_WARN, "history: %s", err.text);
    free(path);
}

/* The form of the monitor is remembered between runs. */
static void remember_form(const tui *t)
{
    char *path = files_path(FILES_STATE, "monitor"), text[2] = {(char)('0' + t->monitor.form), '\n'};
    char *name = path ? strrchr(path, '/') : NULL;
    if (name && !t->app.private) {
        *name = 0;
        bool there = !file_make_folders(path, 0700, NULL);
        *name = '/';
        if (there) atomic_file_put(path, text, sizeof text, NULL);
    }
    free(path);
}

static void recall_form(tui *t)
{
    char *path = files_path(FILES_STATE, "monitor"), *text = NULL;
    size_t n;
    if (path && access(path, R_OK) == 0 && !files_read(path, 16, &text, &n, NULL))
        if (n && text[0] >= '0' && text[0] <= '0' + VIEW_FORM_PANEL) t->monitor.form = (enum view_form)(text[0] - '0');
    free(text);
    free(path);
}

static bool open_all(tui *t, options *o)
{
    tdm_error err = {0};
    t->o = o;
    t->wake[0] = t->wake[1] = t->socket.listening = -1;
    app_init(&t->app, o);
    if (!open_screen(t)) return false;
    slice_for_answers(); /* both units may keep all cores busy */
    t->look.colours = term_colours(t->term);
    recall_form(t);
    open_history(t);
    t->input = input_open(&(struct input_options){t->history, &commands_completer, getenv("HOME")}, &err);
    if (!t->input) return false;
    tui_look(t);
    input_set_suggestions(t->input, tui_tips, TUI_TIPS);
    tui_sessions_read(t, NULL);
    tui_socket_open(&t->socket);
    tui_load_begin(t, options_text(o, OPTION_MODEL), false);
    return true;
}

/* What the terminal keeps after the program: where the conversation is, or all of it. */
static void say_goodbye(tui *t)
{
    session s;
    if (!t->app.chat || !tdm_chat_nodes(t->app.chat) || app_snapshot(&t->app, &s, NULL)) return;
    if (options_flag(t->o, OPTION_LEAVE_TRANSCRIPT)) {
        size_t n = 0;
        char *text = session_markdown(&s, &n);
        if (text) output_text(text, n);
        free(text);
    }
    int turns = session_turns(&s), gone = app_memory_turns(&t->app);
    if (t->app.private && gone) {
        output_print("tandem: a private session of %d turn%s is gone\n", gone, gone == 1 ? "" : "s");
    } else if (t->app.unsaved[0]) {
        output_print("tandem: the session could not be saved: %s\n", t->app.unsaved);
    } else {
        output_print("tandem: '");
        output_text(s.name, strlen(s.name));
        output_print("', %d turn%s; tandem --resume continues it\n", turns, turns == 1 ? "" : "s");
    }
    session_free(&s);
}

static void close_all(tui *t)
{
    tui_socket_close(&t->socket);
    tui_load_cancel(t);
    tui_demo_end(t);
    if (t->editor) {
        char *text = NULL;
        if (!editor_finish(t->editor, &text, NULL)) input_replace(t->input, text);
        free(text);
        t->editor = NULL;
    }
    if (t->term) {
        term_write(t->term, DECODER_MODES_OFF, strlen(DECODER_MODES_OFF));
        term_close(t->term);
    }
    tdm_error unheard;
    keep_draft(t);
    if (t->app.chat) {
        if (tdm_chat_nodes(t->app.chat)) app_save(&t->app, &unheard);
        remember_form(t);
        say_goodbye(t);
    }
    if (t->app.draft)
        output_print(t->app.unsaved[0] ? "tandem: the draft could not be saved\n"
                                       : "tandem: the draft is kept; tandem --resume brings it back\n");
    app_close(&t->app);
    input_close(t->input);
    history_file_close(t->history);
    decoder_close(t->decoder);
    tui_popup_close(&t->popup);
    tui_figures_free(&t->figures);
    tui_turns_free(&t->turns);
    screen_free(t->screen);
    canvas_free(t->canvas);
    store_list_free(t->sessions, t->n_sessions);
    tui_notices_free(&t->notices);
    free(t->attached);
    char *texts[] = {t->queued, t->waiting, t->told, t->before_edit, t->load.path};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
    wake_end = -1;
    close(t->wake[0]);
    close(t->wake[1]);
}

int tui_main(options *o)
{
    tui *t = calloc(1, sizeof *t);
    if (!t) return plain_main(o);
    if (!open_all(t, o)) {
        close_all(t);
        free(t);
        return plain_main(o);
    }
    t->urgent = true;
    const char *script = options_text(o, OPTION_SCRIPT);
    if (script) tui_demo_begin(t, script);
    run(t);
    close_all(t);
    free(t);
    return 0;
}
