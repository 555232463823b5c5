/* Where the blocks of the monitor's full form stand, at every size. */
#include "tests/check.h"

#include <stdio.h>

#include "ui/monitor/blocks.h"

enum { MAX_ROWS = 100, MAX_COLS = 300 };

/* The least rows with which a block is whole. */
static int least(enum block b, int cols)
{
    if (b >= BLOCK_PREFILL_SPEED && b <= BLOCK_SHARE) return 6;
    if (b == BLOCK_LEGEND && cols < BLOCKS_LEGEND_COLS) return 2;
    return b == BLOCK_INSPECT ? 2 : 1;
}

/* Nothing overlaps, leaves the area or is cut; returns the rows that something covers. */
static int check_places(const struct blocks_request *r, const struct rect place[BLOCKS])
{
    static char used[MAX_ROWS][MAX_COLS];
    memset(used, 0, sizeof used);
    int rows = 0;
    for (int b = 0; b < BLOCKS; b++) {
        const struct rect *p = &place[b];
        if (rect_empty(*p)) continue;
        bool inside = p->row >= 0 && p->col >= 0 && p->row + p->rows <= r->rows && p->col + p->cols <= r->cols;
        if (!inside || p->rows < least((enum block)b, r->cols)) {
            CHECK_FAIL("%dx%d: block %d at %d,%d has %dx%d", r->cols, r->rows, b, p->row, p->col, p->cols, p->rows);
            return 0;
        }
        for (int row = p->row; row < p->row + p->rows; row++)
            for (int col = p->col; col < p->col + p->cols; col++)
                if (used[row][col]++) {
                    CHECK_FAIL("%dx%d: block %d overlaps at %d,%d", r->cols, r->rows, b, row, col);
                    return 0;
                }
    }
    for (int row = 0; row < r->rows; row++) rows += memchr(used[row], 1, (size_t)r->cols) != NULL;
    return rows;
}

TEST(every_size)
{
    static const int cores[] = {0, 2, 12, 128}, turns[] = {0, 1, 9};
    /* Under a sanitizer the short form asks for two of the twelve requests at each size, for others at the next. */
    int step = check_slow() && !getenv("TANDEM_LONG") ? 6 : 1;
    for (int rows = 1; rows <= MAX_ROWS; rows++)
        for (int cols = 20; cols <= MAX_COLS; cols += cols < 100 ? 1 : 7)
            for (int k = (rows + cols) % step; k < 12; k += step) {
                struct rect place[BLOCKS];
                struct blocks_request r = {.rows = rows, .cols = cols, .cores = cores[k % 4], .turns = turns[k % 3],
                                           .gpus = k % 7 % 3, .lost = k % 7 == 2, .alone = k & 1,
                                           .inspect = k % 5 == 0, .legend = k & 2};
                blocks_place(&r, place);
                int covered = check_places(&r, place);
                /* With a chart the whole area is filled. */
                if (!rect_empty(place[BLOCK_DECODE_SPEED]) && covered != rows)
                    CHECK_FAIL("%dx%d: %d rows are covered", cols, rows, covered);
                CHECK(rows < 2 || place[BLOCK_PREFILL].rows == place[BLOCK_DECODE].rows);
                CHECK(place[BLOCK_CORES].rows <= 1 || place[BLOCK_CORES].rows > BLOCKS_CORE_ROWS || r.cores <= 12);
                if (rows >= 3) CHECK(!rect_empty(place[BLOCK_PREFILL]) && !rect_empty(place[BLOCK_DECODE]));
            }
}

TEST(spare_rows_go_to_charts_then_to_cores)
{
    struct rect place[BLOCKS];
    struct blocks_request r = {.cols = 200, .cores = 64, .turns = 4, .alone = true};
    int charts = 0, cores = 1;
    for (r.rows = 30; r.rows <= MAX_ROWS; r.rows++) {
        blocks_place(&r, place);
        int now = place[BLOCK_TTFT].rows, those = place[BLOCK_CORES].rows;
        if (those > cores) CHECK(now >= 13); /* charts have what they want before a core is shown by itself */
        /* At 40 one band of charts becomes two. */
        if (now < charts && now < 13 && r.rows != 40) CHECK_FAIL("%d rows: %d after %d", r.rows, now, charts);
        charts = now;
        cores = those;
    }
    CHECK_INT(17, cores); /* 64 in 4 columns, and a heading */
    CHECK(charts > 13);
}

TEST(the_smallest_shows_both_lanes)
{
    struct rect place[BLOCKS];
    struct blocks_request r = {.rows = 2, .cols = 20};
    blocks_place(&r, place);
    CHECK(!rect_empty(place[BLOCK_PREFILL]) && !rect_empty(place[BLOCK_DECODE]));
    r = (struct blocks_request){.rows = 5, .cols = 20, .alone = true, .turns = 1};
    blocks_place(&r, place);
    CHECK_INT(4, place[BLOCK_KEYS].row);
    CHECK(!rect_empty(place[BLOCK_TITLE]) && !rect_empty(place[BLOCK_TURNS]));
}

TEST(the_legend)
{
    struct blocks_request r = {.rows = 60, .cols = 200, .cores = 2, .turns = 2, .legend = true};
    struct rect place[BLOCKS];
    blocks_place(&r, place);
    CHECK_INT(1, place[BLOCK_LEGEND].rows);
    r.cols = 80; /* half of it would mislead */
    blocks_place(&r, place);
    CHECK_INT(2, place[BLOCK_LEGEND].rows);
    r.inspect = true;
    blocks_place(&r, place);
    CHECK(rect_empty(place[BLOCK_LEGEND]));
    r.inspect = r.legend = false;
    blocks_place(&r, place);
    CHECK(rect_empty(place[BLOCK_LEGEND]));
}

TEST(a_panel_is_hidden_by_its_digit)
{
    for (int panel = 1; panel <= 6; panel++) {
        struct rect place[BLOCKS];
        struct blocks_request r = {.rows = 60, .cols = 200, .cores = 2, .gpus = 1, .turns = 2, .alone = true,
                                   .legend = true, .hidden = 1u << (panel - 1)};
        blocks_place(&r, place);
        for (int b = 0; b < BLOCKS; b++)
            CHECK(rect_empty(place[b]) == (blocks_panel((enum block)b) == panel || b == BLOCK_INSPECT));
        check_places(&r, place);
        CHECK(blocks_panel_name(panel)[0]);
    }
}

TEST_MAIN(T(every_size), T(spare_rows_go_to_charts_then_to_cores), T(the_smallest_shows_both_lanes),
          T(the_legend), T(a_panel_is_hidden_by_its_digit))
