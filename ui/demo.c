#include "ui/demo.h"

#include <stdio.h>
#include <string.h>

#include "ui/monitor/graph.h"
#include "ui/monitor/lanes.h"
#include "ui/monitor/legend.h"
#include "ui/text/lines.h"

/* Rows from the top: title, heads, watch, conversation, marks, prefill, decode, caption, legend, waits, keys. */
struct places {
    int left[DEMO_SIDES], end[DEMO_SIDES]; /* columns of each side */
    int middle;                            /* column of the rule between them */
    int heads, watch, talk, talk_end, lanes, caption, legend, waits, keys; /* -1: no room */
    bool large;                                                          /* the stopwatch */
};

enum { DIGIT_ROWS = 3, LABEL = 8, LARGE_COLS = 30 };

static struct places find_places(int rows, int cols)
{
    struct places p = {.heads = -1, .watch = -1, .lanes = -1, .caption = -1, .legend = -1, .waits = -1, .keys = -1};
    int margin = cols >= 60 ? 2 : 0, last = rows, top = 1;
    p.middle = (cols - 1) / 2;
    p.left[0] = margin;
    p.end[0] = p.middle - (margin > 0);
    p.left[1] = p.middle + 1 + margin;
    p.end[1] = p.left[1] + p.end[0] - p.left[0]; /* as wide as the left side, so that Enter stands in the same column */
    p.large = rows >= 18 && p.end[0] - p.left[0] >= LARGE_COLS;
    if (rows >= 4) p.keys = --last;
    if (rows >= 6) p.waits = --last;
    if (rows >= 28) p.legend = --last;
    if (rows >= 20) p.caption = --last;
    if (rows >= 11) p.lanes = last -= 3;
    if (rows >= 5) p.heads = top++;
    if (rows >= 3) p.watch = top;
    if (rows >= 3) top += p.large ? DIGIT_ROWS : 1;
    p.talk = top;
    p.talk_end = last;
    return p;
}

/* ---- The stopwatch --------------------------------------------------------------------------------------------- */

static void write_seconds(char out[24], double seconds, bool in_ms)
{
    if (in_ms) snprintf(out, 24, seconds < 0.00995 ? "%.1f" : "%.0f", 1e3 * seconds);
    else snprintf(out, 24, "%.1f", seconds);
}

/* Returns the column after it. */
static int draw_large(struct canvas *c, int row, int col, int end, const char *number, style_t style)
{
    static const char *const digits[10][DIGIT_ROWS] = {
        {" _ ", "| |", "|_|"}, {"   ", "  |", "  |"}, {" _ ", " _|", "|_ "}, {" _ ", " _|", " _|"},
        {"   ", "|_|", "  |"}, {" _ ", "|_ ", " _|"}, {" _ ", "|_ ", "|_|"}, {" _ ", "  |", "  |"},
        {" _ ", "|_|", "|_|"}, {" _ ", "|_|", " _|"}};
    for (; *number; number++) {
        bool digit = *number >= '0' && *number <= '9';
        for (int i = 0; i < DIGIT_ROWS; i++)
            canvas_puts(c, row + i, col, end, digit ? digits[*number - '0'][i] : i + 1 < DIGIT_ROWS ? " " : ".", style);
        col += digit ? 3 : 1;
    }
    return col;
}

static bool reads_ahead(const struct demo_view *v, int i)
{
    return i == DEMO_AHEAD || v->heads[i];
}

static const char *head(const struct demo_view *v, int i)
{
    static const char *const heads[DEMO_SIDES] = {"READS AFTER ENTER", "READS AHEAD"};
    return v->heads[i] ? v->heads[i] : heads[i];
}

static void draw_watch(const struct demo_view *v, int i, const struct places *p, struct canvas *c)
{
    const struct demo_side *s = &v->sides[i];
    char number[24], word[64] = "answered";
    style_t style = s->state == DEMO_READING ? STYLE_WARN : STYLE_STATE;
    write_seconds(number, s->watch_s, v->in_ms);
    if (s->state == DEMO_TYPING)
        snprintf(word, sizeof word, reads_ahead(v, i) ? "reads what is typed" : "waits for Enter");
    if (s->state == DEMO_READING) snprintf(word, sizeof word, "reading %d of %d", s->done, s->total);
    int row = p->watch, col = p->left[i];
    if (p->large) {
        col = draw_large(c, row, col + 2, p->end[i], number, style | STYLE_BOLD);
        row += DIGIT_ROWS - 1;
    } else {
        col = canvas_puts(c, row, col, p->end[i], number, style | STYLE_BOLD);
    }
    col = canvas_puts(c, row, col + 1, p->end[i], v->in_ms ? "ms" : "s", style | STYLE_BOLD);
    canvas_puts(c, row, col + (p->large ? 3 : 2), p->end[i], word, STYLE_TEXT);
}

/* ---- The conversation ------------------------------------------------------------------------------------------ */

static void add_text(struct lines *l, const struct demo_text *t, int cols)
{
    size_t from = l->len, read = t->draft && t->read_bytes < t->len ? t->read_bytes : t->draft ? t->len : 0;
    style_t style = t->user && !t->draft ? STYLE_USER : STYLE_TEXT;
    lines_add_tabs(l, t->text, read, 0, STYLE_READ);
    lines_add_tabs(l, t->text + read, t->len - read, read, style);
    if (t->draft) lines_add_made(l, "_", 1, t->len, STYLE_TEXT);
    lines_wrap(l, from, cols, (struct lines_prefix){t->user ? "> " : "", t->user ? "  " : "", STYLE_USER}, LINES_WORDS);
}

static void draw_talk(const struct demo_view *v, int i, const struct places *p, struct canvas *c)
{
    struct lines l = {0};
    int rows = p->talk_end - p->talk, cols = p->end[i] - p->left[i];
    if (rows < 1 || cols < 3) return;
    if (v->before && rows > 3) {
        lines_add(&l, v->before, strlen(v->before), 0, STYLE_QUIET);
        lines_wrap(&l, 0, cols, (struct lines_prefix){"", "", STYLE_QUIET}, LINES_WORDS);
    }
    for (int k = 0; k < v->sides[i].n_texts; k++) {
        const struct demo_text *t = &v->sides[i].texts[k];
        if (t->user && l.n && rows > 5) lines_one(&l, "", STYLE_TEXT, cols, false);
        add_text(&l, t, cols);
    }
    int n = (int)l.n, first = n > rows ? n - rows : 0;
    for (int row = 0; first + row < n; row++)
        lines_draw(&l, (size_t)(first + row), c, p->talk_end - (n - first) + row, p->left[i], p->end[i], NULL, 0);
    lines_free(&l);
}

/* ---- Lanes ----------------------------------------------------------------------------------------------------- */

static void draw_lane(const struct demo_view *v, const struct lanes *l, const char *lane, int enter, struct canvas *c,
                      int row, int col)
{
    int64_t length = v->to_ns > v->from_ns ? v->to_ns - v->from_ns : 1;
    for (int k = 0; k < l->cols; k++) {
        bool come = v->from_ns + length / l->cols * k < v->now_ns;
        const char one[2] = {k == enter ? '|' : lane[k], 0};
        style_t style = k == enter ? STYLE_ENTER : lanes_style(lane[k]);
        if (k == enter || come) canvas_puts(c, row, col + k, col + k + 1, one, style);
    }
}

static void draw_lanes(const struct demo_view *v, int i, const struct places *p, struct canvas *c)
{
    static struct lanes l;
    int wide = p->end[i] - p->left[i], label = wide >= LARGE_COLS ? LABEL : 2, cols = wide - label - 1;
    int row = p->lanes, col = p->left[i] + label;
    if (row < 0 || cols < 4) return;
    const struct view_monitor m = {.prefill = v->sides[i].prefill, .decode = v->sides[i].decode};
    lanes_compute(&l, &m, v->from_ns, v->to_ns, cols);
    int64_t column = (v->to_ns - v->from_ns) / l.cols;
    int enter = column > 0 ? (int)((v->enter_ns - v->from_ns) / column) : 0;
    if (enter >= l.cols) enter = l.cols - 1;
    int word = col + enter - 2;
    if (word > p->end[i] - 5) word = p->end[i] - 5;
    if (word < p->left[i]) word = p->left[i];
    canvas_puts(c, row, word, p->end[i], "Enter", STYLE_ENTER);
    canvas_puts(c, row + 1, p->left[i], col, label == LABEL ? "PREFILL" : "P", STYLE_QUIET);
    canvas_puts(c, row + 2, p->left[i], col, label == LABEL ? "DECODE" : "D", STYLE_QUIET);
    draw_lane(v, &l, l.prefill, enter, c, row + 1, col);
    draw_lane(v, &l, l.decode, enter, c, row + 2, col);
    if (p->caption >= 0)
        canvas_puts(c, p->caption, p->left[i], p->end[i],
                    reads_ahead(v, i) ? "the same work, before Enter" : "the same work, after Enter", STYLE_QUIET);
}

/* ---- Lines over both sides -------------------------------------------------------------------------------------- */

static int write_pair(char *out, size_t room, const char *name, const double waits[DEMO_SIDES], bool in_ms)
{
    char each[DEMO_SIDES][24];
    for (int i = 0; i < DEMO_SIDES; i++) {
        write_seconds(each[i], waits[i], in_ms);
        snprintf(each[i] + strlen(each[i]), 8, " %s", in_ms ? "ms" : "s");
        if (waits[i] < 0) snprintf(each[i], sizeof each[i], "-");
    }
    if (waits[0] < 0 && waits[1] < 0) return snprintf(out, room, "%s  -", name);
    return snprintf(out, room, "%s  %s | %s", name, each[0], each[1]);
}

/* What each turn's Enter waited for; the newest stay where there is no room for all. */
static void draw_waits(const struct demo_view *v, int row, int margin, struct canvas *c)
{
    enum { GAP = 4 };
    char texts[DEMO_TURNS + 1][96]; /* the last one: of all turns, or of those that are missing */
    double all[DEMO_SIDES] = {0};
    int n = 0, used = margin;
    for (int k = 0; k < v->turn && k < DEMO_TURNS; k++) {
        char name[24];
        snprintf(name, sizeof name, "turn %d", k + 1);
        write_pair(texts[n++], sizeof texts[0], name, v->waits[k], v->in_ms);
        for (int i = 0; i < DEMO_SIDES; i++) all[i] += v->waits[k][i];
    }
    if (v->over) write_pair(texts[n++], sizeof texts[0], "in all", all, v->in_ms);
    if (v->measuring)
        snprintf(texts[n++], sizeof texts[0], "measuring %.0f%%", 100 * (v->share[0] + v->share[1]) / DEMO_SIDES);
    int first = n;
    while (first && used + (int)strlen(texts[first - 1]) <= c->cols) used += (int)strlen(texts[--first]) + GAP;
    if (first == n && n) first--;
    int newest = n - 1 - v->measuring;
    for (int k = first, col = margin; k < n; k++) {
        style_t style = k == newest ? STYLE_STATE : k > newest ? STYLE_QUIET : STYLE_TEXT;
        col = canvas_puts(c, row, col, c->cols, texts[k], style) + GAP;
    }
}

static void draw_keys(const struct demo_view *v, int row, struct canvas *c)
{
    const char *other = !v->can_switch ? "" : v->scaled ? "x measured  " : "x scaled  ";
    char texts[3][120];
    snprintf(texts[0], sizeof texts[0], "Space %s  n next  r again  %sq %s", v->paused ? "go on" : "pause", other,
             v->alone ? "leave" : "leave and chat");
    if (v->can_switch)
        snprintf(texts[1], sizeof texts[1], "Space n next r again x %s q leave", v->scaled ? "measured" : "scaled");
    else
        snprintf(texts[1], sizeof texts[1], "Space pause  n next  r again  q leave");
    snprintf(texts[2], sizeof texts[2], v->can_switch ? "Space n r x q" : "Space n r q");
    int k = 0;
    while (k < 2 && (int)strlen(texts[k]) > c->cols) k++;
    canvas_puts(c, row, 0, c->cols, texts[k], STYLE_QUIET);
}

static void draw_title(const struct demo_view *v, struct canvas *c)
{
    const char *word = v->scaled ? "SCALED" : "MEASURED", *origin = v->origin;
    char place[64];
    snprintf(place, sizeof place, v->over ? "end" : v->paused ? "paused %d of %d" : "turn %d of %d", v->turn, v->turns);
    bool narrow = c->cols < 40;
    int col = narrow ? 0 : canvas_puts(c, 0, 0, c->cols, "DEMO ", STYLE_TEXT | STYLE_BOLD);
    if (!narrow) col = canvas_puts(c, 0, col, c->cols, place, STYLE_TEXT) + 2;
    col = canvas_puts(c, 0, col, c->cols, word, (v->scaled ? STYLE_WARN : STYLE_STATE) | STYLE_BOLD);
    if (narrow) canvas_puts(c, 0, col + 1, c->cols, place, STYLE_TEXT);
    const char *as = v->scaled && origin ? strstr(origin, "as a ") : NULL; /* where there is no room for all */
    if (as && col + 2 + (int)strlen(origin) > c->cols) origin = as;
    if (!narrow && origin && c->cols > col + 8) canvas_printf(c, 0, col, c->cols, STYLE_QUIET, ": %s", origin);
}

/* ---- While the runs are made ------------------------------------------------------------------------------------ */

static void draw_preparing(const struct demo_view *v, struct canvas *c)
{
    static const char *const words[] = {
        "The same conversation is held twice, with the same model on this machine:",
        "once all of it is read after Enter, as most programs do; once it is read",
        "ahead, while a reply is written and while you type. Both are shown side by",
        "side, the first turn while the others are being measured.",
    };
    enum { WORDS = sizeof words / sizeof *words, BAR = 30 };
    int row = 0, end = c->cols, bar = c->cols / 2 < BAR ? c->cols / 2 : BAR;
    canvas_puts(c, row++, 0, end, "DEMO", STYLE_TEXT | STYLE_BOLD);
    row += c->rows >= 14;
    for (int i = 0; i < WORDS && c->rows >= 14 && !v->heads[0]; i++)
        canvas_puts(c, row++, 0, end, words[i], STYLE_TEXT);
    if (v->heads[0] && c->rows >= 14)
        canvas_puts(c, row++, 0, end, "The same conversation is held twice, by two pairs of units.", STYLE_TEXT);
    row += c->rows >= 14;
    if (v->failure) {
        canvas_puts(c, row, 0, end, v->failure, STYLE_ERROR);
    } else {
        for (int i = 0; i < DEMO_SIDES; i++, row += c->rows >= 10 ? 2 : 1) {
            bool now = v->run == i + 1;
            int full = (int)(v->share[i] * bar + 0.5), col = bar;
            graph_bar(c, row, 0, full, bar - full, c->ascii, STYLE_DRAFT);
            canvas_printf(c, row, col + 2, end, now ? STYLE_STATE : STYLE_TEXT, "%d of 2  %s", i + 1, head(v, i));
        }
        if (v->doing) canvas_puts(c, row, 0, end, v->doing, STYLE_TEXT);
    }
    if (c->rows >= 4) canvas_puts(c, c->rows - 1, 0, end, v->alone ? "q leave" : "q leave and chat", STYLE_QUIET);
}

void demo_draw(const struct demo_view *v, struct canvas *c)
{
    c->ascii = v->options.ascii;
    canvas_clear(c);
    if (v->preparing) {
        draw_preparing(v, c);
        return;
    }
    struct places p = find_places(c->rows, c->cols);
    draw_title(v, c);
    int bottom = p.caption >= 0 ? p.caption + 1 : p.talk_end + (p.lanes >= 0 ? 3 : 0);
    canvas_fill(c, (struct rect){1, p.middle, bottom - 1, 1}, c->ascii ? '|' : 0x2502, STYLE_RULE);
    for (int i = 0; i < DEMO_SIDES; i++) {
        if (p.heads >= 0) canvas_puts(c, p.heads, p.left[i], p.end[i], head(v, i), STYLE_TEXT | STYLE_BOLD);
        if (p.watch >= 0) draw_watch(v, i, &p, c);
        draw_talk(v, i, &p, c);
        draw_lanes(v, i, &p, c);
    }
    if (p.legend >= 0)
        legend_draw(c, (struct rect){p.legend, p.left[0], 1, c->cols - p.left[0]}, false, NULL);
    if (p.waits >= 0) draw_waits(v, p.waits, p.left[0], c);
    if (p.keys >= 0) draw_keys(v, p.keys, c);
}
