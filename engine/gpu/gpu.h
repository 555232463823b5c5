/* The arithmetic of the forward pass on a GPU, through Vulkan: devices, a model's weights in device memory, states
 * there, passes over lists of runs. README.md has layouts, barriers and what bounds each shader.
 *
 * libvulkan is looked for when a device is listed or opened; a machine without it has no devices, which is no error. A
 * program built without glslc or Vulkan's headers has none either, and says so (gpu_absence). In this folder a dispatch
 * is Vulkan's, the start of one shader, not a forward pass of the prefill unit.
 *
 * Exactness: on one device and driver, states and logits have the same bits whatever the split of a text into passes,
 * the runs of a pass, forks and copies, and what ran in between. Another device, or the cores, may have other bits.
 *
 * What stays on the host: tokens, page tables, the logits of a state's last token. In device memory (the host's where
 * the device has no more): weights, pages of keys and values, recurrent and convolution states.
 *
 * Errors: TDM_E_NOMEM no memory on device and host; TDM_E_IO the device was lost or the driver failed, after which
 * every call on it but the freeing ones returns TDM_E_IO with the same line. States are worthless then.
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
    char pci[16];                /* where it is plugged in, "0000:41:00.0"; "": the driver doesn't tell, or nowhere */
    enum gpu_kind kind;
    uint64_t memory; /* bytes of device memory */
    uint32_t vendor, device;
    bool copies_apart; /* once it is opened: it has a queue for copies alone, which ports take */
};

/* Why there is no device: one line. NULL: there may be some. */
const char *gpu_absence(void);

/* The devices that can be opened, discrete ones first, software ones last; returns how many there are, of which `room`
 * are filled in. */
int gpu_list(struct gpu_info *out, int room);

/* A hash of the shaders in this program. */
uint64_t gpu_shaders_hash(void);

struct gpu;

/* How work is cut into workgroups. Bits may depend on it, so it is the same for all that one device is used for; what a
 * device has by default fits its kind. */
struct gpu_tuning {
    uint32_t tokens;      /* that a workgroup multiplies at once, at most: a power of two */
    uint32_t segments;    /* of a matrix's columns, at most: 1, 2, 4 or 8 */
    uint32_t attend_rows; /* heads times tokens that a workgroup attends for: 1 to 16 */
    uint32_t lanes;       /* for a row of activations: a power of two from 32 on */
    uint32_t delta_lanes; /* for a head of the delta rule, at most */
    uint32_t groups;      /* for the rows of a matrix, at most; they take more rows each beyond */
    uint32_t own_groups;  /* the same where each makes a token's activations for itself */
    uint32_t subgroup;    /* lanes that exchange values without shared memory, at most: a power of two; 0, 1: none */
    uint32_t own_columns; /* of activations that each workgroup makes in a pass of one token in one dispatch, at most */
    uint32_t fused_workgroups; /* of a pass of one token in one dispatch (fused.h), at most; 0: none such */
    /* Products of many tokens: from how many on they take shaders of their own (0: never), matrix units for quants,
     * where the device has them, larger tiles for float types. How a product is tiled is measured; where it was not,
     * a workgroup has at most gemm_parts times N tokens, gemm_groups times M rows, M and N being the units' (16 each
     * for float types). gemm_always: all are tiled by that rule. Bits don't depend on it. */
    uint32_t gemm_tokens, gemm_parts, gemm_groups;
    bool gemm_always;
    /* A driver wakes the thread that waits for it some tens of microseconds after the device was done. This many
     * microseconds before a token is likely to be done, and after that, it is asked again and again instead. 0:
     * never. */
    uint32_t poll_us;
};

struct gpu_options {
    uint64_t slice; /* bytes, at most this many of a matrix lie in one piece; 0: what the device takes, up to 1 GiB */
    bool validate;  /* load the validation layer with synchronisation checks; its lines are counted (tests) */
    const struct gpu_tuning *tuning; /* for measurements; NULL: by the kind of device */
    bool no_gemm;    /* for measurements: products of many tokens take the shader that those of few do */
    bool statistics; /* likewise: the driver keeps what it says of compiled shaders (measure.h) */
};

/* `gpu` is the first of the list, `gpu:N` the one at place N. options may be NULL. TDM_E_ARG: another name;
 * TDM_E_NOT_FOUND: no such device, with what is missing. */
tdm_status gpu_open(struct gpu **out, const char *name, const struct gpu_options *options, tdm_error *err);
void gpu_close(struct gpu *g); /* NULL is allowed */
/* What its matrix units are and whether products take them, in one line that stays as long as the device. They do if
 * they give the very bits of the products without them, and sooner; it is tried here, and when a model is loaded. */
const char *gpu_matrix_units(struct gpu *g);
void gpu_about(struct gpu *g, struct gpu_info *out);
/* How products of many tokens are tiled, of the shapes that were measured to the end while models were loaded: text of
 * a line each, as many as there is room for; returns its length. GPU_CHOICES_BYTES is room for all. */
enum { GPU_CHOICES_BYTES = 32768 };
size_t gpu_choices(struct gpu *g, char *out, size_t room);
/* The shapes in a text of gpu_choices need not be measured any more. Lines of another form are ignored. */
void gpu_take_choices(struct gpu *g, const char *text);
uint64_t gpu_used(struct gpu *g); /* bytes of the device's memory that were allocated through g */
bool gpu_is_lost(struct gpu *g);
uint32_t gpu_validation_messages(struct gpu *g); /* how many; the first line of them, NULL: there is none */
const char *gpu_first_validation_message(struct gpu *g);

/* ---- Weights ------------------------------------------------------------------------------------------------- */

struct gpu_model;
struct tower; /* engine/vision/tower.h */

struct gpu_model_options {
    enum type lm_head; /* of the LM head (and, if tied, the embeddings); TYPE_COUNT: as stored */
    enum kv_type kv;
    uint32_t context;      /* tokens that a state takes at most */
    uint32_t tokens, runs; /* of one pass at most */
    uint32_t states;       /* that there must be room for, without pages; it is kept for them */
    const struct tower *tower; /* a vision tower, whose weights go there too (vision/vision.h); NULL: none */
    tdm_progress progress; /* may be NULL; called on the thread that loads, which holds nothing that others wait for */
    void *progress_ctx;
};

/* Bytes of device memory for the weights and the scratch of passes; and for each state, and each page of it. */
struct gpu_needs {
    uint64_t weights, scratch, state, page[STATE_PAGES]; /* page: of each kind, the MTP head's behind those of layers */
};
void gpu_model_needs(const struct source *source, const struct gpu_model_options *options, struct gpu_needs *out);

/* Copies the weights to the device. The source may be closed afterwards, unless the model has a table of inputs for
 * layers, from which passes read rows. Before anything is copied: TDM_E_UNSUPPORTED: the shaders don't take a dimension
 * of the model; TDM_E_NOMEM: not enough memory. TDM_E_CANCELLED: by progress, at its next call. Of models that are
 * loaded at once and don't fit together, those that take their memory first are loaded. */
tdm_status gpu_model_new(struct gpu_model **out, struct gpu *g, const struct source *source,
                         const struct gpu_model_options *options, tdm_error *err);
/* Compiles what passes of all sizes take, so that no turn waits for it. gpu_model_new does so, but for devices that are
 * software, where it takes longer than it saves. */
tdm_status gpu_model_prepare(struct gpu_model *m, tdm_error *err);
void gpu_model_free(struct gpu_model *m); /* NULL is allowed */
const struct config *gpu_model_config(const struct gpu_model *m);
/* Bytes of device memory that its states have, and have had: it is kept for others. */
uint64_t gpu_model_states_used(const struct gpu_model *m);
/* The workgroups that do a pass of one token in one dispatch; 0: it is dispatched step by step. */
uint32_t gpu_model_fused_workgroups(const struct gpu_model *m);
/* For comparison with other implementations: RoPE's angles for a position are position * frequency[i], i below
 * rope_dims / 2; 64-bit floats that may be changed before the first pass. */
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

/* Cuts s to fewer tokens, where that can be done (state_can_cut of engine/state/state.h). On failure it is unchanged,
 * or broken where the device is lost. */
tdm_status gpu_state_cut(struct gpu_state *s, uint32_t length, tdm_error *err);

/* Makes dst one that is to be prepared (gpu_state_prepare): it has the first full pages of src, and is broken. Its
 * tokens are the caller's to copy. */
void gpu_state_share(struct gpu_state *dst, const struct gpu_state *src, uint32_t pages);

const struct gpu_model *gpu_state_model(const struct gpu_state *s);
/* Takes pages for n more tokens (TDM_E_CONTEXT beyond the context, TDM_E_NOMEM). */
tdm_status gpu_state_make_room(struct gpu_state *s, uint32_t n, tdm_error *err);
/* As state_shared_pages of engine/state/state.h. */
uint32_t gpu_state_shared_pages(const struct gpu_state *a, const struct gpu_state *b);

uint32_t gpu_state_length(const struct gpu_state *s); /* tokens */
const uint32_t *gpu_state_first(const struct gpu_state *s); /* [STATE_PAGES] the first page of each kind that it has */
bool gpu_state_broken(const struct gpu_state *s);     /* after a pass that failed midway */
bool gpu_state_headless(const struct gpu_state *s);   /* nothing is kept for an MTP head, */
uint32_t gpu_state_entries(const struct gpu_state *s); /* or how many entries are kept */
const tdm_id *gpu_state_tokens(const struct gpu_state *s);
bool gpu_state_has_logits(const struct gpu_state *s); /* of the last token; false: not computed */
/* These [vocab], in host memory, valid until the state changes. NULL: not computed, or not brought there yet after a
 * pass with GPU_LOGITS_TOPK, which fetching does. */
const float *gpu_state_logits(const struct gpu_state *s);
tdm_status gpu_state_fetch_logits(const struct gpu_state *s, const float **out, tdm_error *err);

/* The best of these: ids and logits in any order, each once; of all that are finite those from `from` on, which are at
 * least 96, or all (from: -INFINITY). Returns their number; 0: unknown, as after another kind of pass, or where none is
 * finite. */
struct gpu_candidate {
    float logit;
    tdm_id id;
};
enum { GPU_TOPK_LEAST = 96, GPU_TOPK_MAX = 128 * 31 };
uint32_t gpu_state_topk(const struct gpu_state *s, struct gpu_candidate out[GPU_TOPK_MAX], float *from);

/* ---- Parts of states, to and from the host ------------------------------------------------------------------- */

enum { GPU_WAITING = 32 };

/* What a state is made of, in a plain order. Value heads are in the order of the model's file, as on the cores. */
enum gpu_part {
    GPU_RECURRENT,    /* a value head of a linear layer: [key dim][value dim]; a layer's heads, then the next one's */
    GPU_CONV,         /* a linear layer: [taps - 1][channels], oldest input first */
    GPU_WAITING_ROWS, /* a position's row [hidden] that waits for the MTP head: entries to length - 1 */
    GPU_HEAD_PAGES,   /* a page of the MTP head: [KV head] keys, then values, of the model's kv type, plain (kernel.h);
                         positions beyond the length: any contents */
    GPU_PAGES,        /* + a kind: a page of its layers, [layer][KV head], likewise */
    GPU_PARTS = GPU_PAGES + STATE_KINDS
};
/* Bytes of one. */
uint64_t gpu_part_bytes(const struct gpu_model *m, enum gpu_part part);

struct gpu_piece {
    enum gpu_part part;
    uint32_t first, n;
    uint64_t at; /* in a port's memory */
};

/* Memory of the host that the device copies to and from, without waiting: two of them, and one is filled or emptied
 * while the other is on its way. One thread at a time. */
struct gpu_port;
tdm_status gpu_port_new(struct gpu_port **out, struct gpu_model *m, uint64_t bytes, tdm_error *err);
void gpu_port_free(struct gpu_port *p); /* before its model; NULL is allowed */
void *gpu_port_memory(const struct gpu_port *p);
/* Copies these pieces of s, which stays its caller's until the port has been waited for. */
tdm_status gpu_port_start(struct gpu_port *p, const struct gpu_state *s, const struct gpu_piece *pieces, uint32_t n,
                          bool to_device, tdm_error *err);
tdm_status gpu_port_wait(struct gpu_port *p, tdm_error *err);

/* Where device and host have one memory the host sees a state, but for pages before start[kind], which may lie
 * elsewhere: then the i-th of a part lies here, and no port is needed. It is the caller's as in a port. The next
 * pass sees what the host wrote; the host sees what a pass wrote after gpu_state_make_visible. */
bool gpu_state_is_host_visible(const struct gpu_state *s, const uint32_t start[STATE_PAGES]);
void *gpu_state_pointer(const struct gpu_state *s, enum gpu_part part, uint32_t i);
tdm_status gpu_state_make_visible(const struct gpu_state *s, tdm_error *err);

/* Makes s one that is filled, through ports or where it is seen: of each kind it then has the pages from first[kind]
 * on, of which those before start[kind] stay. It is broken until it is finished. TDM_E_CONTEXT: longer than the
 * context. */
struct gpu_content {
    uint32_t first[STATE_PAGES], start[STATE_PAGES];
    uint32_t length;
    const tdm_id *tokens; /* [length] */
    bool headless;        /* nothing is there for the MTP head (engine/state/state.h), */
    uint32_t entries;     /* else this many entries */
};
tdm_status gpu_state_prepare(struct gpu_state *s, const struct gpu_content *content, tdm_error *err);
/* All of it is there; logits [vocab], of the last token, NULL: none. */
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
 *   TDM_E_CANCELLED, TDM_E_IO              the states of all runs are broken where a layer had begun */
tdm_status gpu_forward(struct gpu_model *m, const struct gpu_run *runs, uint32_t n_runs,
                       const struct gpu_pass_options *options, tdm_error *err);

/* ---- Replies at temperature 0 --------------------------------------------------------------------------------- */

enum { GPU_BURST = 8 };
/* The tokens that gpu_reply evaluates at once, at most GPU_BURST: more than 1 only where a pass of one token is one
 * dispatch. */
uint32_t gpu_model_burst(const struct gpu_model *m);

struct gpu_reply {
    struct gpu_state *state;
    tdm_id next;         /* the first token to be evaluated */
    uint32_t n;          /* how many at most: 1 to gpu_model_burst */
    uint32_t limit;      /* of the ids that may be sampled; 0: all */
    const tdm_id *stops; /* [n_stops] after one of these nothing is evaluated; at most CONFIG_MAX_STOPS */
    uint32_t n_stops;
};

/* Appends `next`, then what is the best by the logits of the token before, ties to the lowest id, in one submission:
 * sampled[i] is the token behind the i-th one appended, -1: none of its logits is finite; *appended: how many there
 * are, n, or fewer where a stop was sampled, or nothing. The last token sampled is not appended. State and logits are
 * what as many passes of one token with GPU_LOGITS_TOPK leave. Errors as gpu_forward, which leave a broken state once
 * they are not of its arguments; it has the tokens from before. */
tdm_status gpu_reply(const struct gpu_reply *r, tdm_id sampled[GPU_BURST], uint32_t *appended, tdm_error *err);

/* ---- Drafts: as engine/forward/forward.h and head.h have them ------------------------------------------------- */

/* For verified runs of at most GPU_KEPT tokens. */
enum { GPU_KEPT = 8 };
tdm_status gpu_kept_new(struct gpu_kept **out, struct gpu_model *m, tdm_error *err);
void gpu_kept_free(struct gpu_kept *k); /* NULL is allowed; before its model */

/* Appends the first `rows` tokens (0: none) of the run that was verified last with its `kept`. On failure the device is
 * lost, and the state has the tokens and is broken. */
tdm_status gpu_accept(const struct gpu_run *run, uint32_t rows, tdm_error *err);

/* Drafts n tokens behind `next`, which follows the state's last token. The state has at least one, is not headless, and
 * has room for 1 + n more (else TDM_E_CONTEXT). logits: [n][vocab] of the whole vocabulary; NULL: drafts are of the
 * most frequent tokens. */
tdm_status gpu_draft(struct gpu_state *s, tdm_id next, uint32_t n, tdm_id *drafts, float *logits, tdm_error *err);

#endif
