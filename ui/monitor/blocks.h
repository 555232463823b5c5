/* Which blocks the monitor's full form shows, and where: a pure function of its size.
 *
 * A table gives each block a least and a wanted height and a rank. Blocks get their least height by rank while rows
 * last. What is left lets them grow in a fixed order: the lanes' figures, small blocks, charts, cores, turns, and
 * charts again with all that remains. Blocks of one group (charts; power and read ahead) stand side by side where there
 * are columns for it. No block overlaps another or leaves the area, and none is lower than its least height.
 */
#ifndef TANDEM_UI_BLOCKS_H
#define TANDEM_UI_BLOCKS_H

#include <stdbool.h>

#include "ui/draw/rect.h"

/* In the order in which they stand below each other. */
enum block {
    BLOCK_TITLE,
    BLOCK_SENTENCE,
    BLOCK_AXIS,    /* time of the lanes, and the marks of Enter */
    BLOCK_PREFILL, /* the lane; figures below it */
    BLOCK_DECODE,
    BLOCK_INSPECT, /* what is under the cursor; only while there is one */
    BLOCK_LEGEND,  /* the letters of the lanes; only while there is no cursor, and until it is hidden */
    BLOCK_GPUS,  /* only where a unit is one */
    BLOCK_CORES,
    BLOCK_PREFILL_SPEED, /* charts */
    BLOCK_DECODE_SPEED,
    BLOCK_TTFT,
    BLOCK_SHARE,
    BLOCK_CONTEXT,
    BLOCK_MEMORY,
    BLOCK_POWER,
    BLOCK_READ,  /* what is read ahead */
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
    BLOCKS_NARROW = 40,    /* below this, blocks say the shortest */
    BLOCKS_WIDE = 90,      /* from here on the units' speeds stand beside their lanes */
    BLOCKS_RATE_COLS = 18,
    BLOCKS_CORE_ROWS = 4,  /* fewer rows of cores are shown only where that are all */
};

struct blocks_request {
    int rows, cols;
    int cores, gpus, turns; /* how many there are to show */
    bool alone, inspect, legend;
    bool beside;       /* the conversation, which has a place for the sentence */
    bool lost;         /* the legend explains a GPU that was lost */
    bool remedy;       /* there is a line that says how to allow the sensor of power */
    unsigned hidden; /* bit n hides panel n + 1, see block_panel() */
};

/* Fills the place of every block; rows 0: it is not shown. Places are relative to the area's top left. */
void blocks_place(const struct blocks_request *request, struct rect place[BLOCKS]);

/* How often a list of things this wide fits side by side; at least 1. */
int blocks_side_by_side(int cols, int least);

/* Columns before the lanes, for their names, and of the lanes themselves in a form that is this wide. */
int blocks_lane_left(int cols);
int blocks_lane_cols(int cols);

/* The panel that a block belongs to, 1 to 6, as the digits of `tandem monitor` switch them; 0: it is always there. */
int blocks_panel(enum block block);
/* The name of a panel, for the page of keys. */
const char *blocks_panel_name(int panel);

#endif
