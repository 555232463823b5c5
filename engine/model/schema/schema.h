/* Architectures as data: which keys and tensors their files have, in GGUF and in Hugging Face form, what shape and what
 * form each has, and which of them are without effect. Both readers, the conversion and `info` go by these rows;
 * another family is another `struct schema` with its rows (qwen35.c).
 *
 * Every key of a file's model part must be in a row, or have a neutral value (unknown.h): a key that is ignored
 * silently could change the numbers silently.
 *
 * Names of keys are those after "ARCHITECTURE." in GGUF, and those of config.json (flat, or in text_config). Names of a
 * layer's tensors are those after "blk.N." and "model.layers.N.". Several names in one string are separated by "|": all
 * are read, the first is written. A "*" stands for any characters.
 */
#ifndef TANDEM_MODEL_SCHEMA_H
#define TANDEM_MODEL_SCHEMA_H

#include <stddef.h>

#include "engine/base/span.h"
#include "engine/model/schema/role.h"

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

enum schema_use {
    SCHEMA_NUMBER,   /* a whole number in [low, high] into the uint32_t `field` of the configuration */
    SCHEMA_REAL,     /* a number into the float `field` */
    SCHEMA_FLAG,     /* true or false into the bool `field` */
    SCHEMA_EQUAL,    /* must equal the uint32_t `field`: the engine supports no other value */
    SCHEMA_ONLY,     /* must be one of the values in `text`; an absent key means the first */
    SCHEMA_SPECIAL,  /* read by code of its own: layer kinds, positions, ids that end a reply */
    SCHEMA_HARMLESS, /* without effect on results; `text` says why */
};

/* A GGUF file may have an array with one number for each layer where a number is usual. */
enum schema_layers {
    SCHEMA_EACH, /* all equal */
    SCHEMA_FULL, /* equal in layers of full attention; other layers may have 0 */
    /* Equal in layers of one kind; the next row is for the others. */
    SCHEMA_OPEN,   /* without a window */
    SCHEMA_WINDOW, /* with one */
    SCHEMA_OWN,    /* with keys and values of their own */
    SCHEMA_SHARED, /* that share those of others; 0 if there are none */
};

struct schema_key {
    const char *gguf, *json; /* NULL: that form has no such key */
    enum schema_use use;
    enum schema_layers layers;
    size_t field; /* offset in struct config */
    double low, high;
    /* NUMBER, REAL: an absent key means `otherwise`; without `optional` an absent key is an error. EQUAL: it is not
     * written. A FLAG may always be absent, and is written unless it has the value of an absent one. */
    bool optional;
    double otherwise;
    const char *text;
};

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

enum schema_scope {
    SCOPE_ONCE,   /* one for the model */
    SCOPE_EVERY,  /* in every block */
    SCOPE_FULL,   /* in blocks of full attention */
    SCOPE_KEYS,   /* in blocks of attention that have keys and values of their own */
    SCOPE_VALUES, /* in those of them whose values are not the keys */
    SCOPE_LINEAR, /* in DeltaNet blocks */
    SCOPE_HEAD,   /* in the block of the MTP head */
};

/* Sizes in terms of the configuration. */
enum schema_size {
    SIZE_NONE, /* 0 */
    SIZE_ONE,
    SIZE_HIDDEN,
    SIZE_TWICE_HIDDEN,
    SIZE_VOCAB,
    SIZE_INTERMEDIATE,
    SIZE_EXPERTS,
    SIZE_EXPERT,           /* width of an expert */
    SIZE_EXPERTS_HIDDEN,   /* experts * hidden */
    SIZE_EXPERTS_EXPERT,   /* experts * width of an expert */
    SIZE_HEAD,             /* of an attention head */
    SIZE_HEADS,            /* their number */
    SIZE_QUERY,            /* all heads */
    SIZE_GATED_QUERY,      /* all heads, each with its output gate */
    SIZE_KEY,              /* all key heads, or all value heads, of full attention */
    SIZE_LINEAR_HEADS,     /* value heads of the DeltaNet */
    SIZE_LINEAR_HEAD,      /* one of its value heads */
    SIZE_LINEAR_KEY,       /* all its key heads */
    SIZE_LINEAR_VALUE,     /* all its value heads */
    SIZE_LINEAR_CHANNELS,  /* queries, keys and values of the DeltaNet */
    SIZE_LINEAR_KEY_HEADS, /* their number */
    SIZE_KERNEL,           /* taps of the convolution */
    SIZE_POSITIONS,        /* learned positions */
    SIZE_INPUT,            /* of a layer's own input from the token */
    SIZE_INPUTS,           /* all layers */
};
/* In this layer. */
uint64_t schema_size(const struct config *c, enum schema_size size, uint32_t layer);

/* The form of a tensor's values in a checkpoint, compared with GGUF, whose form the forward pass takes. */
enum schema_form {
    FORM_SAME,
    FORM_ADD_ONE, /* norms: w in a checkpoint, 1 + w in GGUF (and in MLX checkpoints) */
    FORM_RATE,    /* log(a) in a checkpoint, -a in GGUF */
};

/* How the order of rows or columns in GGUF differs. The orders of value heads apply if these are tiled (struct
 * config_delta, value_heads_tiled). */
enum schema_order {
    ORDER_SAME,
    ORDER_ROWS,       /* rows: heads of SIZE_LINEAR_HEAD */
    ORDER_ROWS_AFTER, /* the same, after the rows of queries and keys */
    ORDER_ROW_EACH,   /* a row for each head */
    ORDER_COLS,       /* columns: heads of SIZE_LINEAR_HEAD */
    ORDER_COL_EACH,   /* a column for each head */
    ORDER_PAIRS,      /* rows: the rotated elements of a head lie pair by pair, not half after half */
};

struct schema_tensor {
    enum role role;
    const char *gguf, *hf; /* gguf "": only joined with others */
    enum schema_scope scope;
    enum schema_size rows, cols;
    enum schema_form form;
    enum schema_order order;
    bool flat; /* a matrix of one row in the forward pass, of two dimensions in a GGUF file */
    bool optional; /* models may lack it */
    bool turned;   /* a checkpoint has [columns][rows], for each expert */
    size_t where;  /* offset of a uint32_t in struct config that isn't 0 in models with this tensor; 0: all have it */
};

/* A tensor that holds several, or a part of one.
 *
 * Several (rows SIZE_NONE): in each of `groups` equal groups of rows, those of parts[0], then those of parts[1] ... A
 * role may occur several times in succession; then `sizes` are the rows of each part in all groups. A part: `rows` rows
 * of parts[0], after before_times * before others. A "#" in the name is the number of the part, from 0 and below
 * `groups`; then that many parts precede it. */
enum { SCHEMA_PARTS = 4 };

struct schema_pieces {
    const char *gguf, *hf;
    enum schema_scope scope;
    enum schema_size groups;
    enum role parts[SCHEMA_PARTS];
    int n_parts;
    enum schema_size rows, before;
    uint32_t before_times;
    enum schema_size sizes[SCHEMA_PARTS]; /* SIZE_NONE: all rows of the role */
    bool turned;                          /* as of a tensor */
    bool joined;                          /* several: GGUF files hold them in one tensor, also those that are written */
};

/* Tensors without a place in the language model, by the beginning of their names ("visual.*"). */
struct schema_other {
    const char *gguf, *hf;
    enum role_kind kind;
};

/* ---- Architectures ----------------------------------------------------------------------------------------------- */

enum { SCHEMA_LISTS = 8 };

struct schema {
    const char *gguf;  /* general.architecture */
    const char *json;  /* model_type */
    const char *title; /* the family's name for error lines */
    const char *outer; /* model_type of checkpoints whose text_config may be of this family; NULL: as in `json` */
    bool mixture;
    /* The prefix of the names of a checkpoint's tensors, and the one after it of a layer's. */
    const char *model, *layers;

    /* The members of struct config that are the same in all models of the family. */
    enum config_norm norm;
    enum config_feed_kind feed;
    bool gated;
    bool tied;          /* the LM head is the embeddings unless a checkpoint says otherwise */
    bool scaled;        /* its positions may be scaled, in every way that the engine knows */
    bool windows;       /* its layers may have windows */
    bool penalised;     /* a presence penalty is published for its replies */
    bool sections;      /* GGUF files say how its rotated pairs are split over axes */
    bool tiled;         /* GGUF files have value heads tiled */
    bool blocks;        /* a checkpoint may have experts in MXFP4, as NAME_blocks and NAME_scales */
    bool between;       /* YaRN's transition need not begin and end at whole pairs, unless files say so */
    bool root;          /* embeddings are multiplied with the root of their width */
    const char *merged; /* tokenizer.ggml.model of its GGUF files if pieces have merges; NULL: they have scores */
    bool shapes;        /* layers with windows have heads of another shape, and a checkpoint has keys for the shape of
                           the others */
    bool value_norm;    /* values are normalised */
    float scale;        /* of attention, unless files say otherwise; 0: head_dim^-1/2 */
    bool window_base;   /* layers with windows have a base of their own, 10000 unless files say otherwise */
    uint32_t pattern;   /* one layer in this many has no window, unless files say otherwise; 0: all have */
    uint32_t wide_layers; /* with this many layers query_scalar is hidden / heads, unless files say otherwise */
    uint32_t interval;  /* of full attention, unless files say otherwise */
    uint32_t unrotated; /* one layer in this many has no positions, unless files say otherwise; 0: all have */
    double rotated;     /* the share of each head that is rotated, unless files say otherwise */

    /* Lists of rows, each up to a row without names (NULL and NULL). */
    const struct schema_key *keys[SCHEMA_LISTS];
    const struct schema_tensor *tensors[SCHEMA_LISTS];
    const struct schema_pieces *pieces;
};

extern const struct schema schema_qwen35, schema_qwen35moe, schema_qwen3next, schema_qwen2, schema_qwen3,
    schema_qwen3moe, schema_llama, schema_mistral3, schema_smollm3, schema_granite, schema_phi3, schema_gpt2,
    schema_gemma2, schema_gemma3, schema_gemma4, schema_gpt_oss;
/* All of them; returns their number. */
size_t schema_all(const struct schema *const **list);
/* Keys that mean the same in every architecture, up to a row without names. */
extern const struct schema_key schema_common_keys[];
/* Tensors that belong to no language model, in every architecture, up to a row without names. */
extern const struct schema_other schema_other_tensors[];

/* Sets the configuration's members that its schema determines, before files are read. */
void schema_begin(struct config *c);

/* NULL: this engine does not know it. */
const struct schema *schema_find(enum schema_format format, struct span name);
/* Does a checkpoint with this model_type have a model of a known family in its text_config? */
bool schema_is_outer(struct span name);
/* "qwen35, qwen35moe and llama", for error lines. */
enum { SCHEMA_NAMES_ROOM = 240 };
void schema_names(enum schema_format format, char *out, size_t room);

/* Is the name one of `names`, which are separated by "|" and may have a "*" or a "#"? names may be NULL. *number (may
 * be NULL): the number in place of "#". */
bool schema_is_named(const char *names, struct span name, uint32_t *number);
/* The first of such names. */
struct span schema_first_name(const char *names);

/* The row of a key, or NULL. */
const struct schema_key *schema_key(const struct schema *s, enum schema_format format, struct span name);
/* The row of a role; NULL: models of this architecture have none. */
const struct schema_tensor *schema_tensor(const struct schema *s, enum role role);

#endif
