/* The library of prompts: NAME.md in the folder prompts/ beside the configuration file, and in the one that comes with
 * the program (load_data). The user's own has priority. src/chat/prompt.h describes the files. One thread. */
#ifndef TANDEM_SRC_PROMPTS_H
#define TANDEM_SRC_PROMPTS_H

#include "src/attach/attach.h"
#include "src/chat/prompt.h"

typedef struct {
    char *name;
    char *words; /* its description, the beginning of its text, or an error in the file */
    bool own;    /* the user's */
} prompts_entry;

/* All prompts, by name; malloc'ed, *n how many. Files whose names are not valid for prompts are left out. */
tdm_status prompts_list(prompts_entry **out, int *n, tdm_error *err);
void prompts_list_free(prompts_entry *all, int n);

/* Reads the prompt of that name. TDM_E_ARG: not a valid name (1 to 64 bytes of UTF-8 without blanks, slashes, control
 * characters and a dot at the beginning). TDM_E_NOT_FOUND with the nearest name. */
tdm_status prompts_read(prompt_file *out, const char *name, tdm_error *err);

/* The contents of the file of that name, valid or not, malloc'ed with a zero at the end. *own: it is the user's. */
tdm_status prompts_text(const char *name, char **text, size_t *n, bool *own, tdm_error *err);
/* Writes one of the user's own prompts, and replaces one of that name. Errors in it are shown by prompts_list. */
tdm_status prompts_put(const char *name, const char *text, size_t n, tdm_error *err);
/* For the user's own prompts; TDM_E_UNSUPPORTED for one that comes with the program. A deleted one is moved to the
 * folder trash/ beside the others, where it replaces an earlier one of its name; prompts_undelete moves it back
 * (TDM_E_BUSY: there is a new one of that name). */
tdm_status prompts_delete(const char *name, tdm_error *err);
tdm_status prompts_undelete(const char *name, tdm_error *err);
/* TDM_E_BUSY: there is one of the new name. */
tdm_status prompts_rename(const char *name, const char *to, tdm_error *err);

/* Attaches the files and the clipboard that the prompt names, as attach_file does; a path that begins with ~/ is below
 * the home folder. On failure the attachments are unchanged. */
tdm_status prompts_attach(const prompt_file *p, attachments *a, const tdm_model *model, int room, tdm_error *err);

/* Whether the prompt sets a live option (src/cli/options.h) that this model takes. */
bool prompts_sets(const prompt_file *p, option_id id, const tdm_model_info *model);

#endif
