#include "src/tui/frame/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/utf8.h"
#include "src/tui/lists/list.h"
#include "src/tui/private.h"
#include "ui/monitor/lanes.h"

/* ---- Turns ----------------------------------------------------------------------------------------------------- */

void tui_figures_enter(tui *t, int64_t enter_ns)
{
    tui_figures *f = &t->figures;
    if (f->n_enters == TUI_ENTERS) memmove(f->enters, f->enters + 1, sizeof *f->enters * --f->n_enters);
    f->enters[f->n_enters++] = (struct view_enter){enter_ns, -1};
    f->turn_start_ns = f->first_key_ns && f->first_key_ns < enter_ns ? f->first_key_ns : enter_ns;
    f->turn_end_ns = 0;
    f->first_key_ns = 0;
}

void tui_figures_glyph(tui *t, double ttft_ms)
{
    tui_figures *f = &t->figures;
    if (f->n_enters && f->enters[f->n_enters - 1].ttft_ms < 0) f->enters[f->n_enters - 1].ttft_ms = ttft_ms;
}

void tui_figures_turn(tui *t, const struct view_ttft *ttft, const tdm_turn_stats *stats)
{
    tui_figures *f = &t->figures;
    tui_turn_log *log = &f->log;
    if (log->n == TUI_MONITOR_TURNS) memmove(log->all, log->all + 1, sizeof *log->all * --log->n);
    log->all[log->n++] = (struct view_monitor_turn){
        .number = ++log->seen,
        .ttft = *ttft,
        .in = (int)stats->turn_tokens,
        .after_enter = (int)stats->after_enter,
        .out = (int)stats->reply_tokens,
        .tok_s = stats->decode_tps,
        .per_pass = figures_per_pass(stats),
    };
    f->turn_end_ns = stats->end_ns;
    /* A turn this short is a speck in the live window. */
    if (!t->monitor.view_chosen) t->monitor.turn_view = f->turn_end_ns - f->turn_start_ns < 2 * TUI_S;
}

/* The chat knows the rate of its last reply too, but not whose it was: a demo's, or of a conversation before. */
double tui_figures_tok_s(const tui *t)
{
    tdm_phase phase = t->known.status.phase;
    /* The event of its end may still be queued. */
    bool writes = t->turns.replying || phase == TDM_PHASE_THINKING || phase == TDM_PHASE_ANSWERING;
    return writes ? t->known.status.decode_tps : t->turns.tok_s;
}

/* The kinds of the screen are those of the engine. */
#define SAME_KIND(kind) _Static_assert((int)VIEW_K_##kind == (int)TDM_SPAN_##kind, #kind)
SAME_KIND(HISTORY);
SAME_KIND(DRAFT);
SAME_KIND(SUFFIX);
SAME_KIND(PROMPT);
SAME_KIND(DECODE);
SAME_KIND(HANDOVER);
SAME_KIND(CHECKPOINT);
SAME_KIND(RESTORE);
SAME_KIND(PICTURE);
SAME_KIND(LENT);
SAME_KIND(CARRY);
#undef SAME_KIND
_Static_assert((int)VIEW_KINDS == (int)TDM_SPAN_KINDS, "a kind for each");

/* ---- Units ----------------------------------------------------------------------------------------------------- */

static void sample_unit(tui *t, int unit, int64_t now)
{
    tui_figures *f = &t->figures;
    tdm_span *raw = f->raw[unit];
    double window = t->monitor.live_s > LANES_LIVE_S ? t->monitor.live_s : LANES_LIVE_S;
    int64_t since = now - (int64_t)(window * 1e9) - 5 * TUI_S;
    if (t->monitor.turn_view && f->turn_start_ns && f->turn_start_ns < since) since = f->turn_start_ns;
    size_t n = tdm_unit_spans(t->app.machine, unit, since, raw, TUI_SPANS);
    for (size_t i = 0; i < n; i++)
        f->spans[unit][i] = (struct view_span){.start_ns = raw[i].start_ns,
                                               .end_ns = raw[i].end_ns ? raw[i].end_ns : now,
                                               .kind = (enum view_kind)raw[i].kind,
                                               .tokens = (int)raw[i].tokens,
                                               .bytes = raw[i].bytes};
    f->n_spans[unit] = n;
    tdm_unit_describe(t->app.machine, unit, &f->unit[unit]);
}

static uint64_t busy_total(const tdm_unit_info *u)
{
    uint64_t ns = 0;
    for (int kind = 0; kind < TDM_SPAN_LENT; kind++) ns += u->total[kind].ns;
    return ns;
}

/* One value a second; the seconds in which the program slept had no work. */
static void sample_history(tui_figures *f, int64_t now)
{
    int64_t seconds = f->second_ns ? (now - f->second_ns) / TUI_S : 0;
    if (f->second_ns && seconds < 1) return;
    for (int unit = 0; unit < TDM_UNITS; unit++) {
        uint64_t total = busy_total(&f->unit[unit]), busy = total - f->busy_ns[unit];
        int64_t many = seconds > TUI_HISTORY_S ? TUI_HISTORY_S : seconds;
        f->busy_ns[unit] = total;
        if (!f->second_ns || many < 1) continue;
        uint8_t *h = f->history[unit];
        memmove(h, h + many, (size_t)(TUI_HISTORY_S - many));
        memset(h + TUI_HISTORY_S - many, 0, (size_t)many);
        for (int64_t i = many; i-- > 0 && busy;) { /* the oldest of the new seconds come first */
            uint64_t part = busy > (uint64_t)TUI_S ? (uint64_t)TUI_S : busy;
            h[TUI_HISTORY_S - 1 - i] = (uint8_t)(100 * part / (uint64_t)TUI_S);
            busy -= part;
        }
    }
    f->second_ns = f->second_ns ? f->second_ns + seconds * TUI_S : now;
}

static uint64_t sum(const tdm_unit_info *now, const tdm_unit_info *then, bool tokens)
{
    uint64_t all = 0;
    for (int kind = 0; kind <= TDM_SPAN_DECODE; kind++)
        all += tokens ? now->total[kind].tokens - then->total[kind].tokens : now->total[kind].ns - then->total[kind].ns;
    return all;
}

static tdm_arithmetic arithmetic_of(const tui *t, int unit)
{
    const char *kind = t->figures.unit[unit].kind;
    if (kind && !strcmp(kind, "blas")) return TDM_F32;
    return kind && !strcmp(kind, "amx-bf16") ? TDM_BF16 : t->app.info.arithmetic;
}

/* The work that a unit did since the last points, in percent of the most that it could have done. */
static float share_since(const tui *t, int unit)
{
    const tui_figures *f = &t->figures;
    const tdm_unit_info *info = &f->unit[unit], *then = &f->charted[unit];
    double seconds = 1e-9 * (double)sum(info, then, false), bytes = 0;
    uint64_t lent = f->unit[!unit].total[TDM_SPAN_LENT].ns - f->charted[!unit].total[TDM_SPAN_LENT].ns;
    double with_all = 1e-9 * (double)lent; /* what the other unit lent, this one had */
    for (int kind = 0; kind <= TDM_SPAN_DECODE; kind++)
        bytes += (double)(info->total[kind].bytes - then->total[kind].bytes);
    if (with_all > seconds) with_all = seconds;
    const ceilings *c = &t->app.ceilings;
    ceilings_time time = {.own_s = seconds - with_all, .all_s = with_all};
    bool decodes = unit == TDM_DECODE_UNIT;
    double most = decodes ? ceilings_bytes(c, unit, time) : ceilings_operations(c, unit, arithmetic_of(t, unit), time);
    double done = decodes ? bytes : (double)sum(info, then, true) * (double)t->app.info.flops_per_token;
    return most > 0 ? (float)(100 * done / most) : 0;
}

/* The points that belong to the time since the last ones: its work in the oldest of them, since a program that slept
 * had none. */
static void sample_charts(tui *t, int64_t now)
{
    tui_figures *f = &t->figures;
    int64_t steps = f->charted_ns ? (now - f->charted_ns) / (VIEW_CHART_S * TUI_S) : 0;
    if (f->charted_ns && steps < 1) return;
    for (int unit = 0; unit < TDM_UNITS && f->charted_ns; unit++) {
        const tdm_unit_info *info = &f->unit[unit], *then = &f->charted[unit];
        double seconds = 1e-9 * (double)sum(info, then, false), tokens = (double)sum(info, then, true);
        size_t new = steps < VIEW_CHART_POINTS ? (size_t)steps : VIEW_CHART_POINTS, first = VIEW_CHART_POINTS - new;
        float *series[2] = {f->speeds[unit], f->shares[unit]};
        for (int i = 0; i < 2; i++) {
            memmove(series[i], series[i] + new, first * sizeof **series);
            memset(series[i] + first, 0, new * sizeof **series);
        }
        f->speeds[unit][first] = seconds > 0 ? (float)(tokens / seconds) : 0;
        f->shares[unit][first] = share_since(t, unit);
    }
    memcpy(f->charted, f->unit, sizeof f->charted);
    f->charted_ns = f->charted_ns ? f->charted_ns + steps * VIEW_CHART_S * TUI_S : now;
}

static struct view_figure figure(double value)
{
    return (struct view_figure){.value = value, .valid = value > 0, .why = "not yet"};
}

static struct view_figure share(double value, double most, bool of_gpu)
{
    bool known = most > 0 && !of_gpu;
    return (struct view_figure){.value = known ? 100 * value / most : 0, .valid = known,
                                .why = of_gpu ? "not known" : "not measured yet"};
}

/* What a unit did in a stretch of time, in nanoseconds, tokens and bytes. */
typedef struct {
    double work, with_all; /* forward passes; of these, with the other unit's cores */
    double tokens, bytes;
} tally;

static double overlap(const struct view_span *s, int64_t from, int64_t to)
{
    if (s->start_ns > from) from = s->start_ns;
    if (s->end_ns < to) to = s->end_ns;
    return to > from ? (double)(to - from) : 0;
}

/* The part of a span in which the other unit's cores were lent. *at: the first of the other's spans that may matter,
 * for spans that are asked about in their order. */
static double lent_during(const struct view_span *other, size_t n, size_t *at, const struct view_span *s, int64_t from)
{
    double ns = 0;
    int64_t start = s->start_ns > from ? s->start_ns : from;
    while (*at < n && other[*at].end_ns <= start) ++*at;
    for (size_t i = *at; i < n && other[i].start_ns < s->end_ns; i++)
        if (other[i].kind == VIEW_K_LENT) ns += overlap(&other[i], start, s->end_ns);
    return ns;
}

static tally count_unit(const tui_figures *f, int unit, int64_t from, int64_t to)
{
    const struct view_span *other = f->spans[!unit];
    size_t at = 0;
    tally t = {0};
    for (size_t i = 0; i < f->n_spans[unit]; i++) {
        const struct view_span *s = &f->spans[unit][i];
        double ns = overlap(s, from, to);
        if (ns <= 0 || s->kind > VIEW_K_DECODE) continue;
        t.work += ns;
        t.with_all += lent_during(other, f->n_spans[!unit], &at, s, from);
        t.bytes += (double)s->bytes;
        t.tokens += s->tokens;
    }
    return t;
}

/* Is it at work? Prefill works by dispatches, with pauses between the keys that it reads. */
static bool is_resting(const tui *t, int unit, int64_t now)
{
    enum { REST_S = 1 };
    const tui_figures *f = &t->figures;
    bool writes = t->known.status.phase == TDM_PHASE_THINKING || t->known.status.phase == TDM_PHASE_ANSWERING ||
                  t->app.background.writing;
    if (unit == TDM_DECODE_UNIT) return !writes;
    for (size_t i = f->n_spans[unit]; i-- > 0 && f->spans[unit][i].end_ns > now - REST_S * TUI_S;)
        if (f->spans[unit][i].kind < VIEW_K_DECODE) return false;
    return true;
}

/* Over the window that the lanes show. */
static void fill_unit(const tui *t, int unit, struct view_unit *out, int64_t now)
{
    const tui_figures *f = &t->figures;
    int64_t from, to;
    lanes_window(&t->face.view.monitor, now, LANES_MAX, &from, &to);
    tally w = count_unit(f, unit, from, to);
    double operations = w.tokens * (double)t->app.info.flops_per_token;
    ceilings_time time = {.own_s = 1e-9 * (w.work - w.with_all), .all_s = 1e-9 * w.with_all};
    out->name = f->unit[unit].name;
    out->kind = f->unit[unit].kind;
    out->resting = is_resting(t, unit, now);
    double prefill_tok_s = w.work > 0 ? 1e9 * w.tokens / w.work : 0;
    out->tok_s = figure(unit == TDM_PREFILL_UNIT ? prefill_tok_s : tui_figures_tok_s(t));
    bool here = !f->unit[unit].server[0];
    out->gb_s = figure(here && w.work > 0 ? w.bytes / w.work : 0);
    out->gflop_s = figure(here && w.work > 0 ? operations / w.work : 0);
    bool of_gpu = f->unit[unit].device[0] && !f->unit[unit].device_lost;
    out->gpu = sensing_gpu(&f->sensing, unit);
    out->gb_share = share(w.bytes, ceilings_bytes(&t->app.ceilings, unit, time), of_gpu);
    out->gflop_share = share(operations, ceilings_operations(&t->app.ceilings, unit, arithmetic_of(t, unit), time),
                             of_gpu);
    out->kept = figure(100 * t->known.status.speed_kept);
    out->history = f->history[unit];
    out->n_history = TUI_HISTORY_S;
    out->speeds = f->speeds[unit];
    out->shares = f->shares[unit];
    out->n_points = VIEW_CHART_POINTS;
}

/* When a unit last did something of its own. */
static int64_t last_work(const tui_figures *f)
{
    int64_t last = 0;
    for (int unit = 0; unit < TDM_UNITS; unit++)
        for (size_t i = f->n_spans[unit]; i-- > 0;) {
            const struct view_span *s = &f->spans[unit][i];
            if (s->kind == VIEW_K_LENT) continue;
            if (s->end_ns > last) last = s->end_ns;
            break;
        }
    return last;
}

static bool shows_sensors(const tui *t)
{
    enum view_form form = screen_layout(t->face.screen)->form;
    return app_talks(&t->app) && (form == VIEW_FORM_PANEL || form == VIEW_FORM_FULL || t->socket.n);
}

int64_t tui_figures_deadline(const tui *t, int64_t now)
{
    return sensing_deadline(&t->figures.sensing, shows_sensors(t), last_work(&t->figures), now);
}

/* ---- All ------------------------------------------------------------------------------------------------------- */

static void fill_server(const tui *t, struct view_server *out)
{
    const tdm_chat_status *s = &t->known.status;
    const tdm_server_counts *n = &s->last;
    *out = (struct view_server){.cached = -1, .evaluated = -1};
    if (!s->on_server || !t->figures.unit[TDM_PREFILL_UNIT].server[0]) return;
    out->host = t->figures.unit[TDM_PREFILL_UNIT].server;
    out->round_trip_ms = s->round_trip_ms;
    out->rereads = s->rereads;
    out->cached = n->cached < INT32_MAX ? (int)n->cached : -1;
    out->evaluated = n->evaluated < INT32_MAX ? (int)n->evaluated : -1;
    out->tok_s = n->reply > 0 && n->reply_ms > 0 ? 1e3 * (double)n->reply / n->reply_ms : 0;
}

static void fill_follower(const tui *t, struct view_follower *out)
{
    const tdm_chat_status *s = &t->known.status;
    const tui_figures *f = &t->figures;
    *out = (struct view_follower){
        .target = (int)s->target,
        .read = (int)s->read,
        .behind = (int)s->behind,
        .adopted = (int)s->adopted,
        .ahead = (int)s->ahead,
        .wasted = (int)s->wasted,
        .handover_ms = figure(s->handover_ms),
        .checkpoints = (int)s->checkpoints,
        .checkpoint_bytes = s->checkpoint_bytes,
        .checkpoint_budget = s->checkpoint_budget,
        .replica_bytes = s->replica_bytes,
    };
    if (s->phase == TDM_PHASE_ANSWERING || s->phase == TDM_PHASE_THINKING) {
        out->phase_total = s->target > f->base ? (int)(s->target - f->base) : 0;
        out->phase_read = out->phase_total - (int)s->behind;
    } else if (s->phase == TDM_PHASE_IDLE && s->draft_tokens) {
        out->phase_total = (int)s->turn_known; /* what the turn's line will count, so that both agree */
        out->phase_read = (int)s->turn_read;
    }
    if (out->phase_read < 0) out->phase_read = 0;
}

static void fill_background(const tui *t, struct view_background *out)
{
    tdm_back_status now;
    bool beside = t->known.status.writing > 0;
    *out = (struct view_background){0};
    if (!t->app.background.writing) return;
    app_status_background(&t->app, &now);
    *out = (struct view_background){
        .writing = true, .tokens = (int)now.tokens, .tok_s = now.decode_tps, .every = beside ? now.every : 0};
}

/* A checkpoint lies before the draft, and before the words that open a reply. */
static void fill_context(const tui *t, struct view_monitor *m)
{
    const tdm_chat_status *s = &t->known.status;
    uint32_t kept = s->phase == TDM_PHASE_IDLE
                        ? s->context_used - (s->draft_tokens < s->context_used ? s->draft_tokens : 0)
                        : t->figures.base;
    if (kept > s->context_used) kept = s->context_used;
    m->checkpointed = (int)kept;
}

/* The words of a span that is shown, which may be of a picture that is held: found by its beginning. */
static void words_of(void *ctx, int unit, const struct view_span *span, char *out, size_t room)
{
    enum { LIMIT = 160 };
    const tui *t = ctx;
    const tui_figures *f = &t->figures;
    char text[LIMIT], valid[3 * LIMIT + 1];
    int of = unit ? TDM_DECODE_UNIT : TDM_PREFILL_UNIT;
    size_t i = 0;
    out[0] = 0;
    while (i < f->n_spans[of] &&
           (f->raw[of][i].start_ns != span->start_ns || f->raw[of][i].kind != (tdm_span_kind)span->kind))
        i++;
    if (i == f->n_spans[of]) return;
    size_t n = app_span_text(&t->app, &f->raw[of][i], text, sizeof text);
    valid[utf8_mend(text, n, valid)] = 0;
    tui_list_harmless(valid);
    const char *begin = valid + strspn(valid, " ");
    size_t most = strlen(begin) < room ? strlen(begin) : room - 1;
    while (most && (begin[most] & 0xc0) == 0x80) most--; /* not within a character */
    snprintf(out, room, "%.*s", (int)most, begin);
}

void tui_figures_fill(tui *t, int64_t now)
{
    tui_figures *f = &t->figures;
    struct view_monitor *m = &t->face.view.monitor;
    m->form = t->monitor.form;
    m->live_s = t->monitor.live_s;
    m->hold = t->monitor.hold;
    m->inspect = t->monitor.inspect;
    m->inspect_back = t->monitor.inspect_back;
    m->pid = (int)getpid();
    m->legend = !t->monitor.no_legend;
    m->words = app_talks(&t->app) ? words_of : NULL;
    m->words_ctx = t;
    if (!app_talks(&t->app)) return;
    if (now - f->sampled_ns >= 90 * TUI_MS || !f->sampled_ns) {
        for (int unit = 0; unit < TDM_UNITS; unit++) sample_unit(t, unit, now);
        sample_history(f, now);
        sample_charts(t, now);
        f->sampled_ns = now;
    }
    bool read = sensing_read(&f->sensing, shows_sensors(t), last_work(f), now, f->unit[TDM_PREFILL_UNIT].name,
                             f->unit[TDM_DECODE_UNIT].name);
    sensing_read_gpus(&f->sensing, f->unit, read, now);
    m->turn_view = t->monitor.turn_view && f->turn_start_ns && (f->turn_end_ns || t->monitor.view_chosen);
    m->turn_start_ns = f->turn_start_ns;
    m->turn_end_ns = f->turn_end_ns ? f->turn_end_ns : now;
    struct view_unit *units[TDM_UNITS] = {&m->prefill, &m->decode};
    for (int unit = 0; unit < TDM_UNITS; unit++) {
        units[unit]->spans = f->spans[unit];
        units[unit]->n_spans = f->n_spans[unit];
    }
    fill_unit(t, TDM_PREFILL_UNIT, &m->prefill, now);
    fill_unit(t, TDM_DECODE_UNIT, &m->decode, now);
    fill_server(t, &m->server);
    fill_follower(t, &m->follower);
    fill_background(t, &m->background);
    m->enters = f->enters;
    m->n_enters = f->n_enters;
    m->turns = f->log.all;
    m->n_turns = f->log.n;
    m->warm = (struct view_median){figures_median(&t->app.figures.warm_ms), t->app.figures.warm_ms.n};
    m->cold = (struct view_median){figures_median(&t->app.figures.cold_ms), t->app.figures.cold_ms.n};
    m->weights_gib = (double)t->known.status.weight_bytes / (1 << 30);
    m->states_gib = (double)(t->known.status.state_bytes + t->known.status.checkpoint_bytes) / (1 << 30);
    m->free_gib = f->sensing.free_gib;
    m->total_gib = f->sensing.total_gib;
    m->cores = f->sensing.cores;
    m->n_cores = f->sensing.n_cores;
    m->steal = f->sensing.steal;
    m->battery = f->sensing.battery;
    m->given_back = t->app.memory.given_back;
    const ceilings_memory speed = ceilings_memory_of(&t->app.ceilings);
    m->memory_gb_s = 1e-9 * speed.bytes_per_s;
    m->measured_s = speed.when;
    fill_context(t, m);
    m->power_w = f->sensing.power;
    m->temperature_c = f->sensing.temperature;
    m->energy_j = (struct view_figure){.why = "no power"};
    double tok_s = tui_figures_tok_s(t), watts = f->sensing.power.value;
    bool known = f->sensing.power.valid;
    for (int unit = 0; unit < TDM_UNITS; unit++) {
        const struct view_gpu *gpu = &units[unit]->gpu;
        if (!gpu->device || f->unit[unit].device_software || (unit && gpu->shared)) continue;
        known = known && gpu->watts.valid;
        watts += gpu->watts.value;
    }
    if (known && tok_s > 0) m->energy_j = figure(watts / tok_s);
    m->power_remedy = f->sensing.remedy[0] ? f->sensing.remedy : NULL;
}

void tui_figures_free(tui_figures *f)
{
    sensing_close(&f->sensing);
}
