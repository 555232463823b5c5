/* Private to engine/vision: one encoding, as encoder.c and attention.c share it.
 *
 * A product is tiled into groups of patches times some rows of weights: a group's columns stay in a core's cache while
 * the weights stream through. All members call every function here in the same order. */
#ifndef TANDEM_VISION_ENCODING_H
#define TANDEM_VISION_ENCODING_H

#include "engine/vision/encoder.h"

enum {
    GROUP_BYTES = 1100 << 10,     /* of a group's columns in bfloat16; the rest of a 2 MiB cache is for weights and
                                     outputs */
    GROUP_STEP = 48,              /* patches that the matrix unit takes together */
    GROUP_DEEP = 1280,            /* with more columns than this a product runs strip by strip, and keeps partial
                                     sums: */
    GROUP_STRIP = 5 * GROUP_STEP, /* a core's cache holds these columns of a group of this size */
    ROWS = 256,  /* the most rows of an item of a product, which are halved down to PANEL_STEP */
    SMALLER = 4, /* at most, by which an item's patches are divided where there are many members */
    EDGE = 48,   /* reading a patch's or row's columns costs as much as this number of products with them */
    QUERIES = 3 * GROUP_STEP, /* patches that a member attends with at once */
    HEADS_WIDE = 512,  /* columns of the heads that attend at once, so that intermediate values stay in the cache */
    HEADS_MEMBERS = 8, /* HEADS_WIDE grows by a factor of 1 + members / this, since more members have more cache and
                          wait longer */
};

/* Of one member; members share no cache line. */
struct encoding_scratch {
    float *row; /* a normalised row, a joined row, or a patch */
    float *raw; /* [FULL_KEYS][head_dim] keys, or values with a row for each dim, before they are rounded */
    void *query_panel;
};

struct encoding {
    const struct vision_weights *w;
    struct picture picture;
    uint32_t columns, rows;           /* of patches */
    uint32_t patches, tokens, blocks; /* blocks of FULL_KEYS keys */
    uint32_t heads;                   /* heads that attend at once: a divisor of all */
    uint32_t step;
    unsigned char *memory;
    size_t bytes; /* of it */
    int members;

    float *x;   /* [patches][ldx] the residual stream */
    float *qkv; /* [patches][ldq] of those heads; attention's output replaces the queries */
    float *out; /* [tokens][shape.out] */
    size_t ldx, ldq;
    float *cosine, *sine;             /* [patches][head_dim / 2] */
    struct panel narrow;              /* of width, or of a patch's values; of the joined patches of tokens */
    struct panel wide;                /* of the feed-forward part; of the merger's */
    struct panel attended;            /* of all heads */
    struct matrix *keys;              /* [heads] [patches][head_dim] */
    struct matrix *values;            /* [heads][blocks] [head_dim][FULL_KEYS] */
    struct encoding_scratch *scratch; /* [members] */
};

/* A step that all members run. */
struct encoding_work {
    struct encoding *e;
    const struct vision_block *block;
};

/* The length of piece number `piece` when `all` is cut into pieces of at most `most`. */
static inline uint32_t piece_length(uint32_t all, uint32_t piece, uint32_t most)
{
    return all - piece * most < most ? all - piece * most : most;
}

/* The type to which queries, keys, and the weights and values of attention are rounded. */
static inline enum type attention_type(const struct kernels *k)
{
    return k->panel_of(TYPE_BF16) == PANEL_BF16 ? TYPE_BF16 : TYPE_F32;
}

/* Attention over all patches, of the heads whose queries, keys and values are in qkv. Ends with a barrier. */
void encoding_attend(struct encoding *e, struct member *m);

#endif
