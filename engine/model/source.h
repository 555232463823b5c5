/* A source: the parts of a model, independent of the file format. The rest of the engine sees model files only in this
 * form.
 *
 * It is opened from a GGUF file (single or split), a Hugging Face directory, or a name
 * `synthetic:SIZE[/LAYERS][:TYPE]`, and has the configuration, the tensors by role, the tokenizer's data, and the
 * sampling defaults.
 *
 * A tensor is in a mapped file (tensor.data is set) or computed on demand: generated (synthetic models) or quantised
 * while loading (options.quant). source_rows serves both; no converted tensor is ever in memory as a whole.
 *
 * The MTP head is a part of the model's files, or of a file mtp-*.gguf beside a GGUF file, of the same dimensions: the
 * one called mtp- and the model's name, else the first such one. Its tensors have the layer config.layers.
 *
 * Tensors are those that the schema (schema.h) lists, even if the file holds several of them in one, or one of them in
 * parts: the experts of a mixture are always three tensors per layer, gate, up and down.
 *
 * Threads: after source_open everything but source_close may be called from several threads at once; source_release of
 * a tensor only while no thread reads it.
 *
 * If another program truncates a mapped file, reading beyond its new end raises SIGBUS (tdm_mapped_find), but not in
 * source_copy_rows. So rows that are read once, while loading, are read through the map, and source_check then says
 * whether the file was unchanged; rows that are read while a model answers are copied.
 */
#ifndef TANDEM_MODEL_SOURCE_H
#define TANDEM_MODEL_SOURCE_H

#include "engine/model/config.h"
#include "engine/model/hf/generation.h"
#include "engine/model/gguf/gguf.h"
#include "engine/model/schema/role.h"
#include "engine/model/type.h"
#include "engine/model/schema/unknown.h"
#include "engine/tandem.h"

struct tensor {
    const char *name; /* in the file (generated tensors: in the checkpoint); untrusted: escape it when printing */
    enum role role;
    uint32_t layer;      /* 0 for roles that a model has once */
    enum type type;      /* of the rows that source_rows yields */
    uint64_t rows, cols; /* a vector has 1 row */
    uint64_t row_bytes;  /* type_row_bytes(type, cols) */
    uint64_t bytes;      /* rows * row_bytes */
    const void *data;    /* the rows, in the mapped file; NULL: they are made on demand, or not contiguous there */
};

/* The tokenizer's data: the lists of a GGUF file, or the path of a tokenizer.json. */
struct source_text {
    const char *tokenizer_json; /* path; NULL when the lists below hold the tokenizer */
    uint32_t token_count, merge_count;
    const struct span *tokens; /* by id, in the byte-level alphabet */
    const int32_t *types;      /* by id: 1 normal, 3 control, 4 user-defined, 5 unused, ... ; NULL: all normal */
    const struct span *merges; /* "left right", by rank */
    bool pieces;               /* tokens are pieces of SentencePiece, not byte-level tokens */
    const float *scores;       /* by id, of pieces; NULL: `merges` gives their order */
    bool blank_before;         /* pieces: the tokenizer adds a blank at a text's beginning */
    struct span bos;           /* the token before a prompt, if the files ask for one; else empty */
    struct span bos_token, eos_token; /* as chat templates know them; empty: unknown */
    struct span pre;           /* name of the splitting rule, e.g. "qwen35", "qwen2" */
    struct span chat_template; /* empty: none */
};

/* Recognised tensors that are not used. */
struct source_count {
    uint32_t tensors;
    uint64_t bytes;
};
struct source_skipped {
    struct source_count mtp, vision, audio, other;
};

/* The type in which a matrix is stored if `type` is requested for the model: routers stay float32; with Q4_K embeddings
 * and LM head are Q6_K, as in Q4_K_M files; MXFP4 is of experts alone. */
static inline enum type matrix_type(enum role role, enum type type)
{
    if (role == ROLE_ROUTER) return TYPE_F32;
    if (type == TYPE_MXFP4 && !role_is_experts(role)) return TYPE_BF16;
    return type == TYPE_Q4_K && (role == ROLE_EMBED || role == ROLE_LM_HEAD) ? TYPE_Q6_K : type;
}

struct source_options {
    enum type quant;     /* F32, F16 and BF16 matrices are converted to this type on loading; TYPE_F32: none is */
    const char *builtin; /* path of the built-in GGUF, whose tokenizer synthetic models use; NULL: no such models */
    const char *const *accept_unknown; /* see unknown.h; NULL-terminated, or NULL */
};

enum source_format { SOURCE_GGUF, SOURCE_HF, SOURCE_SYNTHETIC };

struct source;

/* Opens `path`: a GGUF file (any part of a split one), a directory, or `synthetic:...`. options may be NULL. Reads
 * headers and small vectors only. */
tdm_status source_open(struct source **out, const char *path, const struct source_options *options, tdm_error *err);
void source_close(struct source *s);

const struct config *source_config(const struct source *s);
const struct source_text *source_text(const struct source *s);
const struct sampling *source_sampling(const struct source *s);
/* The texts of tokens that end a reply, if files give texts instead of ids. Code that has a tokenizer finds their ids
 * and adds them with source_add_stop, which ignores ids outside the vocabulary. */
const struct ends *source_ends(const struct source *s);
void source_add_stop(struct source *s, int64_t id);
/* Notes about parts of the files that were left out; code that reads further files adds to them. */
struct notes *source_notes(struct source *s);
const struct source_skipped *source_skipped(const struct source *s);
/* Keys that are not used: without effect, or unknown and accepted; and tensors that were accepted. */
size_t source_left_out(const struct source *s, const struct unknown_item **list);
/* The opened GGUF file; NULL if the source is none. */
const struct gguf *source_gguf(const struct source *s);
enum source_format source_format(const struct source *s);
/* The path or name that it was opened with; of a split file the first part. */
const char *source_path(const struct source *s);
uint64_t source_file_bytes(const struct source *s);      /* of all weight files; 0 for synthetic models */
/* Parameters of the tensors in use, without the MTP head's; a tied matrix counts once. */
uint64_t source_parameter_count(const struct source *s);
/* Identifies the weights independently of the file's name: a hash of the configuration and of each tensor's name, type,
 * shape and samples of its data. Equal files have equal fingerprints, also after a copy. */
uint64_t source_fingerprint(const struct source *s);
/* A hash of the weight files' sizes and modification times; 0 for synthetic models. */
uint64_t source_stamp(const struct source *s);

/* The tensors in use, in file order; a tied LM head does not appear. Returns how many. */
size_t source_tensors(const struct source *s, const struct tensor *const **list);

/* The tensor with this role; layer is 0 for roles that a model has once. NULL if this kind of layer has no such tensor;
 * otherwise it exists, with the shape of role_shape. */
const struct tensor *source_tensor(const struct source *s, enum role role, uint32_t layer);

/* Rows [row, row+n) in the tensor's type: a pointer into the map, or to scratch (at least n * row_bytes), which is then
 * filled. */
const void *source_rows(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n, void *scratch);

/* The same rows, always copied to `scratch`, and not through the map: TDM_E_IO where their file has become shorter or
 * can't be read any more. */
tdm_status source_copy_rows(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n, void *scratch,
                            tdm_error *err);

/* TDM_OK: the files have not changed since the source was opened, so all values read since are valid. */
tdm_status source_check(const struct source *s, tdm_error *err);

/* Small vectors as float32 in the form that the forward pass uses, n values (rows * cols of the tensor):
 *   norms          the multiplier (1 + w for most checkpoints; linear_attn.norm is stored so)
 *   LIN_A_LOG      -exp(A_log), the rate of decay
 *   LIN_CONV       [channels][kernel]
 *   LIN_DT_BIAS    as stored */
void source_vector(const struct source *s, enum role role, uint32_t layer, float *out, size_t n);

/* Drops the tensor's pages from memory, or those of some rows, with those that the system may have mapped around them;
 * reading them again reads the file again. */
void source_release(const struct source *s, const struct tensor *t);
void source_release_rows(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n);
/* The system's cache need not keep what has been read of the files, and released (source_release). */
void source_forget(const struct source *s);
/* Tells the system that these rows will be read soon. */
void source_will_read(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n);

#endif
