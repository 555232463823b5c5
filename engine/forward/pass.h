/* Private to engine/forward: one forward pass, as forward.c, attention.c, delta.c and mixture.c share it.
 *
 * All members call every function here in the same order. Activations are rows of float32, one per token; the rows of
 * all runs follow each other. A function that ends with a barrier says so; between barriers members write disjoint rows
 * or columns. Nothing allocates.
 */
#ifndef TANDEM_FORWARD_PASS_H
#define TANDEM_FORWARD_PASS_H

#include "engine/forward/forward.h"
#include "engine/state/pads.h"

/* The panels of one activation, one for each kind that the matrices take. */
struct panels {
    struct panel kind[PANEL_KINDS];
};

/* The scratch of one member; members share no cache line. */
struct member_scratch {
    struct panels panels; /* of a single row, filled by each member for itself, which is cheaper than a barrier */
    struct panels shared; /* this member's view of the panels of several rows, filled by all members together */
    struct panels output; /* this member's view of panels that each member fills right after computing their columns
                             (pass_output_panel) */
    float *row;           /* [widest] one normalised row */
    float *head;          /* [tokens][2 key dim + value dim] queries, keys, values of one head after the convolution */
    float *decay, *beta;  /* [tokens] of one head */
    float *gate, *up;     /* [tokens][PANEL_STEP] of the feed-forward part, preceded by workspace.room unused floats */
    unsigned char *raw;   /* rows of an expert that is loaded (experts_scratch) */
    float *slab;          /* [key dim][DELTA_SLAB] copy for rows that do not change the state */
    /* attention: partial results of TILE_ROWS query rows */
    struct partial {
        float *max, *sum, *acc; /* [rows], [rows], [rows][head_dim] */
    } block, group, total;
    uint8_t *visible, *passed; /* [rows] */
};

enum {
    TILE_TOKENS = 8,  /* tokens of one work item of attention */
    SPLIT_TOKENS = 4, /* passes of at most this many tokens may split attention by groups of blocks */
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

/* Entries of the MTP head that are made together: [first, first + n) of a state, from rows h. The state has the tokens
 * up to number first + n. */
struct head_piece {
    const struct state *state;
    uint32_t first, n;
    uint32_t lag; /* of positions before the first (pads.h) */
    const float *h;
    size_t ld;
    bool raw; /* h has not gone through the final norm yet */
};

/* A member's best logit of a row. */
struct head_best {
    float logit;
    tdm_id id;
};

struct forward_kept {
    uint32_t room;  /* rows */
    float *qkv;     /* [linear layer][row][pass_stride(channels)] before the convolution */
    float *a, *b;   /* [linear layer][row][value heads] */
    float *outputs; /* [row][hidden] after the final norm; where there is an MTP head */
};

/* The angles of RoPE. */
struct angles {
    float *cosine[2], *sine[2]; /* [tokens][pairs]; [1]: of layers with windows that have a base of their own */
    double *of_windows;         /* [pairs] radians per position in these */
    double *frequency[2]; /* [rope.dims/2] radians per position; [1]: of states with room beyond the original context */
};

/* The MTP head (head.c). The first two share the memory of a layer's activations. */
struct head_space {
    float *concat; /* [tokens][pass_stride(2 hidden)] the input of fc */
    float *x;      /* [tokens][pass_stride(hidden)] the output of fc, if the workspace's x is still needed */
    float *h;      /* [runs][hidden] the head's output, the next h of a chain */
    struct head_piece *pieces; /* [2 runs] */
    struct forward_run *runs;  /* [runs] the rows of a step of drafting, one for each run that needs more drafts */
    uint32_t *first;           /* [runs] their entries */
    uint32_t *of;              /* [runs] the caller's run of each */
    struct head_best *best;    /* [members][runs] */
};

/* One layer's activations: each kind of layers has a space of its own, and these share the memory. */
struct delta_space {
    float *qkv, *z, *a, *b, *out;
    float *spare_conv; /* [run][taps-1][channels] copy for rows that do not change the state */
};

struct attention_space {
    float *q_gate; /* queries, with gates if there are any */
    float *k, *v;
    float *q;                /* [kv head][row][head of group][head_dim] */
    float *out;              /* what was attended to */
    struct partial partials; /* split attention: [SPLIT_TOKENS * heads * groups] rows */
};

struct workspace {
    const struct weights *weights;
    uint32_t max_tokens, max_runs, max_members, context;
    unsigned char *memory;
    size_t bytes;

    float *x;      /* [tokens][hidden] the residual stream */
    float *added;  /* [tokens][hidden] a sublayer's output, if it is normalised before it is added; else NULL */
    float *inputs; /* [tokens][pass_stride(layers * layer_input)] inputs of the layers; else NULL */
    unsigned char *raw_inputs; /* [tokens] rows of the table as stored */
    struct angles angles;
    struct member_scratch *members;

    struct delta_space delta;
    struct attention_space attention;
    float *projected; /* [tokens][pass_stride(layers * layer_input)] before the first layer; in their memory */

    struct mixture *mixture; /* mixture.h; NULL: the model has no experts */
    uint32_t room;           /* unused floats before the members' gate and up */

    struct tile *tiles;   /* [tokens] */
    uint32_t *run_row;    /* [runs] first row of each run */
    uint32_t *run_lag;    /* [runs] of positions before it (pads.h) */
    uint32_t *logit_rows; /* [tokens] rows whose logits are wanted */
    float **logit_out;    /* [tokens] where they are written */

    struct head_space head;
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
    uint32_t split_groups; /* of all tiles */
    uint32_t n_logit_rows;
    uint32_t n_pieces, piece_rows; /* entries of the MTP head that this pass makes */
    const uint32_t *head_first;    /* the runs' rows are the MTP head's, from these entries on; NULL: the trunk's */
    uint64_t expert_bytes; /* of the experts that were touched; member 0's */
    atomic_bool begun;     /* a layer has begun: states change from here on */
    atomic_bool cancelled; /* written by member 0 before a barrier, read by all after it; also set if it failed */
    atomic_bool failed;    /* some weights could not be read: `why` is the error of the first member that noticed */
    tdm_error why;
};

/* A product whose rows the members share: out[t][r] (= or +=) sum W[r][c] x[t][c]. */
struct product {
    const struct matrix *matrix;
    float *out; /* row 0 of the activations */
    size_t ldo;
    bool add;
    const float *bias; /* [rows], added after the sum; NULL: none */
};

/* out = norm(x), n elements. */
void pass_norm(const struct pass *p, float *out, const float *x, const struct norm *norm, uint32_t n);

/* Panels of `rows` rows x[index[i]] (index NULL: i), normalised with `norm` unless it is NULL, for the kinds that the
 * matrices take. Returns the panels to use. Ends with a barrier when rows > 1. */
const struct panels *pass_panels(struct pass *p, struct member *m, const float *x, size_t ldx, const uint32_t *index,
                                 uint32_t rows, const struct norm *norm, const struct matrix *const *matrices, int n);

/* Products with the same panels; their rows are shared among members. One phase, no barrier. */
void pass_products(struct pass *p, struct member *m, const struct panels *panels, const struct product *products,
                   int n);

/* x += a product of all rows, normalised if the norm has a multiplier; then x *= *scale, NULL: 1. Ends with a barrier
 * if it normalises or scales. */
void pass_add(struct pass *p, struct member *m, const struct panels *panels, const struct matrix *matrix,
              const float *bias, const struct norm *norm, const float *scale);

/* The panel of all rows for a matrix, to be filled by the members that compute its columns, right after computing them,
 * while they are in the member's cache: that needs no phase of its own and no barrier. pass_panels uses other
 * memory. */
struct panel *pass_output_panel(struct pass *p, struct member *m, const struct matrix *matrix);
static inline const struct panels *pass_output_panels(const struct pass *p, const struct member *m)
{
    return &p->ws->members[m->index].output;
}
/* Can a member that computes this many columns fill them? They must be whole steps of a panel. */
static inline bool pass_fills(uint32_t columns)
{
    return columns % PANEL_STEP == 0;
}

/* The inner products of a feed-forward network. */
struct inner {
    const struct matrix *gate, *up; /* gate without data: there is none; up NULL: `given` replaces its product */
    const float *given;             /* [token] rows in place of up's, given_ld floats apart */
    size_t given_ld;
    const struct panel *gate_panel, *up_panel;
    const float *gate_bias, *up_bias; /* NULL: none */
    uint32_t tokens;
};

/* One step of it, by one member while the values are in its cache: rows [r0, r1), at most PANEL_STEP, of gate and of up
 * for all tokens, then silu(gate) * up or gelu(up), written to these columns of the panel of down. */
void pass_gate_and_up(struct pass *p, struct member *m, const struct inner *inner, uint32_t r0, uint32_t r1,
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

/* The sublayers: x += attention(norm(x)), x += delta(norm(x)). `index` counts the layers of that kind; the MTP head's
 * follows those of attention. Both end with a barrier. */
void pass_attention(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index);
void pass_delta(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index);

/* The position of a run's first row. */
static inline uint32_t pass_first(const struct pass *p, uint32_t r)
{
    return p->head_first ? p->head_first[r] : p->runs[r].state->length;
}
/* Rows of a run that change its state; those after them (padding, tokens to be verified) work on copies. */
static inline uint32_t pass_lasting(const struct forward_run *run)
{
    return run->kept ? 0 : run->n;
}

/* The angles of RoPE of a row of a state, in double precision. */
void pass_angles(struct pass *p, const struct state *s, uint32_t row, struct pads_position position);
/* Normalises and rotates the key of a row and KV head, and stores it with the value. */
void pass_store(struct pass *p, const struct attention_weights *layer, uint32_t index, const struct state *s,
                uint32_t kv_head, uint32_t row, uint32_t position);
/* x += down(silu(gate(n)) * up(n)), or down(gelu(up(n))). Without the last barrier, which the caller adds. The output
 * of a dense network beside experts is stored in `added`. */
void pass_feed_forward(struct pass *p, struct member *m, const struct layer_weights *layer);

/* The inputs of the layers by each row's token: a row of the table plus a projection of the embedding (inputs.c).
 * pass_read_inputs reads a row; if it can't be read, the pass is `failed` and `cancelled` after the barrier of
 * pass_make_inputs. */
void pass_read_inputs(struct pass *p, uint32_t row, tdm_id token);
void pass_make_inputs(struct pass *p, struct member *m);
/* x += norm(out(gelu(gate(x)) * input)), then the layer's scale. Ends with a barrier. */
void pass_layer_input(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index);

/* Repeats the changes of the first rows[r] rows of verified runs to their states in the DeltaNet layers. One phase, no
 * barrier. */
void pass_replay(struct pass *p, struct member *m, const uint32_t *rows);

/* For a state that grew by n tokens, already in its list: does this pass make entries of the MTP head, so that only the
 * last row waits? Otherwise all rows wait. Entries of pads are made at once, while their embeddings are certainly
 * available. */
static inline bool pass_fills_head(const struct state *s, uint32_t n)
{
    uint32_t next = s->entries + 1;
    return s->length + n - s->entries > STATE_WAITING || pads_among(s->tokens + next, s->length + n - next);
}
/* Plans these entries; h: the rows of the new tokens. */
void pass_plan_head(struct pass *p, const struct state *s, uint32_t n, const float *h, size_t ld, bool raw);
/* Makes them. Ends with a barrier. */
void pass_fill_head(struct pass *p, struct member *m);

/* Divides the attention of the pass into tiles; by the driver, before the members start. */
void pass_plan_attention(struct pass *p, uint32_t members);

#endif
