#include "src/figures/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/json/write.h"
#include "src/figures/figures.h"
#include "src/files/files.h"
#include "src/files/unfinished.h"

enum { PIECE = 4096, LIMIT = 4 << 20 };

typedef struct {
    tdm_span *spans;
    size_t n, room;
    int64_t since_ns; /* ends up to here are collected */
} track;

struct trace {
    const tdm_machine *machine;
    int64_t start_ns;
    track tracks[TDM_UNITS];
    tdm_turn_stats *turns;
    size_t n_turns, room_turns;
    bool dropped; /* memory ran out: the trace is not whole */
};

static trace *new_since(const tdm_machine *m, int64_t since_ns)
{
    trace *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->machine = m;
    t->start_ns = since_ns;
    for (int i = 0; i < TDM_UNITS; i++) t->tracks[i].since_ns = since_ns;
    return t;
}

trace *trace_new(const tdm_machine *m)
{
    return new_since(m, clock_ns());
}

void trace_free(trace *t)
{
    if (!t) return;
    for (int i = 0; i < TDM_UNITS; i++) free(t->tracks[i].spans);
    free(t->turns);
    free(t);
}

static void collect(trace *t, int unit)
{
    track *k = &t->tracks[unit];
    if (k->room - k->n < PIECE) {
        size_t room = k->room ? 2 * k->room : 2 * PIECE;
        tdm_span *larger = room <= LIMIT ? realloc(k->spans, room * sizeof *larger) : NULL;
        if (!larger) {
            t->dropped = true;
            return;
        }
        k->spans = larger;
        k->room = room;
    }
    size_t got = tdm_unit_spans(t->machine, unit, k->since_ns, k->spans + k->n, k->room - k->n);
    for (size_t i = 0; i < got; i++) {
        tdm_span span = k->spans[k->n];
        if (!span.end_ns) { /* still running: it comes again when it has ended */
            memmove(k->spans + k->n, k->spans + k->n + 1, (got - i - 1) * sizeof span);
            continue;
        }
        if (span.end_ns > k->since_ns) k->since_ns = span.end_ns;
        k->n++;
    }
}

void trace_collect(trace *t)
{
    for (int i = 0; i < TDM_UNITS; i++) collect(t, i);
}

const tdm_span *trace_spans(const trace *t, int unit, size_t *n)
{
    *n = t->tracks[unit].n;
    return t->tracks[unit].spans;
}

void trace_turn(trace *t, const tdm_turn_stats *stats)
{
    if (t->n_turns == t->room_turns) {
        size_t room = t->room_turns ? 2 * t->room_turns : 64;
        tdm_turn_stats *larger = realloc(t->turns, room * sizeof *larger);
        if (!larger) {
            t->dropped = true;
            return;
        }
        t->turns = larger;
        t->room_turns = room;
    }
    t->turns[t->n_turns++] = *stats;
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static json_object *event(const char *phase, const char *name, int track_id)
{
    json_object *o = json_new_object();
    json_add_string(o, "name", name);
    json_add_string(o, "ph", phase);
    json_add_int(o, "pid", 1);
    json_add_int(o, "tid", track_id);
    return o;
}

static void add_track_name(json_object *events, int track_id, const char *name)
{
    json_object *o = event("M", "thread_name", track_id), *args = json_new_object();
    json_add_string(args, "name", name);
    json_add(o, "args", args);
    json_append(events, o);
}

/* A complete event with its arguments; times are microseconds since the trace began. */
static void add_interval(const trace *t, json_object *events, const char *name, int track_id, int64_t start_ns,
                         int64_t end_ns, json_object *args)
{
    json_object *o = event("X", name, track_id);
    char text[40];
    snprintf(text, sizeof text, "%.3f", 1e-3 * (double)(start_ns - t->start_ns));
    json_add_digits(o, "ts", text);
    snprintf(text, sizeof text, "%.3f", 1e-3 * (double)(end_ns - start_ns));
    json_add_digits(o, "dur", text);
    json_add(o, "args", args);
    json_append(events, o);
}

static void add_unit(const trace *t, json_object *events, int unit)
{
    static const char *const kinds[TDM_SPAN_KINDS] = {"history",  "draft",      "suffix",  "prompt", "decode",
                                                      "handover", "checkpoint", "restore", "image",  "lent",  "carry"};
    tdm_unit_info info;
    char name[100];
    tdm_unit_describe(t->machine, unit, &info);
    snprintf(name, sizeof name, "%s %s %s", unit == TDM_PREFILL_UNIT ? "prefill" : "decode", info.name, info.kind);
    add_track_name(events, unit + 1, name);
    for (size_t i = 0; i < t->tracks[unit].n; i++) {
        const tdm_span *s = &t->tracks[unit].spans[i];
        json_object *args = json_new_object();
        json_add_int(args, "tokens", s->tokens);
        json_add_int(args, "bytes", (int64_t)s->bytes);
        add_interval(t, events, kinds[s->kind], unit + 1, s->start_ns, s->end_ns, args);
    }
}

static void add_turns(const trace *t, json_object *events)
{
    int track_id = TDM_UNITS + 1;
    if (t->n_turns) add_track_name(events, track_id, "turns");
    for (size_t i = 0; i < t->n_turns; i++) {
        const tdm_turn_stats *s = &t->turns[i];
        char name[40];
        snprintf(name, sizeof name, "turn %zu", i + 1);
        json_object *args = json_new_object();
        figures_turn_json(args, s);
        add_interval(t, events, name, track_id, s->enter_ns, s->end_ns, args);
        if (s->first_id_ns > s->enter_ns)
            add_interval(t, events, "Enter to first token", track_id, s->enter_ns, s->first_id_ns, json_new_object());
    }
}

tdm_status trace_write(trace *t, const char *path, tdm_error *err)
{
    trace_collect(t);
    json_object *root = json_new_object(), *events = json_new_array();
    struct buffer text = {0};
    for (int i = 0; i < TDM_UNITS; i++) add_unit(t, events, i);
    add_turns(t, events);
    json_add(root, "traceEvents", events);
    json_add_string(root, "displayTimeUnit", "ms");
    tdm_status status = json_write_text(root, &text, err);
    if (!status) status = unfinished_replace(path, text.bytes, text.n, err);
    buffer_free(&text);
    json_free(root);
    if (!status && t->dropped) status = error_set(err, TDM_E_NOMEM, "%s: not whole: memory ran out", path);
    return status;
}

tdm_status trace_begin(trace **out, const options *o, const tdm_machine *m, tdm_error *err)
{
    const char *path = options_text(o, OPTION_TRACE);
    *out = NULL;
    tdm_status status = files_may_write(path, options_flag(o, OPTION_OVERWRITE), err);
    if (status || !path) return status;
    *out = trace_new(m);
    return *out ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}

tdm_status trace_end(trace *t, const options *o, tdm_error *err)
{
    const char *path = options_text(o, OPTION_TRACE);
    if (!t) return TDM_OK;
    tdm_status status = files_may_write(path, options_flag(o, OPTION_OVERWRITE), err);
    return status ? status : trace_write(t, path, err);
}

tdm_status trace_write_recent(const tdm_machine *m, const char *path, tdm_error *err)
{
    trace *t = new_since(m, 0);
    if (!t) return error_set(err, TDM_E_NOMEM, "out of memory");
    trace_collect(t);
    int64_t first = INT64_MAX;
    for (int i = 0; i < TDM_UNITS; i++)
        if (t->tracks[i].n && t->tracks[i].spans[0].start_ns < first) first = t->tracks[i].spans[0].start_ns;
    t->start_ns = first == INT64_MAX ? 0 : first;
    tdm_status status = trace_write(t, path, err);
    trace_free(t);
    return status;
}
