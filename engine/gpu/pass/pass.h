/* Private to engine/gpu: the scratch of passes, and recording them. Regions name the memory that shaders read and
 * write; a barrier is recorded before a step that reads a region written since the last barrier, or writes one read or
 * written since. */
#ifndef TANDEM_GPU_PASS_H
#define TANDEM_GPU_PASS_H

#include "engine/gpu/model.h"
#include "engine/model/schema/rotary.h"

/* A row, a run and a tile of a pass in the form that shaders read (shaders/common.glsl). */
struct table_row {
    uint32_t run, position, token, index;
};
struct table_run {
    uint64_t recurrent, conv_in, conv_out, pages;
    uint32_t first_row, n, start, limit;
    uint64_t logits, topk;
};
struct table_tile {
    uint32_t run, first, tokens, unused;
};

enum region {
    REGION_X,
    REGION_IN,
    REGION_INNER,
    REGION_QKV,
    REGION_Z,
    REGION_A,
    REGION_B,
    REGION_CONVOLVED,
    REGION_GATES,
    REGION_DELTA,
    REGION_RECURRENT,
    REGION_CONV,
    REGION_Q_GATE,
    REGION_K,
    REGION_V,
    REGION_Q,
    REGION_PAGES,
    REGION_PARTIALS, /* of attention, and of the order of the logits */
    REGION_ATTENDED,
    REGION_GATE,
    REGION_UP,
    REGION_ROUTER,
    REGION_CHOSEN,
    REGION_EXPERT_GATE,
    REGION_EXPERT_UP,
    REGION_EXPERT_INNER,
    REGION_EXPERT_OUT,
    REGION_SHARED_OUT, /* and the output of other sublayers that is normalised before it is added */
    REGION_HEAD,
    REGION_LOGITS,
    REGION_READ,
    REGION_WAITING,
    REGIONS
};
#define REGION(name) (1u << REGION_##name)

enum {
    HEAD_ROWS = 32,       /* rows of logits computed at once */
    STAGED_TEAMS = 8,     /* most teams of 32 lanes in a workgroup that stages activations of several tokens */
    SPLIT_ROWS = 4,       /* passes of at most this many rows split attention by blocks */
    ATTEND_BLOCK = 128,   /* positions */
    OWN_BYTES = 20 << 10, /* of activations in shared memory */
    RECORD_BYTES = 176,   /* int8 activations of 128 columns */
    MAX_RECORDED = 48,
    WATCHED_QUERIES = 8192,
    SIZES = 16,
    KEPT_ROWS = SHORT_TOKENS,
};

/* Activations for products: floats [rows][128 chunks], records [rows][chunks]. */
struct forms {
    uint64_t floats, records;
};

/* The model's layers; the MTP head's layer, or only its keys and values; the replay of a verified run's accepted
 * tokens. */
enum pass_kind { PASS_LAYERS, PASS_DRAFT, PASS_ENTRIES, PASS_REPLAY };
/* Logits of the model; of the MTP head for the frequent tokens, or for all. */
enum logits_kind { LOGITS_LAYERS, LOGITS_DRAFTED, LOGITS_DRAFT };

/* The values that a pass's commands depend on; all others are in the tables. */
struct shape {
    uint32_t rows, runs, tiles, blocks; /* blocks: of positions, if attention is split; a power of two */
    uint32_t head_rows, head_first;     /* commands for logits: this many rows, from this place in the index */
    uint32_t fused;                     /* 1: one token in one dispatch (fused.h); else 0 */
    uint32_t kind, logits;              /* enum pass_kind; enum logits_kind */
    uint32_t burst;                     /* tokens of a reply, one dispatch each; 0: no burst */
    uint32_t topk;                      /* only the lists of the best logits go to the host */
    uint64_t kept;                      /* address for the inputs of the recurrent states; 0: not kept */
};

struct recorded {
    struct shape shape;
    VkCommandBuffer *commands; /* one for each layer if the pass is sliced, else one for all */
    uint32_t n;
    uint64_t used; /* time of the last use: the least recently used goes first */
};

/* A slice: layers that are submitted and not finished. Two at most, so that the device need not wait for the host
 * between them. */
enum { MAX_FLYING = 2 };
struct slice {
    VkFence fence;
    uint32_t layers;
    struct start start;
};
struct flight {
    struct slice slices[MAX_FLYING];
    uint32_t first, n;       /* the oldest one; how many */
    int64_t end;             /* when the last one was done */
    int64_t layer_ns[SIZES]; /* the time of a layer of a pass of up to 2^i tokens; 0: not known */
};

/* Addresses of activations. */
struct activations {
    uint64_t x, qkv, z, a, b, convolved, gates, delta, q_gate, k, v, q, partials, attended, gate, up, logits, hidden;
    uint64_t inputs; /* [row][layer][config.layer_input]: inputs of layers from the token */
    uint64_t added; /* output of sublayers that is normalised before it is added */
    uint64_t tops; /* the best of each block of logits, for the lists */
    struct forms in, inner, head;
};
struct expert_activations {
    uint64_t router, chosen, shares, gate, up, out, shared_out;
    uint64_t grouped; /* rows by their experts, and in batches (shaders/products/batches.glsl) */
    struct forms inner;
};
/* Of the MTP head: the input of fc; its last output; memory for unwanted rows. */
struct draft_activations {
    uint64_t joined, h, unwanted;
    struct forms join;
};

/* Offsets of the tables in their block. */
struct table_places {
    uint64_t rows, tiles, index, scales; /* scales: of queries, by their positions */
    uint64_t runs, pages;                /* for each kind of pages a table of the runs, and their pages */
    uint64_t told;                       /* rows of the table of inputs for layers, as floats */
    uint64_t angles[2];                  /* [1]: of layers with windows that have a base of their own */
    uint64_t stops; /* the number of ids that end a reply, then these */
    uint64_t h;     /* for each row the address of its h (engine/gpu/pass/head.c) */
    uint64_t pads;  /* [row][hidden] of pictures (engine/state/pads.h), if the model's positions have axes */
};

/* The memory of one pass besides states and weights, and its division into submissions. */
struct scratch {
    pthread_mutex_t busy; /* guards what follows, for one pass at a time; taken before the device's lock */
    VkCommandPool pool;   /* of what is recorded */
    VkFence fence;
    uint32_t tokens; /* of a pass, at most */
    bool sliced;     /* passes are submitted by layers, in slices of about a token's time */
    struct flight flight;
    struct block memory, table, read;
    struct activations at;
    struct expert_activations experts;
    struct draft_activations draft;
    struct table_places tables;
    uint64_t logits_at; /* in `memory` */
    struct {            /* in `read`, after the logits */
        uint64_t hidden, broken, sampled;
    } read_at;
    struct fused *fused;     /* NULL: none */
    uint32_t blocks;         /* of a state */
    float *angles[2];        /* as in the tables: [position][cosines, then sines], as far as needed */
    uint32_t angle_rows;
    void *raw_inputs; /* a row of the table, as stored */
    struct recorded recorded[MAX_RECORDED];
    uint32_t n_recorded;
    uint64_t uses;
};

enum act_mode {
    ACT_PLAIN,
    ACT_NORM,
    ACT_SILU,
    ACT_SIGMOID,
    ACT_GATED_NORM,
    ACT_GELU_GATED,
    ACT_GELU,
    ACT_LAYER_NORM,
    ACT_CLAMPED,
    ACT_MODES
};

/* A product's push constants. */
struct matmul {
    uint64_t weights, x, result, chosen;
    uint32_t tiles, chunks, rows, tokens, ldo, add, each;
    uint32_t columns, ldx, ldg, head; /* of a source of activations */
    float eps;
    uint64_t by, gate, index;
    float scale;
};

/* Pages, and blocks of positions, of a state that is full. */
static inline uint64_t pass_pages(const struct gpu_model_options *o)
{
    return (o->context + KV_PAGE - 1) / KV_PAGE;
}

/* The number of sets of angles: 2 if layers with windows have a base of their own. */
static inline uint32_t pass_angle_sets(const struct config *c)
{
    return c->rope.window_theta != 0 ? 2 : 1;
}

static inline uint32_t pass_angle_pairs(const struct config *c, uint32_t set)
{
    return set ? rotary_window_pairs(c) : c->rope.dims / 2;
}

/* The number of tables of runs: one for each kind of pages; 1 if there is none. */
static inline uint32_t pass_run_tables(const struct gpu_model *m)
{
    uint32_t kinds = m->shape.kinds + m->config.mtp.there;
    return kinds ? kinds : 1;
}

static inline uint32_t pass_blocks(uint32_t context)
{
    return (context + ATTEND_BLOCK - 1) / ATTEND_BLOCK;
}

struct recording;
/* Called after each recorded step: for measurements. */
typedef void step_watcher(void *ctx, struct recording *r, const char *name);

/* Commands being recorded. The first failure stays. */
struct recording {
    struct gpu_model *model;
    struct scratch *s;
    VkCommandBuffer commands;
    struct shape shape;
    struct fused *fused;     /* steps are added to it instead; NULL: commands are recorded */
    uint32_t written, read;  /* regions since the last barrier */
    step_watcher *watch;     /* NULL: none */
    char product[32];        /* the product that is recorded, for the watcher */
    void *watch_ctx;
    tdm_status status;
    tdm_error *err;
};

/* One dispatch. push: the shader's push constants. */
void record_step(struct recording *r, uint32_t reads, uint32_t writes, enum shader shader, const uint32_t *constants,
                 uint32_t n, const void *push, uint32_t push_bytes, uint32_t x, uint32_t y, uint32_t z);
void record_copy(struct recording *r, uint32_t reads, uint32_t writes, const struct block *from, uint64_t from_at,
                 const struct block *to, uint64_t to_at, uint64_t bytes);

/* The number of segments into which the columns of a matrix are divided: on one device it depends on the shape
 * alone. */
uint32_t record_segments(const struct gpu_tuning *t, uint32_t chunks);
/* The constants of matmul.comp for a product of `tokens` tokens at once whose activations are made already. */
enum { MATMUL_EXPERTS = 2, MATMUL_SOURCE = 4, MATMUL_OWN = 5, MATMUL_CONSTANTS = 8 };
void record_matmul(uint32_t constants[MATMUL_CONSTANTS], const struct gpu_tuning *t, enum weight_kind kind,
                   uint32_t tokens, uint32_t segments);
/* How the delta rule of a head is divided, by the model's shape alone: slab: columns of a workgroup; parts: of the
 * keys, each a multiple of 4. whole: for a fused pass, which does not divide a head of one chunk of activations. */
void record_delta(const struct gpu_model *m, bool whole, uint32_t *slab, uint32_t *parts);
/* Whether attention is split, and the tokens of its tiles. */
bool record_splits(const struct shape *shape);
uint32_t record_tile_tokens(const struct gpu_model *m, uint32_t rows);
/* record_layers: the commands of the layers [first, end) of a pass, with the embeddings before layer 0; hidden: with
 * copies of the residual stream of row `hidden_row`. record_head: those of logits. */
void record_layers(struct recording *r, uint32_t first, uint32_t end, bool hidden, uint32_t hidden_row);
void record_head(struct recording *r);
/* Stores the trunk's output of a pass for the MTP head, if there is one. */
void record_waiting(struct recording *r);

/* record_mtp: the MTP head's layer for some rows, or only its keys and values. record_replay: the recurrent states
 * after a verified run's accepted tokens. */
void record_mtp(struct recording *r, bool entries);
void record_replay(struct recording *r);

/* Lists the best logits in the runs' lists (topk.c). After a token of a fused pass the device continues with the best
 * one, and a list is made if `lists`; p NULL: the logits are in the scratch, and are copied to the state. */
struct topk {
    uint64_t runs, rows, index, from, tops, sampled, next, stops, stopped;
    uint32_t vocab, shift;
};
void record_topk(struct recording *r, const struct fused *p, bool lists);

/* The n-th token of a submission has its own rows, runs, angles, scales and h in the tables, n entries further on:
 * moves the offsets by n entries, which may be negative. scratch_several: the most tokens of a submission. */
void scratch_move_tables(struct scratch *s, const struct config *c, int n);
uint32_t scratch_several(const struct gpu_model *m, const struct scratch *s);

void recorded_free(struct recorded *r, struct scratch *s, struct gpu *g);

/* The data that a verified run leaves for gpu_accept. */
struct gpu_kept {
    struct gpu_model *model;
    struct block inputs; /* [linear layer][KEPT_ROWS][channels], then the same of a and b [value heads] */
    struct block after;  /* the recurrent states after all its tokens */
    VkCommandBuffer copy;
};
uint64_t pass_kept_bytes(const struct config *c, uint32_t linear_layers); /* of the inputs */

/* Makes entries of the MTP head if more than GPU_WAITING rows wait. (head.c) */
tdm_status head_catch_up(struct gpu_state *s, tdm_error *err);

/* ---- pass.c: all with the scratch's `busy`, and without the device's lock, since compiling may take long ---- */

/* Whether pictures may stand among its tokens: its positions have axes. */
bool pass_sees(const struct config *c);

/* The source of a pass's tables: tokens that a state has from `start` on, with pages of the layers' kinds, or of the
 * MTP head's. */
struct table_source {
    bool head;
    uint32_t start;
    const uint64_t *h; /* [rows] addresses; NULL: those of the state's waiting rows */
};
tdm_status pass_tables(struct gpu_model *m, struct scratch *s, const struct gpu_run *runs, uint32_t n_runs,
                       const struct table_source *source, struct shape *shape, tdm_error *err);
/* The commands for this shape, recorded earlier or now; those with `hidden` are not kept. */
tdm_status pass_commands(struct recorded **out, struct gpu_model *m, struct scratch *s, const struct shape *shape,
                         bool hidden, uint32_t hidden_row, tdm_error *err);
/* The address for the trunk's output of a position: among the state's waiting rows, if it has any. */
uint64_t pass_waiting_place(const struct scratch *s, const struct gpu_state *state, uint32_t position);
/* Notes the time of a token that ran alone. */
void pass_count_token(struct gpu_model *m, int64_t ns);
/* Submits and waits. tokens: how many it evaluates one after the other; 0: other work. *alone_ns: its time; 0 if it
 * waited for other submissions; may be NULL. */
tdm_status pass_run(struct gpu_model *m, struct scratch *s, const VkCommandBuffer *commands, uint32_t n,
                    uint32_t tokens, int64_t *alone_ns, tdm_error *err);

/* A pass of one run, recorded for one use with a watcher; the pool's WATCHED_QUERIES queries are reset first. */
tdm_status pass_watched(struct gpu_model *m, const struct gpu_run *run, step_watcher *watch, void *ctx,
                        VkQueryPool pool, tdm_error *err);

#endif
