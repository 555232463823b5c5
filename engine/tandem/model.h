/* Models: configuration, tokenizer, template and packed weights.
 *
 * A tdm_model is immutable. Any number of machines, chats and threads may share it; it must outlive them.
 */
#ifndef TDM_MODEL_H
#define TDM_MODEL_H

#include "base.h"

typedef struct tdm_model tdm_model;

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Most programs set the path alone. */
typedef struct {
    const char *path;        /* a GGUF file, a Hugging Face directory or name, `synthetic:0.8b[/layers][:type]` */
    const char *builtin;     /* GGUF file of the built-in model, whose tokenizer synthetic models use; NULL: none */
    const char *const *hubs; /* directories of Hugging Face hub caches, in which names are looked up; they end with
                                NULL; or NULL */
    const char *kernels;     /* reference, scalar, avx2, avx512, amx, neon, or one of the kinds blas and amx-bf16
                                (machine.h); NULL: the best for this CPU */
    const char *quant;       /* q8_0 or q4_0: quantise matrices while loading; NULL: as stored */
    const char *lm_head;     /* q8_0, q6_k; NULL or as-is: as stored */
    int threads;             /* cores used for packing; 0: every allowed one */
    uint64_t expert_memory;  /* for the packed experts of a mixture; the others are read from the file when they are
                                needed. 0: as many as the free memory holds */
    const char *pack_folder; /* directory of the cache of packed weights, which a background thread writes; NULL: no
                                cache */
    uint64_t pack_limit;     /* size of that cache; the files that were used least recently are deleted first. 0: a
                                tenth of the disk space that is free or used by the cache */
    bool pack_read_only;     /* read from the cache, write nothing */
    bool text_only;          /* load no weights: tokenizer, template and information alone */
    const char *chat_template; /* the text of a template to use instead of the model's, or "chatml" */
    /* A model is refused if its files have keys or tensors that the engine doesn't know and that may change replies.
     * These names are accepted; "*" stands for any characters. The list ends with NULL; or NULL. */
    const char *const *accept_unknown;
    tdm_progress progress; /* may be NULL */
    void *progress_ctx;
    /* For tdm_convert, after which there is no model to describe: called with each of tdm_model_info's notices. May be
     * NULL. */
    void (*notice)(const char *line);
    const char *mmproj; /* file of the vision encoder; NULL: the one that lies with the model; "": none (pictures.h) */
    /* A model of the same file, closed later than this one, whose packed weights this one uses if its kernels take
     * them: those of amx and amx-bf16 do. Otherwise it packs its own. NULL: none. */
    const tdm_model *weights_of;
} tdm_model_options;

/* Loads the model; a large one takes seconds. TDM_E_CANCELLED: by progress. */
TDM_API tdm_status tdm_model_open_sized(tdm_model **out, const tdm_model_options *options, size_t size,
                                        tdm_error *err);
static inline tdm_status tdm_model_open(tdm_model **out, const tdm_model_options *options, tdm_error *err)
{
    return tdm_model_open_sized(out, options, sizeof *options, err);
}
TDM_API void tdm_model_close(tdm_model *m);

/* ---- Information ------------------------------------------------------------------------------------------------- */

/* How a token is sampled. Zeros in all members but the seed mean what is recommended for the model
 * (tdm_model_info.sampling). If any of them is not zero, zeros in the others mean what their comments say; so
 * .top_k = 1 alone is greedy. */
typedef struct {
    float temperature;       /* 0: greedy; of equal logits the lowest id wins */
    int top_k;               /* 0: off */
    float top_p;             /* 0, 1: off */
    float min_p;             /* 0: off */
    float presence_penalty;  /* 0: off */
    float frequency_penalty; /* 0: off */
    float repeat_penalty;    /* 0, 1: off */
    uint64_t seed;
} tdm_sampling;

/* The arithmetic of a matrix's products. */
typedef enum { TDM_F32, TDM_BF16, TDM_INT8, TDM_ARITHMETICS } tdm_arithmetic;

/* A key or tensor of a model's files that the engine leaves out. */
typedef struct {
    const char *name, *value; /* printable; the value of a tensor is "" */
    const char *why;          /* why it changes no reply; NULL: it may change replies, and was accepted
                                 (accept_unknown) */
} tdm_left_out;

/* What is known about a model. Strings live as long as the model. */
typedef struct {
    const char *name, *path, *format, *architecture, *kernels;
    const char *weight_types;    /* "Q6_K 84%, F32 16%" by bytes */
    uint64_t parameters;
    uint64_t file_bytes;         /* of the model's files */
    uint64_t packed_bytes;       /* of the weights in memory */
    uint64_t bytes_per_token;    /* of weights that one decoded token needs */
    uint64_t flops_per_token;    /* operations that one prefilled token needs */
    tdm_arithmetic arithmetic;   /* of most of the weights with this kernel set, or with the one that it would have */
    int layers;
    int full_layers;             /* of these, layers with full attention */
    int hidden, intermediate, heads, kv_heads, head_dim;
    int window_kv_heads, window_head_dim; /* of layers with a window, where these have others; else 0 */
    int full_interval;           /* one layer in this many has full attention; 0: at no regular interval */
    int whole_layers;            /* layers of the model that this one is a part of (synthetic:NAME/LAYERS); else
                                    layers */
    int lin_key_heads, lin_value_heads, lin_key_dim, lin_value_dim, conv_kernel; /* of DeltaNet layers; 0: none */
    const char *positions;       /* how positions are encoded, "rotated, base 1e+06" */
    const char *features;        /* what else its layers have, "a window of 4096, biases"; "": nothing */
    int experts, experts_used;   /* of a mixture: experts of a layer, and those that one token uses; 0: no mixture */
    int expert_intermediate;     /* of a mixture; `intermediate` is that of the expert that all tokens share, or of a
                                    dense network beside the experts */
    bool dense_beside;           /* there is such a network */
    uint64_t active_parameters;  /* parameters that one token is multiplied with; without a mixture, all but the
                                    embeddings */
    uint64_t table_bytes;        /* of an embedding table of each layer, which is not loaded: its rows are read from
                                    the file; 0: none */
    uint64_t kv_bytes_per_token; /* float16 keys and values of one token */
    uint64_t kv_bytes_at_context; /* of trained_context tokens */
    uint64_t expert_bytes;       /* of all experts, packed */
    uint64_t expert_memory;      /* memory for packed experts */
    uint64_t mtp_parameters;     /* of the MTP head, which drafts tokens; no other figure includes them; 0: none */
    uint64_t mtp_bytes;          /* of the MTP head in the file */
    double load_seconds;         /* time in which the weights were read and packed; 0: no weights */
    bool was_packed;             /* the weights came from the cache (pack_folder) */
    double from_disk_tps;        /* if the experts don't all fit into memory: expected tokens per second; else 0 */
    int vocabulary;              /* rows of the LM head */
    int tokens;                  /* ids that the tokenizer knows */
    int trained_context;         /* positions */
    bool tied;                   /* the LM head is the embedding matrix */
    bool synthetic;              /* its weights are made up */
    bool on_server;              /* opened by tdm_model_open_server: path is the host, counts of tokens are estimates */
    unsigned thinkings;          /* a bit for each tdm_thinking that the template knows; TDM_THINK_OFF always */
    bool can_keep_thinking;      /* past turns can keep their thinking (TDM_KEEP_ON) */
    bool can_drop_thinking;      /* past turns can lose it (TDM_KEEP_OFF) */
    bool keeps_thinking;         /* past turns keep it by default (TDM_KEEP_AUTO) */
    bool always_thinks;          /* with TDM_THINK_OFF too */
    bool no_system;              /* the template has no system prompt: it stands before the user's first message */
    const char *template_name;   /* own, given, chatml, none (plain text) */
    const char *template_note;   /* a line for the user about it; or NULL */
    const char *skipped;         /* "21 vision tensors" or "" */
    const char *const *notices;  /* what is damaged or unknown in the files and left out, a line each; NULL ends them */
    const tdm_left_out *left_out; /* keys */
    int n_left_out;
    tdm_sampling sampling;       /* recommended: by the file, else published for the size, else common values */
    bool sampling_from_file;
    uint64_t fingerprint;        /* tells models apart whose states can't be exchanged */
    const char *begins_with;     /* text of the token that begins every prompt, which tdm_render and tdm_tokenize add;
                                    "": none */
} tdm_model_info;

TDM_API void tdm_model_describe(const tdm_model *m, tdm_model_info *out);

/* ---- Conversion -------------------------------------------------------------------------------------------------- */

/* Writes the model of in->path as a GGUF file with the matrices in `type`: q8_0, q6_k, q4_k, q4_0, bf16, f16. Of `in`,
 * path, builtin, hubs, accept_unknown, notice and progress are used; other options are ignored. A synthetic model
 * becomes a file as well. A device or a FIFO at `out` is written into, a file is replaced. TDM_E_ARG: a file can't be
 * converted onto itself. */
TDM_API tdm_status tdm_convert_sized(const tdm_model_options *in, size_t size, const char *out, const char *type,
                                     tdm_error *err);
static inline tdm_status tdm_convert(const tdm_model_options *in, const char *out, const char *type, tdm_error *err)
{
    return tdm_convert_sized(in, sizeof *in, out, type, err);
}

#endif
