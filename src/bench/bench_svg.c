#include "src/bench/bench_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 960, LEFT = 300, MOST_LEFT = 480, RIGHT = 200, BAR = 18, STEP = 28, TOP = 64, MOST_SPANS = 8192 };

/* Colours that keep their contrast on white and on near black. */
static const char style[] =
    "<style>text{font:13px system-ui,sans-serif;fill:#1c2733}.q{fill:#5a6875}.t{font-size:15px;font-weight:600}"
    ".b{fill:#2b7bb9}.w{stroke:#1c2733}.g{stroke:#c3ccd5}.page{fill:#ffffff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.q{fill:#9aa7b4}.b{fill:#4a9fe0}.w{stroke:#e6edf3}"
    ".g{stroke:#39434e}.page{fill:#0d1117}}</style>\n";

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
}

static void open_svg(FILE *out, int height, const char *title)
{
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n%s",
        WIDTH, height, WIDTH, height, style);
    fputs("<title>", out);
    put_text(out, title);
    fprintf(out, "</title>\n<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
}

static void put_at(FILE *out, double x, double y, const char *class, const char *anchor, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
    put_text(out, text);
    fputs("</text>\n", out);
}

/* ---- Bars -------------------------------------------------------------------------------------------------------- */

/* A long title in two lines, broken at a blank. Returns the y below it. */
static double put_title(FILE *out, const char *title)
{
    enum { LINE = 120 };
    char first[LINE + 1];
    size_t n = strlen(title);
    if (n > LINE) {
        n = LINE;
        while (n && title[n] != ' ') n--;
    }
    snprintf(first, sizeof first, "%.*s", (int)n, title);
    put_at(out, 16, 44, "q", "start", first);
    if (title[n]) put_at(out, 16, 61, "q", "start", title + n + 1);
    return title[n] ? 78 : 61;
}

/* "133 prompt tokens, batch", "1 core", "decode alone, lending on": what the row is about. */
static void row_label(const bench_table *t, int row, char *out, size_t room)
{
    out[0] = 0;
    for (int p = 0; p < t->n_parameters; p++) {
        char name[sizeof t->parameter[p].name];
        const char *value = t->rows[row].parameter[p], *comma = out[0] ? ", " : "";
        size_t n = strlen(out), length = strlen(t->parameter[p].name);
        bool one = !strcmp(value, "1") && length && t->parameter[p].name[length - 1] == 's';
        snprintf(name, sizeof name, "%.*s", (int)(length - one), t->parameter[p].name);
        for (char *u = name; *u; u++)
            if (*u == '_') *u = ' ';
        if (!strcmp(value, "-")) continue; /* does not apply */
        if (strspn(value, "0123456789") == strlen(value))
            snprintf(out + n, room - n, "%s%s %s", comma, value, name);
        else if (!strcmp(value, "on") || !strcmp(value, "off") || (value[0] >= '0' && value[0] <= '9'))
            snprintf(out + n, room - n, "%s%s %s", comma, name, value);
        else
            snprintf(out + n, room - n, "%s%s", comma, value);
    }
}

/* Where the bars begin: right of the longest label, at some 7 units a character. */
static int bars_left(const bench_table *t)
{
    char label[200];
    size_t most = 0;
    for (int r = 0; r < t->n_rows; r++) {
        row_label(t, r, label, sizeof label);
        most = strlen(label) > most ? strlen(label) : most;
    }
    double wide = 26 + 7.1 * (double)most;
    return wide < LEFT ? LEFT : wide > MOST_LEFT ? MOST_LEFT : (int)wide;
}

char *bench_svg_table(const bench_table *t)
{
    double low = INFINITY, high = 0;
    int shown = 0;
    for (int r = 0; r < t->n_rows; r++) {
        bench_summary s = bench_table_cell(t, r, 0);
        if (!s.n || s.median <= 0) continue;
        shown++;
        low = s.median < low ? s.median : low;
        high = s.p95 > high ? s.p95 : high;
    }
    if (!shown) return NULL;
    bool logarithmic = high > 30 * low;
    double base = logarithmic ? log10(low / 2) : 0, span = (logarithmic ? log10(high) : high) - base;
    char *text = NULL, line[300];
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    open_svg(out, TOP + 56 + STEP * shown, t->title);
    char measure[64];
    snprintf(measure, sizeof measure, "%s%s%s", t->measure[0].name, t->measure[0].unit[0] ? " " : "", t->measure[0].unit);
    for (char *u = measure; *u; u++)
        if (*u == '_') *u = ' ';
    snprintf(line, sizeof line, "%s: %s, %s", t->suite, measure, t->model);
    put_at(out, 16, 24, "t", "start", line);
    int left = bars_left(t);
    double y = put_title(out, t->title), scale = (WIDTH - left - RIGHT) / span;
    fprintf(out, "<line class=\"g\" x1=\"%d\" y1=\"%.0f\" x2=\"%d\" y2=\"%.0f\"/>\n", left, y, left, y + STEP * shown);
#define X(value) (left + scale * ((logarithmic ? log10(value) : (value)) - base))
    for (int r = 0; r < t->n_rows; r++) {
        bench_summary s = bench_table_cell(t, r, 0);
        if (!s.n || s.median <= 0) continue;
        char label[200], number[32];
        row_label(t, r, label, sizeof label);
        put_at(out, left - 10, y + 18, "", "end", label);
        fprintf(out, "<rect class=\"b\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n", left, y + 5,
                X(s.median) - left, BAR);
        double from = s.p5 > 0 ? X(s.p5) : left, to = X(s.p95 > 0 ? s.p95 : s.median);
        fprintf(out, "<path class=\"w\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8\" fill=\"none\"/>\n",
                from < left ? left : from, y + 5 + BAR / 2.0, to, from < left ? left : from, y + 1 + BAR / 2.0, to,
                y + 1 + BAR / 2.0);
        snprintf(line, sizeof line, "%s %s", bench_number(s.median, number), t->measure[0].unit);
        put_at(out, to + 8, y + 18, "", "start", line);
        y += STEP;
    }
#undef X
    snprintf(line, sizeof line, "median; whiskers: 5th to 95th percentile%s", logarithmic ? "; logarithmic axis" : "");
    put_at(out, 16, y + 24, "q", "start", line);
    fputs("</svg>\n", out);
    fclose(out);
    return text;
}

/* ---- Timeline ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *colour, *name;
} kinds[TDM_SPAN_KINDS] = {
    [TDM_SPAN_HISTORY] = {"#8268c4", "history"},
    [TDM_SPAN_DRAFT] = {"#1f9e89", "draft"},
    [TDM_SPAN_SUFFIX] = {"#e08214", "suffix"},
    [TDM_SPAN_PROMPT] = {"#1f9e89", "prompt"},
    [TDM_SPAN_DECODE] = {"#2b7bb9", "decode"},
    [TDM_SPAN_HANDOVER] = {"#d6336c", "hand-over"},
    [TDM_SPAN_CHECKPOINT] = {"#8a949e", "checkpoint"},
    [TDM_SPAN_RESTORE] = {"#b8860b", "restore"},
    [TDM_SPAN_LENT] = {NULL, "lent"},
};

struct picture {
    const tdm_span *spans[TDM_UNITS];
    size_t n[TDM_UNITS];
    const tdm_turn_stats *turns;
    int n_turns;
};

/* Both tracks from a to b, with the top at y. */
static void put_tracks(FILE *out, const struct picture *p, int64_t a, int64_t b, double y)
{
    enum { TRACK = 34, GAP = 8, X0 = 90, X1 = WIDTH - 16 };
    double scale = (double)(X1 - X0) / (double)(b - a);
    static const char *const names[TDM_UNITS] = {"prefill", "decode"};
    for (int u = 0; u < TDM_UNITS; u++) {
        double top = y + u * (TRACK + GAP);
        put_at(out, 16, top + 22, "", "start", names[u]);
        fprintf(out, "<line class=\"g\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", X0, top + TRACK, X1,
                top + TRACK);
        for (size_t i = 0; i < p->n[u]; i++) {
            const tdm_span *s = &p->spans[u][i];
            if (s->kind == TDM_SPAN_LENT || s->end_ns <= a || s->start_ns >= b) continue;
            double from = X0 + scale * (double)((s->start_ns > a ? s->start_ns : a) - a);
            double to = X0 + scale * (double)((s->end_ns < b ? s->end_ns : b) - a);
            bool event = s->kind == TDM_SPAN_HANDOVER || s->kind == TDM_SPAN_CHECKPOINT || s->kind == TDM_SPAN_RESTORE;
            fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n", from,
                    event ? top : top + 6, to - from > 0.6 ? to - from : 0.6, event ? TRACK : TRACK - 6,
                    kinds[s->kind].colour);
        }
    }
    double bottom = y + 2 * TRACK + GAP;
    for (int i = 0; i < p->n_turns; i++) {
        const struct {
            int64_t ns;
            const char *name;
            int level;
        } moments[] = {{p->turns[i].enter_ns, "Enter", 0}, {p->turns[i].first_id_ns, "first token", 1}};
        for (int k = 0; k < 2; k++) {
            if (moments[k].ns < a || moments[k].ns > b) continue;
            double x = X0 + scale * (double)(moments[k].ns - a);
            fprintf(out,
                    "<line class=\"w\" x1=\"%.2f\" y1=\"%.1f\" x2=\"%.2f\" y2=\"%.1f\" stroke-dasharray=\"%s\"/>\n", x,
                    y - 4, x, bottom + 4 + 14 * moments[k].level, k ? "2 3" : "none");
            put_at(out, x + (x > WIDTH - 90 ? -3 : 3), bottom + 16 + 14 * moments[k].level, "q",
                   x > WIDTH - 90 ? "end" : "start", moments[k].name);
        }
    }
    char line[64];
    snprintf(line, sizeof line, "%.1f s", 1e-9 * (double)(b - a));
    put_at(out, X1, y - 8, "q", "end", line);
}

char *bench_svg_timeline(const tdm_machine *machine, int64_t from_ns, const tdm_turn_stats *turns, int n,
                         const char *model)
{
    struct picture p = {.turns = turns, .n_turns = n};
    tdm_span *spans[TDM_UNITS] = {NULL};
    char *text = NULL, line[200];
    size_t length;
    FILE *out = NULL;
    for (int u = 0; u < TDM_UNITS; u++)
        if (!(spans[u] = malloc(sizeof *spans[u] * MOST_SPANS))) goto end;
    if (!(out = open_memstream(&text, &length))) goto end;
    for (int u = 0; u < TDM_UNITS; u++) {
        p.n[u] = tdm_unit_spans(machine, u, from_ns, spans[u], MOST_SPANS);
        p.spans[u] = spans[u];
    }
    const tdm_turn_stats *last = &turns[n - 1];
    open_svg(out, 330, "Both units in a conversation");
    snprintf(line, sizeof line, "%d turns on two units, %s", n, model);
    put_at(out, 16, 24, "t", "start", line);
    put_tracks(out, &p, from_ns, last->end_ns, 60);
    snprintf(line, sizeof line, "around the last Enter: first token after %.1f ms",
             1e-6 * (double)(last->first_id_ns - last->enter_ns));
    put_at(out, 16, 196, "", "start", line);
    put_tracks(out, &p, last->enter_ns - 700000000, last->enter_ns + 300000000, 210);
    double x = 16;
    for (int k = 0; k < TDM_SPAN_KINDS; k++) {
        if (!kinds[k].colour || k == TDM_SPAN_PROMPT) continue;
        fprintf(out, "<rect x=\"%.0f\" y=\"35\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x, kinds[k].colour);
        put_at(out, x + 17, 46, "", "start", kinds[k].name);
        x += 40 + 7.2 * (double)strlen(kinds[k].name);
    }
    fputs("</svg>\n", out);
    fclose(out);
end:
    for (int u = 0; u < TDM_UNITS; u++) free(spans[u]);
    return text;
}
