/* Private to engine/model: shared by source.c and the readers (GGUF, Hugging Face, synthetic). */
#ifndef TANDEM_MODEL_SOURCE_PRIVATE_H
#define TANDEM_MODEL_SOURCE_PRIVATE_H

#include "engine/model/schema/schema.h"
#include "engine/model/hf/shards.h"
#include "engine/model/source.h"
#include "engine/model/synthetic.h"
#include "engine/model/schema/unknown.h"

/* Rows that follow each other in a tensor, and where they are stored: `count` of every `step` rows from `first` on, or,
 * with count 0, one after the other. */
struct run {
    const uint8_t *bytes; /* in the map; NULL: not found yet, or generated */
    uint64_t begin, rows; /* in the tensor */
    uint64_t first, count, step;
    uint64_t paired; /* rows of a head whose two halves are stored alternately (ORDER_PAIRS); 0: in order */
    const uint8_t
        *scales;     /* MXFP4 of a checkpoint, [row][block]: `bytes` has the quants alone; NULL: blocks are whole */
    uint64_t turned; /* rows of a tensor, or of each of its experts, that is stored column by column; 0: row by row */
};

/* A tensor and the origin of its rows. */
struct item {
    struct tensor t;      /* the public view; the first member */
    enum type stored;     /* the type of the stored rows */
    struct run whole;     /* the only run, or */
    struct run *runs;     /* run_count of them, by ascending rows; NULL: `whole` */
    uint32_t run_count;
    bool generated; /* by `recipe` */
    struct recipe recipe;
};

struct source_tensors {
    struct item *items;
    size_t count, room;
    const struct tensor **list;  /* the items, in file order */
    const struct item **by_role; /* [blocks][ROLE_COUNT]; roles that a model has once are under layer 0 */
};

/* The open files, and the names of tensors. */
struct source_files {
    struct gguf *gguf, *head; /* head: of the MTP head, if that is a file of its own */
    struct shards shards;
    char *names;      /* of generated tensors, of those of a GGUF file */
    char *head_names; /* of those of `head` */
};

/* Owns what struct source_text points to outside the files. */
struct source_text_memory {
    struct span *tokens, *merges;
    int32_t *types;
    float *scores;
    char *bos, *eos;
    char *tokenizer_json, *chat_template;
};

struct source {
    enum source_format format;
    char *path;
    struct source_options options;
    struct config config;
    struct source_text text;
    struct source_text_memory text_memory;
    struct sampling sampling;
    struct ends ends;
    struct notes notes;
    struct source_skipped skipped;
    uint64_t file_bytes, parameters, fingerprint, stamp;
    bool forms[FORM_RATE + 1]; /* [form]: its vectors have this form of checkpoints (schema.h), not that of GGUF */
    struct unknowns unknowns;
    struct source_tensors tensors;
    struct source_files files;
};

/* The most roles that one tensor of a file can hold. */
enum { MAX_PIECES = SCHEMA_PARTS };

tdm_status source_open_gguf(struct source *s, const char *path, tdm_error *err);
tdm_status source_open_hf(struct source *s, const char *path, tdm_error *err);
tdm_status source_open_synthetic(struct source *s, const char *name, tdm_error *err);

/* Takes the tokenizer's lists, template, sampling defaults and end tokens of a GGUF file, to which s then refers; the
 * configuration's vocab must be set. */
tdm_status source_take_text(struct source *s, const struct gguf *g, tdm_error *err);

/* Makes room for `room` tensors; the configuration must be complete. */
tdm_status source_reserve(struct source *s, size_t room, tdm_error *err);
/* The origin of a tensor's rows. bytes NULL: they are generated; scales: as in struct run. */
struct origin {
    enum type stored;
    const uint8_t *bytes, *scales;
    struct recipe recipe;
};

/* Adds a tensor; fails if rows and cols, which are the file's, do not fit its role. */
tdm_status source_add(struct source *s, struct tensor t, const struct origin *from, tdm_error *err);
/* The same for a tensor that holds several roles, each of which becomes a tensor: there must be room for them. */
tdm_status source_add_several(struct source *s, struct tensor t, const struct schema_pieces *pieces,
                              const struct origin *from, tdm_error *err);
/* A part of a tensor; number: as in the row. */
tdm_status source_add_part(struct source *s, struct tensor t, const struct schema_pieces *pieces, uint32_t number,
                           enum type stored, const uint8_t *bytes, tdm_error *err);
/* Refuses a tensor without a role, unless its name is accepted. */
tdm_status source_refuse(struct source *s, const char *file, const char *name, const char *said, uint64_t bytes,
                         tdm_error *err);
void source_skip(struct source *s, enum role_kind kind, uint64_t bytes);

#endif
