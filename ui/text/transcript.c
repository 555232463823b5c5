#include "ui/text/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "ui/preview/draw.h"
#include "ui/text/turn.h"
#include "ui/unicode/fold.h"

enum { MAX_MATCHES = 64, MAX_ROWS = 512 };

static const double reading_lines = 5; /* a second */

/* Line `line` of turn `turn`; line 0 of every turn but the first is the blank line before it. */
struct place {
    size_t turn, line;
};

/* Where the view's top is, in terms that outlive a rendering. */
struct anchor {
    uint64_t id;
    uint32_t generation;
    enum turn_part part;
    size_t source, line;
    bool blank;
};

struct transcript {
    struct turn_lines **turns;
    size_t n, cap;
    struct place top;
    struct anchor anchor;
    bool follow;
    uint64_t held;     /* the reply that outran reading: its first line stays at the top */
    uint64_t released; /* a reply that is followed whatever its speed, since the user went to its end */
    bool more, fresh;  /* marks: lines below; of these, new ones since the view was scrolled up */
    size_t seen_turns, seen_text;
    struct rect area;
    int rows, width;
    uint64_t marked;
    uint64_t found_id;
    enum turn_part found_part;
    size_t found_at;
    uint64_t row_turn[MAX_ROWS];
};

struct transcript *transcript_new(void)
{
    struct transcript *t = calloc(1, sizeof *t);
    if (t) t->follow = true;
    return t;
}

void transcript_free(struct transcript *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->n; i++) {
        turn_free(t->turns[i]);
        free(t->turns[i]);
    }
    free(t->turns);
    free(t);
}

/* ---- Turns and places ---- */

static void drop(struct turn_lines *l)
{
    turn_free(l);
    free(l);
}

/* Makes t->turns[i] stand for view->turns[i]. Behind the first one that is another, the renderings of those that are
 * still there are kept: ids ascend in both. */
static bool sync(struct transcript *t, const struct view *view)
{
    size_t same = 0, at = 0;
    while (same < t->n && same < view->n_turns && t->turns[same]->id == view->turns[same].id) same++;
    if (same == t->n && same == view->n_turns) return true;
    if (t->follow && view->n_turns < t->n) t->anchor.id = 0; /* the end that is followed is further up */
    if (view->n_turns > t->cap) {
        size_t cap = view->n_turns + view->n_turns / 2 + 16;
        struct turn_lines **turns = realloc(t->turns, cap * sizeof(struct turn_lines *));
        if (!turns) return false;
        t->turns = turns;
        t->cap = cap;
    }
    size_t n = t->n - same;
    struct turn_lines **old = n ? malloc(n * sizeof(struct turn_lines *)) : NULL, *l = NULL;
    if (n && !old) return false;
    if (n) memcpy(old, t->turns + same, n * sizeof(struct turn_lines *));
    for (t->n = same; t->n < view->n_turns; t->turns[t->n++] = l) {
        uint64_t id = view->turns[t->n].id;
        while (at < n && old[at]->id < id) drop(old[at++]);
        l = at < n && old[at]->id == id ? old[at++] : calloc(1, sizeof *l);
        if (!l) break;
        l->id = id;
    }
    while (at < n) drop(old[at++]);
    free(old);
    return t->n == view->n_turns;
}

static struct turn_lines *rendered(struct transcript *t, const struct view *view, size_t i)
{
    turn_render(t->turns[i], &view->turns[i], t->width, &view->options);
    return t->turns[i];
}

static size_t gap_before(size_t turn) { return turn > 0; }

static size_t height(struct transcript *t, const struct view *view, size_t i)
{
    return gap_before(i) + turn_height(rendered(t, view, i));
}

static bool before(struct place a, struct place b) { return a.turn < b.turn || (a.turn == b.turn && a.line < b.line); }

/* The place n lines on (back when negative), within the text; *left gets the lines that there was no room for. */
static struct place move(struct transcript *t, const struct view *view, struct place p, long n, long *left)
{
    if (left) *left = 0;
    if (t->n == 0) return (struct place){0, 0};
    while (n < 0) {
        if ((size_t)-n <= p.line) {
            p.line -= (size_t)-n;
            return p;
        }
        n += (long)p.line;
        p.line = 0;
        if (p.turn == 0) {
            if (left) *left = -n;
            return p;
        }
        p.turn--;
        p.line = height(t, view, p.turn);
    }
    while (n > 0) {
        size_t h = height(t, view, p.turn);
        if (p.line + (size_t)n < h || (p.turn + 1 == t->n && p.line + (size_t)n <= h)) {
            p.line += (size_t)n;
            return p;
        }
        if (p.turn + 1 == t->n) {
            if (left) *left = (long)(p.line + (size_t)n - h);
            p.line = h;
            return p;
        }
        n -= (long)(h - p.line);
        p.turn++;
        p.line = 0;
    }
    return p;
}

static struct place end_of(struct transcript *t, const struct view *view)
{
    return t->n ? (struct place){t->n - 1, height(t, view, t->n - 1)} : (struct place){0, 0};
}

static struct place last_page(struct transcript *t, const struct view *view)
{
    return move(t, view, end_of(t, view), -t->rows, NULL);
}

static void set_anchor(struct transcript *t)
{
    struct anchor was = t->anchor;
    memset(&t->anchor, 0, sizeof t->anchor);
    if (t->top.turn >= t->n) return;
    const struct turn_lines *l = t->turns[t->top.turn];
    size_t gap = gap_before(t->top.turn), line = t->top.line;
    if (!gap && !turn_height(l)) return; /* there is no line to hold on to yet */
    t->anchor.id = l->id;
    t->anchor.generation = l->generation;
    t->anchor.blank = line < gap;
    if (line < gap) return;
    t->anchor.part = turn_part_at(l, line - gap, &t->anchor.line);
    const struct lines *part = &l->part[t->anchor.part];
    t->anchor.source = lines_source(part, t->anchor.line);
    /* Going through several widths, the first word in view stays the one that counts. */
    if (was.id == t->anchor.id && was.part == t->anchor.part && !was.blank && was.source > t->anchor.source &&
        (t->anchor.line + 1 >= part->n || was.source < lines_source(part, t->anchor.line + 1)))
        t->anchor.source = was.source;
}

/* Puts the top back to where the anchor says, after renderings have changed. Without an anchor the top may be a place
 * of turns that are gone: then it is the last page's. */
static void restore_anchor(struct transcript *t, const struct view *view)
{
    size_t i = t->top.turn;
    if (!t->anchor.id) {
        if (i >= t->n) t->top = last_page(t, view);
        return;
    }
    if (i >= t->n || t->turns[i]->id != t->anchor.id)
        for (i = 0; i < t->n && t->turns[i]->id != t->anchor.id;) i++;
    if (i == t->n) { /* the turn is gone */
        t->follow = true;
        t->anchor.id = 0;
        t->top = last_page(t, view);
        return;
    }
    struct turn_lines *l = rendered(t, view, i);
    size_t gap = gap_before(i);
    t->top.turn = i;
    if (t->anchor.blank) {
        t->top.line = 0;
    } else if (l->generation != t->anchor.generation) {
        const struct lines *part = &l->part[t->anchor.part];
        size_t line = part->n ? lines_at_source(part, t->anchor.source) : 0;
        t->top.line = gap + turn_part_start(l, t->anchor.part) + line;
    }
    size_t h = height(t, view, i);
    if (t->top.line >= h) t->top.line = h ? h - 1 : 0;
}

/* ---- Following ---- */

/* The last reply outruns reading: it does not fit, and its lines come faster than they are read. */
static bool outruns(struct transcript *t, const struct view *view, size_t i)
{
    const struct view_turn *turn = &view->turns[i];
    if (view->options.follow == VIEW_FOLLOW_STREAM || turn->state != VIEW_TURN_ANSWERING) return false;
    if (turn->id == t->released) return false;
    size_t lines = turn_height(rendered(t, view, i));
    if (lines <= (size_t)t->rows) return false;
    if (view->options.follow == VIEW_FOLLOW_TOP) return true;
    double seconds = (double)(view->now_ns - turn->start_ns) / 1e9;
    return (double)lines > reading_lines * (seconds > 0.2 ? seconds : 0.2);
}

/* The reply whose first line is held at the top is still being written: it is what fills the rows below. */
static bool grows(const struct view *view, uint64_t held)
{
    const struct view_turn *last = &view->turns[view->n_turns - 1];
    return held && last->id == held && last->state == VIEW_TURN_ANSWERING;
}

static void place_view(struct transcript *t, const struct view *view, bool same_area)
{
    restore_anchor(t, view);
    if (t->n == 0) {
        t->top = (struct place){0, 0};
        t->follow = true;
        return;
    }
    struct place page = last_page(t, view);
    if (t->follow) {
        size_t last = t->n - 1;
        if (outruns(t, view, last)) {
            t->follow = false;
            t->held = view->turns[last].id;
            t->top = (struct place){last, gap_before(last)};
        } else {
            /* A folded thought shortens the text: what is on the screen stays, until new lines fill the rows. */
            bool stay = same_area && t->anchor.id && before(page, t->top);
            if (!stay) t->top = page;
        }
    } else if (before(page, t->top) && !same_area && !grows(view, t->held)) {
        t->top = page;
    }
}

static void leave_end(struct transcript *t, const struct view *view)
{
    if (t->follow) {
        t->seen_turns = t->n;
        t->seen_text = t->n ? view->turns[t->n - 1].text_len : 0;
    }
    t->follow = false;
}

/* ---- Search ---- */

static size_t line_matches(const struct transcript *t, const struct turn_lines *l, enum turn_part part, size_t line,
                           const char *words, struct lines_match out[MAX_MATCHES])
{
    const struct lines *lines = &l->part[part];
    size_t n = words ? strlen(words) : 0, found = 0;
    if (n == 0 || line >= lines->n) return 0;
    size_t from = lines->line[line].from, to = lines->line[line].to;
    size_t before = FOLD_GROWTH * n, m;
    for (size_t at = from > before ? from - before : 0; at < to && found < MAX_MATCHES; at += m ? m : 1) {
        m = fold_match(lines->text, lines->len, at, words, n, FOLD_CASE);
        bool current = l->id == t->found_id && part == t->found_part && at == t->found_at;
        if (m && at + m > from)
            out[found++] = (struct lines_match){at, at + m, STYLE_MATCH | (current ? STYLE_BOLD | STYLE_UNDERLINE : 0)};
    }
    return found;
}

/* The first match in a part at or after byte `at`, or the last one before it. */
static bool find_in(const struct lines *lines, const char *words, size_t at, int direction, size_t *found)
{
    size_t n = strlen(words);
    if (direction > 0) return fold_find(lines->text, lines->len, at, words, n, found) > 0;
    for (at = at < lines->len ? at : lines->len; at-- > 0;)
        if (fold_match(lines->text, lines->len, at, words, n, FOLD_CASE)) return *found = at, true;
    return false;
}

bool transcript_find(struct transcript *t, const struct view *view, const char *words, int direction)
{
    if (!words || !words[0] || !sync(t, view) || t->n == 0 || t->width <= 0) return false;
    restore_anchor(t, view);
    size_t line, gap = gap_before(t->top.turn), turn = t->top.turn < t->n ? t->top.turn : t->n - 1, at;
    enum turn_part part =
        turn_part_at(rendered(t, view, turn), t->top.line > gap ? t->top.line - gap : 0, &line);
    const struct lines *lines = &t->turns[turn]->part[part];
    at = line < lines->n ? lines->line[line].from : 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->turns[i]->id == t->found_id) { /* go on from the last one */
            turn = i;
            part = t->found_part;
            at = t->found_at + (direction > 0);
        }
    for (size_t steps = 0; steps <= t->n * TURN_PARTS; steps++) {
        lines = &rendered(t, view, turn)->part[part];
        size_t found;
        if (find_in(lines, words, at, direction, &found)) {
            t->found_id = t->marked = t->turns[turn]->id;
            t->found_part = part;
            t->found_at = found;
            bool user = part == TURN_BODY && view->turns[turn].role == VIEW_USER;
            if (!turn_shows(t->turns[turn], part, found, &line) && user) {
                t->turns[turn]->open = true;
                turn_shows(rendered(t, view, turn), part, found, &line);
            }
            struct place hit = {turn, gap_before(turn) + turn_part_start(t->turns[turn], part) + line};
            struct place bottom = move(t, view, t->top, t->rows - 1, NULL);
            leave_end(t, view);
            t->held = 0;
            if (before(hit, t->top) || before(bottom, hit)) t->top = move(t, view, hit, -(t->rows / 3), NULL);
            set_anchor(t);
            return true;
        }
        if (direction > 0) {
            part = (enum turn_part)((part + 1) % TURN_PARTS);
            if (part == TURN_HEAD) turn = (turn + 1) % t->n;
            at = 0;
        } else {
            if (part == TURN_HEAD) turn = (turn + t->n - 1) % t->n;
            part = (enum turn_part)((part + TURN_PARTS - 1) % TURN_PARTS);
            at = SIZE_MAX;
        }
    }
    t->found_id = 0;
    return false;
}

void transcript_find_from(struct transcript *t, uint64_t id)
{
    t->found_id = id;
    t->found_part = TURN_HEAD;
    t->found_at = SIZE_MAX; /* before its first byte: a search goes on one further */
}

size_t transcript_hits(struct transcript *t, const struct view *view, const char *words, size_t *at)
{
    size_t hits = 0;
    *at = 0;
    if (!words || !words[0] || !sync(t, view) || t->width <= 0) return 0;
    for (size_t turn = 0; turn < t->n; turn++)
        for (int part = TURN_HEAD; part < TURN_PARTS; part++) {
            const struct lines *lines = &rendered(t, view, turn)->part[part];
            bool here = t->turns[turn]->id == t->found_id && part == (int)t->found_part;
            for (size_t from = 0, found; find_in(lines, words, from, 1, &found); from = found + 1) {
                hits++;
                if (here && found == t->found_at) *at = hits;
            }
        }
    return hits;
}

/* ---- Moving ---- */

void transcript_scroll(struct transcript *t, const struct view *view, int lines)
{
    if (!sync(t, view) || t->n == 0 || t->width <= 0 || lines == 0) return;
    restore_anchor(t, view);
    if (t->follow && lines > 0) return;
    leave_end(t, view);
    t->top = move(t, view, t->top, lines, NULL);
    struct place page = last_page(t, view);
    if (lines > 0 && !before(t->top, page)) {
        t->top = page;
        t->follow = true;
        t->held = 0;
        t->released = view->turns[t->n - 1].id;
    }
    set_anchor(t);
}

void transcript_page(struct transcript *t, const struct view *view, int pages)
{
    int step = t->rows > 3 ? t->rows - 2 : 1; /* two lines stay in view */
    transcript_scroll(t, view, pages * step);
}

void transcript_home(struct transcript *t, const struct view *view)
{
    if (!sync(t, view)) return;
    leave_end(t, view);
    t->held = 0;
    t->top = (struct place){0, 0};
    if (t->n && t->width > 0) {
        rendered(t, view, 0);
        set_anchor(t);
    }
}

void transcript_end(struct transcript *t, const struct view *view)
{
    t->follow = true;
    t->held = 0;
    if (view->n_turns) t->released = view->turns[view->n_turns - 1].id;
    memset(&t->anchor, 0, sizeof t->anchor);
}

void transcript_sent(struct transcript *t)
{
    t->follow = true;
    t->held = 0;
    t->found_id = 0;
    memset(&t->anchor, 0, sizeof t->anchor);
}

void transcript_turn(struct transcript *t, const struct view *view, int direction)
{
    if (!sync(t, view) || t->n == 0 || t->width <= 0) return;
    restore_anchor(t, view);
    size_t at = t->n;
    for (size_t i = 0; i < t->n; i++)
        if (t->turns[i]->id == t->marked) at = i;
    if (at == t->n) { /* none yet: the last that begins in view, or the one that fills it */
        struct place bottom = move(t, view, t->top, t->rows - 1, NULL);
        at = bottom.turn;
    } else if (direction < 0 && at > 0) {
        at--;
    } else if (direction > 0 && at + 1 < t->n) {
        at++;
    }
    t->marked = t->turns[at]->id;
    struct place first = {at, gap_before(at)}, page = last_page(t, view);
    struct place bottom = move(t, view, t->top, t->rows - 1, NULL);
    struct place last = {at, height(t, view, at) ? height(t, view, at) - 1 : 0};
    if (!before(first, t->top) && !before(bottom, last)) return; /* wholly in view */
    leave_end(t, view);
    t->held = 0;
    t->top = before(page, first) ? page : first;
    set_anchor(t);
}

uint64_t transcript_marked(const struct transcript *t) { return t->marked; }
void transcript_mark(struct transcript *t, uint64_t id) { t->marked = id; }
bool transcript_at_end(const struct transcript *t) { return !t->more; }

uint64_t transcript_turn_at(const struct transcript *t, int row)
{
    row -= t->area.row;
    return row >= 0 && row < t->rows && row < MAX_ROWS ? t->row_turn[row] : 0;
}

static struct turn_lines *by_id(struct transcript *t, const struct view *view, uint64_t id)
{
    if (!sync(t, view)) return NULL;
    for (size_t i = t->n; i-- > 0;)
        if (id ? t->turns[i]->id == id : view->turns[i].role == VIEW_ASSISTANT) return t->turns[i];
    return NULL;
}

void transcript_toggle_fold(struct transcript *t, const struct view *view, uint64_t id)
{
    struct turn_lines *l = by_id(t, view, id);
    if (!l) return;
    leave_end(t, view); /* the lines that the user reads stay where they are */
    l->open = !l->open;
}

void transcript_toggle_raw(struct transcript *t, const struct view *view, uint64_t id)
{
    struct turn_lines *l = by_id(t, view, id);
    if (l) l->raw = !l->raw;
}

/* ---- Drawing ---- */

/* Draws the pictures of a message whose first line stands in that row of the area, or above it. */
static void draw_pictures(const struct turn_lines *l, const struct view_turn *turn, const struct view *view,
                          struct canvas *canvas, struct rect area, int row)
{
    for (size_t i = 0; i < l->n_pictures && i < turn->n_pictures; i++) {
        const struct turn_picture *at = &l->pictures[i];
        preview_draw(canvas, &turn->pictures[i], &view->options, area.row + row + (int)at->line, area.col + at->col,
                     at->rows, at->cols, area);
    }
}

void transcript_draw(struct transcript *t, const struct view *view, struct canvas *canvas, struct rect area)
{
    bool same_area = area.rows == t->rows && area.cols - 1 == t->width;
    t->area = area;
    t->rows = area.rows < MAX_ROWS ? area.rows : MAX_ROWS;
    t->width = area.cols - 1; /* the last column stays free */
    memset(t->row_turn, 0, sizeof t->row_turn);
    if (rect_empty(area) || !sync(t, view)) return;
    place_view(t, view, same_area);
    struct place p = t->top;
    int end = area.col + area.cols;
    for (int row = 0; row < t->rows && p.turn < t->n;) {
        struct turn_lines *l = rendered(t, view, p.turn);
        size_t gap = gap_before(p.turn), h = gap + turn_height(l);
        if (p.line >= h) {
            p = (struct place){p.turn + 1, 0};
            continue;
        }
        if (p.line >= gap) {
            size_t line;
            enum turn_part part = turn_part_at(l, p.line - gap, &line);
            bool begins = part == TURN_HEAD && (p.line == gap || row == 0);
            if (begins) draw_pictures(l, &view->turns[p.turn], view, canvas, area, row - (int)(p.line - gap));
            struct lines_match matches[MAX_MATCHES];
            size_t n = line_matches(t, l, part, line, view->search, matches);
            lines_draw(&l->part[part], line, canvas, area.row + row, area.col, end - 1, matches, n);
            if (view->browse && l->id == t->marked)
                canvas_attribute(canvas, area.row + row, area.col, area.col + 1, STYLE_REVERSE);
            t->row_turn[row] = l->id;
        }
        p.line++;
        row++;
    }
    while (p.turn < t->n && p.line >= height(t, view, p.turn)) p = (struct place){p.turn + 1, 0};
    t->more = p.turn < t->n;
    t->fresh = !t->follow && (t->n > t->seen_turns || (t->n && view->turns[t->n - 1].text_len > t->seen_text));
    if (!t->more && !t->follow) { /* scrolled down to the end */
        t->follow = true;
        t->held = 0;
    }
    if (t->more && !t->follow) {
        enum { KEY_COLS = 60 };
        const char *mark = t->fresh && !t->held                   ? " [new below] "
                           : area.cols < KEY_COLS || view->browse ? " [more below] "
                                                                  : " [more below: Ctrl-End] ";
        int col = end - (int)strlen(mark);
        if (col > area.col) canvas_puts(canvas, area.row + area.rows - 1, col, end, mark, STYLE_NOTICE);
    }
    set_anchor(t);
}
