/* The library of prompts: NAME.md in the folder prompts/ beside the configuration file, and in the one that comes with
 * the program (load_data). The user's own wins. What a file holds is told in src/chat/prompt.h. One thread. */
#ifndef TANDEM_SRC_PROMPTS_H
#define TANDEM_SRC_PROMPTS_H

#include "src/chat/attach.h"
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

/* Attaches what the prompt asks for, as attach_file does; a path that begins with ~/ is below the home. On failure what
 * was attached before is still there, and nothing new. */
tdm_status prompts_attach(const prompt_file *p, attachments *a, const tdm_model *model, int room, tdm_error *err);

/* Whether the prompt sets a live option (src/cli/options.h) that this model takes. */
bool prompts_sets(const prompt_file *p, option_id id, const tdm_model_info *model);

#endif
