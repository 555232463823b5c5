/* Which blocks the monitor's full form shows, and where: a pure function of its size.
 *
 * A table gives each block a least and a wanted height and a rank. Blocks get their least height by rank while rows
 * last. With the remaining rows they grow in a fixed order: the lanes' figures, small blocks, charts, cores, turns, and
 * charts again with all that remains. Blocks of one group (charts; power and read ahead) are placed side by side if
 * there are enough columns. No block overlaps another or leaves the area, and none is lower than its least height.
 */
#ifndef TANDEM_UI_BLOCKS_H
#define TANDEM_UI_BLOCKS_H

#include <stdbool.h>

#include "ui/draw/rect.h"

/* In order from top to bottom. */
enum block {
    BLOCK_TITLE,
    BLOCK_SENTENCE,
    BLOCK_AXIS,    /* time of the lanes, and the marks of Enter */
    BLOCK_PREFILL, /* the lane; figures below it */
    BLOCK_DECODE,
    BLOCK_INSPECT, /* the spans under the cursor; only while there is one */
    BLOCK_LEGEND,  /* explains the letters of the lanes; only without a cursor, and until it is hidden */
    BLOCK_GPUS,  /* only if a unit is a GPU */
    BLOCK_CORES,
    BLOCK_PREFILL_SPEED, /* charts */
    BLOCK_DECODE_SPEED,
    BLOCK_TTFT,
    BLOCK_SHARE,
    BLOCK_CONTEXT,
    BLOCK_MEMORY,
    BLOCK_POWER,
    BLOCK_READ,  /* figures of reading ahead */
    BLOCK_TURNS,
    BLOCK_KEYS,  /* only `tandem monitor` has keys of its own */
    BLOCKS,
};

enum {
    BLOCKS_GAP = 3,        /* columns between blocks that stand side by side */
    BLOCKS_CORE_COLS = 40, /* of one core */
    BLOCKS_TURN_COLS = 62, /* of one turn */
    BLOCKS_CHART_COLS = 38,
    BLOCKS_LEGEND_COLS = 50, /* the least of the legend */
    BLOCKS_NARROW = 40,    /* below this, blocks show their shortest texts */
    BLOCKS_WIDE = 90,      /* from here on the units' speeds stand beside their lanes */
    BLOCKS_RATE_COLS = 18,
    BLOCKS_CORE_ROWS = 4,  /* fewer rows of cores are shown only if these are all */
};

struct blocks_request {
    int rows, cols;
    int cores, gpus, turns; /* how many there are to show */
    bool alone, inspect, legend;
    bool beside;       /* the conversation is shown too, with the sentence */
    bool lost;         /* the legend explains a GPU that was lost */
    bool remedy;       /* there is a line that says how to allow the sensor of power */
    unsigned hidden; /* bit n hides panel n + 1, see blocks_panel() */
};

/* Fills the place of every block; rows 0: it is not shown. Places are relative to the area's top left. */
void blocks_place(const struct blocks_request *request, struct rect place[BLOCKS]);

/* How many items of this width fit side by side; at least 1. */
int blocks_side_by_side(int cols, int least);

/* Columns before the lanes, for their names, and columns of the lanes themselves, in a form of this width. */
int blocks_lane_left(int cols);
int blocks_lane_cols(int cols);

/* The panel that a block belongs to, 1 to 6, which the digits of `tandem monitor` switch; 0: it is always shown. */
int blocks_panel(enum block block);
/* The name of a panel, for the page of keys. */
const char *blocks_panel_name(int panel);

#endif
