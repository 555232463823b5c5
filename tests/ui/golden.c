#include "tests/ui/dump.h"
#include "tests/ui/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/check.h"

char *golden_text(const struct canvas *canvas)
{
    if (canvas->cursor_row < 0) return dump_canvas(canvas);
    struct canvas_cell *cell =
        canvas->cells + (size_t)canvas->cursor_row * (size_t)canvas->cols + (size_t)canvas->cursor_col;
    struct canvas_cell was = *cell;
    if (cell->n == 1 && cell->point[0] == ' ') cell->point[0] = '_';
    char *text = dump_canvas(canvas);
    *cell = was;
    return text;
}

void golden_check(const char *name, const char *found)
{
    char path[200];
    snprintf(path, sizeof path, "ui/golden/%s.txt", name);
    golden_file(path, found);
}

void golden_file(const char *name, const char *found)
{
    char path[400];
    snprintf(path, sizeof path, "%s", check_data(name));
    if (getenv("GOLDEN_UPDATE") && !strstr(name, "/sketch-")) {
        FILE *out = fopen(path, "wb");
        if (!out || fputs(found, out) < 0 || fclose(out) != 0) CHECK_FAIL("%s: cannot be written", path);
        return;
    }
    FILE *in = fopen(path, "rb");
    char *expected = calloc(1, 1 << 20);
    if (!in || !expected) {
        CHECK_FAIL("%s: cannot be read", path);
        if (in) fclose(in);
        free(expected);
        return;
    }
    size_t n = fread(expected, 1, (1 << 20) - 1, in);
    expected[n] = 0;
    fclose(in);
    if (strcmp(expected, found) != 0) {
        const char *e = expected, *f = found;
        int line = 1;
        while (*e && *f) { /* the first line that differs */
            size_t a = strcspn(e, "\n"), b = strcspn(f, "\n");
            if (a != b || memcmp(e, f, a) != 0) break;
            e += a + (e[a] == '\n');
            f += b + (f[b] == '\n');
            line++;
        }
        CHECK_FAIL("%s, line %d:\n  expected |%.*s|\n  found    |%.*s|", name, line, (int)strcspn(e, "\n"), e,
                   (int)strcspn(f, "\n"), f);
    }
    free(expected);
}

static const int64_t window_ns = 20000000000;

static size_t lane(struct view_span *spans, const char *letters, int64_t from, int64_t column)
{
    size_t n = 0;
    for (int c = 0; letters[c]; c++) {
        static const char known[] = "hdsp=>";
        const char *at = strchr(known, letters[c]);
        if (letters[c] == '.') continue;
        enum view_kind kind = at ? (enum view_kind)(at - known) : VIEW_K_LENT;
        if (n && spans[n - 1].kind == kind && spans[n - 1].end_ns == from + c * column && kind != VIEW_K_HANDOVER)
            spans[n - 1].end_ns += column;
        else
            spans[n++] = (struct view_span){from + c * column, from + (c + 1) * column, kind, 32, 1 << 20};
    }
    return n;
}

void sample_lanes(struct sample *s, const char *prefill, const char *decode, int enter1, int enter2)
{
    int64_t column = window_ns / (int64_t)strlen(decode), now = 1000 * column,
            from = now - column * (int64_t)strlen(decode);
    struct view_monitor *m = &s->view.monitor;
    s->view.now_ns = now;
    m->prefill.spans = s->prefill;
    m->prefill.n_spans = lane(s->prefill, prefill, from, column);
    m->decode.spans = s->decode;
    m->decode.n_spans = lane(s->decode, decode, from, column);
    m->enters = s->enters;
    m->n_enters = 0;
    if (enter1 >= 0) s->enters[m->n_enters++] = (struct view_enter){from + enter1 * column + 1, 9};
    if (enter2 >= 0) s->enters[m->n_enters++] = (struct view_enter){from + enter2 * column + 1, 8};
}

static void turn(struct sample *s, enum view_role role, const char *text)
{
    struct view_turn *t = &s->turns[s->view.n_turns++];
    *t = (struct view_turn){.id = s->view.n_turns, .role = role, .text = text, .text_len = strlen(text)};
    t->number = (int)s->view.n_turns;
}

/* A value for each of the 36 columns of the sketch's history. */
static void history(uint8_t out[60], const char *levels)
{
    for (int c = 0; levels[c]; c++)
        for (int i = c * 60 / 36; i < (c + 1) * 60 / 36; i++)
            out[i] = levels[c] == '_' ? 5 : levels[c] == '-' ? 50 : 95;
}

/* Ten minutes in which the units worked and rested, and a machine of 12 cores. */
static void sample_charts(struct sample *s)
{
    struct view_monitor *m = &s->view.monitor;
    for (int i = 0; i < VIEW_CHART_POINTS; i++) {
        bool writes = i % 50 < 24, reads = i % 50 >= 24 && i % 5 < 3;
        s->speeds[0][i] = reads ? (float)(240 + 40 * (i % 4)) : writes && i % 3 == 0 ? 180 : 0;
        s->speeds[1][i] = writes ? (float)(28 + i % 4) : 0;
        s->shares[0][i] = s->speeds[0][i] / 6;
        s->shares[1][i] = writes ? (float)(76 + 3 * (i % 4)) : 0;
    }
    m->prefill.speeds = s->speeds[0];
    m->decode.speeds = s->speeds[1];
    m->prefill.shares = s->shares[0];
    m->decode.shares = s->shares[1];
    m->prefill.n_points = m->decode.n_points = VIEW_CHART_POINTS;
    for (int i = 0; i < 12; i++)
        s->cores[i] = (struct view_core){.cpu = i,
                                         .unit = i < 6 ? VIEW_CORE_DECODE : VIEW_CORE_PREFILL,
                                         .busy = i < 6 ? 92 - i : 18 + i,
                                         .ghz = i < 6 ? 3.9 : 2.8};
    m->cores = s->cores;
    m->n_cores = 12;
    m->steal = (struct view_figure){0, true, NULL};
    m->memory_gb_s = 58;
    m->measured_s = 1795338720; /* 22 Nov 2026, 09:12 in UTC */
    m->checkpointed = 1375;
    m->total_gib = 31.2;
}

/* What the monitor shows beside that conversation, but for the lanes. */
static void sample_monitor(struct sample *s)
{
    struct view_monitor *m = &s->view.monitor;
    m->prefill = (struct view_unit){.name = "cpu:1",
                                    .kind = "native",
                                    .tok_s = {302, true, NULL},
                                    .gflop_s = {302, true, NULL},
                                    .gflop_share = {66, true, NULL},
                                    .history = s->history[0],
                                    .n_history = 60};
    m->decode = (struct view_unit){.name = "cpu:0",
                                   .kind = "native",
                                   .tok_s = {31, true, NULL},
                                   .gb_s = {25, true, NULL},
                                   .gb_share = {84, true, NULL},
                                   .kept = {96, true, NULL},
                                   .history = s->history[1],
                                   .n_history = 60};
    history(s->history[0], "__--_-__-_--__-_--___-__--__-_-__--_");
    history(s->history[1], "____========______==============____");
    m->follower = (struct view_follower){.target = 1530,
                                         .read = 1503,
                                         .behind = 27,
                                         .ahead = 128,
                                         .wasted = 9,
                                         .phase_read = 128,
                                         .phase_total = 155,
                                         .handover_ms = {0.04, true, NULL},
                                         .checkpoints = 6,
                                         .checkpoint_bytes = 116u << 20,
                                         .checkpoint_budget = 2ull << 30};
    static const struct view_monitor_turn turns[] = {
        {1, {VIEW_TTFT_FIRST, VIEW_TTFT_UNMARKED, 412}, 52, 40, 310, 30.4, 0},
        {2, {VIEW_TTFT_COLD, VIEW_TTFT_QUEUED, 261}, 31, 31, 120, 29.1, 0},
        {3, {VIEW_TTFT_WARM, VIEW_TTFT_UNMARKED, 9}, 18, 0, 220, 31.2, 0},
        {4, {VIEW_TTFT_WARM, VIEW_TTFT_UNMARKED, 8}, 42, 0, 0, 0, 0}};
    memcpy(s->monitor_turns, turns, sizeof turns);
    m->turns = s->monitor_turns;
    m->n_turns = 4;
    m->warm = (struct view_median){8.5, 2};
    m->weights_gib = 0.8;
    m->states_gib = 0.2;
    m->free_gib = 18.1;
    m->power_w.why = "RAPL is readable by root only";
    m->power_remedy = "^X w shows the command that allows it";
    m->pid = 4711;
    sample_charts(s);
}

void sample_init(struct sample *s)
{
    memset(s, 0, sizeof *s);
    setenv("TZ", "UTC", 1); /* of the times that are shown */
    tzset();
    struct view *v = &s->view;
    v->options = (struct view_options){.ascii = true, .colours = 256};
    v->turns = s->turns;
    turn(s, VIEW_USER, "Why does the second turn answer at once?");
    turn(s, VIEW_ASSISTANT,
         "While this reply is being written, the other unit already reads it in the form that your next message will "
         "need, and then what you type. When you press Enter, nothing is left to read: the first word only has to be "
         "chosen.");
    s->turns[1].stats = (struct view_turn_stats){.valid = true,
                                                 .ttft = {.kind = VIEW_TTFT_WARM, .ms = 9},
                                                 .engine_ms = 7,
                                                 .in = 18,
                                                 .read_before = 18,
                                                 .out = 220,
                                                 .tok_s = 31,
                                                 .seconds = 7.1};
    turn(s, VIEW_USER, "What is a checkpoint?");
    turn(s, VIEW_ASSISTANT,
         "A checkpoint is a copy of the model's state at one place of the conversation. "
         "The state of these models can't be cut back, only restored, so Tandem keeps:\n\n"
         "- one at the end of every turn,\n- one at the start of your draft,\n"
         "- one before the words that open a reply.\n\n"
         "When you edit an earlier message, the copy before it is restored, and only");
    s->turns[3].state = VIEW_TURN_ANSWERING;
    static const char draft[] = "and how much memory does one ta";
    v->draft = (struct view_draft){.text = draft,
                                   .len = strlen(draft),
                                   .cursor = strlen(draft),
                                   .mark = VIEW_MARK_AFTER_REPLY,
                                   .streaming = true};
    v->status = (struct view_status){.state = VIEW_ANSWERING,
                                     .ttft = {.kind = VIEW_TTFT_WARM, .ms = 8},
                                     .tok_s = 31,
                                     .ctx_used = 1530,
                                     .ctx_size = 32768,
                                     .speculation = "full",
                                     .pipeline = "tandem",
                                     .model = "0.8b q8_0"};
    sample_monitor(s);
    sample_lanes(s, "dds~~~h~h~~h~~h~h..d.ds.d.ds.d.dds.~~~h~~h~~h~~h~",
                 "~~~>============...~.~~.~.~~.~.~~~.>=============", 3, 35);
    s->turns[3].start_ns = v->now_ns - 10000000000;
}

static void move_spans(struct view_span *spans, size_t n, int64_t by)
{
    for (size_t i = 0; i < n; i++) {
        spans[i].start_ns += by;
        spans[i].end_ns += by;
    }
}

void sample_move(struct sample *s, int64_t now_ns)
{
    struct view *v = &s->view;
    int64_t by = now_ns - v->now_ns;
    move_spans(s->prefill, v->monitor.prefill.n_spans, by);
    move_spans(s->decode, v->monitor.decode.n_spans, by);
    for (size_t i = 0; i < v->monitor.n_enters; i++) s->enters[i].time_ns += by;
    for (size_t i = 0; i < v->n_turns; i++)
        if (s->turns[i].start_ns) s->turns[i].start_ns += by;
    v->now_ns = now_ns;
}
