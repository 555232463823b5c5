#include "src/watch/monitor_json.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "ui/monitor/lanes.h"
#include "ui/text/format.h"

static const char *const state_names[VIEW_STATES] = {
    [VIEW_NO_MODEL] = "no model", [VIEW_LOADING] = "loading",     [VIEW_PACKING] = "packing",
    [VIEW_TESTING] = "testing",   [VIEW_COPYING] = "copying",
    [VIEW_MEASURING] = "measuring", [VIEW_COMPILING] = "compiling",
    [VIEW_WAITING] = "waiting",
    [VIEW_FAILED] = "failed",     [VIEW_IDLE] = "idle",           [VIEW_READING] = "reading",
    [VIEW_THINKING] = "thinking", [VIEW_ANSWERING] = "answering", [VIEW_STOPPED] = "stopped",
    [VIEW_UNANSWERED] = "unanswered",
    [VIEW_LENGTH] = "length",     [VIEW_QUEUED] = "queued",       [VIEW_CONTEXT] = "context",
    [VIEW_FULL] = "full",         [VIEW_REPEATS] = "repeats",
};
enum { TTFT_KINDS = VIEW_TTFT_COLD + 1, TTFT_MARKS = VIEW_TTFT_HEAD_START + 1 };
static const char *const mark_names[] = {"none",   "after reply", "following", "to read", "ready",
                                         "queued", "too long",    "off",       "not read"};
enum { MARKS = sizeof mark_names / sizeof *mark_names };

/* ---- Members that are written and read alike ------------------------------------------------------------------- */

struct field {
    const char *key;
    enum { WHOLE, BYTES, REAL, FIGURE, TEXT } type;
    size_t at; /* in its struct */
    const char *why; /* a figure is absent where it is read */
};

#define FIELD(type, structure, key, member) {key, type, offsetof(struct structure, member), NULL}
#define ABSENT(structure, key, member, why) {key, FIGURE, offsetof(struct structure, member), why}
#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

static const struct field unit_fields[] = {
    FIELD(TEXT, view_unit, "name", name),
    FIELD(TEXT, view_unit, "kind", kind),
    FIELD(TEXT, view_unit, "failed", failed),
    ABSENT(view_unit, "tok_s", tok_s, "not yet"),
    ABSENT(view_unit, "gb_s", gb_s, "not yet"),
    ABSENT(view_unit, "gflop_s", gflop_s, "not yet"),
    ABSENT(view_unit, "gb_limit_percent", gb_share, "not measured yet"),
    ABSENT(view_unit, "gflop_peak_percent", gflop_share, "not measured yet"),
    ABSENT(view_unit, "speed_kept_percent", kept, "not yet"),
};

/* Of a unit that is a GPU. */
static const struct field gpu_fields[] = {
    FIELD(TEXT, view_gpu, "device", device),
    FIELD(TEXT, view_gpu, "reason", why),
    ABSENT(view_gpu, "busy_percent", busy, NULL),
    ABSENT(view_gpu, "memory_gib", memory, NULL),
    ABSENT(view_gpu, "memory_total_gib", total, NULL),
    ABSENT(view_gpu, "clock_ghz", ghz, NULL),
    ABSENT(view_gpu, "temperature_c", celsius, NULL),
    ABSENT(view_gpu, "power_w", watts, NULL),
};

/* Of the server that does the units' work. */
static const struct field server_fields[] = {
    FIELD(TEXT, view_server, "host", host),
    FIELD(WHOLE, view_server, "cached", cached),
    FIELD(WHOLE, view_server, "evaluated", evaluated),
    FIELD(REAL, view_server, "round_trip_ms", round_trip_ms),
    FIELD(REAL, view_server, "tok_s", tok_s),
};

static const struct field follower_fields[] = {
    FIELD(WHOLE, view_follower, "target", target),
    FIELD(WHOLE, view_follower, "read", read),
    FIELD(WHOLE, view_follower, "behind", behind),
    FIELD(WHOLE, view_follower, "ahead", ahead),
    FIELD(WHOLE, view_follower, "adopted", adopted),
    FIELD(WHOLE, view_follower, "wasted", wasted),
    FIELD(WHOLE, view_follower, "phase_read", phase_read),
    FIELD(WHOLE, view_follower, "phase_total", phase_total),
    ABSENT(view_follower, "handover_ms", handover_ms, "not yet"),
    FIELD(WHOLE, view_follower, "checkpoints", checkpoints),
    FIELD(BYTES, view_follower, "checkpoint_bytes", checkpoint_bytes),
    FIELD(BYTES, view_follower, "checkpoint_budget", checkpoint_budget),
    FIELD(BYTES, view_follower, "replica_bytes", replica_bytes),
};

static const struct field status_fields[] = {
    FIELD(TEXT, view_status, "model", model),
    FIELD(TEXT, view_status, "pipeline", pipeline),
    FIELD(TEXT, view_status, "speculation", speculation),
    FIELD(REAL, view_status, "tok_s", tok_s),
    FIELD(REAL, view_status, "pace", pace),
    FIELD(REAL, view_status, "ttft_ms", ttft.ms),
    FIELD(WHOLE, view_status, "read_after_enter", read_after_enter),
    FIELD(WHOLE, view_status, "done_tokens", done_tokens),
    FIELD(WHOLE, view_status, "total_tokens", total_tokens),
    FIELD(REAL, view_status, "seconds_left", seconds_left),
    FIELD(BYTES, view_status, "done_bytes", done_bytes),
    FIELD(BYTES, view_status, "total_bytes", total_bytes),
    FIELD(WHOLE, view_status, "context_used", ctx_used),
    FIELD(WHOLE, view_status, "context_size", ctx_size),
};

static const struct field monitor_fields[] = {
    FIELD(REAL, view_monitor, "weights_gib", weights_gib),
    FIELD(REAL, view_monitor, "states_gib", states_gib),
    FIELD(REAL, view_monitor, "free_gib", free_gib),
    FIELD(REAL, view_monitor, "total_gib", total_gib),
    FIELD(BYTES, view_monitor, "given_back_bytes", given_back),
    FIELD(WHOLE, view_monitor, "checkpointed", checkpointed),
    ABSENT(view_monitor, "host_took_percent", steal, NULL),
    ABSENT(view_monitor, "battery_percent", battery, NULL),
    FIELD(REAL, view_monitor, "memory_gb_s", memory_gb_s),
    ABSENT(view_monitor, "power_w", power_w, NULL),
    ABSENT(view_monitor, "temperature_c", temperature_c, NULL),
    ABSENT(view_monitor, "energy_j_per_token", energy_j, NULL),
};

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static void add_figure(json_object *o, const char *key, const struct view_figure *f)
{
    if (f->valid) json_add_real(o, key, f->value);
    else json_add_null(o, key);
}

static void add_fields(json_object *o, const struct field *fields, size_t n, const void *structure)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        const void *at = (const char *)structure + f->at;
        switch (f->type) {
        case WHOLE: json_add_int(o, f->key, *(const int *)at); break;
        case BYTES: json_add_int(o, f->key, (int64_t)*(const uint64_t *)at); break;
        case REAL: json_add_real(o, f->key, *(const double *)at); break;
        case FIGURE: add_figure(o, f->key, at); break;
        case TEXT: json_add_string(o, f->key, *(const char *const *)at); break;
        }
    }
}

static json_object *numbers(const int64_t *values, int n)
{
    json_object *row = json_new_array();
    for (int i = 0; i < n; i++) json_append_int(row, values[i]);
    return row;
}

/* In tenths, which is finer than a chart shows: whole numbers keep the line short. */
static json_object *points(const float *values, size_t n)
{
    json_object *row = json_new_array();
    for (size_t i = 0; i < n; i++) json_append_int(row, llround(10 * (double)values[i]));
    return row;
}

static void add_lanes(json_object *o, const struct view_unit *u)
{
    json_object *spans = json_new_array(), *history = json_new_array();
    size_t first = u->n_spans > MONITOR_SPANS ? u->n_spans - MONITOR_SPANS : 0;
    for (size_t i = first; i < u->n_spans; i++) {
        const struct view_span *s = &u->spans[i];
        const int64_t row[] = {s->kind, s->start_ns, s->end_ns, s->tokens, (int64_t)s->bytes};
        json_append(spans, numbers(row, 5));
    }
    for (size_t i = 0; i < u->n_history; i++) json_append_int(history, u->history[i]);
    json_add(o, "spans", spans);
    json_add(o, "busy_60s", history);
    json_add(o, "tok_s_10min", points(u->speeds, u->n_points));
    json_add(o, "share_10min", points(u->shares, u->n_points));
}

static json_object *gpu(const struct view_gpu *g)
{
    json_object *o = json_new_object();
    add_fields(o, gpu_fields, COUNT(gpu_fields), g);
    json_add_bool(o, "shared", g->shared);
    json_add_int(o, "lost_ns", g->lost_ns);
    return o;
}

static json_object *server(const struct view_server *s)
{
    json_object *o = json_new_object();
    add_fields(o, server_fields, COUNT(server_fields), s);
    json_add_bool(o, "rereads", s->rereads);
    return o;
}

static json_object *unit(const struct view *view, const struct view_unit *u, bool lanes)
{
    json_object *o = json_new_object();
    int64_t from, to;
    lanes_window(&view->monitor, view->now_ns, LANES_MAX, &from, &to);
    struct lanes_share share = lanes_share(u, from, to);
    add_fields(o, unit_fields, COUNT(unit_fields), u);
    json_add_real(o, "busy_percent", share.busy);
    json_add_real(o, "lent_percent", share.lent);
    json_add_real(o, "idle_percent", share.idle);
    json_add_bool(o, "resting", u->resting);
    if (u->gpu.device) json_add(o, "gpu", gpu(&u->gpu));
    else json_add_null(o, "gpu"); /* the unit is cores */
    if (lanes) add_lanes(o, u);
    return o;
}

static json_object *median(const struct view_median *m)
{
    json_object *o = json_new_object();
    json_add_real(o, "ms", m->ms);
    json_add_int(o, "n", m->n);
    return o;
}

/* What kind of turn a time is of; null where there was none, or no mark. */
static void add_ttft(json_object *o, const char *kind, const char *mark, const struct view_ttft *ttft)
{
    json_add_string(o, kind, ttft->kind ? format_ttft_kind(ttft->kind) : NULL);
    json_add_string(o, mark, ttft->mark ? format_ttft_mark(ttft->mark) : NULL);
}

static void add_turns(json_object *o, const struct view_monitor *m, bool lanes)
{
    json_object *turns = json_new_array(), *enters = json_new_array();
    for (size_t i = 0; i < m->n_turns; i++) {
        json_object *turn = json_new_object();
        json_add_int(turn, "number", m->turns[i].number);
        add_ttft(turn, "kind", "mark", &m->turns[i].ttft);
        json_add_real(turn, "ttft_ms", m->turns[i].ttft.ms);
        json_add_int(turn, "in", m->turns[i].in);
        json_add_int(turn, "after_enter", m->turns[i].after_enter);
        json_add_int(turn, "out", m->turns[i].out);
        json_add_real(turn, "tok_s", m->turns[i].tok_s);
        json_append(turns, turn);
    }
    json_add(o, "turns", turns);
    for (size_t i = 0; i < m->n_enters; i++) {
        json_object *enter = numbers(&m->enters[i].time_ns, 1);
        json_append_real(enter, m->enters[i].ttft_ms);
        json_append(enters, enter);
    }
    if (lanes) json_add(o, "enters", enters);
    else json_free(enters);
}

/* [number, unit: 0 none 1 prefill 2 decode, busy percent, MHz] of each. */
static json_object *cores(const struct view_monitor *m)
{
    json_object *rows = json_new_array();
    for (size_t i = 0; i < m->n_cores; i++) {
        const struct view_core *c = &m->cores[i];
        json_append(rows, numbers((int64_t[]){c->cpu, c->unit, llround(c->busy), llround(1000 * c->ghz)}, 4));
    }
    return rows;
}

/* What the draft is, not what it says. */
static json_object *draft(const struct view *view)
{
    json_object *o = json_new_object();
    size_t mark = (size_t)view->draft.mark;
    json_add_string(o, "mark", mark_names[mark < MARKS ? mark : 0]);
    json_add_int(o, "bytes", (int64_t)view->draft.len);
    json_add_int(o, "tokens", view->status.draft_tokens);
    json_add_int(o, "to_read", view->draft.to_read);
    return o;
}

/* What the percentages and speeds of the units are of: the last turn, or the last seconds. */
static double window_s(const struct view_monitor *m)
{
    if (m->turn_view && m->turn_end_ns > m->turn_start_ns) return 1e-9 * (double)(m->turn_end_ns - m->turn_start_ns);
    return m->live_s > 0 ? m->live_s : LANES_LIVE_S;
}

json_object *monitor_json_write(const struct view *view, bool lanes)
{
    const struct view_status *s = &view->status;
    const struct view_monitor *m = &view->monitor;
    json_object *o = json_new_object();
    json_add_int(o, "schema", MONITOR_SCHEMA);
    json_add_int(o, "pid", m->pid);
    json_add_string(o, "state", state_names[s->state]);
    add_ttft(o, "ttft_kind", "ttft_mark", &s->ttft);
    add_fields(o, status_fields, COUNT(status_fields), s);
    json_add_bool(o, "just_answered", s->answered);
    json_add(o, "draft", draft(view));
    json_add_real(o, "window_s", window_s(m));
    json_add(o, "prefill", unit(view, &m->prefill, lanes));
    json_add(o, "decode", unit(view, &m->decode, lanes));
    if (m->server.host) json_add(o, "server", server(&m->server));
    else json_add_null(o, "server"); /* the model is here */
    json_object *follower = json_new_object();
    add_fields(follower, follower_fields, COUNT(follower_fields), &m->follower);
    json_add(o, "follower", follower);
    add_turns(o, m, lanes);
    json_add(o, "warm_median", median(&m->warm));
    json_add(o, "cold_median", median(&m->cold));
    add_fields(o, monitor_fields, COUNT(monitor_fields), m);
    json_add_string(o, "power_reason", m->power_w.valid ? NULL : m->power_w.why);
    json_add_int(o, "measured_s", m->measured_s);
    if (lanes) {
        json_add(o, "cores", cores(m));
        json_add_int(o, "now_ns", view->now_ns);
        json_add_int(o, "turn_start_ns", m->turn_start_ns);
        json_add_int(o, "turn_end_ns", m->turn_end_ns);
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
    int64_t value = json_int(o, key, 0);
    return value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (int)value;
}

static uint64_t bytes(json_object *o, const char *key)
{
    int64_t value = json_int(o, key, 0);
    return value < 0 ? 0 : (uint64_t)value;
}

/* A figure that can be calculated with and drawn; 0 for what no machine has. */
static double real(json_object *o, const char *key)
{
    double value = json_real(o, key, 0);
    return fabs(value) < 1e12 ? value : 0;
}

static struct view_figure figure(json_object *o, const char *key, const char *why)
{
    return (struct view_figure){.value = real(o, key), .valid = json_get(o, key), .why = why};
}

static void read_fields(json_object *o, const struct field *fields, size_t n, void *structure)
{
    for (size_t i = 0; i < n; i++) {
        const struct field *f = &fields[i];
        void *at = (char *)structure + f->at;
        switch (f->type) {
        case WHOLE: *(int *)at = whole(o, f->key); break;
        case BYTES: *(uint64_t *)at = bytes(o, f->key); break;
        case REAL: *(double *)at = real(o, f->key); break;
        case FIGURE: *(struct view_figure *)at = figure(o, f->key, f->why); break;
        case TEXT: *(const char **)at = json_text(o, f->key, NULL); break;
        }
    }
}

/* A time of the clock, or -1: so far from the ends of its type that sums don't leave it. */
static int64_t time_of(int64_t value)
{
    return value >= 0 && value < INT64_MAX / 4 ? value : -1;
}

static int64_t number_at(json_object *row, size_t i)
{
    return json_int_of(json_at(row, i));
}

/* The newest `room` elements of an array member: where they begin; *n how many. */
static size_t newest(json_object *array, size_t room, size_t *n)
{
    size_t all = json_length(array);
    *n = all < room ? all : room;
    return all - *n;
}

static void read_spans(struct view_unit *u, struct view_span *spans, json_object *rows)
{
    size_t n, first = newest(rows, MONITOR_SPANS, &n);
    for (size_t i = 0; i < n; i++) {
        json_object *row = json_at(rows, first + i);
        if (!json_is(row, JSON_ARRAY) || json_length(row) != 5) continue;
        int64_t kind = number_at(row, 0), start = time_of(number_at(row, 1)), end = time_of(number_at(row, 2));
        int64_t tokens = number_at(row, 3), moved = number_at(row, 4);
        if (kind < 0 || kind >= VIEW_KINDS || start < 0 || end < start) continue;
        spans[u->n_spans++] = (struct view_span){.start_ns = start,
                                                 .end_ns = end,
                                                 .kind = (enum view_kind)kind,
                                                 .tokens = tokens > 0 && tokens < INT32_MAX ? (int)tokens : 0,
                                                 .bytes = moved > 0 ? (uint64_t)moved : 0};
    }
    u->spans = spans;
}

static size_t read_points(float *out, json_object *rows)
{
    size_t n, first = newest(rows, VIEW_CHART_POINTS, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t tenths = number_at(rows, first + i);
        out[i] = tenths > 0 && tenths < INT32_MAX ? (float)tenths / 10 : 0;
    }
    return n;
}

/* Both series have as many points as the shorter one. */
static void read_charts(struct view_unit *u, float *speeds, float *shares, json_object *o)
{
    size_t n = read_points(speeds, json_member(o, "tok_s_10min", JSON_ARRAY));
    size_t other = read_points(shares, json_member(o, "share_10min", JSON_ARRAY));
    u->n_points = n < other ? n : other;
    u->speeds = speeds + (n - u->n_points);
    u->shares = shares + (other - u->n_points);
}

static void read_gpu(struct view_gpu *g, json_object *o)
{
    *g = (struct view_gpu){0};
    if (!o) return;
    read_fields(o, gpu_fields, COUNT(gpu_fields), g);
    if (!g->device) g->device = "";
    g->shared = json_flag(o, "shared", false);
    int64_t lost = time_of(json_int(o, "lost_ns", 0));
    g->lost_ns = lost > 0 ? lost : 0;
}

static void read_server(struct view_server *s, json_object *o)
{
    *s = (struct view_server){0};
    if (!o) return;
    read_fields(o, server_fields, COUNT(server_fields), s);
    if (!s->host) s->host = "";
    s->rereads = json_flag(o, "rereads", false);
}

static void read_unit(struct view_unit *u, struct view_span *spans, uint8_t *history, json_object *o)
{
    json_object *points = json_member(o, "busy_60s", JSON_ARRAY);
    *u = (struct view_unit){0};
    read_fields(o, unit_fields, COUNT(unit_fields), u);
    u->resting = json_flag(o, "resting", false);
    read_gpu(&u->gpu, json_member(o, "gpu", JSON_OBJECT));
    read_spans(u, spans, json_member(o, "spans", JSON_ARRAY));
    size_t n, first = newest(points, MONITOR_SECONDS, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t value = number_at(points, first + i);
        history[i] = (uint8_t)(value < 0 ? 0 : value > 100 ? 100 : value);
    }
    u->history = history;
    u->n_history = n;
}

static struct view_ttft read_ttft(json_object *o, const char *kind, const char *mark)
{
    const char *kinds[TTFT_KINDS], *marks[TTFT_MARKS];
    for (int i = 0; i < TTFT_KINDS; i++) kinds[i] = format_ttft_kind((enum view_ttft_kind)i);
    for (int i = 0; i < TTFT_MARKS; i++) marks[i] = format_ttft_mark((enum view_ttft_mark)i);
    return (struct view_ttft){
        .kind = (enum view_ttft_kind)name_of(kinds, TTFT_KINDS, json_text(o, kind, NULL), VIEW_TTFT_NONE),
        .mark = (enum view_ttft_mark)name_of(marks, TTFT_MARKS, json_text(o, mark, NULL), VIEW_TTFT_UNMARKED),
        .ms = real(o, "ttft_ms"),
    };
}

static void read_turns(struct view_monitor *m, monitor_json_room *room, json_object *o)
{
    json_object *turns = json_member(o, "turns", JSON_ARRAY);
    json_object *enters = json_member(o, "enters", JSON_ARRAY);
    size_t n, first = newest(turns, MONITOR_TURNS, &n);
    for (size_t i = 0; i < n; i++) {
        json_object *turn = json_at(turns, first + i);
        room->turns[i] = (struct view_monitor_turn){
            .number = whole(turn, "number"),
            .ttft = read_ttft(turn, "kind", "mark"),
            .in = whole(turn, "in"),
            .after_enter = whole(turn, "after_enter"),
            .out = whole(turn, "out"),
            .tok_s = real(turn, "tok_s"),
        };
    }
    m->turns = room->turns;
    m->n_turns = n;
    first = newest(enters, MONITOR_ENTERS, &n);
    m->n_enters = 0;
    for (size_t i = 0; i < n; i++) {
        json_object *row = json_at(enters, first + i);
        if (!json_is(row, JSON_ARRAY) || json_length(row) != 2) continue;
        double ms = json_real_of(json_at(row, 1));
        int64_t at = time_of(number_at(row, 0));
        if (at < 0 || !(fabs(ms) < 1e12)) continue;
        room->enters[m->n_enters++] = (struct view_enter){at, ms};
    }
    m->enters = room->enters;
}

static void read_cores(struct view_monitor *m, monitor_json_room *room, json_object *rows)
{
    size_t n, first = newest(rows, MONITOR_CORES, &n);
    m->n_cores = 0;
    for (size_t i = 0; i < n; i++) {
        json_object *row = json_at(rows, first + i);
        if (!json_is(row, JSON_ARRAY) || json_length(row) != 4) continue;
        int64_t cpu = number_at(row, 0), unit = number_at(row, 1), busy = number_at(row, 2), mhz = number_at(row, 3);
        if (cpu < 0 || cpu > INT32_MAX || unit < 0 || unit > VIEW_CORE_DECODE || mhz < 0 || mhz > 1000000) continue;
        room->cores[m->n_cores++] = (struct view_core){.cpu = (int)cpu,
                                                       .unit = (enum view_core_unit)unit,
                                                       .busy = busy < 0 ? 0 : busy > 100 ? 100 : (double)busy,
                                                       .ghz = (double)mhz / 1000};
    }
    m->cores = room->cores;
}

static struct view_median read_median(json_object *o, const char *key)
{
    json_object *m = json_member(o, key, JSON_OBJECT);
    return (struct view_median){real(m, "ms"), m ? whole(m, "n") : 0};
}

static void read_status(struct view *view, json_object *o)
{
    json_object *draft = json_member(o, "draft", JSON_OBJECT);
    view->status = (struct view_status){
        .state = (enum view_state)name_of(state_names, VIEW_STATES, json_text(o, "state", NULL), VIEW_IDLE),
        .ttft = read_ttft(o, "ttft_kind", "ttft_mark"),
        .answered = json_flag(o, "just_answered", false),
        .draft_tokens = whole(draft, "tokens"),
    };
    read_fields(o, status_fields, COUNT(status_fields), &view->status);
    /* The text of the draft is not sent; the sentence needs no more than that there is one. */
    view->draft = (struct view_draft){
        .text = ".",
        .len = bytes(draft, "bytes") > 0,
        .mark = (enum view_mark)name_of(mark_names, MARKS, json_text(draft, "mark", NULL), VIEW_MARK_NONE),
        .to_read = whole(draft, "to_read"),
    };
}

void monitor_json_read(struct view *view, monitor_json_room *room, json_object *o)
{
    struct view_monitor *m = &view->monitor;
    read_status(view, o);
    read_unit(&m->prefill, room->spans[0], room->history[0], json_member(o, "prefill", JSON_OBJECT));
    read_unit(&m->decode, room->spans[1], room->history[1], json_member(o, "decode", JSON_OBJECT));
    read_charts(&m->prefill, room->speeds[0], room->shares[0], json_member(o, "prefill", JSON_OBJECT));
    read_charts(&m->decode, room->speeds[1], room->shares[1], json_member(o, "decode", JSON_OBJECT));
    read_cores(m, room, json_member(o, "cores", JSON_ARRAY));
    read_server(&m->server, json_member(o, "server", JSON_OBJECT));
    m->follower = (struct view_follower){0};
    read_fields(json_member(o, "follower", JSON_OBJECT), follower_fields, COUNT(follower_fields), &m->follower);
    read_turns(m, room, o);
    m->warm = read_median(o, "warm_median");
    m->cold = read_median(o, "cold_median");
    read_fields(o, monitor_fields, COUNT(monitor_fields), m);
    m->power_w.why = json_text(o, "power_reason", NULL);
    m->pid = whole(o, "pid");
    m->measured_s = time_of(json_int(o, "measured_s", 0)) > 0 ? json_int(o, "measured_s", 0) : 0;
    int64_t start = time_of(json_int(o, "turn_start_ns", 0)), end = time_of(json_int(o, "turn_end_ns", 0));
    m->turn_start_ns = start > 0 && end >= start ? start : 0;
    m->turn_end_ns = m->turn_start_ns ? end : 0;
}

int64_t monitor_json_time(json_object *o)
{
    return time_of(json_int(o, "now_ns", -1));
}

tdm_status monitor_json_check(json_object *o, tdm_error *err)
{
    int64_t schema = json_int(o, "schema", 0);
    if (schema == MONITOR_SCHEMA) return TDM_OK;
    if (!schema) return error_set(err, TDM_E_FORMAT, "no \"schema\": that is no monitor's line");
    return error_set(err, TDM_E_FORMAT, "schema %lld, expected %d: of another version of Tandem", (long long)schema,
                     MONITOR_SCHEMA);
}
