/* Private to engine/vision: one encoding, as encoder.c and attention.c share it.
 *
 * A product is cut into groups of patches and some rows of weights: a group's columns stay in a core's cache while
 * weights pass. All members call every function here in the same order. */
#ifndef TANDEM_VISION_ENCODING_H
#define TANDEM_VISION_ENCODING_H

#include "engine/vision/encoder.h"

enum {
    GROUP_BYTES = 1100 << 10,     /* of a group's columns in bfloat16: of 2 MiB, the rest is for weights and outputs */
    GROUP_STEP = 48,              /* patches that the matrix unit takes together */
    GROUP_DEEP = 1280,            /* with more columns sums wait while some columns pass after the others: */
    GROUP_STRIP = 5 * GROUP_STEP, /* a core's cache holds these columns of a group of this size */
    ROWS = 256,  /* of an item of a product, or half of them: whole steps of a panel, and of MATRIX_TILE */
    SMALLER = 4, /* at most, by which an item's patches are divided where there are many members */
    EDGE = 48,   /* reading a patch's or row's columns costs as much as this number of products with them */
    QUERIES = 3 * GROUP_STEP, /* patches that a member attends with at once */
    HEADS_WIDE = 512,  /* columns of the heads that attend in one go: what lies between two products stays near */
    HEADS_MEMBERS = 8, /* members with whose number these columns grow: they have caches, and wait for each other */
};

/* Of one member; members share no cache line. */
struct encoding_scratch {
    float *row; /* a normalised row, or one that is joined, or a patch */
    float *raw; /* [FULL_KEYS][head_dim] keys, or values with a row for each dim, where no set rounds them */
    void *query_panel;
};

struct encoding {
    const struct vision_weights *w;
    struct picture picture;
    uint32_t columns, rows;           /* of patches */
    uint32_t patches, tokens, blocks; /* blocks of FULL_KEYS keys */
    uint32_t heads;                   /* that attend in one go: a divisor of all */
    uint32_t step;
    unsigned char *memory;
    int members;

    float *x;   /* [patches][ldx] the residual stream */
    float *qkv; /* [patches][ldq] of some heads; the queries' place becomes that of what attention yields */
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

/* Of `all`, those of a piece of at most `most`. */
static inline uint32_t piece_length(uint32_t all, uint32_t piece, uint32_t most)
{
    return all - piece * most < most ? all - piece * most : most;
}

/* The type that keys, queries and what is mixed of values are rounded to. */
static inline enum type attention_type(const struct kernels *k)
{
    return k->panel_of(TYPE_BF16) == PANEL_BF16 ? TYPE_BF16 : TYPE_F32;
}

/* Attention over all patches, of the heads whose queries, keys and values are in qkv. Ends with a barrier. */
void encoding_attend(struct encoding *e, struct member *m);

#endif
