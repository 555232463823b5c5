/* Opening models and machines as the options say: where the built-in model and the Hugging Face caches are, progress on
 * the terminal, Ctrl-C. Reads the environment, which the engine does not. */
#ifndef TANDEM_SRC_LOAD_H
#define TANDEM_SRC_LOAD_H

#include <limits.h>

#include "src/cli/options.h"

/* The path, without dots and links, of a file or folder that comes with the program: in $TANDEM_DATADIR alone where
 * that is set, else beside the program (../assets, ../share/tandem), where it was installed, or in assets/. False: not
 * there. */
bool load_data(const char *name, char out[PATH_MAX]);

/* What names the built-in model where a name is wanted (-m, /model, the configuration file). */
#define LOAD_BUILTIN "builtin"

/* Whether it is the built-in model: its name, or none. */
bool load_is_builtin(const char *path);

/* Is it on a server: by its address, or by a name of the configuration (src/server/server_alias.h)? */
bool load_is_remote(const options *o, const char *path);

/* The built-in model's file, or NULL. The string lives until the next call by the same thread. */
const char *load_builtin(void);

/* Whether it is the built-in model that was opened, by whatever name: its file, or by the fingerprint a copy of it. */
bool load_is_small(const tdm_model_info *opened);

/* Some tasks are beyond the built-in model. TDM_E_UNSUPPORTED where load_is_small(): a line on what needs a larger
 * one, and what to do. */
tdm_status load_check_large(const tdm_model_info *opened, const char *what, const char *remedy, tdm_error *err);

typedef struct {
    bool text_only;        /* no weights */
    const char *kernels;   /* this set; NULL: as --kernels says */
    bool own_template;     /* not that of --template, which is for the model that the program was started with */
    bool prefill;          /* for the prefill unit: with the kernels of --prefill-kind, not --decode-kind; set by those
                              that load two */
    bool agreed;           /* the user has agreed that what they write goes to the server that the model is on; else
                              --yes says it */
    bool plain_http;       /* the user has agreed to plain http there, too, should it be on an overlay network; else the
                              configuration says it, or what was kept of an answer (src/files/agreed.h) */
    bool *lacks_plain_http; /* set where it fails for want of that; or NULL */
    bool drafts;           /* what is typed may be sent to it as well, before Enter */
    tdm_progress progress; /* NULL: a line on stderr, where that is a terminal, after half a second; Ctrl-C cancels */
    void *progress_ctx;
} load_how;

/* path NULL or LOAD_BUILTIN: the built-in model; TDM_E_NOT_FOUND with a line on how to get one when there is none. */
tdm_status load_model(tdm_model **out, const options *o, const char *path, const load_how *how, tdm_error *err);
/* The models of both units. The prefill unit has one of its own, that of --prefill-model, or `path` once more where
 * --prefill-kind and --decode-kind differ. --prefill-model is another form of the model that the program was started
 * with, so it counts for that path alone, as --template does; the kinds count for every model. */
typedef struct {
    tdm_model *model, *prefill; /* prefill NULL: it shares the model */
    struct remote_model *server; /* the model is its; NULL: the model is here */
    tdm_preload *places;        /* of load_places, for load_chat; NULL: none */
    int context;                /* of the places */
} load_pair;

tdm_status load_pair_open(load_pair *out, const options *o, const char *path, const load_how *how, tdm_error *err);
void load_pair_close(load_pair *pair);
/* Writes the model `in` (as -m takes it) as a GGUF file; progress and Ctrl-C as above. */
tdm_status load_convert(const options *o, const char *in, const char *out, const char *type, tdm_error *err);
/* model: the one that will be used there, for which the best units may be known where none are named (units.h); NULL:
 * the cores are split by topology. */
tdm_status load_machine(tdm_machine **out, const options *o, const tdm_model *model, const load_how *how,
                        tdm_error *err);
/* Brings the weights to the machine's GPUs, so that load_chat takes no time there. */
tdm_status load_places(load_pair *pair, tdm_machine *machine, const options *o, const load_how *how, tdm_error *err);
/* Opens a chat with those models; settings: of settings_chat_options, changed as wanted. */
tdm_status load_chat(tdm_chat **out, load_pair *pair, tdm_machine *machine, tdm_chat_options *settings, tdm_error *err);
/* Where the machine is not what -t, --prefill-unit and --decode-unit seem to say: a line on what is used instead. */
bool load_machine_note(const options *o, const tdm_machine *m, char *out, size_t room);
/* The same on stderr. */
void load_machine_notes(const options *o, const tdm_machine *m);

/* --kv */
tdm_kv load_kv(const options *o);
/* The notes about a model that one should see: parts of its files that are left out, a template that stands for its
 * own, experts on disk, made-up weights; on stderr, one line each. */
void load_notes(const tdm_model *m);
/* The first of these alone, for what uses neither the template nor the time that a reply takes. */
void load_notices(const tdm_model *m);

/* Where --template is for another model than the one that was loaded from `path`: says so, without a newline. */
bool load_template_note(const options *o, const char *path, char *out, size_t room);

/* Of a model on a server where reading ahead may cost money: whether it is done all the same. False: nothing is to be
 * said. */
bool load_cost_note(const load_pair *pair, char *out, size_t room);

/* Where not all experts of a mixture fit into memory: says so, and how fast it will be, without a newline. */
bool load_disk_note(const tdm_model_info *info, char *out, size_t room);

/* For a command's end: "tandem: ..." on stderr; returns 1 (2 for TDM_E_ARG). */
int load_failed(const tdm_error *err);

#endif
