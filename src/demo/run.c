#include "src/demo/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/demo/given.h"
#include "src/demo/scale.h"
#include "src/files/files.h"
#include "src/figures/trace.h"
#include "src/models/load.h"
#include "src/models/settings.h"
#include "src/play/player_chat.h"

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

/* ---- Pairs of units --------------------------------------------------------------------------------------------- */

tdm_status demo_run_pair(const char *pair, char *prefill, char *decode, size_t room, tdm_error *err)
{
    const char *plus = strchr(pair, '+');
    size_t n = plus ? (size_t)(plus - pair) : 0, m = plus ? strlen(plus + 1) : 0;
    if (!n || !m || n >= room || m >= room)
        return error_set(err, TDM_E_ARG, "--pair: expected PREFILL+DECODE like gpu+cores, found '%.60s'", pair);
    snprintf(prefill, room, "%.*s", (int)n, pair);
    snprintf(decode, room, "%s", plus + 1);
    if (!strcmp(prefill, "cores")) *prefill = 0;
    if (!strcmp(decode, "cores")) *decode = 0;
    return TDM_OK;
}

/* "cores + gpu:0". */
static void name_side(const tdm_machine *m, char *out, size_t room)
{
    tdm_unit_info info[TDM_UNITS];
    const char *name[TDM_UNITS];
    for (int u = 0; u < TDM_UNITS; u++) {
        tdm_unit_describe(m, u, &info[u]);
        name[u] = info[u].device[0] ? info[u].name : "cores";
    }
    snprintf(out, room, "%.20s + %.20s", name[TDM_PREFILL_UNIT], name[TDM_DECODE_UNIT]);
}

/* The second run's machine; a unit that does not come about as it was named is an error, not another pair. */
static tdm_status open_second(demo_run *r, tdm_error *err)
{
    enum { UNIT = 64 };
    char unit[TDM_UNITS][UNIT], *folder = files_path(FILES_CACHE, "gpu");
    tdm_status status = demo_run_pair(r->wants.pair, unit[TDM_PREFILL_UNIT], unit[TDM_DECODE_UNIT], UNIT, err);
    tdm_machine_options m = {.cache_folder = folder,
                             .prefill_unit = unit[TDM_PREFILL_UNIT][0] ? unit[TDM_PREFILL_UNIT] : NULL,
                             .decode_unit = unit[TDM_DECODE_UNIT][0] ? unit[TDM_DECODE_UNIT] : NULL};
    if (!status) status = tdm_machine_open(&r->second, &m, err);
    for (int u = 0; u < TDM_UNITS && !status; u++) {
        tdm_unit_info info;
        tdm_unit_describe(r->second, u, &info);
        if (info.refused[0]) status = error_set(err, TDM_E_UNSUPPORTED, "%s", info.refused);
    }
    free(folder);
    if (status) return status;
    name_side(r->wants.machine, r->first.heads[0], sizeof r->first.heads[0]);
    name_side(r->second, r->first.heads[1], sizeof r->first.heads[1]);
    memcpy(r->whole.heads, r->first.heads, sizeof r->whole.heads);
    return TDM_OK;
}

/* ---- One run --------------------------------------------------------------------------------------------------- */

typedef struct {
    player_chat chat; /* first: it is the player's host */
    demo_run *r;
    bool ahead;
    demo_take *take;
    trace *trace;
    size_t spans[TDM_UNITS]; /* of the trace that were taken */
    int first;               /* turn of the part that is played */
    int64_t resumed_ns;      /* its beginning; 0: the run's */
    int64_t gap_ns;          /* left out before it */
    tdm_placed_picture placed; /* its picture; held */
} recorder;

static demo_turn *turn_of(recorder *c)
{
    return &c->take->turns[c->first + c->chat.player.turn];
}

static int64_t take_ns(const recorder *c)
{
    return clock_ns() - c->gap_ns;
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
    int64_t now = take_ns(c);
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
    turn_of(host)->enter_ns = take_ns(host);
    return player_chat_functions.submit(host, reply_limit, err);
}

static tdm_status on_event(void *host, const tdm_event *e, tdm_error *err)
{
    recorder *c = host;
    const player *p = &c->chat.player;
    int k = c->first + (e->kind == TDM_EV_END ? p->ended - 1 : p->ended);
    if (k < c->first || k >= c->take->n) return TDM_OK;
    demo_turn *t = &c->take->turns[k];
    int64_t now = take_ns(c);
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
    if (c->first + p->turn < c->take->n && p->sent == p->ended && p->draft.n) {
        demo_turn *t = turn_of(c);
        tdm_chat_status now;
        tdm_chat_status_of(c->chat.chat, &now);
        size_t before = t->reads.n ? t->reads.all[t->reads.n - 1].bytes : 0;
        if (now.draft_read_bytes != before) demo_marks_add(&t->reads, take_ns(c), now.draft_read_bytes, NULL);
    }
    int n = c->take->n, half = 2 * (c->first + p->ended) + (p->sent > p->ended);
    atomic_store(&c->r->done_of[c->ahead ? DEMO_AHEAD : DEMO_AFTER], 500 * half / n);
    return !task_cancelled(&c->r->task);
}

/* All that one script needs of a chat but for its level; nothing of the user's live settings. */
static void settings_of(const demo_wants *w, const script *s, bool ahead, tdm_chat_options *out)
{
    settings_chat_options(out, w->o, w->model);
    out->prefill_model = w->prefill;
    out->pipeline = TDM_PIPE_TANDEM;
    out->speculation = ahead || w->pair ? TDM_SPEC_FULL : TDM_SPEC_OFF;
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

/* Waits until nothing is left to be read. */
static tdm_status wait_idle(recorder *c, tdm_error *err)
{
    while (!tdm_chat_wait_idle(c->chat.chat, 50))
        if (task_cancelled(&c->r->task)) return error_set(err, TDM_E_CANCELLED, "interrupted");
    return TDM_OK;
}

/* The picture of a run, and room for it. */
static tdm_status begin_picture(recorder *c, tdm_error *err)
{
    const demo_wants *w = &c->r->wants;
    tdm_picture_fit fit;
    if (!w->picture) return TDM_OK;
    tdm_status status = picture_fit_sides(w->model, w->picture, (uint32_t)c->chat.settings.picture_tokens, &fit, err);
    if (status) return status;
    c->chat.settings.context += (int)fit.tokens;
    if (c->ahead) return demo_given_again(w->picture, &c->placed.picture, err);
    c->placed.picture = tdm_picture_hold(w->picture);
    return TDM_OK;
}

static tdm_status begin_record(recorder *c, demo_run *r, const script *s, bool ahead, demo_take *out, tdm_error *err)
{
    const demo_wants *w = &r->wants;
    tdm_machine *machine = ahead && r->second ? r->second : w->machine;
    *c = (recorder){
        .r = r, .ahead = ahead, .take = out, .chat = {.seen = on_event, .tick = on_tick, .tick_ms = TICK_MS}};
    c->chat.rest_ns = REST_MS * INT64_C(1000000) / (w->builtin ? DEMO_QUICK : 1);
    settings_of(w, s, ahead, &c->chat.settings);
    tdm_status status = demo_take_new(out, s->n, err);
    if (!status) status = begin_picture(c, err);
    if (!status) status = tdm_chat_open(&c->chat.chat, w->model, machine, &c->chat.settings, err);
    tdm_chat_status opened;
    if (!status) tdm_chat_status_of(c->chat.chat, &opened);
    if (!status) r->dispatch = opened.dispatch;
    if (!status && (s->n_history || s->system)) status = script_load_history(s, c->chat.chat, s->system, err);
    if (!status && !(c->trace = trace_new(machine))) status = error_set(err, TDM_E_NOMEM, "out of memory");
    return !status && (ahead || w->pair) ? wait_idle(c, err) : status;
}

static void end_record(recorder *c)
{
    trace_free(c->trace);
    tdm_chat_close(c->chat.chat);
    tdm_picture_drop(c->placed.picture);
}

/* The new spans of the trace, but for those of the gap: they are another run's. */
static tdm_status take_spans(recorder *c, tdm_error *err)
{
    tdm_status status = TDM_OK;
    trace_collect(c->trace);
    for (int u = 0; u < TDM_UNITS; u++) {
        size_t n;
        const tdm_span *all = trace_spans(c->trace, u, &n);
        for (; c->spans[u] < n && !status; c->spans[u]++) {
            const tdm_span *from = &all[c->spans[u]];
            const struct view_span one = {.start_ns = from->start_ns - c->gap_ns,
                                          .end_ns = from->end_ns - c->gap_ns,
                                          .kind = (enum view_kind)from->kind,
                                          .tokens = (int)from->tokens,
                                          .bytes = from->bytes};
            if (from->start_ns >= c->resumed_ns) status = demo_spans_add(&c->take->units[u], &one, err);
        }
    }
    return status;
}

/* Plays the turns up to `end` that were not played yet. */
static tdm_status record(recorder *c, const script *s, int end, tdm_error *err)
{
    player_functions functions = player_chat_functions;
    functions.begin = begin;
    functions.type = type;
    functions.erase = erase;
    functions.submit = submit;
    script part = *s;
    part.turns += c->first;
    part.n = end - c->first;
    if (part.n < 1) return TDM_OK;
    c->chat.pictures = &c->placed;
    c->chat.n_pictures = c->placed.picture && !c->first;
    atomic_store(&c->r->run, c->ahead ? 2 : 1);
    tdm_status status = player_chat_play(&c->chat, &part, &functions, err);
    if (!status) status = wait_idle(c, err);
    if (!status) status = take_spans(c, err);
    c->first = end;
    return status;
}

/* The time until the next part is played is left out, except for the rest that a user takes after a reply. */
static void resume(recorder *c, int64_t paused_ns)
{
    int64_t rested = c->take->turns[c->first - 1].end_ns + c->chat.rest_ns;
    c->resumed_ns = clock_ns();
    c->gap_ns = c->resumed_ns - (rested > paused_ns ? rested : paused_ns);
}

/* ---- Both, and their timings ------------------------------------------------------------------------------------- */

static int on_measuring(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    (void)step, (void)done, (void)total;
    return task_cancelled(&((demo_run *)ctx)->task);
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
enum { SHOWN = sizeof shown_as / sizeof *shown_as, LONGEST_FIRST_S = 40, LONGEST_SHOW_S = 150 };

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
    snprintf(r->first.origins[DEMO_MEASURED], sizeof r->first.origins[0], "%.60s %.*s, %s, %d core%s, %s",
             r->wants.builtin ? "built-in 51M" : info->name, (int)strcspn(info->weight_types, " "), info->weight_types,
             processor, cores, cores == 1 ? "" : "s", when);
    memcpy(r->whole.origins[DEMO_MEASURED], r->first.origins[DEMO_MEASURED], sizeof r->whole.origins[0]);
}

static tdm_status make_show(demo_show *out, const demo_take takes[DEMO_SIDES], const demo_pace *pace, tdm_error *err)
{
    demo_take timed[DEMO_SIDES] = {0};
    tdm_status status = TDM_OK;
    for (int i = 0; i < DEMO_SIDES && !status; i++) status = demo_scale(&timed[i], &takes[i], pace, err);
    if (!status) status = demo_show_make(out, &timed[DEMO_AFTER], &timed[DEMO_AHEAD], pace->rest_ns, err);
    for (int i = 0; i < DEMO_SIDES; i++) demo_take_free(&timed[i]);
    return status;
}

/* A slow machine, or one that others use as well, would show waits of minutes with the largest. The first turn's model
 * stays, unless all turns take far too long with it. */
static tdm_status make_scaled(demo_run *r, demo_shows *out, const demo_take takes[DEMO_SIDES], demo_pace *pace,
                              tdm_error *err)
{
    demo_show *show = &out->all[DEMO_SCALED];
    int64_t longest_ns = (out == &r->first ? LONGEST_FIRST_S : LONGEST_SHOW_S) * INT64_C(1000000000);
    for (;; r->which++) {
        demo_show_free(show);
        demo_cost cost;
        tdm_status status = cost_of_shown(r, r->which, &cost, err);
        if (!status) demo_pace_show(pace, &cost);
        if (!status) status = make_show(show, takes, pace, err);
        if (status) return status;
        if (show->end_ns <= longest_ns || r->which + 1 == SHOWN) break;
    }
    snprintf(out->origins[DEMO_SCALED], sizeof out->origins[0], "measured with the built-in model, shown as a %s",
             shown_as[r->which].name);
    return TDM_OK;
}

/* The shows of the first n turns. */
static tdm_status make_shows(demo_run *r, demo_shows *out, const demo_take takes[DEMO_SIDES], int n, demo_pace *pace,
                             tdm_error *err)
{
    demo_take parts[DEMO_SIDES]; /* borrowed */
    for (int i = 0; i < DEMO_SIDES; i++) {
        parts[i] = takes[i];
        parts[i].n = n;
    }
    pace->shown = pace->measured;
    tdm_status status = make_show(&out->all[DEMO_MEASURED], parts, pace, err);
    return !status && r->wants.builtin && !r->wants.pair ? make_scaled(r, out, parts, pace, err) : status;
}

static tdm_status show_first(demo_run *r, const demo_take takes[DEMO_SIDES], demo_pace *pace, tdm_error *err)
{
    tdm_status status = make_shows(r, &r->first, takes, 1, pace, err);
    if (status) return status;
    atomic_store(&r->first_made, true);
    return TDM_OK;
}

/* A machine serves the chat that was opened last: the run that was begun first waits while the other one is made. */
static tdm_status make_both(demo_run *r, const script *s, const demo_cost *own, tdm_error *err)
{
    const demo_wants *w = &r->wants;
    demo_take takes[DEMO_SIDES] = {0};
    recorder after = {0}, ahead = {0};
    demo_pace pace = {.measured = *own,
                      .shown = *own,
                      .typing = w->builtin ? DEMO_QUICK : 1,
                      .rest_ns = REST_MS * INT64_C(1000000),
                      .memory = r->ceilings.known ? r->ceilings.value.all.bytes : 0};
    tdm_status status = begin_record(&after, r, s, false, &takes[DEMO_AFTER], err);
    if (!status) status = record(&after, s, 1, err);
    int64_t paused = clock_ns();
    if (!status) status = begin_record(&ahead, r, s, true, &takes[DEMO_AHEAD], err);
    if (!status) status = record(&ahead, s, 1, err);
    int64_t ahead_paused = clock_ns();
    /* One pace for both shows: the first turn keeps its figures. */
    pace.dispatch = r->dispatch;
    if (!status) demo_pace_learn(&pace, takes, DEMO_SIDES);
    if (!status && s->n > 1) status = show_first(r, takes, &pace, err);
    if (!status) resume(&ahead, ahead_paused);
    if (!status) status = record(&ahead, s, s->n, err);
    end_record(&ahead);
    if (!status) resume(&after, paused);
    if (!status) status = record(&after, s, s->n, err);
    end_record(&after);
    if (!status) status = make_shows(r, &r->whole, takes, s->n, &pace, err);
    for (int i = 0; i < DEMO_SIDES; i++) demo_take_free(&takes[i]);
    return status;
}

static tdm_status make(demo_run *r, tdm_error *err)
{
    const demo_wants *w = &r->wants;
    tdm_model_info info;
    /* First, so that a pair that can't be opened is reported at once. */
    tdm_status status = w->pair ? open_second(r, err) : TDM_OK;
    if (!status) {
        tdm_model_describe(w->model, &info);
        measure(r, &info);
        name_origins(r, &info);
        demo_cost own = cost_of(&info, &r->ceilings);
        script s = played(w, &own, r->ceilings.known ? r->ceilings.value.all.bytes : 0);
        status = s.turns ? make_both(r, &s, &own, err) : error_set(err, TDM_E_NOMEM, "out of memory");
        free(s.turns);
    }
    tdm_machine_close(r->second);
    return status;
}

static void run(void *ctx)
{
    demo_run *r = ctx;
    r->err.code = make(r, &r->err);
    r->made = !r->err.code;
}

tdm_status demo_run_begin(demo_run *r, const demo_wants *wants, tdm_error *err)
{
    *r = (demo_run){.wants = *wants};
    if (task_begin(&r->task, run, r, wants->wake)) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "no thread for the demo's runs");
}

bool demo_run_take(demo_run *r)
{
    return task_take(&r->task);
}

/* ---- What was measured, in words --------------------------------------------------------------------------------- */

static void write_waits(FILE *out, const char *word, const char *origin, const char (*heads)[64], const demo_show *s)
{
    struct demo_view v = {0};
    double all[DEMO_SIDES] = {0};
    const char *unit = s->in_ms ? "ms" : "s";
    demo_show_at(s, s->end_ns, &v);
    fprintf(out, "%s: %s\n%22s | %s\n", word, origin, heads[0][0] ? heads[0] : "after Enter",
            heads[1][0] ? heads[1] : "read ahead");
    for (int k = 0; k < s->n; k++) {
        for (int i = 0; i < DEMO_SIDES; i++) all[i] += v.waits[k][i] *= s->in_ms ? 1e3 : 1;
        fprintf(out, "turn %-2d %11.1f %-2s | %7.1f %s\n", k + 1, v.waits[k][DEMO_AFTER], unit, v.waits[k][DEMO_AHEAD],
                unit);
    }
    if (s->n > 1) fprintf(out, "in all  %11.1f %-2s | %7.1f %s\n", all[DEMO_AFTER], unit, all[DEMO_AHEAD], unit);
}

static char *in_words(const demo_run *r)
{
    const demo_shows *shows = r->made ? &r->whole : atomic_load(&r->first_made) ? &r->first : NULL;
    struct buffer_stream s;
    FILE *out = shows ? buffer_stream_open(&s) : NULL;
    if (!out) return NULL;
    write_waits(out, "MEASURED", shows->origins[DEMO_MEASURED], shows->heads, &shows->all[DEMO_MEASURED]);
    if (shows->all[DEMO_SCALED].n)
        write_waits(out, "SCALED", shows->origins[DEMO_SCALED], shows->heads, &shows->all[DEMO_SCALED]);
    return buffer_stream_close(&s, NULL);
}

char *demo_run_end(demo_run *r)
{
    task_end(&r->task);
    char *text = in_words(r);
    for (int i = 0; i < DEMO_TIMINGS; i++) {
        demo_show_free(&r->first.all[i]);
        demo_show_free(&r->whole.all[i]);
    }
    return text;
}
