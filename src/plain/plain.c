#include "src/plain/plain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "engine/base/clean.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/chat/compact.h"
#include "src/chat/consent.h"
#include "src/chat/talk.h"
#include "src/files/files.h"
#include "src/io/clip.h"
#include "src/io/line_reader.h"
#include "src/io/output.h"
#include "src/models/vision.h"
#include "src/models/first_model.h"
#include "src/models/load.h"
#include "src/plain/line.h"
#include "src/plain/ending.h"
#include "src/plain/greet.h"
#include "src/plain/keys.h"
#include "src/plain/tty.h"
#include "src/process/interrupt.h"
#include "src/slash/commands.h"
#include "ui/edit/history.h"
#include "ui/edit/slash.h"
#include "ui/readline/setup.h"

enum { IDLE_MS = 30000, SLOW_READING_MS = 2000, QUIT_WITHIN_MS = 2000 };

typedef struct {
    app app;
    bool terminal; /* standard input is one */
    struct history_file *history;
    unsigned long shown_entries, shown_generation; /* of history, given to readline */
    char *pending;        /* lines that ended with a backslash, each with its newline; NULL: none */
    size_t pending_length;
    char *draft; /* to be put into the next line; NULL: nothing */
    char *line;  /* what readline handed over; NULL with `lines`: end of input */
    bool line_ready;
    int64_t enter_ns;
    bool pasted; /* the line's first byte came from a paste */
    int64_t quit_until_ns; /* Ctrl-C again before this quits */
    line_reader lines; /* of standard input, but those that readline reads */
    bool untold;       /* if the last save failed, the user is still to be told */
    bool quit;
    bool failed; /* a reply broke off: the exit status says so to a script */
} plain;

static plain *current; /* readline's callbacks take no context */

/* ---- A reply --------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t glyph_ns; /* when its first character was written */
    bool thinking, ended, answered;
    bool failed; /* an error was printed; the reply's end, if there is one, comes behind it */
    char last; /* character written */
    int64_t started_ns;
    bool told_reading;
    struct buffer untold; /* notices that came in the middle of a line: they wait for its end */
    int number;    /* of several answers, the one that is written as it comes; 0: there is one */
    struct {
        struct buffer text; /* what has come of one whose turn it isn't */
        tdm_event end;      /* of kind TDM_EV_NONE: it has not ended */
    } answers[TDM_ANSWERS_MAX];
} reply;

static void show_text(reply *r, const tdm_event *e)
{
    if (e->answers > 1 && e->answer != r->number) {
        if (!e->thinking) buffer_append(&r->answers[e->answer - 1].text, e->text, e->length, NULL);
        return;
    }
    if (e->thinking != r->thinking) {
        output_print(e->thinking ? "(thinking)\n" : "\n(answer)\n");
        r->thinking = e->thinking;
    }
    output_text(e->text, e->length);
    output_flush();
    if (!r->glyph_ns) r->glyph_ns = clock_ns();
    if (e->length) r->last = e->text[e->length - 1];
}

/* A line beside the reply never stands in the middle of one of its lines, if there is memory to hold it back. */
static void note_beside(reply *r, const char *text, size_t n)
{
    bool within = r->last && r->last != '\n';
    if (!within || buffer_reserve(&r->untold, n + 1, NULL)) {
        output_note("%.*s", (int)n, text);
        return;
    }
    buffer_append(&r->untold, text, n, NULL);
    buffer_append(&r->untold, "\n", 1, NULL);
}

static void note_held(reply *r)
{
    for (size_t at = 0; at < r->untold.n;) {
        size_t n = strcspn(r->untold.bytes + at, "\n");
        output_note("%.*s", (int)n, r->untold.bytes + at);
        at += n + 1;
    }
    buffer_clear(&r->untold);
}

/* Says that the last save has failed. On a terminal the user does not wait for the disk: the line is printed once the
 * result is known. */
static void tell_unsaved(plain *p)
{
    if (!p->untold) return;
    if (p->terminal) app_saved(&p->app);
    else app_settle(&p->app);
    if (app_saving(&p->app)) return;
    p->untold = false;
    if (p->app.open.unsaved[0]) output_note("session not saved: %s", p->app.open.unsaved);
}

static void look_around(plain *p, reply *r)
{
    char notice[100];
    app_keep(&p->app, clock_ns());
    tell_unsaved(p);
    if (app_look_at_battery(&p->app, clock_ns(), notice)) note_beside(r, notice, strlen(notice));
    if (app_look_at_memory(&p->app, clock_ns(), notice)) note_beside(r, notice, strlen(notice));
}

static void show_end(plain *p, reply *r, const tdm_event *e)
{
    char line[300];
    if (r->last && r->last != '\n') output_print("\n");
    output_flush();
    r->last = '\n';
    note_held(r);
    p->failed |= e->finish == TDM_FINISH_FAILED;
    if (!p->app.compact.ended) ending_note(&p->app, e);
    if (p->app.compact.said) output_note("(%s)", p->app.compact.said);
    if (!p->terminal) app_settle(&p->app); /* a script may take the turn's line as a sign that it is saved */
    if (!p->app.no_turn_line) {
        figures_turn_line(&e->stats, r->glyph_ns, line, sizeof line);
        output_note("%s", line);
    }
    p->untold = true;
    tell_unsaved(p);
    if (compact_due(&p->app)) output_note("(%s)", compact_offer(&p->app));
}

/* The next of several answers: its number, and what has come of it. */
static void begin_answer(reply *r)
{
    const struct buffer *text = &r->answers[r->number++].text;
    output_print(r->number > 1 ? "\n[%d]\n" : "[%d]\n", r->number);
    output_text(text->bytes ? text->bytes : "", text->n);
    output_flush();
    r->thinking = false;
    r->last = text->n ? text->bytes[text->n - 1] : 0;
}

/* One of several answers has ended; it is printed when its turn comes. */
static void end_answer(plain *p, reply *r, const tdm_event *e)
{
    r->answers[e->answer - 1].end = *e;
    while (r->number <= e->answers && r->answers[r->number - 1].end.kind == TDM_EV_END) {
        show_end(p, r, &r->answers[r->number - 1].end);
        if (r->number == e->answers) break;
        begin_answer(r);
    }
    r->ended = e->writing == 0;
    if (r->ended) output_note("(the next message replies to [1]; /branch N goes to another)");
}

static void show_lost(const plain *p, reply *r, const tdm_event *end)
{
    tdm_event text;
    tdm_node node;
    if (lost_text(p->app.chat, end, &node, &text)) show_text(r, &text);
    tdm_node_free(&node);
}

static void take_events(plain *p, reply *r)
{
    tdm_event e;
    char line[300];
    while (tdm_chat_next_event(p->app.chat, &e)) {
        app_event(&p->app, &e, r->glyph_ns);
        switch (e.kind) {
        case TDM_EV_TEXT: show_text(r, &e); break;
        case TDM_EV_REPLY:
            if (e.answers > 1 && e.answer == 1) begin_answer(r);
            break;
        case TDM_EV_END:
            show_lost(p, r, &e);
            if (r->number) {
                end_answer(p, r, &e);
                break;
            }
            show_end(p, r, &e);
            r->ended = true;
            break;
        case TDM_EV_NOTICE: note_beside(r, e.text, e.length); break;
        case TDM_EV_ERROR:
            note_beside(r, e.text, e.length);
            r->failed = true;
            break;
        case TDM_EV_COLD:
            e.cold.warm_ms =
                figures_ttft_ms(&p->app.last.stats, p->app.last.glyph_ns); /* the engine knows its share only */
            figures_cold_line(&e.cold, p->app.last.stats.kind, line, sizeof line);
            output_print("%s\n", line);
            output_flush();
            r->ended = true;
            break;
        default: break;
        }
    }
}

static void tell_reading(const plain *p, reply *r)
{
    tdm_chat_status s;
    if (r->told_reading || r->glyph_ns || clock_ns() - r->started_ns < SLOW_READING_MS * INT64_C(1000000)) return;
    tdm_chat_status_of(p->app.chat, &s);
    if (s.phase != TDM_PHASE_READING) return;
    output_note("(reading: %u of %u tokens)", s.reading_done, s.reading_total);
    r->told_reading = true;
}

static bool is_idle(const plain *p)
{
    tdm_chat_status now;
    tdm_chat_status_of(p->app.chat, &now);
    return now.phase == TDM_PHASE_IDLE;
}

/* Shows what comes until the reply (or the answer to /cold) has ended. Ctrl-C stops it. */
static void follow(plain *p)
{
    reply r = {.started_ns = clock_ns()};
    interrupt_catch();
    plain_tty_echo(false); /* what is typed waits in the terminal for the next line */
    while (!r.ended) {
        bool front = plain_tty_look();
        int ready = talk_wait_for(front || p->quit ? p->app.chat : NULL, -1, front ? 200 : PLAIN_TTY_BEHIND_MS);
        if (interrupt_seen()) {
            tdm_chat_stop(p->app.chat, TDM_FRONT);
            if (interrupt_leaving())
                p->quit = true;
            else
                interrupt_catch();
        }
        app_collect(&p->app);
        if (ready & TALK_CHAT) take_events(p, &r);
        if ((r.failed || p->quit) && !r.ended && is_idle(p)) {
            take_events(p, &r); /* its end, if that has come by now: left there, it would be the next reply's */
            p->failed |= r.failed && !r.ended;
            r.ended = true;
        }
        if (front) {
            look_around(p, &r);
            tell_reading(p, &r);
        }
        if (!output_good()) {
            tdm_chat_stop(p->app.chat, TDM_FRONT);
            p->quit = true;
        }
    }
    plain_tty_echo(true);
    note_held(&r); /* of a reply that has not come to its end */
    buffer_free(&r.untold);
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) buffer_free(&r.answers[i].text);
}

/* ---- Commands -------------------------------------------------------------------------------------------------- */

static void say(void *ctx, const char *text, size_t n)
{
    (void)ctx;
    output_text(text, n);
    output_flush();
}

/* Says what would be sent and waits for a line. From a pipe only --yes can agree. */
static bool may_send(plain *p, const char *question)
{
    if (!p->terminal) return options_flag(p->app.o, OPTION_YES);
    output_note("%s", question);
    plain_tty_forget(); /* what was typed before is no answer */
    fputs("send it? [y/N] ", stderr);
    char *line = line_reader_next(&p->lines, NULL);
    bool yes = line && (line[0] == 'y' || line[0] == 'Y');
    free(line);
    return yes;
}

static bool may_send_turns(void *ctx, const char *question)
{
    bool agreed = may_send(ctx, question);
    if (!agreed) output_note("nothing was sent, and the conversation stays");
    return agreed;
}

/* Where plain http would leave for an overlay network, that is asked too. From a pipe nothing can agree to it. */
static tdm_status open_models(plain *p, const char *path, bool agreed, load_pair *out, tdm_error *err)
{
    char question[CONSENT_ROOM];
    bool lacks = false;
    load_how how = {.agreed = agreed, .lacks_plain_http = &lacks};
    tdm_status status = load_pair_open(out, p->app.o, path, &how, err);
    if (!lacks || !p->terminal) return status;
    consent_to_plain_http(p->app.o, path, question);
    if (!may_send(p, question)) return status;
    consent_keep_plain_http(p->app.o, path);
    how.plain_http = true;
    return load_pair_open(out, p->app.o, path, &how, err);
}

static tdm_status load(void *ctx, const char *path, load_pair *out, tdm_error *err)
{
    plain *p = ctx;
    char question[CONSENT_ROOM];
    bool asks = consent_to_model(&p->app, path, question), agreed = p->terminal && (!asks || may_send(p, question));
    if (asks && agreed) consent_keep(p->app.o, path);
    tdm_status status = open_models(p, path, agreed, out, err);
    if (!status) status = load_places(out, p->app.machine, p->app.o, &(load_how){0}, err);
    if (status) load_pair_close(out);
    interrupt_catch();
    if (!status) load_notes(out->model);
    return status;
}

static tdm_status copy(void *ctx, const char *text, size_t n, tdm_error *err)
{
    struct clipboard_result result;
    const plain *p = ctx;
    if (p->terminal && output_is_terminal()) {
        plain_tty_echo(false);
        plain_keys_ask();
        plain_tty_echo(true);
    }
    tdm_status status = clip_copy(text, n, output_is_terminal(), &result, err);
    if (status) return status;
    if (result.escape) output_escape(result.escape);
    free(result.escape);
    output_print("%s\n", result.text);
    output_flush();
    return TDM_OK;
}

static tdm_status copy_view(void *ctx, tdm_error *err)
{
    plain *p = ctx;
    session s;
    size_t n = 0;
    tdm_status status = app_snapshot(&p->app, &s, err);
    if (status) return status;
    char *text = session_markdown(&s, &n, NULL);
    if (text) output_text(text, n);
    free(text);
    session_free(&s);
    return TDM_OK;
}

/* The draft that a resumed session has kept is for the next line; not from a pipe, where it would not be seen. */
static void take_draft(plain *p)
{
    if (!p->terminal || p->draft) return;
    p->draft = app_take_draft(&p->app);
}

/* Says why, and puts the text into the next line: nothing that was typed gets lost. */
static void refuse(plain *p, const char *text, const tdm_error *err)
{
    output_note("%s", err->text);
    free(p->draft);
    p->draft = p->terminal ? strdup(text) : NULL;
}

static void send_message(plain *p, const char *text, int64_t enter_ns)
{
    tdm_error err = {0};
    if (app_send(&p->app, text, strlen(text), enter_ns, &err)) refuse(p, text, &err);
    else follow(p);
}

static void run_command(plain *p, const slash_call *call)
{
    const commands_front front = {
        .ctx = p, .say = say, .may_send = may_send_turns, .load = load, .copy = copy, .copy_view = copy_view};
    commands_result result;
    tdm_error err = {0};
    if (commands_run(&p->app, &front, call, &result, &err)) {
        output_note("%s", err.text);
    } else if (result.waits) {
        follow(p);
        take_draft(p); /* a summary */
    }
    bool saves = app_saving(&p->app);
    p->untold |= app_saved(&p->app) || saves;
    tell_unsaved(p);
    if (result.quit) p->quit = true;
    if (result.draft && result.message && !p->terminal) {
        send_message(p, result.draft, clock_ns());
        free(result.draft);
    } else if (result.draft) {
        free(p->draft);
        p->draft = result.draft;
    }
    if (result.anew) take_draft(p);
}

static bool is_stopped(void *ctx)
{
    (void)ctx;
    return interrupt_seen();
}

/* Runs the command in a line that begins with !, typed on a terminal: its output goes before the next message. Ctrl-C
 * stops it. */
static void run_line(plain *p, const char *text)
{
    app *a = &p->app;
    attachment one;
    tdm_error err = {0};
    char said[100], line[400];
    int place;
    interrupt_catch();
    plain_tty_echo(false);
    tdm_status status = attach_run(&one, text + 1, is_stopped, NULL, said, &err);
    plain_tty_echo(true);
    if (interrupt_leaving()) p->quit = true;
    interrupt_catch();
    if (!status) status = attach_take(&a->attach.files, &one, a->models.model, app_room_now(a), &place, &err);
    if (!status) commands_attached(a, place, said, line, sizeof line);
    output_note("%s", status ? err.text : line);
}

/* Attaches the files that the message names; false: one can't be attached, and the user was told. */
static bool read_named(plain *p, const char *text)
{
    app *a = &p->app;
    tdm_error err = {0};
    int before = a->attach.files.n;
    mentions_which which = p->terminal ? MENTIONS_ALL : MENTIONS_PICTURES; /* text from a pipe names pictures alone */
    if (mentions_read(&a->attach.mentions, &a->attach.files, a->models.model, app_room_now(a), text, strlen(text),
                      which, &err)) {
        if (err.code == TDM_E_UNSUPPORTED) vision_explain(a->o, a->models.model, NULL, &err);
        p->failed |= !p->terminal;
        refuse(p, text, &err);
        return false;
    }
    for (int i = before; i < a->attach.files.n; i++) output_note("(%s goes before it)", a->attach.files.all[i].name);
    return true;
}

static void handle_message(plain *p, char *text, int64_t enter_ns)
{
    slash_call call;
    bool command;
    tdm_error err = {0};
    if (!text[strspn(text, " \t\r\n")]) return;
    history_file_add(p->history, text, !p->app.open.private, NULL);
    if (p->terminal && slash_runs(text, strlen(text), p->pasted)) {
        run_line(p, text);
        return;
    }
    if (p->terminal && p->pasted && plain_line_attach(&p->app, text)) return;
    tdm_status status = slashes_parse(&call, &command, text, false, &err);
    if (command && !status) {
        run_command(p, &call);
        slashes_free(&call);
        p->quit = p->quit || !output_good();
        return;
    }
    if (status) refuse(p, text, &err);
    else if (read_named(p, text)) send_message(p, text, enter_ns);
}

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

/* A trailing backslash makes a new line (two of them end a line with one). Takes `line` over; returns the whole text,
 * malloc'ed, or NULL when more lines follow. */
static char *join_lines(plain *p, char *line)
{
    size_t n = strlen(line);
    bool more = n && line[n - 1] == '\\' && !(n > 1 && line[n - 2] == '\\');
    if (n && line[n - 1] == '\\') line[--n] = 0;
    char *joined = malloc(p->pending_length + n + 2);
    if (!joined) {
        tdm_error err;
        error_set(&err, TDM_E_NOMEM, "no memory for a line of %zu bytes: it was not read", n);
        refuse(p, line, &err);
        p->failed |= !p->terminal;
        free(line);
        return NULL;
    }
    if (p->pending_length) memcpy(joined, p->pending, p->pending_length);
    memcpy(joined + p->pending_length, line, n);
    n += p->pending_length;
    if (more) joined[n++] = '\n';
    joined[n] = 0;
    free(line);
    free(p->pending);
    p->pending = more ? joined : NULL;
    p->pending_length = more ? n : 0;
    return more ? NULL : joined;
}

/* ---- readline -------------------------------------------------------------------------------------------------- */

static void on_line(char *line)
{
    char *clean = line ? clean_text(line, strlen(line), NULL) : NULL;
    current->enter_ns = clock_ns();
    current->line = clean ? clean : line;
    if (clean) free(line);
    current->line_ready = true;
    current->quit_until_ns = 0; /* a Ctrl-C behind it is not the second one */
    rl_callback_handler_remove();
}

static void tell_draft(plain *p)
{
    size_t n = strlen(rl_line_buffer);
    char *whole = malloc(p->pending_length + n + 1);
    if (!whole) return;
    if (p->pending_length) memcpy(whole, p->pending, p->pending_length);
    memcpy(whole + p->pending_length, rl_line_buffer, n + 1);
    /* A draft that doesn't fit is refused when it is sent. */
    app_set_draft(&p->app, whole, p->pending_length + n, slash_may_be_command(whole, p->pending_length + n, false),
                  NULL);
    free(whole);
}

static void give_history(plain *p)
{
    history_file_refresh(p->history);
    unsigned long now = history_file_generation(p->history);
    if (p->shown_generation != now) clear_history(), p->shown_entries = 0, p->shown_generation = now;
    for (const char *e; (e = history_file_entry(p->history, p->shown_entries)); p->shown_entries++) add_history(e);
}

/* The entry at readline's place in the history is as it was before it was changed. */
static void revert_entry(void)
{
    if (rl_undo_list) rl_revert_line(1, 0);
    const HIST_ENTRY *entry = current_history(); /* another one than before */
    if (entry && strcmp(entry->line, rl_line_buffer))
        free_history_entry(replace_history_entry(where_history(), rl_line_buffer, NULL));
}

/* The line is empty, and readline's history as it was before anything in it was changed. The commands of readline undo
 * it, since they alone know which of the lists of changes in its entries are still there. */
static void begin_anew(plain *p)
{
    rl_callback_sigcleanup();
    revert_entry();
    for (int i = history_length - 1; i >= 0; i--) {
        if (!history_get(history_base + i)->data) continue;
        if (i < where_history()) rl_get_previous_history(where_history() - i, 0);
        else rl_get_next_history(i - where_history(), 0);
        revert_entry();
    }
    rl_end_of_history(1, 0); /* where the draft comes back */
    rl_free_line_state();
    rl_replace_line("", 1);
    give_history(p);
    using_history(); /* add_history leaves the place behind */
}

/* Whether the line is an entry of the history as it was. While readline searches, its place there says nothing. */
static bool is_entry(const plain *p)
{
    HIST_ENTRY *const *entries = history_list();
    bool found = false;
    for (int i = 0; i < history_length && !p->pending && !found; i++)
        found = !entries[i]->data && !strcmp(entries[i]->line, rl_line_buffer);
    return found;
}

/* Ctrl-C at the prompt: clears the line; on an empty one a second press quits. */
static void on_interrupt(plain *p)
{
    bool empty = !rl_line_buffer[0] && !p->pending && where_history() == history_length;
    interrupt_catch();
    if (empty && clock_ns() < p->quit_until_ns) {
        p->quit = true;
        return;
    }
    if (!empty && !is_entry(p)) history_file_add(p->history, rl_line_buffer, false, NULL); /* nothing typed gets lost */
    begin_anew(p);
    free(p->pending);
    p->pending = NULL;
    p->pending_length = 0;
    fputs(empty ? "\nCtrl-C again quits\n" : "\n", rl_outstream);
    p->quit_until_ns = empty ? clock_ns() + QUIT_WITHIN_MS * INT64_C(1000000) : 0;
    rl_set_prompt("> ");
    rl_on_new_line();
    rl_redisplay();
    tell_draft(p);
}

/* Keeps all that was typed and not sent, because the program is to leave. */
static void keep_draft(plain *p)
{
    char *all;
    const char *pending = p->pending ? p->pending : "", *line = p->draft ? p->draft : "";
    if (!p->terminal) return;
    if (asprintf(&all, "%.*s%s", (int)p->pending_length, pending, line) < 0) all = NULL;
    if (!all || !app_keep_draft(&p->app, all)) output_note("no memory to keep what was typed");
    free(all);
}

/* Between turns: prints the follower's notices and those about the machine. */
static void between_turns(plain *p, bool events)
{
    reply r = {0};
    app_collect(&p->app);
    if (events) take_events(p, &r);
    look_around(p, &r);
}

/* One line by readline; false at the end of the input. */
static bool read_line(plain *p)
{
    give_history(p);
    rl_callback_handler_install(p->pending ? ". " : "> ", on_line);
    if (p->draft) {
        rl_insert_text(p->draft);
        plain_line_draw();
        p->pasted = true; /* it was a message, or is one of the library */
        free(p->draft);
        p->draft = NULL;
    }
    tell_draft(p); /* attachments are read before a word is typed */
    p->line_ready = false;
    if (!p->pending) p->pasted = false;
    int idle_ms = 0;
    bool told_idle = false;
    while (!p->line_ready && !p->quit) {
        if (!plain_tty_look()) {
            talk_wait_for(NULL, -1, PLAIN_TTY_BEHIND_MS);
            p->quit = interrupt_leaving();
            continue;
        }
        int ms = plain_keys_wait_ms(p->untold ? 100 : 1000);
        int ready = ms ? talk_wait_for(p->app.chat, STDIN_FILENO, ms) : 0;
        idle_ms = ready || p->untold ? 0 : idle_ms + ms;
        between_turns(p, ready & TALK_CHAT);
        if (idle_ms >= IDLE_MS && !told_idle) app_idle(&p->app);
        told_idle = idle_ms >= IDLE_MS;
        if (interrupt_leaving())
            p->quit = true;
        else if (interrupt_seen())
            on_interrupt(p);
        if (p->quit) continue;
        plain_keys_read(ready & TALK_OTHER);
        bool typed = false;
        while (!p->line_ready && plain_keys_step()) {
            if (!p->line_ready && !rl_end) p->pasted = false;
            typed = true;
        }
        if (p->line_ready && interrupt_leaving()) { /* that was no Enter */
            p->draft = p->line;
            p->line = NULL;
            p->quit = true;
        }
        if (typed && !p->line_ready) tell_draft(p);
    }
    if (!p->line_ready) {
        if (!(p->draft = strdup(rl_line_buffer))) output_note("no memory to keep what was typed");
        rl_callback_handler_remove();
    }
    return p->line_ready && p->line;
}

/* A paste at the line's beginning is text, whatever it begins with. */
static void begin_paste(void)
{
    current->pasted |= rl_point == 0;
}

/* A line above the prompt, which is shown once more. */
static void hint(const char *text)
{
    fputs("\n", rl_outstream);
    output_note("%s", text);
    rl_on_new_line();
}

static void set_up_readline(plain *p)
{
    current = p;
    tdm_error err;
    if (setup_inputrc(&err)) output_note("%s", err.text);
    plain_line_set_up();
    using_history();
    if (plain_keys_open(&(plain_keys_front){.pasting = begin_paste, .hint = hint})) return;
    output_note("out of memory");
    p->quit = true;
}

static void talk_on_terminal(plain *p)
{
    set_up_readline(p);
    interrupt_catch();
    while (!p->quit) {
        if (!read_line(p)) break;
        char *text = join_lines(p, p->line);
        if (text) handle_message(p, text, p->enter_ns);
        free(text);
    }
    plain_keys_close();
    output_print("\n");
}

static void talk_from_pipe(plain *p)
{
    char *line;
    tdm_error err = {0};
    interrupt_catch();
    while (!p->quit && (line = line_reader_next(&p->lines, &err))) {
        char *text = join_lines(p, line);
        if (text) handle_message(p, text, clock_ns());
        free(text);
    }
    if (err.code) p->failed = true, output_note("%s: no more are read", err.text);
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

static void open_history(plain *p)
{
    tdm_error err = {0};
    char *path = p->app.open.private || !p->terminal ? NULL : files_path(FILES_STATE, "history");
    p->history = history_file_open(path, 0, &err);
    if (err.code) output_note("history: %s", err.text);
    free(path);
}

int plain_main(options *o)
{
    plain p = {.terminal = isatty(STDIN_FILENO), .lines = {.fd = STDIN_FILENO}};
    if (p.terminal) plain_tty_open();
    tdm_error err = {0};
    load_pair models;
    char notice[CONSENT_ROOM];
    bool kept = true;
    app_init(&p.app, o);
    first_model(o, notice, sizeof notice);
    if (notice[0]) output_note("%s", notice);
    bool asks = consent_to_start(o, notice), agreed = p.terminal && (!asks || may_send(&p, notice));
    if (asks && agreed) consent_keep(o, options_text(o, OPTION_MODEL));
    tdm_status status = open_models(&p, options_text(o, OPTION_MODEL), agreed, &models, &err);
    if (!status) {
        load_notes(models.model);
        status = app_start(&p.app, &models, NULL, notice, &err);
    }
    if (!status) {
        load_machine_notes(o, p.app.machine);
        open_history(&p);
        if (!p.history) status = error_set(&err, TDM_E_NOMEM, "out of memory");
    }
    if (!status) {
        if (p.terminal) plain_greet(&p.app);
        if (notice[0]) output_note("%s", notice);
        take_draft(&p);
        if (p.terminal)
            talk_on_terminal(&p);
        else
            talk_from_pipe(&p);
        keep_draft(&p);
        kept = plain_goodbye(&p.app, p.terminal);
        if (!p.app.chat) status = error_set(&err, TDM_E_NOMEM, "it ended without a model");
    }
    history_file_close(p.history);
    line_reader_free(&p.lines);
    free(p.pending);
    free(p.draft);
    app_close(&p.app);
    return status ? load_failed(&err) : !kept || (p.failed && !p.terminal);
}
