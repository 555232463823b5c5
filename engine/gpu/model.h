/* Private to engine/gpu: a model on a device, its states' memory, and the scratch of passes. After loading it does not
 * change, except the scratches (each guarded by its own `busy`) and the free pages and buffers and pages' references,
 * which the device's lock guards. The caller of a state's functions guards the state. */
#ifndef TANDEM_GPU_MODEL_H
#define TANDEM_GPU_MODEL_H

#include "engine/gpu/device/device.h"
#include "engine/gpu/pass/pack.h"
#include "engine/state/shape.h"

/* A matrix in pieces, each in one block of memory (an arena): whole tiles, as many as fit a slice. Matrices of experts
 * have a piece for each expert. */
struct gpu_matrix {
    enum type type;
    enum weight_kind kind;
    uint32_t rows, cols, chunks; /* rows: of an expert */
    uint32_t pieces, piece_tiles, tiles;
    struct piece {
        uint32_t arena;
        uint64_t at, address;
    } * piece;
    uint64_t table; /* address of the pieces' addresses */
};

struct gpu_layer {
    struct gpu_matrix matrix[ROLE_COUNT]; /* pieces 0: it has none of this role */
    uint64_t vector[ROLE_COUNT];          /* addresses of floats; 0: none */
};

/* Rows of the LM head that drafts come from: the first ones, which hold the most frequent tokens. */
enum { DRAFTED_ROWS = 65536 };

/* A page of keys and values. */
struct gpu_page {
    _Atomic uint32_t references;
    const struct block *block;
    uint64_t at, address;
    struct gpu_page *next; /* free ones */
};

/* Memory for several pages, allocated together. */
struct slab {
    struct block block;
    struct slab *next;
    struct gpu_page pages[];
};

/* The rest of a state: recurrent states, then the convolution's before and after a pass, rows that wait, logits.
 * `logits`, in the host's memory, has a copy of the last token's logits, and the lists of the best of them (topk.c). */
struct buffer {
    struct block block, logits;
    bool away;           /* the last token's logits are in `block` only */
    bool listed;         /* the best of them are in the lists */
    struct buffer *next; /* free ones */
};

/* Lists of the best logits, which follow the logits in `logits` (shaders/topk.comp). */
enum { TOPK_BLOCKS = 128, TOPK_ROOM = 31, TOPK_BYTES = TOPK_BLOCKS * (1 + TOPK_ROOM) * 8 };

/* Pages of each kind of the model's shape, then those of the MTP head; first, entries and headless are as in
 * engine/state/state.h. The rows that wait for the head are in the buffer, the one of position p at p %
 * model_waiting_rows. */
struct gpu_state {
    struct gpu_model *model;
    uint32_t length, entries;
    bool logits_valid, broken, headless;
    tdm_id *tokens;
    struct gpu_page **pages[STATE_PAGES];
    uint32_t first[STATE_PAGES];
    float *logits; /* of the buffer */
    struct buffer *buffer;
    uint32_t conv; /* which of the two convolution states is the present one */
};

struct scratch; /* pass.h */

/* Which passes use a scratch: those of at most SHORT_TOKENS tokens a run, such as a reply's, or longer ones. */
enum scratch_use { SCRATCH_LONG, SCRATCH_SHORT, SCRATCHES };
enum { SHORT_TOKENS = 8 };

/* The inputs of layers from the token, if they have any. */
struct gpu_inputs {
    struct gpu_matrix projection;
    const struct source *source; /* of the table, whose rows are read */
    uint64_t norm;               /* address */
};

/* The MTP head, if config.mtp.there; its layer is the last of the model's. */
struct gpu_mtp {
    const struct gpu_matrix *embed, *lm_head;
    struct gpu_matrix drafted; /* a view of the first rows of lm_head, from which drafts come */
    uint64_t norm;             /* address; before lm_head */
};

/* The memory of states. */
struct state_store {
    struct page_store {
        struct slab *slabs;
        struct gpu_page *free;
    } pages[STATE_PAGES];
    struct buffer *free_buffers;
    _Atomic uint64_t used; /* bytes of pages and buffers, including free ones */
    uint32_t promised;     /* reserved states whose memory is not taken yet */
};

struct gpu_model {
    struct gpu *gpu;
    struct config config;
    struct gpu_model_options options;
    struct gpu_matrix embed, own_head;
    const struct gpu_matrix *head;                   /* embed or own_head */
    uint64_t final_norm, final_norm_bias, positions; /* addresses; 0: none, except final_norm */
    struct gpu_layer *layers;
    struct gpu_inputs inputs;
    struct gpu_mtp mtp;
    struct block *arenas, vectors, tables;
    uint32_t n_arenas;
    struct state_shape shape;
    double *frequency[2]; /* of each pair; [1]: of windows with a base of their own */
    struct state_store states;
    struct scratch *scratch[SCRATCHES];
    struct gpu_tower *tower;  /* NULL: it has none */
    _Atomic int64_t token_ns; /* the time of a pass of one token; 0: not known */
};

/* Bytes of the keys of one head in a page of a kind; their values take as many. */
uint64_t model_kv_bytes(const struct gpu_model *m, uint32_t kind);
/* Where the buffer of a state has its convolution states. */
uint64_t model_conv_at(const struct gpu_model *m, uint32_t which);

/* Offset in the buffer of the rows that wait for the MTP head; model_waiting_rows: how many fit; state_waiting_row: the
 * address of a position's row. */
uint64_t model_waiting_at(const struct gpu_model *m);
/* Offset in the buffer of the logits of the last token; model_topk_at: offset of the lists in the host's memory. */
uint64_t model_logits_at(const struct gpu_model *m);
/* Bytes of the device's memory for a state without its pages. */
uint64_t model_state_bytes(const struct gpu_model *m);
uint64_t model_topk_at(const struct gpu_model *m);
uint32_t model_waiting_rows(const struct gpu_model *m);
uint64_t state_waiting_row(const struct gpu_state *s, uint32_t position);
uint64_t model_page_bytes(const struct gpu_model *m, uint32_t kind);

/* Takes pages, the head's too, for n more tokens, and gives those back that no window will see again. */
tdm_status state_make_pages(struct gpu_state *s, uint32_t n, tdm_error *err);
/* Gives pages of a kind back: those from `from` on, those before `first`. */
void state_drop_pages(struct gpu_state *s, uint32_t kind, uint32_t from);
void state_give_back(struct gpu_state *s, uint32_t kind, uint32_t first);
/* Frees the memory that states gave back. */
void model_free_states(struct gpu_model *m);

/* Copies logits that are on the device alone to the host. (topk.c) */
tdm_status state_fetch_logits(const struct gpu_state *s, tdm_error *err);

/* The scratch of passes (scratch.c): scratch_new allocates it, scratch_finish makes the parts that need loaded
 * weights. */
tdm_status scratch_new(struct gpu_model *m, tdm_error *err);
tdm_status scratch_finish(struct gpu_model *m, tdm_error *err);
void scratch_free(struct gpu_model *m);
uint64_t scratch_bytes(const struct config *c, const struct gpu_model_options *options);

/* Reports how far loading is; TDM_E_CANCELLED: the caller of the load cancels it. */
tdm_status model_progress(const struct gpu_model *m, tdm_step step, uint64_t done, uint64_t total, tdm_error *err);

#endif
