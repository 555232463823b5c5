#include "ui/monitor/blocks.h"

#include <stddef.h>

#include "ui/monitor/legend.h"

enum group { ALONE, CHARTS, FIGURES };

/* rank: 1 is given its rows first. A wanted height of 0 stands for one that depends on the request (wanted_rows). */
static const struct {
    int least, wanted, rank;
    enum group group;
    int panel;
} table[BLOCKS] = {
    [BLOCK_TITLE] = {1, 1, 4, ALONE, 0},
    [BLOCK_SENTENCE] = {1, 1, 7, ALONE, 0},
    [BLOCK_AXIS] = {1, 1, 8, ALONE, 1},
    [BLOCK_PREFILL] = {1, 2, 1, ALONE, 1},
    [BLOCK_DECODE] = {1, 2, 1, ALONE, 1},
    [BLOCK_INSPECT] = {2, 2, 2, ALONE, 0},
    [BLOCK_LEGEND] = {1, 0, 13, ALONE, 1},
    [BLOCK_GPUS] = {1, 0, 12, ALONE, 2},
    [BLOCK_CORES] = {1, 0, 11, ALONE, 2},
    [BLOCK_PREFILL_SPEED] = {6, 13, 16, CHARTS, 3},
    [BLOCK_DECODE_SPEED] = {6, 13, 15, CHARTS, 3},
    [BLOCK_TTFT] = {6, 13, 17, CHARTS, 3},
    [BLOCK_SHARE] = {6, 13, 18, CHARTS, 3},
    [BLOCK_CONTEXT] = {1, 2, 6, ALONE, 6},
    [BLOCK_MEMORY] = {1, 2, 10, ALONE, 6},
    [BLOCK_POWER] = {1, 0, 14, FIGURES, 6},
    [BLOCK_READ] = {1, 2, 9, FIGURES, 4},
    [BLOCK_TURNS] = {1, 0, 5, ALONE, 5},
    [BLOCK_KEYS] = {1, 1, 3, ALONE, 0},
};
enum {
    RANKS = 18,
    RANK_OF_FIGURES = 5, /* behind it come the figures of the lanes where they tell the speed */
    FIGURES_COLS = 56,
    SHORT_ROWS = 40,
    MAX_TURNS = 6,
};

static const char *const panel_names[] = {"lanes", "cores, GPUs", "charts", "read ahead", "turns",
                                          "context, memory, power"};

int blocks_panel(enum block block) { return table[block].panel; }
const char *blocks_panel_name(int panel) { return panel_names[panel - 1]; }

int blocks_side_by_side(int cols, int least)
{
    int n = (cols + BLOCKS_GAP) / (least + BLOCKS_GAP);
    return n > 1 ? n : 1;
}

int blocks_lane_left(int cols)
{
    enum { WIDE_NAME = 17, NAME = 8, NARROW_NAME = 4 };
    return cols >= BLOCKS_WIDE ? WIDE_NAME : cols >= BLOCKS_NARROW ? NAME : NARROW_NAME;
}

int blocks_lane_cols(int cols)
{
    int lanes = cols - blocks_lane_left(cols) - (cols >= BLOCKS_WIDE ? BLOCKS_RATE_COLS : 0);
    return lanes < 1 ? 1 : lanes;
}

static int rows_for(int things, int side_by_side)
{
    return (things + side_by_side - 1) / side_by_side;
}

static int least_rows(const struct blocks_request *r, enum block b)
{
    if (b == BLOCK_LEGEND) /* half of it would mislead */
        return legend_rows(r->cols, r->lost, r->alone ? NULL : LEGEND_HIDE);
    return table[b].least;
}

static int wanted_rows(const struct blocks_request *r, enum block b)
{
    int turns;
    switch (b) {
    case BLOCK_LEGEND: return least_rows(r, b);
    case BLOCK_GPUS: return r->gpus;
    case BLOCK_CORES: return 1 + rows_for(r->cores, blocks_side_by_side(r->cols, BLOCKS_CORE_COLS));
    case BLOCK_POWER: return 1 + r->remedy;
    case BLOCK_TURNS:
        turns = rows_for(r->turns, blocks_side_by_side(r->cols, BLOCKS_TURN_COLS));
        return turns < 1 ? 1 : turns < MAX_TURNS ? turns : MAX_TURNS;
    default: return table[b].wanted;
    }
}

static bool is_wanted(const struct blocks_request *r, enum block b)
{
    if (table[b].panel && r->hidden & (1u << (table[b].panel - 1))) return false;
    switch (b) {
    case BLOCK_SENTENCE: return !r->beside;
    case BLOCK_INSPECT: return r->inspect;
    case BLOCK_LEGEND: return r->legend && !r->inspect && r->cols >= BLOCKS_LEGEND_COLS;
    case BLOCK_GPUS: return r->gpus > 0;
    case BLOCK_CORES: return r->cores > 0;
    case BLOCK_KEYS: return r->alone;
    default: return table[b].group != CHARTS || r->cols >= BLOCKS_CHART_COLS;
    }
}

/* Blocks side by side: one row of the picture. */
struct band {
    enum block first;
    int n; /* blocks, first to first + n - 1 */
    int least, wanted, rank, rows;
    bool chart;
};

static int group_columns(const struct blocks_request *r, enum group group)
{
    if (group == FIGURES) return blocks_side_by_side(r->cols, FIGURES_COLS) > 1 ? 2 : 1;
    if (group != CHARTS) return 1;
    int n = blocks_side_by_side(r->cols, BLOCKS_CHART_COLS);
    return n >= 4 && r->rows < SHORT_ROWS ? 4 : n >= 2 ? 2 : 1; /* four in a row only where the rows are few */
}

static int make_bands(const struct blocks_request *r, struct band bands[BLOCKS])
{
    int n = 0;
    for (int i = 0; i < BLOCKS; i++) {
        enum block b = (enum block)i;
        if (!is_wanted(r, b)) continue;
        struct band *last = n ? &bands[n - 1] : NULL;
        bool joins = last && table[b].group != ALONE && table[last->first].group == table[b].group &&
                     i == (int)last->first + last->n && last->n < group_columns(r, table[b].group);
        if (!joins) {
            bands[n++] = (struct band){.first = b, .n = 1, .least = least_rows(r, b), .wanted = wanted_rows(r, b),
                                       .rank = table[b].rank, .chart = table[b].group == CHARTS};
            continue;
        }
        last->n++;
        if (least_rows(r, b) > last->least) last->least = least_rows(r, b);
        if (wanted_rows(r, b) > last->wanted) last->wanted = wanted_rows(r, b);
        if (table[b].rank < last->rank) last->rank = table[b].rank;
    }
    return n;
}

/* One row at a time to each in turn, so that equals stay equal. */
static int grow(struct band *bands, int n, int left, bool (*grows)(const struct band *band))
{
    for (bool grew = true; left > 0 && grew;) {
        grew = false;
        for (int i = 0; i < n && left > 0; i++) {
            if (!bands[i].rows || !grows(&bands[i])) continue;
            bands[i].rows++;
            left--;
            grew = true;
        }
    }
    return left;
}

static bool below_wish(const struct band *b) { return b->rows < b->wanted; }
static bool is_lane(const struct band *b) { return b->first == BLOCK_PREFILL || b->first == BLOCK_DECODE; }
static bool small_grows(const struct band *b)
{
    return !b->chart && !is_lane(b) && b->first != BLOCK_CORES && b->first != BLOCK_TURNS && below_wish(b);
}
static bool chart_grows(const struct band *b) { return b->chart && below_wish(b); }

/* Both lanes get their figures, or none. */
static int grow_lanes(struct band *bands, int n, int left)
{
    int need = 0;
    for (int i = 0; i < n; i++)
        if (is_lane(&bands[i]) && bands[i].rows) need += bands[i].wanted - bands[i].rows;
    if (need > left) return left;
    for (int i = 0; i < n; i++)
        if (is_lane(&bands[i]) && bands[i].rows) bands[i].rows = bands[i].wanted;
    return left - need;
}

/* One of a dozen cores tells nothing: all, or enough of them. */
static int grow_cores(struct band *bands, int n, int left)
{
    for (int i = 0; i < n; i++) {
        int more = bands[i].wanted - bands[i].rows;
        if (bands[i].first != BLOCK_CORES || !bands[i].rows) continue;
        if (more > left) more = left >= BLOCKS_CORE_ROWS ? left : 0;
        bands[i].rows += more;
        left -= more;
    }
    return left;
}

static bool not_cores(const struct band *b) { return b->first != BLOCK_CORES && below_wish(b); }
static bool any_chart(const struct band *b) { return b->chart; }

static void share_rows(const struct blocks_request *r, struct band *bands, int n)
{
    int left = r->rows;
    for (int rank = 1; rank <= RANKS; rank++) {
        for (int i = 0; i < n; i++) {
            if (bands[i].rank != rank || bands[i].least > left) continue;
            bands[i].rows = bands[i].least;
            left -= bands[i].least;
        }
        if (rank == RANK_OF_FIGURES && r->cols < BLOCKS_WIDE) left = grow_lanes(bands, n, left);
    }
    left = grow_lanes(bands, n, left);
    left = grow(bands, n, left, small_grows);
    left = grow(bands, n, left, chart_grows);
    left = grow_cores(bands, n, left);
    left = grow(bands, n, left, not_cores);
    grow(bands, n, left, any_chart);
}

void blocks_place(const struct blocks_request *r, struct rect place[BLOCKS])
{
    struct band bands[BLOCKS];
    int n = make_bands(r, bands), row = 0;
    for (int b = 0; b < BLOCKS; b++) place[b] = (struct rect){0};
    share_rows(r, bands, n);
    for (int i = 0; i < n; i++) {
        const struct band *band = &bands[i];
        if (!band->rows) continue;
        if (band->first == BLOCK_KEYS) row = r->rows - 1; /* it keeps the last row */
        int width = (r->cols - (band->n - 1) * BLOCKS_GAP) / band->n;
        for (int k = 0; k < band->n; k++)
            place[(int)band->first + k] = (struct rect){row, k * (width + BLOCKS_GAP), band->rows, width};
        row += band->rows;
    }
}
