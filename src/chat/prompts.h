/* The library of prompts: NAME.md in the folder prompts/ beside the configuration file, and in the one that comes with
 * the program (load_data). The user's own wins. src/chat/prompt.h says what a file holds. One thread. */
#ifndef TANDEM_SRC_PROMPTS_H
#define TANDEM_SRC_PROMPTS_H

#include "src/attach/attach.h"
#include "src/chat/prompt.h"

typedef struct {
    char *name;
    char *words; /* its description, the beginning of its text, or what is wrong with the file */
    bool own;    /* the user's */
} prompts_entry;

/* All prompts, by name; malloc'ed, *n how many. Files whose name can't be a prompt's are left out. */
tdm_status prompts_list(prompts_entry **out, int *n, tdm_error *err);
void prompts_list_free(prompts_entry *all, int n);

/* Reads the prompt of that name. TDM_E_ARG: it can't be one (1 to 64 bytes of UTF-8 without blanks, slashes, control
 * characters and a dot at the beginning). TDM_E_NOT_FOUND with the nearest name. */
tdm_status prompts_read(prompt_file *out, const char *name, tdm_error *err);

/* The file of that name as it is, malloc'ed and ended with a zero, right or wrong. *own: it is the user's. */
tdm_status prompts_text(const char *name, char **text, size_t *n, bool *own, tdm_error *err);
/* Writes one of the user's own, which is made or takes the place of the one there. What is wrong with it, prompts_list
 * says. */
tdm_status prompts_put(const char *name, const char *text, size_t n, tdm_error *err);
/* These are for the user's own; of one that comes with the program TDM_E_UNSUPPORTED. A deleted one lies in the folder
 * trash/ beside the others, where an earlier one of its name is replaced; prompts_undelete brings it back
 * (TDM_E_BUSY: there is another one by now). */
tdm_status prompts_delete(const char *name, tdm_error *err);
tdm_status prompts_undelete(const char *name, tdm_error *err);
/* TDM_E_BUSY: there is one of the new name. */
tdm_status prompts_rename(const char *name, const char *to, tdm_error *err);

/* Attaches what the prompt asks for, as attach_file does; a path that begins with ~/ is below the home. On failure what
 * was attached before is still there, and nothing new. */
tdm_status prompts_attach(const prompt_file *p, attachments *a, const tdm_model *model, int room, tdm_error *err);

/* Whether the prompt sets a live option (src/cli/options.h) that this model takes. */
bool prompts_sets(const prompt_file *p, option_id id, const tdm_model_info *model);

#endif
