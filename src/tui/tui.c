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

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/slice.h"
#include "src/cli/crash.h"
#include "src/cli/files.h"
#include "src/cli/interrupt.h"
#include "src/cli/output.h"
#include "src/plain/plain.h"
#include "src/chat/commands.h"
#include "src/tui/tui_choose.h"
#include "src/tui/tui_commands.h"
#include "src/tui/tui_demo.h"
#include "src/tui/tui_dispatch.h"
#include "src/tui/tui_keys.h"
#include "src/tui/tui_model.h"
#include "src/tui/tui_outside.h"
#include "src/tui/tui_private.h"
#include "src/tui/tui_view.h"
#include "ui/terminal/probe.h"

enum {
    FRAME_MS = 33,  /* between frames while text streams; a key and the first glyph are drawn at once */
    TICK_MS = 100,  /* while the figures move */
    RESTLESS_S = 3, /* so long after a change they may */
    IDLE_S = 30,    /* until what was read is saved */
};

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

/* ---- Input ----------------------------------------------------------------------------------------------------- */

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
    tui_keys_input(t);
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

static bool is_restless(const tui *t, int64_t now)
{
    if (t->load.state == TUI_LOAD_RUNNING) return true;
    bool writes = t->status.phase != TDM_IDLE || t->app.elsewhere.writing;
    return t->app.chat && (writes || now - t->status_changed_ns < RESTLESS_S * TUI_S);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What is still to be measured: the cores first, then which units are the best. */
static bool lacks_ceilings(const tui *t)
{
    return !t->app.ceilings.known && !t->measuring.failed;
}

static bool lacks_units(const tui *t)
{
    return t->choosing.done_with != t->app.info.fingerprint && !t->app.models.prefill && !t->app.models.server &&
           units_are_open(t->o);
}

/* When the machine is to be measured: after some seconds in which nobody typed and the units had nothing to do;
 * INT64_MAX: not to be measured. */
static int64_t measuring_begins(const tui *t)
{
    enum { QUIET_S = 5 };
    if (!t->app.chat || t->app.private || t->measuring.job.running || t->choosing.job.running) return INT64_MAX;
    if (!lacks_ceilings(t) && !lacks_units(t)) return INT64_MAX;
    if (t->popup.kind || t->models.looks || t->away) return INT64_MAX; /* the list of models has it begun itself */
    if (t->status.phase != TDM_IDLE || t->app.elsewhere.writing || t->demo || t->load.state == TUI_LOAD_RUNNING ||
        !options_int(t->o, OPTION_MEASURE_IDLE, 1) || t->app.info.on_server)
        return INT64_MAX;
    int64_t last = t->idle_since_ns;
    if (t->typed_ns > last) last = t->typed_ns;
    if (t->status_changed_ns > last) last = t->status_changed_ns;
    return last + QUIET_S * TUI_S;
}

static void measure(tui *t, int64_t now)
{
    enum { LEAST_BATTERY = 20 };
    if (ceilings_job_take(&t->measuring, &t->app.ceilings)) {
        tui_models_measured(&t->models);
        t->typed_ns = now; /* a rest for the next attempt */
        t->dirty = true;
    }
    char line[300];
    if (units_job_take(&t->choosing, line, sizeof line)) {
        if (line[0]) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", line);
        t->typed_ns = now;
        t->dirty = true;
    }
    if (t->app.chat && !t->typed_ns) t->typed_ns = now; /* its first rest begins */
    if (now < measuring_begins(t)) return;
    if (sensing_battery_is_low(&t->figures.sensing, LEAST_BATTERY, now)) t->typed_ns = now + 60 * TUI_S; /* later */
    else if (lacks_ceilings(t))
        ceilings_job_begin(&t->measuring, t->app.machine, t->app.info.kernels, true, t->wake[1]);
    else units_job_begin(&t->choosing, t->app.models.model, t->wake[1]);
}

/* When something has to be done although nothing comes. */
static int64_t deadline(tui *t, int64_t now)
{
    int64_t at = decoder_deadline(t->decoder);
    if (t->app.chat && !t->demo && t->app.state_old && t->status.phase == TDM_IDLE)
        at = earlier(at, t->idle_since_ns + IDLE_S * TUI_S);
    at = earlier(at, tui_socket_deadline(&t->socket));
    at = earlier(at, app_keep_deadline(&t->app));
    at = earlier(at, pressure_deadline(&t->app.pressure));
    at = earlier(at, measuring_begins(t));
    at = earlier(at, tui_attach_deadline(t));
    if (t->away) return at;
    at = earlier(at, input_deadline(t->input, now));
    if (now < t->ground_until_ns) return earlier(at, t->ground_until_ns);
    if (t->demo) return earlier(at, t->dirty ? t->frame_ns + FRAME_MS * TUI_MS : tui_demo_deadline(t));
    int64_t frame = t->frame_ns + FRAME_MS * TUI_MS;
    if (t->dirty) at = earlier(at, frame);
    if (is_restless(t, now)) at = earlier(at, t->frame_ns + TICK_MS * TUI_MS);
    at = earlier(at, tui_notices_deadline(&t->notices));
    if (t->turns.answered_until_ns > now) at = earlier(at, t->turns.answered_until_ns);
    if (t->context_until_ns > now) at = earlier(at, t->context_until_ns);
    int ms = t->dirty ? -1 : screen_timeout_ms(t->screen, &t->view); /* of the frame that was drawn; another is due */
    if (ms >= 0) {
        int64_t next = t->view.now_ns + ms * TUI_MS;
        at = earlier(at, next > frame ? next : frame);
    }
    int64_t sensors = tui_figures_deadline(t, now);
    return earlier(at, sensors > frame ? sensors : frame);
}

static void wait_for_something(tui *t)
{
    enum { TERMINAL, CHAT, WAKE, INTERRUPT, EDITOR, WATCHER, PULL, PRESSURE, ALL };
    struct pollfd fds[ALL] = {
        [TERMINAL] = {t->editor ? -1 : STDIN_FILENO, POLLIN, 0},
        [CHAT] = {t->app.chat ? tdm_chat_fd(t->app.chat) : -1, POLLIN, 0},
        [WAKE] = {t->wake[0], POLLIN, 0},
        [INTERRUPT] = {interrupt_fd(), POLLIN, 0},
        [EDITOR] = {t->editor ? editor_fd(t->editor) : -1, POLLIN, 0},
        [WATCHER] = {t->socket.listening, POLLIN, 0},
        [PULL] = {tui_models_fd(&t->models), POLLIN, 0},
        [PRESSURE] = {pressure_fd(&t->app.pressure), POLLPRI, 0},
    };
    t->dirty |= t->notices.added; /* whoever has added one */
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
    tui_draft_take_kept(t); /* a summary, whoever took its reply's end */
    if (t->editor && fds[EDITOR].revents) {
        tui_outside_edited(t);
        tui_keys_input(t);
    }
    if (fds[PULL].revents) tui_choose_read(t);
    now = clock_ns();
    if (fds[WATCHER].revents & POLLIN) tui_socket_accept(&t->socket, now);
    if (tui_socket_deadline(&t->socket) <= now) {
        tui_view_fill(t, now);
        tui_socket_tell(&t->socket, &t->view, now);
    }
    if (n == 0 || now >= at) t->dirty = true;
    if (n == 0 && t->app.chat && !t->demo && now >= t->idle_since_ns + IDLE_S * TUI_S) app_idle(&t->app);
}

/* Where all was read before Enter, the reply's first token is there within a fraction of a millisecond: it is drawn
 * with the message, in one frame instead of two. */
static void await_glyph(tui *t)
{
    struct pollfd chat = {.fd = t->app.chat ? tdm_chat_fd(t->app.chat) : -1, .events = POLLIN};
    if (!t->turns.just_sent) return;
    t->turns.just_sent = false;
    int64_t until = clock_ns() + TUI_MS;
    while (t->turns.waits_for_glyph && clock_ns() < until && poll(&chat, 1, 1) > 0) tui_turns_events(t);
}

/* What disk, power supply and memory have done meanwhile. */
static void look_around(tui *t, int64_t now)
{
    char notice[100];
    if (app_saved(&t->app)) t->dirty = true;
    if (app_look_at_battery(&t->app, now, notice)) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
    if (app_look_at_memory(&t->app, now, notice)) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
}

/* The reply has begun for which a command has waited that leaves the conversation. */
static void leave(tui *t)
{
    tdm_chat_status now;
    if (!t->leave.waits || !t->app.chat) return;
    tdm_chat_status_of(t->app.chat, &now);
    tui_dispatch(t, tui_leave_take(&t->leave, now.phase, &t->notices));
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
        look_around(t, now);
        tui_model_take(t);
        tui_choose_step(t);
        tui_draft_take_attached(t);
        leave(t);
        tui_demo_step(t, now);
        measure(t, now);
        await_glyph(t);
        bool waits = now < t->ground_until_ns; /* for the colours of the first frame */
        if (!waits) tui_commands_contrast(t);
        if (!waits && (t->urgent || (t->dirty && now - t->frame_ns >= FRAME_MS * TUI_MS))) tui_view_draw(t);
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
    app_set_wake(&t->app, t->wake[1]);
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

/* Asks what the background is, where that makes a difference: text and rules have other colours on a light one. */
static void ask_ground(tui *t)
{
    t->ground = ground_from_environment(getenv("COLORFGBG"));
    t->ground_until_ns = ground_ask(t->term, t->decoder, options_text(t->o, OPTION_THEME), clock_ns());
}

static void open_history(tui *t)
{
    tdm_error err = {0};
    char *path = t->app.private ? NULL : files_path(FILES_STATE, "history");
    t->history = history_file_open(path, 0, &err);
    if (err.code) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "history: %s", err.text);
    free(path);
}

/* The form of the monitor is remembered between runs, and that its legend was hidden: "3n", or "3". */
static void remember_form(const tui *t)
{
    char text[8];
    int n = snprintf(text, sizeof text, "%d%s\n", t->monitor.form, t->monitor.no_legend ? "n" : "");
    if (!t->app.private) files_remember("monitor", text, (size_t)n);
}

static void recall_form(tui *t)
{
    char *path = files_path(FILES_STATE, "monitor"), *text = NULL;
    size_t n;
    if (path && access(path, R_OK) == 0 && !files_read(path, 16, &text, &n, NULL)) {
        if (n && text[0] >= '0' && text[0] <= '0' + VIEW_FORM_PANEL) t->monitor.form = (enum view_form)(text[0] - '0');
        t->monitor.no_legend = n > 1 && text[1] == 'n';
    }
    free(text);
    free(path);
}

static bool open_all(tui *t, options *o)
{
    tdm_error err = {0};
    t->o = o;
    theme_use(o->themes, o->n_themes);
    t->wake[0] = t->wake[1] = t->socket.listening = -1;
    app_init(&t->app, o);
    if (!open_screen(t)) return false;
    slice_for_answers(); /* both units may keep all cores busy */
    t->look.colours = term_colours(t->term);
    ask_ground(t);
    recall_form(t);
    open_history(t);
    t->input = input_open(&(struct input_options){t->history, &commands_completer, getenv("HOME")}, &err);
    if (!t->input) return false;
    tui_commands_look(t);
    input_set_suggestions(t->input, tui_tips, TUI_TIPS);
    tui_sessions_read(&t->sessions, NULL);
    tui_socket_open(&t->socket);
    tui_attach_open(t);
    tui_choose_first(t);
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

/* The conversation elsewhere is not lost without a word. */
static void say_goodbye_elsewhere(tui *t)
{
    const char *name = elsewhere_name(&t->app);
    elsewhere_end(&t->app);
    if (t->app.elsewhere.there && t->app.elsewhere.private) output_print("tandem: the private one elsewhere is gone\n");
    if (!t->app.elsewhere.unsaved[0]) return;
    output_print("tandem: '");
    output_text(name, strlen(name));
    output_print("' could not be saved: %s\n", t->app.elsewhere.unsaved);
}

/* Returns whether all that was to be kept is. */
static bool close_all(tui *t)
{
    tui_socket_close(&t->socket);
    job_end(&t->measuring.job);
    job_end(&t->choosing.job);
    tui_load_cancel(&t->load);
    tui_models_close(&t->models);
    tui_demo_end(t);
    if (t->editor) {
        tui_outside_edited(t);
    }
    if (t->term) {
        term_write(t->term, DECODER_MODES_OFF, strlen(DECODER_MODES_OFF));
        term_close(t->term);
    }
    tdm_error unheard;
    if (t->input) tui_draft_keep(t);
    if (t->app.chat) {
        if (tdm_chat_nodes(t->app.chat)) app_save(&t->app, &unheard);
        remember_form(t);
        say_goodbye(t);
        say_goodbye_elsewhere(t);
    }
    if (t->app.draft || t->app.keeps_attached)
        output_print(t->app.unsaved[0] ? "tandem: %s could not be saved\n"
                                       : "tandem: %s is kept; tandem --resume brings it back\n",
                     t->app.draft ? "the draft" : "what is attached");
    bool kept = !t->app.unsaved[0] && !t->app.elsewhere.unsaved[0];
    app_close(&t->app);
    input_close(t->input);
    history_file_close(t->history);
    decoder_close(t->decoder);
    tui_popup_close(&t->popup);
    tui_figures_free(&t->figures);
    tui_turns_free(&t->turns);
    screen_free(t->screen);
    canvas_free(t->canvas);
    tui_sessions_free(&t->sessions);
    tui_saved_close(&t->saved);
    tui_hits_close(&t->hits);
    tui_branches_close(&t->branches);
    tui_prompts_close(&t->prompts);
    tui_draft_free(&t->draft);
    tui_load_free(&t->load);
    tui_consent_free(&t->consent);
    tui_leave_free(&t->leave);
    tui_notices_free(&t->notices);
    tui_attached_close(&t->attached);
    tui_attach_free(&t->attach);
    wake_end = -1;
    close(t->wake[0]);
    close(t->wake[1]);
    return kept;
}

static int without_screen(options *o)
{
    if (o->command != COMMAND_DEMO) return plain_main(o);
    fputs("tandem demo: this terminal can't hold a screen\n", stderr);
    return 1;
}

int tui_main(options *o)
{
    char failure[sizeof((tdm_error *)0)->text] = "";
    tui *t = calloc(1, sizeof *t);
    if (!t) return without_screen(o);
    if (!open_all(t, o)) {
        close_all(t);
        free(t);
        return without_screen(o);
    }
    t->urgent = true;
    if (o->command == COMMAND_DEMO) tui_demo_begin(t, options_text(o, OPTION_SCRIPT), true);
    run(t);
    if (tui_demo_failure(t)) snprintf(failure, sizeof failure, "%s", tui_demo_failure(t));
    bool kept = close_all(t);
    free(t);
    if (failure[0]) fprintf(stderr, "tandem demo: %s\n", failure);
    return failure[0] || !kept ? 1 : 0;
}
