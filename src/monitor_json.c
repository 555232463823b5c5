#include "src/monitor_json.h"

#include <math.h>
#include <string.h>

#include "src/jsonio.h"

static const char *const state_names[VIEW_STATES] = {
    [VIEW_NO_MODEL] = "no model", [VIEW_LOADING] = "loading",     [VIEW_PACKING] = "packing",
    [VIEW_FAILED] = "failed",     [VIEW_IDLE] = "idle",           [VIEW_READING] = "reading",
    [VIEW_THINKING] = "thinking", [VIEW_ANSWERING] = "answering", [VIEW_STOPPED] = "stopped",
    [VIEW_LENGTH] = "length",     [VIEW_QUEUED] = "queued",       [VIEW_CONTEXT] = "context",
    [VIEW_FULL] = "full",
};
static const char *const ttft_names[] = {"none", "cold", "warm", "queued", "cut", "head start"};
static const char *const mark_names[] = {"none", "after reply", "following", "to read", "ready", "queued", "too long", "off"};
enum { MARKS = sizeof mark_names / sizeof *mark_names };

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static void add_figure(json_object *o, const char *key, const struct view_figure *f)
{
    if (f->valid) jsonio_add_real(o, key, f->value);
    else json_object_object_add(o, key, NULL);
}

static json_object *numbers(const int64_t *values, int n)
{
    json_object *row = json_object_new_array();
    for (int i = 0; i < n; i++) json_object_array_add(row, json_object_new_int64(values[i]));
    return row;
}

static void add_lanes(json_object *o, const struct view_unit *u)
{
    json_object *spans = json_object_new_array(), *history = json_object_new_array();
    size_t first = u->n_spans > MONITOR_SPANS ? u->n_spans - MONITOR_SPANS : 0;
    for (size_t i = first; i < u->n_spans; i++) {
        const struct view_span *s = &u->spans[i];
        json_object_array_add(spans, numbers((int64_t[]){s->kind, s->start_ns, s->end_ns}, 3));
    }
    for (size_t i = 0; i < u->n_history; i++) json_object_array_add(history, json_object_new_int(u->history[i]));
    json_object_object_add(o, "spans", spans);
    json_object_object_add(o, "busy_60s", history);
}

static json_object *unit(const struct view_unit *u, bool lanes)
{
    json_object *o = json_object_new_object();
    jsonio_add_string(o, "name", u->name);
    jsonio_add_string(o, "kind", u->kind);
    jsonio_add_string(o, "failed", u->failed);
    jsonio_add_real(o, "busy_percent", u->busy);
    jsonio_add_real(o, "lent_percent", u->lent);
    jsonio_add_real(o, "idle_percent", u->idle);
    add_figure(o, "tok_s", &u->tok_s);
    add_figure(o, "gb_s", &u->gb_s);
    add_figure(o, "gflop_s", &u->gflop_s);
    add_figure(o, "gb_limit_percent", &u->gb_share);
    add_figure(o, "gflop_peak_percent", &u->gflop_share);
    add_figure(o, "speed_kept_percent", &u->kept);
    if (lanes) add_lanes(o, u);
    return o;
}

static json_object *follower(const struct view_follower *f)
{
    json_object *o = json_object_new_object();
    jsonio_add_int(o, "target", f->target);
    jsonio_add_int(o, "read", f->read);
    jsonio_add_int(o, "behind", f->behind);
    jsonio_add_int(o, "ahead", f->ahead);
    jsonio_add_int(o, "wasted", f->wasted);
    jsonio_add_int(o, "phase_read", f->phase_read);
    jsonio_add_int(o, "phase_total", f->phase_total);
    add_figure(o, "handover_ms", &f->handover_ms);
    jsonio_add_int(o, "checkpoints", f->checkpoints);
    jsonio_add_int(o, "checkpoint_bytes", (int64_t)f->checkpoint_bytes);
    jsonio_add_int(o, "checkpoint_budget", (int64_t)f->checkpoint_budget);
    return o;
}

static json_object *median(const struct view_median *m)
{
    json_object *o = json_object_new_object();
    jsonio_add_real(o, "ms", m->ms);
    jsonio_add_int(o, "n", m->n);
    return o;
}

static void add_turns(json_object *o, const struct view_monitor *m, bool lanes)
{
    json_object *turns = json_object_new_array(), *enters = json_object_new_array();
    for (size_t i = 0; i < m->n_turns; i++) {
        json_object *turn = json_object_new_object();
        jsonio_add_int(turn, "number", m->turns[i].number);
        jsonio_add_string(turn, "kind", ttft_names[m->turns[i].kind]);
        jsonio_add_real(turn, "ttft_ms", m->turns[i].ttft_ms);
        json_object_array_add(turns, turn);
    }
    json_object_object_add(o, "turns", turns);
    for (size_t i = 0; i < m->n_enters; i++) {
        json_object *enter = numbers(&m->enters[i].time_ns, 1);
        json_object_array_add(enter, json_object_new_double(m->enters[i].ttft_ms));
        json_object_array_add(enters, enter);
    }
    if (lanes) json_object_object_add(o, "enters", enters);
    else json_object_put(enters);
}

/* What the draft is, not what it says. */
static json_object *draft(const struct view *view)
{
    json_object *o = json_object_new_object();
    size_t mark = (size_t)view->draft.mark;
    jsonio_add_string(o, "mark", mark_names[mark < MARKS ? mark : 0]);
    jsonio_add_int(o, "bytes", (int64_t)view->draft.len);
    jsonio_add_int(o, "tokens", view->status.draft_tokens);
    jsonio_add_int(o, "to_read", view->draft.to_read);
    return o;
}

json_object *monitor_json_write(const struct view *view, bool lanes)
{
    const struct view_status *s = &view->status;
    const struct view_monitor *m = &view->monitor;
    json_object *o = json_object_new_object();
    jsonio_add_int(o, "pid", m->pid);
    jsonio_add_string(o, "state", state_names[s->state]);
    jsonio_add_string(o, "model", s->model);
    jsonio_add_string(o, "session", s->private_session ? NULL : s->session);
    jsonio_add_string(o, "pipeline", s->pipeline);
    jsonio_add_string(o, "speculation", s->speculation);
    jsonio_add_real(o, "tok_s", s->tok_s);
    jsonio_add_real(o, "pace", s->pace);
    jsonio_add_string(o, "ttft_kind", ttft_names[s->ttft_kind]);
    jsonio_add_real(o, "ttft_ms", s->ttft_ms);
    jsonio_add_int(o, "read_after_enter", s->read_after_enter);
    json_object_object_add(o, "just_answered", json_object_new_boolean(s->answered));
    jsonio_add_int(o, "done_tokens", s->done_tokens);
    jsonio_add_int(o, "total_tokens", s->total_tokens);
    jsonio_add_real(o, "seconds_left", s->seconds_left);
    jsonio_add_int(o, "done_bytes", (int64_t)s->done_bytes);
    jsonio_add_int(o, "total_bytes", (int64_t)s->total_bytes);
    json_object_object_add(o, "draft", draft(view));
    jsonio_add_int(o, "context_used", s->ctx_used);
    jsonio_add_int(o, "context_size", s->ctx_size);
    json_object_object_add(o, "prefill", unit(&m->prefill, lanes));
    json_object_object_add(o, "decode", unit(&m->decode, lanes));
    json_object_object_add(o, "follower", follower(&m->follower));
    add_turns(o, m, lanes);
    json_object_object_add(o, "warm_median", median(&m->warm));
    json_object_object_add(o, "cold_median", median(&m->cold));
    jsonio_add_real(o, "weights_gib", m->weights_gib);
    jsonio_add_real(o, "states_gib", m->states_gib);
    jsonio_add_real(o, "free_gib", m->free_gib);
    add_figure(o, "power_w", &m->power_w);
    add_figure(o, "temperature_c", &m->temperature_c);
    add_figure(o, "energy_j_per_token", &m->energy_j);
    jsonio_add_string(o, "power_reason", m->power_w.valid ? NULL : m->power_w.why);
    if (lanes) {
        jsonio_add_int(o, "now_ns", view->now_ns);
        jsonio_add_int(o, "turn_start_ns", m->turn_start_ns);
        jsonio_add_int(o, "turn_end_ns", m->turn_end_ns);
    }
    return o;
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static int name_of(const char *const *names, int n, const char *name, int fallback)
{
    for (int i = 0; name && i < n; i++)
        if (!strcmp(names[i], name)) return i;
    return fallback;
}

static int whole(json_object *o, const char *key)
{
    int64_t value = jsonio_int(o, key, 0);
    return value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (int)value;
}

static uint64_t bytes(json_object *o, const char *key)
{
    int64_t value = jsonio_int(o, key, 0);
    return value < 0 ? 0 : (uint64_t)value;
}

/* A figure that can be calculated with and drawn; 0 for what no machine has. */
static double real(json_object *o, const char *key)
{
    double value = jsonio_real(o, key, 0);
    return fabs(value) < 1e12 ? value : 0;
}

static double percent(json_object *o, const char *key)
{
    double value = real(o, key);
    return value < 0 ? 0 : value > 100 ? 100 : value;
}

static struct view_figure figure(json_object *o, const char *key, const char *why)
{
    json_object *member;
    bool valid = json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &member) && member;
    return (struct view_figure){.value = real(o, key), .valid = valid, .why = why};
}

/* A time of the clock, or -1: so far from the ends of its type that sums don't leave it. */
static int64_t time_of(int64_t value)
{
    return value >= 0 && value < INT64_MAX / 4 ? value : -1;
}

static int64_t number_at(json_object *row, size_t i)
{
    return json_object_get_int64(json_object_array_get_idx(row, i));
}

/* The newest `room` elements of an array member: where they begin; *n how many. */
static size_t newest(json_object *array, size_t room, size_t *n)
{
    size_t all = array ? json_object_array_length(array) : 0;
    *n = all < room ? all : room;
    return all - *n;
}

static void read_spans(struct view_unit *u, struct view_span *spans, json_object *rows)
{
    size_t n, first = newest(rows, MONITOR_SPANS, &n);
    for (size_t i = 0; i < n; i++) {
        json_object *row = json_object_array_get_idx(rows, first + i);
        if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 3) continue;
        int64_t kind = number_at(row, 0), start = time_of(number_at(row, 1)), end = time_of(number_at(row, 2));
        if (kind < 0 || kind >= VIEW_KINDS || start < 0 || end < start) continue;
        spans[u->n_spans++] = (struct view_span){.start_ns = start, .end_ns = end, .kind = (enum view_kind)kind};
    }
    u->spans = spans;
}

static void read_unit(struct view_unit *u, struct view_span *spans, uint8_t *history, json_object *o)
{
    json_object *points = jsonio_member(o, "busy_60s", json_type_array);
    *u = (struct view_unit){
        .name = jsonio_text(o, "name", NULL),
        .kind = jsonio_text(o, "kind", NULL),
        .failed = jsonio_text(o, "failed", NULL),
        .busy = percent(o, "busy_percent"),
        .lent = percent(o, "lent_percent"),
        .idle = percent(o, "idle_percent"),
        .tok_s = figure(o, "tok_s", "not yet"),
        .gb_s = figure(o, "gb_s", "not yet"),
        .gflop_s = figure(o, "gflop_s", "not yet"),
        .gb_share = figure(o, "gb_limit_percent", "/units measure"),
        .gflop_share = figure(o, "gflop_peak_percent", "/units measure"),
        .kept = figure(o, "speed_kept_percent", "not yet"),
    };
    read_spans(u, spans, jsonio_member(o, "spans", json_type_array));
    size_t n, first = newest(points, MONITOR_SECONDS, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t value = number_at(points, first + i);
        history[i] = (uint8_t)(value < 0 ? 0 : value > 100 ? 100 : value);
    }
    u->history = history;
    u->n_history = n;
}

static enum view_ttft_kind ttft_kind(json_object *o, const char *key)
{
    return (enum view_ttft_kind)name_of(ttft_names, 6, jsonio_text(o, key, NULL), VIEW_TTFT_NONE);
}

static void read_turns(struct view_monitor *m, monitor_json_room *room, json_object *o)
{
    json_object *turns = jsonio_member(o, "turns", json_type_array), *enters = jsonio_member(o, "enters", json_type_array);
    size_t n, first = newest(turns, MONITOR_TURNS, &n);
    for (size_t i = 0; i < n; i++) {
        json_object *turn = json_object_array_get_idx(turns, first + i);
        room->turns[i] = (struct view_monitor_turn){
            .number = whole(turn, "number"),
            .kind = ttft_kind(turn, "kind"),
            .ttft_ms = real(turn, "ttft_ms"),
        };
    }
    m->turns = room->turns;
    m->n_turns = n;
    first = newest(enters, MONITOR_ENTERS, &n);
    m->n_enters = 0;
    for (size_t i = 0; i < n; i++) {
        json_object *row = json_object_array_get_idx(enters, first + i);
        if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 2) continue;
        double ms = json_object_get_double(json_object_array_get_idx(row, 1));
        int64_t at = time_of(number_at(row, 0));
        if (at < 0 || !(fabs(ms) < 1e12)) continue;
        room->enters[m->n_enters++] = (struct view_enter){at, ms};
    }
    m->enters = room->enters;
}

static struct view_median read_median(json_object *o, const char *key)
{
    json_object *m = jsonio_member(o, key, json_type_object);
    return (struct view_median){real(m, "ms"), m ? whole(m, "n") : 0};
}

static void read_status(struct view *view, json_object *o)
{
    json_object *draft = jsonio_member(o, "draft", json_type_object);
    view->status = (struct view_status){
        .state = (enum view_state)name_of(state_names, VIEW_STATES, jsonio_text(o, "state", NULL), VIEW_IDLE),
        .ttft_kind = ttft_kind(o, "ttft_kind"),
        .ttft_ms = real(o, "ttft_ms"),
        .read_after_enter = whole(o, "read_after_enter"),
        .answered = json_object_get_boolean(jsonio_member(o, "just_answered", json_type_boolean)),
        .done_tokens = whole(o, "done_tokens"),
        .total_tokens = whole(o, "total_tokens"),
        .seconds_left = real(o, "seconds_left"),
        .done_bytes = bytes(o, "done_bytes"),
        .total_bytes = bytes(o, "total_bytes"),
        .draft_tokens = whole(draft, "tokens"),
        .tok_s = real(o, "tok_s"),
        .pace = real(o, "pace"),
        .ctx_used = whole(o, "context_used"),
        .ctx_size = whole(o, "context_size"),
        .speculation = jsonio_text(o, "speculation", NULL),
        .pipeline = jsonio_text(o, "pipeline", NULL),
        .model = jsonio_text(o, "model", NULL),
        .session = jsonio_text(o, "session", NULL),
    };
    /* What it says isn't told; that there is something is all the sentence needs. */
    view->draft = (struct view_draft){
        .text = ".",
        .len = bytes(draft, "bytes") > 0,
        .mark = (enum view_mark)name_of(mark_names, MARKS, jsonio_text(draft, "mark", NULL), VIEW_MARK_NONE),
        .to_read = whole(draft, "to_read"),
    };
}

void monitor_json_read(struct view *view, monitor_json_room *room, json_object *o)
{
    struct view_monitor *m = &view->monitor;
    json_object *f = jsonio_member(o, "follower", json_type_object);
    read_status(view, o);
    read_unit(&m->prefill, room->spans[0], room->history[0], jsonio_member(o, "prefill", json_type_object));
    read_unit(&m->decode, room->spans[1], room->history[1], jsonio_member(o, "decode", json_type_object));
    m->follower = (struct view_follower){
        .target = whole(f, "target"),
        .read = whole(f, "read"),
        .behind = whole(f, "behind"),
        .ahead = whole(f, "ahead"),
        .wasted = whole(f, "wasted"),
        .phase_read = whole(f, "phase_read"),
        .phase_total = whole(f, "phase_total"),
        .handover_ms = figure(f, "handover_ms", "not yet"),
        .checkpoints = whole(f, "checkpoints"),
        .checkpoint_bytes = bytes(f, "checkpoint_bytes"),
        .checkpoint_budget = bytes(f, "checkpoint_budget"),
    };
    read_turns(m, room, o);
    m->warm = read_median(o, "warm_median");
    m->cold = read_median(o, "cold_median");
    m->weights_gib = real(o, "weights_gib");
    m->states_gib = real(o, "states_gib");
    m->free_gib = real(o, "free_gib");
    m->power_w = figure(o, "power_w", jsonio_text(o, "power_reason", NULL));
    m->temperature_c = figure(o, "temperature_c", NULL);
    m->energy_j = figure(o, "energy_j_per_token", NULL);
    m->pid = whole(o, "pid");
    int64_t start = time_of(jsonio_int(o, "turn_start_ns", 0)), end = time_of(jsonio_int(o, "turn_end_ns", 0));
    m->turn_start_ns = start > 0 && end >= start ? start : 0;
    m->turn_end_ns = m->turn_start_ns ? end : 0;
}
