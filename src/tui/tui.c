/* The loop of the full-screen front end: waits for keys, the chat, the loader, the editor and signals; draws what has
 * changed, at most thirty times a second while text streams, at once after a key and for the first glyph of a reply.
 *
 * Signal handlers only set flags and write to a pipe, except those of signals that end the program at once
 * (crash.h). */
#include "src/tui/tui.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/slice.h"
#include "engine/os/file.h"
#include "src/files/files.h"
#include "src/io/output.h"
#include "src/plain/plain.h"
#include "src/process/crash.h"
#include "src/process/interrupt.h"
#include "src/process/stopping.h"
#include "src/slash/commands.h"
#include "src/tui/choose.h"
#include "src/tui/commands.h"
#include "src/tui/dispatch.h"
#include "src/tui/frame/demo.h"
#include "src/tui/frame/view.h"
#include "src/tui/keys.h"
#include "src/tui/model.h"
#include "src/tui/external.h"
#include "src/tui/private.h"
#include "ui/terminal/probe.h"
#include "ui/terminal/questions.h"
#include "ui/terminal/term_name.h"

enum {
    FRAME_MS = 33,   /* between frames while text streams; a key and the first glyph are drawn at once */
    TICK_MS = 100,   /* while the figures move */
    RESTLESS_S = 3,  /* for so long after a change they may move */
    IDLE_S = 30,     /* until the prefilled state is saved */
    BEHIND_MS = 250, /* between looks whether it is in front of the terminal again: no signal tells */
};

/* ---- Input ----------------------------------------------------------------------------------------------------- */

static void read_terminal(tui *t)
{
    static char bytes[1 << 16];
    ssize_t n = term_read(t->face.term, bytes, sizeof bytes);
    if (n <= 0) {
        if (file_again(n)) return;
        t->quit = true; /* the terminal is gone */
        return;
    }
    questions_heard(bytes, (size_t)n);
    if (t->face.copy_view) {
        tui_external_copy_view_end(t);
        return;
    }
    decoder_feed(t->keys.decoder, bytes, (size_t)n, clock_ns());
}

static void take_keys(tui *t)
{
    struct decoder_event e;
    while (!t->quit && decoder_next(t->keys.decoder, &e)) {
        tui_keys_event(t, &e);
        t->face.dirty = t->face.urgent = true;
    }
    tui_keys_input(t);
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

static bool is_restless(const tui *t, int64_t now)
{
    if (t->jobs.load.state == TUI_LOAD_RUNNING) return true;
    bool writes = t->known.status.phase != TDM_PHASE_IDLE || t->app.background.writing || t->attach.works;
    return app_talks(&t->app) && (writes || now - t->known.status_changed_ns < RESTLESS_S * TUI_S);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Are the cores still to be measured? They come first, then which units are the best. */
static bool lacks_ceilings(const tui *t)
{
    return !t->app.ceilings.known && !t->jobs.measuring.failed;
}

static bool lacks_units(const tui *t)
{
    return t->jobs.choosing.done_with != t->app.info.fingerprint && !t->app.models.server && units_are_open(t->o);
}

/* When the machine is to be measured: after some seconds in which the user typed nothing and the units had nothing to
 * do; INT64_MAX: not to be measured. */
static int64_t measuring_begins(const tui *t)
{
    enum { QUIET_S = 5 };
    if (!app_talks(&t->app) || t->app.open.private || t->jobs.measuring.task.running || t->jobs.choosing.task.running)
        return INT64_MAX;
    if (!lacks_ceilings(t) && !lacks_units(t)) return INT64_MAX;
    if (t->lists.popup.kind || t->lists.models.task.running || t->face.away)
        return INT64_MAX; /* the list of models has begun the measurement itself */
    if (t->known.status.phase != TDM_PHASE_IDLE || t->app.background.writing || t->demo ||
        t->jobs.load.state == TUI_LOAD_RUNNING || !options_int(t->o, OPTION_MEASURE_IDLE, 1) || t->app.info.on_server)
        return INT64_MAX;
    int64_t last = t->known.idle_since_ns;
    if (t->keys.typed_ns > last) last = t->keys.typed_ns;
    if (t->known.status_changed_ns > last) last = t->known.status_changed_ns;
    return last + QUIET_S * TUI_S;
}

static void choose_units(tui *t)
{
    if (!t->jobs.meter) t->jobs.meter = power_meter_open();
    t->jobs.choosing.watts = t->jobs.meter ? power_meter_watts : NULL;
    t->jobs.choosing.watts_ctx = t->jobs.meter;
    units_job_begin(&t->jobs.choosing, t->o, t->app.models.model, t->wake[1]);
}

static void measure(tui *t, int64_t now)
{
    enum { LEAST_BATTERY = 20 };
    if (ceilings_job_take(&t->jobs.measuring, &t->app.ceilings)) {
        tui_models_measured(&t->lists.models);
        t->keys.typed_ns = now; /* a rest for the next attempt */
        t->face.dirty = true;
    }
    char line[300];
    if (units_job_take(&t->jobs.choosing, line, sizeof line)) {
        if (line[0]) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", line);
        t->keys.typed_ns = now;
        t->face.dirty = true;
    }
    if (app_talks(&t->app) && !t->keys.typed_ns) t->keys.typed_ns = now; /* its first rest begins */
    if (now < measuring_begins(t)) return;
    if (sensing_battery_is_low(&t->figures.sensing, LEAST_BATTERY, now))
        t->keys.typed_ns = now + 60 * TUI_S; /* later */
    else if (lacks_ceilings(t))
        ceilings_job_begin(&t->jobs.measuring, t->app.machine, t->app.info.kernels, true, t->wake[1]);
    else
        choose_units(t);
}

/* When something has to be done although nothing comes. */
static int64_t deadline(tui *t, int64_t now)
{
    int64_t at = decoder_deadline(t->keys.decoder);
    if (app_talks(&t->app) && !t->demo && t->app.open.state_old && t->known.status.phase == TDM_PHASE_IDLE)
        at = earlier(at, t->known.idle_since_ns + IDLE_S * TUI_S);
    at = earlier(at, tui_socket_deadline(&t->socket));
    at = earlier(at, app_keep_deadline(&t->app));
    at = earlier(at, pressure_deadline(&t->app.memory.pressure));
    at = earlier(at, measuring_begins(t));
    at = earlier(at, tui_attach_deadline(t));
    if (term_is_behind(t->face.term)) return earlier(at, now + BEHIND_MS * TUI_MS);
    if (t->face.away) return at;
    at = earlier(at, input_deadline(t->keys.input, now));
    if (now < t->face.ground_until_ns) return earlier(at, t->face.ground_until_ns);
    if (t->demo) return earlier(at, t->face.dirty ? t->face.frame_ns + FRAME_MS * TUI_MS : tui_demo_deadline(t));
    int64_t frame = t->face.frame_ns + FRAME_MS * TUI_MS;
    if (t->face.dirty) at = earlier(at, frame);
    if (is_restless(t, now)) at = earlier(at, t->face.frame_ns + TICK_MS * TUI_MS);
    at = earlier(at, tui_notices_deadline(&t->notices));
    if (t->turns.answered_until_ns > now) at = earlier(at, t->turns.answered_until_ns);
    if (t->known.context_until_ns > now) at = earlier(at, t->known.context_until_ns);
    /* Of the frame that was drawn, if no other one is due. */
    int ms = t->face.dirty ? -1 : screen_timeout_ms(t->face.screen, &t->face.view);
    if (ms >= 0) {
        int64_t next = t->face.view.now_ns + ms * TUI_MS;
        at = earlier(at, next > frame ? next : frame);
    }
    int64_t sensors = tui_figures_deadline(t, now);
    return earlier(at, sensors > frame ? sensors : frame);
}

static void wait_for_something(tui *t)
{
    enum { TERMINAL, CHAT, WAKE, INTERRUPT, EDITOR, WATCHER, PULL, PRESSURE, ALL };
    struct pollfd fds[ALL] = {
        [TERMINAL] = {t->keys.editor || term_is_behind(t->face.term) ? -1 : STDIN_FILENO, POLLIN, 0},
        [CHAT] = {app_events_fd(&t->app), POLLIN, 0},
        [WAKE] = {t->wake[0], POLLIN, 0},
        [INTERRUPT] = {interrupt_fd(), POLLIN, 0},
        [EDITOR] = {t->keys.editor ? editor_fd(t->keys.editor) : -1, POLLIN, 0},
        [WATCHER] = {t->socket.listening, POLLIN, 0},
        [PULL] = {tui_models_fd(&t->lists.models), POLLIN, 0},
        [PRESSURE] = {pressure_fd(&t->app.memory.pressure), POLLPRI, 0},
    };
    t->face.dirty |= t->notices.added; /* whichever part has added a notice */
    int64_t now = clock_ns(), at = deadline(t, now);
    int64_t ms = at == INT64_MAX ? -1 : at <= now ? 0 : (at - now + TUI_MS - 1) / TUI_MS;
    int n = poll(fds, ALL, ms > 60000 ? 60000 : (int)ms);
    if (n < 0) return;
    char gone[64];
    if (fds[WAKE].revents & POLLIN) {
        while (read(t->wake[0], gone, sizeof gone) == (ssize_t)sizeof gone) {
        }
        t->face.dirty = t->face.urgent = true;
    }
    if (fds[INTERRUPT].revents & POLLIN) t->quit = true;
    if (fds[TERMINAL].revents & (POLLIN | POLLHUP | POLLERR)) read_terminal(t);
    if (t->quit) return;
    if (!t->keys.editor && clock_ns() >= decoder_deadline(t->keys.decoder))
        decoder_feed(t->keys.decoder, NULL, 0, clock_ns());
    take_keys(t);
    if (fds[CHAT].revents & POLLIN) tui_turns_events(t);
    tui_draft_take_kept(t); /* a summary, whichever loop took its reply's end */
    if (t->keys.editor && fds[EDITOR].revents) {
        tui_external_edited(t);
        tui_keys_input(t);
    }
    if (fds[PULL].revents) tui_choose_read(t);
    now = clock_ns();
    if (fds[WATCHER].revents & POLLIN) tui_socket_accept(&t->socket, now);
    if (tui_socket_deadline(&t->socket) <= now) {
        tui_view_fill(t, now);
        tui_socket_tell(&t->socket, &t->face.view, now);
    }
    if (n == 0 || now >= at) t->face.dirty = true;
    if (n == 0 && app_talks(&t->app) && !t->demo && now >= t->known.idle_since_ns + IDLE_S * TUI_S) app_idle(&t->app);
}

/* Where all was read before Enter, the reply's first token is there within a fraction of a millisecond: it is drawn
 * with the message, in one frame instead of two. */
static void await_glyph(tui *t)
{
    struct pollfd chat = {.fd = app_events_fd(&t->app), .events = POLLIN};
    if (!t->turns.just_sent) return;
    t->turns.just_sent = false;
    int64_t until = clock_ns() + TUI_MS;
    while (t->turns.waits_for_glyph && clock_ns() < until && poll(&chat, 1, 1) > 0) tui_turns_events(t);
}

/* Looks what has happened to the disk, the power supply and the memory. */
static void look_around(tui *t, int64_t now)
{
    char notice[100];
    app_collect(&t->app);
    if (app_saved(&t->app)) t->face.dirty = true;
    if (app_look_at_battery(&t->app, now, notice)) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
    if (app_look_at_memory(&t->app, now, notice)) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", notice);
}

/* Runs the command that waits to leave the conversation, once the reply that it waits for has begun. */
static void leave(tui *t)
{
    tdm_chat_status now;
    if (!t->jobs.leave.waits || !app_talks(&t->app)) return;
    app_status(&t->app, &now);
    tui_dispatch(t, tui_leave_take(&t->jobs.leave, now.phase, &t->notices));
}

static void run(tui *t)
{
    while (!t->quit) {
        int64_t now = clock_ns();
        if (term_has_failed(t->face.term)) return;
        if (stopping_asked()) tui_external_suspend(t);
        if (stopping_over() || term_is_behind(t->face.term)) tui_external_continue(t);
        look_around(t, now);
        tui_model_take(t);
        tui_choose_step(t);
        tui_draft_take_attached(t);
        leave(t);
        tui_demo_step(t, now);
        measure(t, now);
        await_glyph(t);
        if (t->turns.partial) tui_turns_sync(t);
        bool waits = now < t->face.ground_until_ns; /* for the colours of the first frame */
        if (!waits) tui_commands_contrast(t);
        if (!waits && (t->face.urgent || (t->face.dirty && now - t->face.frame_ns >= FRAME_MS * TUI_MS)))
            tui_view_draw(t);
        app_keep(&t->app, clock_ns()); /* the first character is on the screen by now */
        if (!t->quit) wait_for_something(t);
    }
}

/* ---- Opening and closing --------------------------------------------------------------------------------------- */

bool tui_possible(const options *o)
{
    struct term_name name;
    if (options_flag(o, OPTION_PLAIN) || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return false;
    crash_catch(); /* reading the terminal's description takes memory, too */
    if (term_name_choose(&name, getenv("TERM"), getenv("COLORTERM"), STDOUT_FILENO)) return true;
    if (name.note[0]) output_note("tandem: %s: no full screen", name.note);
    return false;
}

/* The keys that came before the screen was open: `n` in `typed`, and what waits in the terminal, whose line discipline
 * has made a newline of each Enter. The last one sends what was typed; those before it may be a paste's. */
static void take_typed_ahead(tui *t, char typed[PROBE_TYPED], size_t n)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    while (n < PROBE_TYPED && poll(&in, 1, 0) > 0) {
        ssize_t got = term_read(t->face.term, typed + n, PROBE_TYPED - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    if (n && n < PROBE_TYPED && typed[n - 1] == '\n') typed[n - 1] = '\r';
    if (n) decoder_feed(t->keys.decoder, typed, n, clock_ns());
}

static bool open_screen(tui *t)
{
    char typed[PROBE_TYPED];
    size_t n_typed;
    struct term_name name;
    if (pipe2(t->wake, O_CLOEXEC | O_NONBLOCK)) return false;
    app_set_wake(&t->app, t->wake[1]);
    stopping_catch(t->wake[1]);
    interrupt_catch_all();
    probe_utf8(STDIN_FILENO, STDOUT_FILENO, interrupt_leave_fd(), typed, &n_typed);
    if (!term_name_choose(&name, getenv("TERM"), getenv("COLORTERM"), STDOUT_FILENO)) return false;
    if (name.note[0]) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", name.note);
    if (!(t->face.term = term_open(name.name, STDOUT_FILENO, STDIN_FILENO, interrupt_leave_fd(), -1))) return false;
    t->face.screen = screen_new();
    t->face.canvas = canvas_new(24, 80);
    t->keys.decoder = decoder_open(NULL);
    if (!t->face.screen || !t->face.canvas || !t->keys.decoder) return false;
    decoder_add_terminfo(t->keys.decoder, term_capability, NULL);
    take_typed_ahead(t, typed, n_typed);
    term_set_modes(t->face.term, DECODER_MODES_ON, DECODER_MODES_OFF);
    return true;
}

/* Asks what the background is, where that makes a difference: text and rules have other colours on a light one; and
 * what else is to be known. */
static void ask_terminal(tui *t)
{
    t->face.ground = ground_from_environment(getenv("COLORFGBG"));
    t->face.ground_until_ns = ground_ask(t->face.term, t->keys.decoder, options_text(t->o, OPTION_THEME), clock_ns());
    questions_asked(STDIN_FILENO, clock_ns());
    const char *pictures = tui_pictures_question(t);
    term_write(t->face.term, pictures, strlen(pictures));
    term_write(t->face.term, QUESTIONS_SCREEN, sizeof QUESTIONS_SCREEN - 1);
}

static void open_history(tui *t)
{
    tdm_error err = {0};
    char *path = t->app.open.private ? NULL : files_path(FILES_STATE, "history");
    t->keys.history = history_file_open(path, 0, &err);
    if (err.code) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "history: %s", err.text);
    free(path);
}

/* The form of the monitor is remembered between runs, and that its legend was hidden: "3n", or "3". Nothing is written
 * where neither has changed. */
static int say_form(const tui *t, char out[8])
{
    return snprintf(out, 8, "%d%s\n", t->monitor.form, t->monitor.no_legend ? "n" : "");
}

static void remember_form(const tui *t)
{
    char text[8];
    int n = say_form(t, text);
    if (!t->app.open.private && strcmp(text, t->monitor.recalled)) files_remember("monitor", text, (size_t)n);
}

static void recall_form(tui *t)
{
    char *path = files_path(FILES_STATE, "monitor"), *text = NULL;
    size_t n;
    if (path && access(path, R_OK) == 0 && !files_read_text(path, 16, &text, &n, NULL)) {
        if (n && text[0] >= '0' && text[0] <= '0' + VIEW_FORM_PANEL) t->monitor.form = (enum view_form)(text[0] - '0');
        t->monitor.no_legend = n > 1 && text[1] == 'n';
    }
    say_form(t, t->monitor.recalled);
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
    t->face.look.colours = term_colours(t->face.term);
    t->face.look.strikes = term_strikes(t->face.term);
    ask_terminal(t);
    recall_form(t);
    open_history(t);
    t->keys.input = input_open(&(struct input_options){t->keys.history, &commands_completer, getenv("HOME")}, &err);
    if (!t->keys.input) return false;
    tui_commands_look(t);
    input_set_suggestions(t->keys.input, tui_tips, TUI_TIPS);
    tui_sessions_read(&t->lists.sessions, NULL);
    tui_socket_open(&t->socket);
    tui_attach_open(t);
    tui_choose_first(t);
    return true;
}

/* Prints what stays on the terminal: where the conversation is saved, or all of it. */
static void say_goodbye(tui *t)
{
    session s;
    if (!app_nodes(&t->app) || app_snapshot(&t->app, &s, NULL)) return;
    if (options_flag(t->o, OPTION_LEAVE_TRANSCRIPT)) {
        size_t n = 0;
        char *text = session_markdown(&s, &n, NULL);
        if (text) output_text(text, n);
        free(text);
    }
    int turns = session_turns(&s), gone = app_memory_turns(&t->app);
    if (t->app.open.private && gone) {
        output_print("tandem: a private session of %d turn%s is gone\n", gone, gone == 1 ? "" : "s");
    } else if (!t->app.open.unsaved[0]) {
        output_print("tandem: '%s', %d turn%s; tandem --resume continues it\n", s.name, turns, turns == 1 ? "" : "s");
    }
    session_free(&s);
}

/* Ends the conversation in the background, and tells the user if it is lost: it was private or could not be saved. */
static void say_goodbye_background(tui *t)
{
    const char *name = background_name(&t->app);
    background_end(&t->app);
    if (t->app.background.there && t->app.background.open.private)
        output_print("tandem: the private conversation in the background is gone\n");
    if (!t->app.background.open.unsaved[0]) return;
    output_print("tandem: '%s' could not be saved: %s\n", name, t->app.background.open.unsaved);
}

/* Prints and writes what -v and --trace ask for. */
static bool report(tui *t)
{
    char line[FIGURES_END_ROOM];
    tdm_error err;
    tdm_status status = app_report(&t->app, line, &err);
    if (line[0]) output_note("%s", line);
    if (status) output_note("tandem: the trace: %s", err.text);
    return !status;
}

/* Closes all parts. Returns whether everything that should be saved is saved. */
static bool close_all(tui *t)
{
    tui_socket_close(&t->socket);
    task_end(&t->jobs.measuring.task);
    task_end(&t->jobs.choosing.task);
    power_meter_close(t->jobs.meter);
    tui_load_cancel(&t->jobs.load);
    tui_models_close(&t->lists.models);
    tui_demo_end(t);
    if (t->keys.editor) {
        editor_end(t->keys.editor);
        tui_external_edited(t);
    }
    term_close(t->face.term);
    if (t->demo_waits) output_text(t->demo_waits, strlen(t->demo_waits));
    free(t->demo_waits);
    tdm_error unheard;
    if (t->keys.input && !tui_draft_keep(t)) output_print("tandem: no memory to keep what was typed\n");
    if (app_talks(&t->app)) {
        if (app_nodes(&t->app)) app_save(&t->app, &unheard);
        remember_form(t);
        say_goodbye(t);
    }
    if (t->app.open.unsaved[0] && !t->app.open.private)
        output_print("tandem: the session could not be saved: %s\n", t->app.open.unsaved);
    if (app_talks(&t->app)) say_goodbye_background(t);
    if (t->app.draft || t->app.attach.kept)
        output_print(t->app.open.unsaved[0] ? "tandem: %s could not be saved\n"
                                            : "tandem: %s is kept; tandem --resume brings it back\n",
                     t->app.draft ? "the draft" : "what is attached");
    bool kept = report(t) && !t->app.open.unsaved[0] && !t->app.background.open.unsaved[0];
    app_close(&t->app);
    input_close(t->keys.input);
    history_file_close(t->keys.history);
    decoder_close(t->keys.decoder);
    tui_popup_close(&t->lists.popup);
    tui_figures_free(&t->figures);
    tui_turns_free(&t->turns);
    screen_free(t->face.screen);
    canvas_free(t->face.canvas);
    tui_sessions_free(&t->lists.sessions);
    tui_saved_close(&t->lists.saved);
    tui_results_close(&t->lists.hits);
    tui_branches_close(&t->lists.branches);
    tui_prompts_close(&t->lists.prompts);
    tui_palette_close(&t->lists.palette);
    tui_draft_free(&t->draft);
    tui_load_free(&t->jobs.load);
    tui_consent_free(&t->consent);
    tui_leave_free(&t->jobs.leave);
    tui_attached_close(&t->lists.attached);
    tui_attach_free(&t->attach);
    stopping_catch(-1);
    close(t->wake[0]);
    close(t->wake[1]);
    return kept;
}

static int without_screen(options *o)
{
    if (o->command != COMMAND_DEMO) return plain_main(o);
    output_note("tandem demo: this terminal can't hold a screen");
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
    t->face.urgent = true;
    if (o->command == COMMAND_DEMO) tui_demo_begin(t, options_text(o, OPTION_SCRIPT), true);
    run(t);
    bool starved = term_has_failed(t->face.term);
    if (tui_demo_failure(t)) snprintf(failure, sizeof failure, "%s", tui_demo_failure(t));
    bool kept = close_all(t);
    free(t);
    if (failure[0]) output_note("tandem demo: %s", failure);
    if (starved) output_note("tandem: out of memory");
    return failure[0] || starved || !kept ? 1 : 0;
}
