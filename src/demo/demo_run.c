#include "src/demo/demo_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/chat/load.h"
#include "src/chat/player_chat.h"
#include "src/chat/settings.h"
#include "src/chat/trace.h"
#include "src/demo/demo_scale.h"

enum { CONTEXT = 4096, LONGEST_MESSAGE = 4096, TICK_MS = 2, REST_MS = 2500 };

/* ---- The script ------------------------------------------------------------------------------------------------ */

char *demo_run_script(void)
{
    char path[PATH_MAX];
    return load_data("demo.json", path) ? strdup(path) : NULL;
}

tdm_status demo_run_check(const script *s, const char *name, tdm_error *err)
{
    if (s->n > DEMO_TURNS)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: %d turns, the demo has room for %d", name, s->n, DEMO_TURNS);
    for (int k = 0; k < s->n; k++) {
        const script_turn *t = &s->turns[k];
        size_t length = strlen(t->text);
        for (int i = 0; i < t->n_events; i++) {
            script_action action = t->events[i].action;
            if (action != SCRIPT_INSERT && action != SCRIPT_DELETE && action != SCRIPT_STOP)
                return error_set(err, TDM_E_UNSUPPORTED, "%s: turn %d: the demo plays insert, delete and stop, not %s",
                                 name, k + 1, script_action_name(action));
            if (action == SCRIPT_INSERT) length += strlen(t->events[i].text);
        }
        if (length > LONGEST_MESSAGE)
            return error_set(err, TDM_E_UNSUPPORTED, "%s: turn %d: %zu bytes, the demo has room for %d", name, k + 1,
                             length, LONGEST_MESSAGE);
    }
    return TDM_OK;
}

/* ---- One run --------------------------------------------------------------------------------------------------- */

typedef struct {
    player_chat chat; /* first: it is the player's host */
    demo_run *r;
    bool ahead;
    demo_take *take;
    trace *trace;
} recorder;

static demo_turn *turn_of(recorder *c)
{
    return &c->take->turns[c->chat.player.turn];
}

static tdm_status begin(void *host, const script_turn *turn, tdm_error *err)
{
    (void)host, (void)turn, (void)err; /* the run's level, not the script's */
    return TDM_OK;
}

static tdm_status draft_changed(recorder *c, tdm_error *err)
{
    demo_turn *t = turn_of(c);
    const struct buffer *draft = &c->chat.player.draft;
    int64_t now = clock_ns();
    if (!t->keys.n) t->key_ns = now;
    tdm_status status = buffer_append(&t->drafts, draft->bytes, draft->n, err);
    return status ? status : demo_marks_add(&t->keys, now, t->drafts.n, err);
}

static tdm_status type(void *host, const char *text, size_t n, bool pasted, tdm_error *err)
{
    tdm_status status = draft_changed(host, err);
    return status ? status : player_chat_functions.type(host, text, n, pasted, err);
}

static tdm_status erase(void *host, int characters, tdm_error *err)
{
    tdm_status status = draft_changed(host, err);
    return status ? status : player_chat_functions.erase(host, characters, err);
}

static tdm_status submit(void *host, int reply_limit, tdm_error *err)
{
    turn_of(host)->enter_ns = clock_ns();
    return player_chat_functions.submit(host, reply_limit, err);
}

static tdm_status on_event(void *host, const tdm_event *e, tdm_error *err)
{
    recorder *c = host;
    const player *p = &c->chat.player;
    int k = e->kind == TDM_EV_END ? p->ended - 1 : p->ended;
    if (k < 0 || k >= c->take->n) return TDM_OK;
    demo_turn *t = &c->take->turns[k];
    int64_t now = clock_ns();
    if (e->kind == TDM_EV_TEXT && !e->thinking) {
        if (!t->texts.n) t->first_ns = now;
        tdm_status status = buffer_append(&t->reply, e->text, e->length, err);
        return status ? status : demo_marks_add(&t->texts, now, t->reply.n, err);
    }
    if (e->kind != TDM_EV_END) return TDM_OK;
    if (!t->texts.n) t->first_ns = now;
    t->end_ns = now;
    return TDM_OK;
}

static bool on_tick(void *host)
{
    recorder *c = host;
    const player *p = &c->chat.player;
    trace_collect(c->trace);
    if (p->turn < c->take->n && p->sent == p->ended && p->draft.n) {
        demo_turn *t = turn_of(c);
        tdm_chat_status now;
        tdm_chat_status_of(c->chat.chat, &now);
        size_t before = t->reads.n ? t->reads.all[t->reads.n - 1].bytes : 0;
        if (now.draft_read_bytes != before) demo_marks_add(&t->reads, clock_ns(), now.draft_read_bytes, NULL);
    }
    int n = c->take->n, half = 2 * p->ended + (p->sent > p->ended);
    atomic_store(&c->r->done_of, 500 * half / n);
    return !job_cancelled(&c->r->job);
}

/* All that one script needs of a chat but for its level; nothing of the user's live settings. */
static void settings_of(const demo_wants *w, const script *s, bool ahead, tdm_chat_options *out)
{
    settings_chat_options(out, w->o, w->model);
    out->prefill_model = w->prefill;
    out->pipeline = TDM_PIPE_TANDEM;
    out->speculation = ahead ? TDM_SPEC_FULL : TDM_SPEC_OFF;
    out->reading = TDM_READ_ALWAYS; /* on a battery, too: it is what is shown */
    out->context = CONTEXT;
    out->pace_tps = 0;
    out->think = TDM_THINK_OFF;
    out->keep_thinking = TDM_KEEP_AUTO;
    out->max_tokens = s->max_tokens;
    out->max_answer_tokens = 0;
    out->loop_guard = false;
    out->sampling.temperature = s->temperature >= 0 ? (float)s->temperature : 0;
    out->sampling.seed = s->seed;
}

static tdm_status prepare(recorder *c, const script *s, tdm_error *err)
{
    const demo_wants *w = &c->r->wants;
    settings_of(w, s, c->ahead, &c->chat.settings);
    tdm_status status = tdm_chat_open(&c->chat.chat, w->model, w->machine, &c->chat.settings, err);
    tdm_chat_status opened;
    if (!status) tdm_chat_status_of(c->chat.chat, &opened);
    if (!status) c->r->dispatch = opened.dispatch;
    if (!status && (s->n_history || s->system)) status = script_load_history(s, c->chat.chat, s->system, err);
    if (!status && !(c->trace = trace_new(w->machine))) status = error_set(err, TDM_E_NOMEM, "out of memory");
    while (!status && c->ahead && !tdm_chat_wait_idle(c->chat.chat, 50))
        if (job_cancelled(&c->r->job)) status = error_set(err, TDM_E_CANCELLED, "interrupted");
    return status;
}

static tdm_status take_spans(recorder *c, tdm_error *err)
{
    tdm_status status = TDM_OK;
    trace_collect(c->trace);
    for (int u = 0; u < TDM_UNITS; u++) {
        size_t n;
        const tdm_span *all = trace_spans(c->trace, u, &n);
        for (size_t i = 0; i < n && !status; i++) {
            const struct view_span one = {.start_ns = all[i].start_ns,
                                          .end_ns = all[i].end_ns,
                                          .kind = (enum view_kind)all[i].kind,
                                          .tokens = (int)all[i].tokens,
                                          .bytes = all[i].bytes};
            status = demo_spans_add(&c->take->units[u], &one, err);
        }
    }
    return status;
}

static tdm_status record(demo_run *r, const script *s, bool ahead, demo_take *out, tdm_error *err)
{
    player_functions functions = player_chat_functions;
    functions.begin = begin;
    functions.type = type;
    functions.erase = erase;
    functions.submit = submit;
    recorder c = {.r = r, .ahead = ahead, .take = out, .chat = {.seen = on_event, .tick = on_tick, .tick_ms = TICK_MS}};
    c.chat.rest_ns = REST_MS * INT64_C(1000000) / (r->wants.builtin ? DEMO_QUICK : 1);
    atomic_store(&r->done_of, 0);
    atomic_store(&r->run, ahead ? 2 : 1);
    tdm_status status = demo_take_new(out, s->n, err);
    if (!status) status = prepare(&c, s, err);
    if (!status) status = player_chat_play(&c.chat, s, &functions, err);
    if (!status) status = take_spans(&c, err);
    trace_free(c.trace);
    tdm_chat_close(c.chat.chat);
    return status;
}

/* ---- Both, and their timings ------------------------------------------------------------------------------------- */

static int on_measuring(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    (void)step, (void)done, (void)total;
    return job_cancelled(&((demo_run *)ctx)->job);
}

/* As at the first rest of a conversation; a machine that can't be measured does without. */
static void measure(demo_run *r, const tdm_model_info *info)
{
    tdm_error unkept, err;
    r->ceilings = r->wants.ceilings;
    if (!r->ceilings.known)
        ceilings_measure(&r->ceilings, r->wants.machine, info->kernels, on_measuring, r,
                         r->wants.private ? NULL : &unkept, &err);
}

static demo_cost cost_of(const tdm_model_info *i, const ceilings *c)
{
    return (demo_cost){.bytes = (double)i->bytes_per_token,
                       .operations = (double)i->flops_per_token,
                       .peak = c->known ? c->value.all.operations[i->arithmetic] : 0};
}

/* The models that the built-in one may be shown as: the first with which the show isn't too long. */
static const struct {
    const char *name, *path; /* only its shape counts */
} shown_as[] = {{"4B", "synthetic:4b:q4_k"}, {"2B", "synthetic:2b:q4_k"}, {"0.8B", "synthetic:0.8b:q4_k"}};
enum { SHOWN = sizeof shown_as / sizeof *shown_as, LONGEST_SHOW_S = 90 };

static tdm_status cost_of_shown(const demo_run *r, int which, demo_cost *out, tdm_error *err)
{
    tdm_model *m;
    tdm_model_info info;
    const load_how how = {.text_only = true, .progress = on_measuring, .progress_ctx = (void *)r};
    tdm_status status = load_model(&m, r->wants.o, shown_as[which].path, &how, err);
    if (status) return status;
    tdm_model_describe(m, &info);
    *out = cost_of(&info, &r->ceilings);
    tdm_model_close(m);
    return TDM_OK;
}

/* The script as it is played: the messages one after the other, where the runs are typed quickly with less time for
 * each key, and where replies would take too long with fewer tokens. Borrows all but the turns. */
static script played(const demo_wants *w, const demo_cost *own, double memory)
{
    enum { LONGEST_REPLY_S = 10, LEAST = 16 };
    script s = *w->script;
    double quick = w->builtin ? DEMO_QUICK : 1, most = memory > 0 ? LONGEST_REPLY_S * memory / own->bytes : 0;
    s.typing_cps *= quick;
    s.turns = calloc((size_t)s.n, sizeof *s.turns);
    for (int k = 0; s.turns && k < s.n; k++) {
        s.turns[k] = w->script->turns[k];
        s.turns[k].start_after_tokens = -1;
        s.turns[k].pause_s /= quick;
    }
    if (w->adapts && most > 0 && most < s.max_tokens) s.max_tokens = most < LEAST ? LEAST : (int)most;
    return s;
}

/* "AMD EPYC 9B45" */
static void name_processor(char *out, size_t room)
{
    char *text = NULL;
    const char *from = !tdm_cpu_describe(&text, NULL) ? text + strcspn(text, " \n") : "";
    from += strspn(from, " ");
    snprintf(out, room, "%.*s", (int)strcspn(from, "\n"), from);
    free(text);
}

static void name_origins(demo_run *r, const tdm_model_info *info)
{
    char processor[64], when[32];
    time_t now = time(NULL);
    struct tm local;
    name_processor(processor, sizeof processor);
    strftime(when, sizeof when, "%d %b %H:%M", localtime_r(&now, &local));
    int cores = tdm_machine_cores(r->wants.machine);
    snprintf(r->origins[DEMO_MEASURED], sizeof r->origins[0], "%.60s %.*s, %s, %d core%s, %s",
             r->wants.builtin ? "built-in 51M" : info->name, (int)strcspn(info->weight_types, " "), info->weight_types,
             processor, cores, cores == 1 ? "" : "s", when);
}

static tdm_status make_show(demo_run *r, demo_timing timing, const demo_take takes[DEMO_SIDES], const demo_pace *pace,
                            tdm_error *err)
{
    demo_take timed[DEMO_SIDES] = {0};
    tdm_status status = TDM_OK;
    for (int i = 0; i < DEMO_SIDES && !status; i++) status = demo_scale(&timed[i], &takes[i], pace, err);
    if (!status) status = demo_show_make(&r->shows[timing], &timed[DEMO_AFTER], &timed[DEMO_AHEAD], pace->rest_ns, err);
    for (int i = 0; i < DEMO_SIDES; i++) demo_take_free(&timed[i]);
    return status;
}

/* A slow machine, or one that others use as well, would show waits of minutes with the largest. */
static tdm_status make_scaled(demo_run *r, const demo_take takes[DEMO_SIDES], demo_pace *pace, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int i = 0; i < SHOWN && !status; i++) {
        demo_show_free(&r->shows[DEMO_SCALED]);
        status = cost_of_shown(r, i, &pace->shown, err);
        if (!status) status = make_show(r, DEMO_SCALED, takes, pace, err);
        snprintf(r->origins[DEMO_SCALED], sizeof r->origins[0], "measured with the built-in model, shown as a %s",
                 shown_as[i].name);
        if (r->shows[DEMO_SCALED].end_ns <= LONGEST_SHOW_S * INT64_C(1000000000)) break;
    }
    return status;
}

static tdm_status make_both(demo_run *r, const script *s, const demo_cost *own, tdm_error *err)
{
    const demo_wants *w = &r->wants;
    demo_take takes[DEMO_SIDES] = {0};
    tdm_status status = TDM_OK;
    for (int i = 0; i < DEMO_SIDES && !status; i++) status = record(r, s, i == DEMO_AHEAD, &takes[i], err);
    demo_pace pace = {.measured = *own, .shown = *own, .typing = w->builtin ? DEMO_QUICK : 1, .dispatch = r->dispatch,
                      .rest_ns = REST_MS * INT64_C(1000000),
                      .memory = r->ceilings.known ? r->ceilings.value.all.bytes : 0};
    if (!status) demo_pace_learn(&pace, takes, DEMO_SIDES);
    if (!status) status = make_show(r, DEMO_MEASURED, takes, &pace, err);
    if (!status && w->builtin) status = make_scaled(r, takes, &pace, err);
    for (int i = 0; i < DEMO_SIDES; i++) demo_take_free(&takes[i]);
    return status;
}

static tdm_status make(demo_run *r, tdm_error *err)
{
    const demo_wants *w = &r->wants;
    tdm_model_info info;
    tdm_model_describe(w->model, &info);
    measure(r, &info);
    name_origins(r, &info);
    demo_cost own = cost_of(&info, &r->ceilings);
    script s = played(w, &own, r->ceilings.known ? r->ceilings.value.all.bytes : 0);
    tdm_status status = s.turns ? make_both(r, &s, &own, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    free(s.turns);
    return status;
}

static void run(void *ctx)
{
    demo_run *r = ctx;
    r->err.code = make(r, &r->err);
}

tdm_status demo_run_begin(demo_run *r, const demo_wants *wants, tdm_error *err)
{
    *r = (demo_run){.wants = *wants};
    if (job_begin(&r->job, run, r, wants->wake)) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "no thread for the demo's runs");
}

bool demo_run_take(demo_run *r)
{
    return job_take(&r->job);
}

void demo_run_end(demo_run *r)
{
    job_end(&r->job);
    for (int i = 0; i < DEMO_TIMINGS; i++) demo_show_free(&r->shows[i]);
}
