/* The arithmetic of the forward pass on a GPU, through Vulkan: devices, a model's weights in device memory, states
 * there, passes over lists of runs. README.md describes layouts, barriers and the limits of each shader.
 *
 * libvulkan is looked for when a device is listed or opened; a machine without it has no devices, which is no error. A
 * program built without glslc or Vulkan's headers has none either, and says so (gpu_absence). In this folder a dispatch
 * is Vulkan's, the start of one shader, not a forward pass of the prefill unit.
 *
 * Exactness: on one device and driver, states and logits have the same bits whatever the split of a text into passes,
 * the runs of a pass, forks and copies, and other work in between. Another device, or the cores, may have other bits.
 *
 * The host keeps tokens, page tables and the logits of a state's last token. Device memory (the host's when the
 * device's is full) has weights, pages of keys and values, recurrent and convolution states.
 *
 * Errors: TDM_E_NOMEM no memory on device and host; TDM_E_IO the device was lost or the driver failed, after which
 * every call on it but the freeing ones returns TDM_E_IO with the same line. States can only be freed then.
 *
 * Threads: any thread. Passes of several threads share the device's one queue: a long pass is submitted in slices of
 * about the time of a pass of one token, and a short pass (at most 8 tokens a run) waits for one of them at most; long
 * passes of one model wait for each other, and so do short ones. Any number of models may be loaded, measured, tested
 * and freed meanwhile: every other call waits for one of their submissions at most (16 MB of weights, one product), and
 * for no compiler but its own. One thread at a time per state. A device is closed last, when no call on it runs; a
 * model after its states.
 */
#ifndef TANDEM_GPU_GPU_H
#define TANDEM_GPU_GPU_H

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/kernel/kernel.h"
#include "engine/model/source.h"
#include "engine/state/shape.h"

/* ---- Devices ------------------------------------------------------------------------------------------------- */

enum gpu_kind { GPU_DISCRETE, GPU_INTEGRATED, GPU_VIRTUAL, GPU_SOFTWARE /* runs on the cores */ };

struct gpu_info {
    char name[128], driver[128]; /* as the driver says, without control characters; driver: name and version */
    char pci[16];                /* its PCI address, "0000:41:00.0"; "": unknown, or it has none */
    enum gpu_kind kind;
    uint64_t memory; /* bytes of device memory */
    uint32_t vendor, device;
    bool copies_apart; /* it has a queue for copies alone, which ports use; known once it is opened */
};

/* Why there is no device: one line. NULL: there may be some. */
const char *gpu_absence(void);

/* The devices that can be opened, discrete ones first, software ones last; returns how many there are, of which `room`
 * are filled in. */
int gpu_list(struct gpu_info *out, int room);

/* A hash of the shaders in this program. */
uint64_t gpu_shaders_hash(void);

struct gpu;

/* How work is divided into workgroups. Bits may depend on it, so it is the same for all use of one device; the defaults
 * fit the kind of device. */
struct gpu_tuning {
    uint32_t tokens;      /* most tokens that a workgroup multiplies at once: a power of two */
    uint32_t segments;    /* most segments of a matrix's columns: 1, 2, 4 or 8 */
    uint32_t attend_rows; /* heads times tokens of a workgroup of attention: 1 to 16 */
    uint32_t lanes;       /* for a row of activations: a power of two from 32 on */
    uint32_t delta_lanes; /* for a head of the delta rule, at most */
    uint32_t groups;      /* most workgroups for the rows of a matrix; of a larger one each takes more rows */
    uint32_t own_groups;  /* the same if each workgroup makes a token's activations for itself */
    uint32_t subgroup;    /* lanes that exchange values without shared memory, at most: a power of two; 0, 1: none */
    uint32_t own_columns; /* of activations that each workgroup makes in a pass of one token in one dispatch, at most */
    uint32_t fused_workgroups; /* of a pass of one token in one dispatch (fused.h), at most; 0: none such */
    /* Products of gemm_tokens tokens and more use shaders of their own (0: never), with matrix units for quants if the
     * device has them, and larger tiles for float types. Tilings are measured; without a measurement a workgroup has at
     * most gemm_parts times N tokens, gemm_groups times M rows, M and N being the units' (16 each for float types).
     * gemm_always: all are tiled by that rule. Bits don't depend on it. */
    uint32_t gemm_tokens, gemm_parts, gemm_groups;
    bool gemm_always;
    /* A driver wakes a waiting thread some tens of microseconds after the device is done. So from this many
     * microseconds before a token's expected end on, the thread polls instead. 0: it never polls. */
    uint32_t poll_us;
};

struct gpu_options {
    uint64_t slice; /* bytes, the largest piece of a matrix; 0: as large as the device allows, up to 1 GiB */
    bool validate;  /* load the validation layer with synchronisation checks; its lines are counted (tests) */
    const struct gpu_tuning *tuning; /* for measurements; NULL: by the kind of device */
    bool no_gemm;    /* for measurements: products of many tokens use the shader for few tokens */
    bool statistics; /* likewise: the driver keeps statistics of compiled shaders (measure.h) */
};

/* `gpu` is the first of the list, `gpu:N` the one at place N. options may be NULL. TDM_E_ARG: another name;
 * TDM_E_NOT_FOUND: no such device, and the line says what is missing. */
tdm_status gpu_open(struct gpu **out, const char *name, const struct gpu_options *options, tdm_error *err);
void gpu_close(struct gpu *g); /* NULL is allowed */
/* One line about its matrix units and whether products use them, valid as long as the device. Products use them if the
 * bits are exactly those without them, and the time is shorter; this is tried here, and when a model is loaded. */
const char *gpu_matrix_units(struct gpu *g);
void gpu_about(struct gpu *g, struct gpu_info *out);
/* The tilings of products of many tokens, for the shapes that were completely measured while models were loaded: a line
 * of text for each, as many as fit; returns the length. GPU_CHOICES_BYTES is room for all. */
enum { GPU_CHOICES_BYTES = 32768 };
size_t gpu_choices(struct gpu *g, char *out, size_t room);
/* Takes the tilings of a text of gpu_choices: their shapes are not measured again. Lines of another form are
 * ignored. */
void gpu_take_choices(struct gpu *g, const char *text);
uint64_t gpu_used(struct gpu *g); /* bytes of the device's memory that were allocated through g */
bool gpu_is_lost(struct gpu *g);
uint32_t gpu_validation_messages(struct gpu *g); /* the number of lines of the validation layer; the first line, NULL:
                                                    none */
const char *gpu_first_validation_message(struct gpu *g);

/* ---- Weights ------------------------------------------------------------------------------------------------- */

struct gpu_model;
struct tower; /* engine/vision/tower.h */

struct gpu_model_options {
    enum type lm_head; /* of the LM head (and, if tied, the embeddings); TYPE_COUNT: as stored */
    enum kv_type kv;
    uint32_t context;      /* tokens that a state takes at most */
    uint32_t tokens, runs; /* of one pass at most */
    uint32_t states;       /* number of states, without pages, for which memory is reserved */
    const struct tower *tower; /* a vision tower, whose weights go there too (vision/vision.h); NULL: none */
    tdm_progress progress; /* may be NULL; called on the thread that loads, while it holds no lock */
    void *progress_ctx;
};

/* Bytes of device memory for the weights and the scratch of passes; and for each state, and each page of it. */
struct gpu_needs {
    uint64_t weights, scratch, state, page[STATE_PAGES]; /* page: of each kind, the MTP head's after those of layers */
};
void gpu_model_needs(const struct source *source, const struct gpu_model_options *options, struct gpu_needs *out);

/* Copies the weights to the device. The source may be closed afterwards, unless the model has a table of inputs for
 * layers, from which passes read rows. Before anything is copied: TDM_E_UNSUPPORTED: the shaders don't take a dimension
 * of the model; TDM_E_NOMEM: not enough memory. TDM_E_CANCELLED: by progress, at its next call. If models that are
 * loaded at the same time don't fit together, the first ones to allocate their memory are loaded. */
tdm_status gpu_model_new(struct gpu_model **out, struct gpu *g, const struct source *source,
                         const struct gpu_model_options *options, tdm_error *err);
/* Compiles the shaders for passes of all sizes, so that no turn waits for it. gpu_model_new does so, except on software
 * devices, where it takes longer than it saves. */
tdm_status gpu_model_prepare(struct gpu_model *m, tdm_error *err);
void gpu_model_free(struct gpu_model *m); /* NULL is allowed */
const struct config *gpu_model_config(const struct gpu_model *m);
/* Bytes of device memory that its states use, or used before: such memory is kept for other states. */
uint64_t gpu_model_states_used(const struct gpu_model *m);
/* The workgroups of a fused pass of one token; 0: passes are dispatched step by step. */
uint32_t gpu_model_fused_workgroups(const struct gpu_model *m);
/* For comparison with other implementations: RoPE's angles for a position are position * frequency[i], i below
 * rope.dims / 2; 64-bit floats that may be changed before the first pass. */
double *gpu_model_frequencies(struct gpu_model *m);

/* ---- States -------------------------------------------------------------------------------------------------- */

struct gpu_state;

/* An empty state. */
tdm_status gpu_state_new(struct gpu_state **out, struct gpu_model *m, tdm_error *err);
void gpu_state_free(struct gpu_state *s); /* NULL is allowed */
void gpu_state_clear(struct gpu_state *s);
/* A new state equal to s: full pages shared, the rest copied. */
tdm_status gpu_state_fork(struct gpu_state **out, const struct gpu_state *s, tdm_error *err);
/* Makes dst equal to src, of the same model. On failure dst is broken (it may be cleared, copied over, freed). */
tdm_status gpu_state_copy(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err);

/* Cuts s to fewer tokens, if that is possible (state_can_cut of engine/state/state.h). On failure it is unchanged, or
 * broken if the device is lost. */
tdm_status gpu_state_cut(struct gpu_state *s, uint32_t length, tdm_error *err);

/* Prepares dst for gpu_state_prepare: it shares the first full pages of src, and is broken. The caller copies the
 * tokens. */
void gpu_state_share(struct gpu_state *dst, const struct gpu_state *src, uint32_t pages);

const struct gpu_model *gpu_state_model(const struct gpu_state *s);
/* Takes pages for n more tokens (TDM_E_CONTEXT beyond the context, TDM_E_NOMEM). */
tdm_status gpu_state_make_room(struct gpu_state *s, uint32_t n, tdm_error *err);
/* As state_shared_pages of engine/state/state.h. */
uint32_t gpu_state_shared_pages(const struct gpu_state *a, const struct gpu_state *b);

uint32_t gpu_state_length(const struct gpu_state *s); /* tokens */
const uint32_t *gpu_state_first(const struct gpu_state *s); /* [STATE_PAGES] the first page of each kind that it has */
bool gpu_state_broken(const struct gpu_state *s);     /* after a pass that failed midway */
bool gpu_state_headless(const struct gpu_state *s);   /* it has nothing for an MTP head, */
uint32_t gpu_state_entries(const struct gpu_state *s); /* or this many entries */
const tdm_id *gpu_state_tokens(const struct gpu_state *s);
bool gpu_state_has_logits(const struct gpu_state *s); /* of the last token; false: not computed */
/* The logits [vocab] in host memory, valid until the state changes. NULL: not computed, or still on the device after a
 * pass with GPU_LOGITS_TOPK; gpu_state_fetch_logits copies them to the host. */
const float *gpu_state_logits(const struct gpu_state *s);
tdm_status gpu_state_fetch_logits(const struct gpu_state *s, const float **out, tdm_error *err);

/* The best logits and their ids, in any order, each once: all finite ones of at least `from`, which are GPU_TOPK_LEAST
 * or more, or all finite ones (from: -INFINITY). Returns their number; 0: unknown, as after another kind of pass, or
 * none is finite. */
struct gpu_candidate {
    float logit;
    tdm_id id;
};
enum { GPU_TOPK_LEAST = 96, GPU_TOPK_MAX = 128 * 31 };
uint32_t gpu_state_topk(const struct gpu_state *s, struct gpu_candidate out[GPU_TOPK_MAX], float *from);

/* ---- Parts of states, to and from the host ------------------------------------------------------------------- */

enum { GPU_WAITING = 32 };

/* The parts of a state, in a plain order. Value heads are in the order of the model's file, as on the cores. */
enum gpu_part {
    GPU_RECURRENT,    /* a value head of a linear layer: [key dim][value dim]; a layer's heads, then the next one's */
    GPU_CONV,         /* a linear layer: [taps - 1][channels], oldest input first */
    GPU_WAITING_ROWS, /* a position's row [hidden] that waits for the MTP head: entries to length - 1 */
    GPU_HEAD_PAGES,   /* a page of the MTP head: [KV head] keys, then values, of the model's kv type, plain (kernel.h);
                         positions beyond the length: any contents */
    GPU_PAGES,        /* + a kind: a page of its layers, [layer][KV head], likewise */
    GPU_PARTS = GPU_PAGES + STATE_KINDS
};
/* Bytes of one such part. */
uint64_t gpu_part_bytes(const struct gpu_model *m, enum gpu_part part);

struct gpu_piece {
    enum gpu_part part;
    uint32_t first, n;
    uint64_t at; /* in a port's memory */
};

/* Memory of the host that the device copies to and from asynchronously: with two ports, the host fills or empties one
 * while the device copies the other. One thread at a time. */
struct gpu_port;
tdm_status gpu_port_new(struct gpu_port **out, struct gpu_model *m, uint64_t bytes, tdm_error *err);
void gpu_port_free(struct gpu_port *p); /* before its model; NULL is allowed */
void *gpu_port_memory(const struct gpu_port *p);
/* Starts copying these pieces of s, which no other call may use until gpu_port_wait returns. */
tdm_status gpu_port_start(struct gpu_port *p, const struct gpu_state *s, const struct gpu_piece *pieces, uint32_t n,
                          bool to_device, tdm_error *err);
tdm_status gpu_port_wait(struct gpu_port *p, tdm_error *err);

/* If device and host share one memory, the host can access a state, except pages before start[kind], which may lie
 * elsewhere. Then gpu_state_pointer gives the i-th piece of a part, and no port is needed; meanwhile no other call may
 * use the state. The next pass sees the host's writes; the host sees a pass's writes after gpu_state_make_visible. */
bool gpu_state_is_host_visible(const struct gpu_state *s, const uint32_t start[STATE_PAGES]);
void *gpu_state_pointer(const struct gpu_state *s, enum gpu_part part, uint32_t i);
tdm_status gpu_state_make_visible(const struct gpu_state *s, tdm_error *err);

/* Prepares s to be filled, through ports or directly: of each kind it then has the pages from first[kind] on, of which
 * those before start[kind] keep their contents. It is broken until gpu_state_finish. TDM_E_CONTEXT: longer than the
 * context. */
struct gpu_content {
    uint32_t first[STATE_PAGES], start[STATE_PAGES];
    uint32_t length;
    const tdm_id *tokens; /* [length] */
    bool headless;        /* it has nothing for the MTP head (engine/state/state.h), */
    uint32_t entries;     /* else this many entries */
};
tdm_status gpu_state_prepare(struct gpu_state *s, const struct gpu_content *content, tdm_error *err);
/* Ends filling s; logits: [vocab] of the last token; NULL: none. */
void gpu_state_finish(struct gpu_state *s, const float *logits);

/* ---- Passes -------------------------------------------------------------------------------------------------- */

enum gpu_logits {
    GPU_LOGITS_NONE, /* the state's logits become invalid */
    GPU_LOGITS_LAST, /* those of the last token are kept in the state */
    GPU_LOGITS_ALL,  /* the same, and those of every token in `all` */
    GPU_LOGITS_TOPK, /* those of the last token stay on the device until they are fetched, the best are on the host */
};

struct gpu_kept;

struct gpu_run {
    struct gpu_state *state;
    const tdm_id *tokens;
    uint32_t n; /* at least 1 */
    enum gpu_logits logits;
    float *all; /* [n][vocab] for GPU_LOGITS_ALL */
    /* Verification of drafted tokens, in a pass of one run, with GPU_LOGITS_ALL: the state stays as it is, and
     * gpu_accept appends as many of the tokens as turn out right. NULL: the tokens are appended. */
    struct gpu_kept *kept;
};

struct gpu_pass_options {
    const atomic_bool *cancel; /* looked at before each slice; NULL: never */
    float *hidden; /* [layers + 1][hidden] of the first run's last token: embedding, output of each layer but the last,
                      final norm; for comparisons. NULL: not wanted */
};

/* Appends each run's tokens to its state. The states are of one model, distinct and not broken; options may be NULL.
 *   TDM_E_CONTEXT, TDM_E_ARG, TDM_E_NOMEM  as forward() of engine/forward: nothing was changed
 *   TDM_E_CANCELLED, TDM_E_IO              the states of all runs are broken if a layer had begun */
tdm_status gpu_forward(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs,
                       const struct gpu_pass_options *options, tdm_error *err);

/* ---- Replies at temperature 0 --------------------------------------------------------------------------------- */

enum { GPU_BURST = 8 };
/* The tokens that gpu_reply evaluates at once, at most GPU_BURST: more than 1 only if passes of one token are fused. */
uint32_t gpu_model_burst(const struct gpu_model *m);

struct gpu_reply {
    struct gpu_state *state;
    tdm_id next;         /* the first token to be evaluated */
    uint32_t n;          /* how many at most: 1 to gpu_model_burst */
    uint32_t limit;      /* of the ids that may be sampled; 0: all */
    const tdm_id *stops; /* [n_stops] after one of these nothing is evaluated; at most CONFIG_MAX_STOPS */
    uint32_t n_stops;
};

/* Appends `next`, and then repeatedly the token with the best logit, ties to the lowest id, in one submission:
 * sampled[i] is the token that follows the i-th appended one, -1: none of its logits is finite; *appended: the number
 * of appended tokens: n, or fewer after a stop token or -1. The last token sampled is not appended. State and logits
 * are those after as many passes of one token with GPU_LOGITS_TOPK. Errors as gpu_forward; after those that are not
 * about arguments the state is broken and has the tokens from before. */
tdm_status gpu_reply(const struct gpu_reply *r, tdm_id sampled[GPU_BURST], uint32_t *appended, tdm_error *err);

/* ---- Drafts: as in engine/forward/forward.h and head.h ----------------------------------------------------------- */

/* For verified runs of at most GPU_KEPT tokens. */
enum { GPU_KEPT = 8 };
tdm_status gpu_kept_new(struct gpu_kept **out, struct gpu_model *m, tdm_error *err);
void gpu_kept_free(struct gpu_kept *k); /* NULL is allowed; before its model */

/* Appends the first `rows` tokens (0: none) of the run that was verified last with its `kept`. On failure the device is
 * lost, and the state has the tokens and is broken. */
tdm_status gpu_accept(const struct gpu_run *run, uint32_t rows, tdm_error *err);

/* Drafts n tokens after `next`, which follows the state's last token. The state has at least one, is not headless, and
 * has room for 1 + n more (else TDM_E_CONTEXT). logits: [n][vocab] of the whole vocabulary; NULL: only the most
 * frequent tokens are drafted. */
tdm_status gpu_draft(struct gpu_state *s, tdm_id next, uint32_t n, tdm_id *drafts, float *logits, tdm_error *err);

#endif
