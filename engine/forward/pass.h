/* Private to engine/forward: one forward pass, as forward.c, attention.c, delta.c and mixture.c share it.
 *
 * All members call every function here in the same order. Activations are rows of float32, one per token; the rows of
 * all runs follow each other. A function that ends with a barrier says so; between barriers members write disjoint rows
 * or columns. Nothing allocates.
 */
#ifndef TANDEM_FORWARD_PASS_H
#define TANDEM_FORWARD_PASS_H

#include "engine/forward/forward.h"

/* The panels of one activation, one for each kind that the matrices take. */
struct panels {
    struct panel kind[PANEL_KINDS];
};

/* The scratch of one member; members share no cache line. */
struct member_scratch {
    struct panels panels; /* of a single row, filled by each member for itself, which is cheaper than a barrier */
    struct panels shared; /* this member's view of the panels of several rows, filled by all members together */
    struct panels output; /* its view of those whose columns are filled by whoever computes them (pass_output_panel) */
    float *row;           /* [widest] one normalised row */
    float *head;          /* [tokens][2 key dim + value dim] queries, keys, values of one head after the convolution */
    float *decay, *beta;  /* [tokens] of one head */
    float *gate, *up;     /* [tokens][PANEL_STEP] of the feed-forward part, preceded by workspace.room unused floats */
    unsigned char *raw;   /* rows of an expert that is loaded (experts_scratch) */
    float *slab;          /* [key dim][DELTA_SLAB] copy for padded rows */
    /* attention: partial results of TILE_ROWS query rows */
    struct partial {
        float *max, *sum, *acc; /* [rows], [rows], [rows][head_dim] */
    } block, group, total;
    uint8_t *visible; /* [rows] */
};

enum {
    TILE_TOKENS = 8,  /* tokens of one work item of attention */
    SPLIT_TOKENS = 4, /* passes of at most so many tokens may split attention by groups of blocks */
};

/* Floats from a token's row of activations to the next token's: an odd number of cache lines, since rows a power of two
 * apart would all map to a few sets of the caches. */
static inline size_t pass_stride(size_t n)
{
    return 16 * ((n + 15) / 16 | 1);
}

/* Tokens of one run in one work item of attention. */
struct tile {
    uint32_t run, row, tokens; /* row: of the first */
    uint32_t groups;           /* groups of blocks that the last token sees */
    uint32_t first_slot;       /* split: of its partial results, in rows */
};

struct workspace {
    const struct weights *weights;
    uint32_t max_tokens, max_runs, max_members, context;
    unsigned char *memory;
    size_t bytes;

    float *x;             /* [tokens][hidden] the residual stream */
    float *cosine, *sine; /* [tokens][rope_dims/2] */
    struct member_scratch *members;

    /* One layer's activations; the kinds of layers share the memory. */
    float *qkv, *z, *a, *b, *delta;       /* DeltaNet */
    float *pad_conv;                      /* [taps-1][channels] copy for padded rows */
    float *q_gate, *k, *v, *q, *attended; /* attention: q: [kv head][row][head of group][head_dim] */

    struct mixture *mixture; /* mixture.h; NULL: the model has no experts */
    uint32_t room;           /* unused floats before the members' gate and up */

    struct tile *tiles;      /* [tokens] */
    struct partial partials; /* split attention: [SPLIT_TOKENS * heads * groups] rows */
    uint32_t *run_row;       /* [runs] first row of each run */
    uint32_t *logit_rows;    /* [runs] rows whose logits go to their state */
    float **logit_out;       /* [runs] and where */
    double *frequency;       /* [rope_dims/2] of RoPE, in radians per position */
};

/* The pass that all members run. */
struct pass {
    const struct weights *w;
    const struct kernels *kernels;
    struct workspace *ws;
    const struct forward_run *runs;
    uint32_t n_runs;
    uint32_t rows; /* tokens of all runs, padding included */
    const struct forward_options *options;
    uint32_t n_tiles;
    bool split; /* work items of attention are (tile, KV head, group) and not (tile, KV head) */
    uint32_t split_items;
    uint32_t n_logit_rows;
    uint64_t expert_bytes; /* of the experts that were touched; member 0's */
    atomic_bool begun;     /* a layer has begun: states change from here on */
    atomic_bool cancelled; /* written by member 0 before a barrier, read by all after it */
};

/* A product whose rows the members share: out[t][r] (= or +=) sum W[r][c] x[t][c]. */
struct product {
    const struct matrix *matrix;
    float *out; /* row 0 of the activations */
    size_t ldo;
    bool add;
};

/* Panels of `rows` rows x[index[i]] (index NULL: i), RMS-normalised with `multiplier` unless it is NULL, for the
 * kinds that the matrices take. Returns the panels to use. Ends with a barrier when rows > 1. */
const struct panels *pass_panels(struct pass *p, struct member *m, const float *x, size_t ldx, const uint32_t *index,
                                 uint32_t rows, const float *multiplier, const struct matrix *const *matrices, int n);

/* Products with the same panels; their rows are shared among members. One phase, no barrier. */
void pass_products(struct pass *p, struct member *m, const struct panels *panels, const struct product *products,
                   int n);

/* The panel of all rows for a matrix, to be filled by the members that compute its columns, each right after computing
 * them, while they are in its cache: that needs no phase of its own and no barrier. Its memory is not that of
 * pass_panels. */
struct panel *pass_output_panel(struct pass *p, struct member *m, const struct matrix *matrix);
static inline const struct panels *pass_output_panels(const struct pass *p, const struct member *m)
{
    return &p->ws->members[m->index].output;
}
/* Whether who computes this many columns can fill them: they are whole steps of a panel. */
static inline bool pass_fills(uint32_t columns)
{
    return columns % PANEL_STEP == 0;
}

/* One step of a feed-forward network, by one member while the values are in its cache: rows [r0, r1), at most
 * PANEL_STEP, of gate and of up for all tokens, silu(gate) * up, and these columns of the panel of down. */
void pass_gate_and_up(struct pass *p, struct member *m, const struct matrix *gate, const struct panel *gate_panel,
                      const struct matrix *up, const struct panel *up_panel, uint32_t tokens, uint32_t r0, uint32_t r1,
                      struct panel *down);

/* panel_bytes, a multiple of 64. */
static inline size_t pass_panel_bytes(const struct kernels *k, enum panel_kind kind, uint32_t tokens, uint32_t cols)
{
    return (k->panel_bytes(kind, tokens, cols) + 63) & ~(size_t)63;
}

/* The panel of a matrix. */
static inline const struct panel *pass_panel(const struct pass *p, const struct panels *panels, const struct matrix *m)
{
    return &panels->kind[p->kernels->panel_of(m->type)];
}

/* The number of MATRIX_TILE rows of a matrix, and how many of these tiles a member should take at once. */
uint32_t pass_matrix_tiles(const struct matrix *m);
uint32_t pass_chunk(const struct member *m, uint32_t tiles);

/* The sublayers: x += attention(norm(x)), x += delta(norm(x)). `index` counts the layers of that kind. Both end with a
 * barrier. */
void pass_attention(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index);
void pass_delta(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index);

/* Divides the attention of the pass into tiles; by the driver, before the members start. */
void pass_plan_attention(struct pass *p, uint32_t members);

#endif
