/* The models on this computer, as rows: those in the hub's caches, in the folders of --model-folders and of recent -m,
 * each once. `tandem models`, /model line by line and the list of the full screen all show these rows.
 *
 *   models_find       names and paths, which takes no time
 *   models_describe   opens one without its weights: type, sizes (some 0.1 s each for a large vocabulary)
 *   models_judge      what fits, and how fast it will be
 *
 * Nothing is kept between calls; a list belongs to one thread at a time. */
#ifndef TANDEM_SRC_MODELS_H
#define TANDEM_SRC_MODELS_H

#include "src/cli/options.h"
#include "src/models/ceilings.h"
#include "src/models/load.h"

typedef enum {
    MODELS_FITS,
    MODELS_FROM_DISK, /* it fits except for some experts of the mixture, which are read from its file */
    MODELS_TOO_LARGE,
    MODELS_REFUSED, /* not for Tandem: `reason` */
    MODELS_REMOTE,  /* on a server */
} models_fit;

typedef struct {
    char *name;   /* as -m takes it */
    char *path;   /* of its file or folder; of a model on a server its address */
    char *host;   /* of that server; NULL: the model is here */
    char *type;   /* most of its weights ("q4_k"); "" before models_describe */
    char *reason; /* why Tandem can't use it; NULL: it can */
    uint64_t disk_bytes;
    uint64_t needs_bytes;  /* of memory: weights, and keys and values of both units with CONTEXT tokens, about */
    uint64_t expert_bytes; /* of the weights, those of a mixture's experts */
    uint64_t table_bytes;  /* bytes of a table that stays on disk, of which single rows are read */
    uint64_t token_bytes;  /* read for a token of a reply */
    uint64_t token_flops;  /* to read a token of a prompt */
    models_fit fit;
    double tps; /* expected tokens per second of a reply; 0: not known */
    bool sees;  /* pictures */
    bool builtin;
    bool in_hub;     /* lies in a cache, so that it can be deleted there */
    bool in_use;     /* by this conversation */
    bool is_default; /* the configuration names it */
    bool incomplete; /* files are missing, as `reason` says */
    bool offered;    /* it is not on this computer and could be fetched; its figures are estimates (family.h) */
} models_row;

typedef struct {
    models_row *rows;
    size_t n;
    uint64_t memory_total, memory_free; /* 0: not known */
    ceilings_memory speed;
} models_list;

/* The conversation's model, from the front end. */
typedef struct {
    const char *path;  /* tdm_model_info.path; NULL: none */
    uint64_t resident; /* bytes of memory that it holds */
    double from_disk_tps;
} models_current;

/* Free the list also on failure (TDM_E_NOMEM). */
tdm_status models_find(models_list *out, const options *o, tdm_error *err);
/* Appends the servers of the configuration, and the further models on the conversation's server (current; model: its
 * name as given). Makes no request to a server. */
tdm_status models_add_servers(models_list *l, const options *o, const load_pair *current, const char *model,
                              tdm_error *err);
/* Appends a row with an empty type. NULL: out of memory. */
models_row *models_add_row(models_list *l);
/* progress NULL: shows none, is not stopped. */
void models_describe(models_row *row, const options *o, tdm_progress progress, void *ctx);
/* current: NULL, or the one in use. Reads the free memory now. */
void models_judge(models_list *l, ceilings_memory speed, const models_current *current);
void models_free(models_list *l);

/* Goes before the reason of a row. */
static inline const char *models_refused(const models_row *row)
{
    return row->incomplete ? "" : "not for Tandem: ";
}
/* "fits", "too large", "in use, default" ... */
const char *models_verdict(const models_row *row, char *out, size_t room);
/* All rows with a heading, for a user; malloc'ed, NULL without memory. Names are unfiltered: print with output_text.
 */
char *models_text(const models_list *l);
/* One object for each row, on a line of its own (`tandem models --help` describes its fields); malloc'ed. */
char *models_json(const models_list *l);

/* The name closest to a mistyped one, among the models here, the built-in one and the configuration's servers; without
 * a tag if `wanted` has none. "": none is close. */
void models_meant(const options *o, const char *wanted, char *out, size_t room);

/* A model here that sees pictures, as -m takes it; "": none does. Opens only files that show it. */
void models_seeing(const options *o, char *out, size_t room);

/* Makes a model the default of the next start: `model = NAME` in the configuration file. */
tdm_status models_set_default(const char *name, tdm_error *err);

#endif
