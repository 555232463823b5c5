/* Opens models and machines by the options: finds the built-in model and the Hugging Face caches, shows progress on the
 * terminal, handles Ctrl-C. Reads the environment, which the engine does not. */
#ifndef TANDEM_SRC_LOAD_H
#define TANDEM_SRC_LOAD_H

#include <limits.h>

#include "src/cli/options.h"

/* The path, without dots and links, of a file or folder that comes with the program: in $TANDEM_DATADIR alone if that
 * is set, else beside the program (../assets, ../share/tandem), where it was installed, or in assets/. False: not
 * found. */
bool load_data(const char *name, char out[PATH_MAX]);

/* The name of the built-in model for -m, /model and the configuration file. */
#define LOAD_BUILTIN "builtin"

/* Whether it is the built-in model: its name, or none. */
bool load_is_builtin(const char *path);

/* Is it on a server: by its address, or by a name of the configuration (src/server/server_alias.h)? */
bool load_is_remote(const options *o, const char *path);

/* The built-in model's file, or NULL. The string lives until the next call by the same thread. */
const char *load_builtin(void);

/* Whether the opened model is the built-in one: its file, or a copy of it (by the fingerprint). */
bool load_is_small(const tdm_model_info *opened);

/* Some tasks are beyond the built-in model. TDM_E_UNSUPPORTED if load_is_small(): the line says what needs a larger
 * model, and gives the remedy. */
tdm_status load_check_large(const tdm_model_info *opened, const char *what, const char *remedy, tdm_error *err);

typedef struct {
    bool text_only;        /* no weights */
    const char *kernels;   /* this set; NULL: as --kernels says */
    bool own_template;     /* ignore --template, which is for the model of the program's start */
    bool prefill;          /* for the prefill unit: with the kernels of --prefill-kind, not --decode-kind; set when two
                              models are loaded */
    const tdm_model *weights_of; /* as in tdm_model_options; or NULL */
    bool agreed;           /* the user has agreed to send their text to the model's server; otherwise --yes counts */
    bool plain_http;       /* the user has agreed to plain http too, if the server is on an overlay network; otherwise
                              the configuration or a stored answer counts (src/files/agreed.h) */
    bool *lacks_plain_http; /* set if the failure is the lack of that consent; or NULL */
    bool drafts;           /* drafts may be sent to it, too, before Enter */
    tdm_progress progress; /* NULL: a line on stderr, if that is a terminal, after half a second; Ctrl-C cancels */
    void *progress_ctx;
} load_how;

/* path NULL or LOAD_BUILTIN: the built-in model; TDM_E_NOT_FOUND with a line on how to get one when there is none. */
tdm_status load_model(tdm_model **out, const options *o, const char *path, const load_how *how, tdm_error *err);
/* The models of both units. The prefill unit has its own: that of --prefill-model, or `path` loaded again if
 * --prefill-kind and --decode-kind differ. --prefill-model is another form of the model that the program was started
 * with, so it counts for that path alone, as --template does; the kinds count for every model. */
typedef struct {
    tdm_model *model, *prefill; /* prefill NULL: it shares the model */
    struct remote_model *server; /* the model's server; NULL: the model is on this computer */
    tdm_preload *places;        /* of load_places, for load_chat; NULL: none */
    int context;                /* of the places */
} load_pair;

tdm_status load_pair_open(load_pair *out, const options *o, const char *path, const load_how *how, tdm_error *err);
void load_pair_close(load_pair *pair);
/* Writes the model `in` (as -m takes it) as a GGUF file; progress and Ctrl-C as above. */
tdm_status load_convert(const options *o, const char *in, const char *out, const char *type, tdm_error *err);
/* model: the one that will be used there; if neither units nor kinds are named, the best ones for it may be known
 * (units.h). NULL: the cores are split by topology. */
tdm_status load_machine(tdm_machine **out, const options *o, const tdm_model *model, const load_how *how,
                        tdm_error *err);
/* The same model for cores that read in bfloat16, with its packed weights; `decodes` is closed later. */
tdm_status load_bf16(tdm_model **out, const options *o, const tdm_model *decodes, const load_how *how, tdm_error *err);
/* Brings the models to the machine, so that load_chat need not: opens one for PREFILL if it was measured to read better
 * in bfloat16 (units.h), and copies the weights to the machine's GPUs. */
tdm_status load_places(load_pair *pair, tdm_machine *machine, const options *o, const load_how *how, tdm_error *err);
/* Opens a chat with those models; settings: of settings_chat_options, changed as wanted. */
tdm_status load_chat(tdm_chat **out, load_pair *pair, tdm_machine *machine, tdm_chat_options *settings, tdm_error *err);
/* If the machine's units differ from -t, --prefill-unit and --decode-unit: a line about the units in use. */
bool load_machine_note(const options *o, const tdm_machine *m, char *out, size_t room);
/* The same on stderr. */
void load_machine_notes(const options *o, const tdm_machine *m);

/* --kv */
tdm_kv load_kv(const options *o);
/* Prints notes about a model on stderr, one line each: parts of its files that are left out, a substitute template,
 * experts on disk, synthetic weights. */
void load_notes(const tdm_model *m);
/* Prints only the first kind, for commands that neither use the template nor write replies. */
void load_notices(const tdm_model *m);

/* If --template is for another model than that of `path`: a line about it, without a newline. False: it isn't. */
bool load_template_note(const options *o, const char *path, char *out, size_t room);

/* For a model on a server where reading ahead may cost money: a line that says whether it is done. False: no such
 * server. */
bool load_cost_note(const load_pair *pair, char *out, size_t room);

/* If not all experts of a mixture fit into memory: a line with the expected speed, without a newline. False: all
 * fit. */
bool load_disk_note(const tdm_model_info *info, char *out, size_t room);

/* For a command's end: "tandem: ..." on stderr; returns 1 (2 for TDM_E_ARG). */
int load_failed(const tdm_error *err);

#endif
