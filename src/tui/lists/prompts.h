/* The list of the prompt library: Enter puts one into the draft, e edits one, r renames, d deletes, for the user's own,
 * and u undoes that. It opens over the transcript as a popup and gets the keys. */
#ifndef TANDEM_SRC_TUI_PROMPTS_H
#define TANDEM_SRC_TUI_PROMPTS_H

#include "src/chat/prompts.h"
#include "src/tui/action.h"
#include "src/tui/lists/list.h"
#include "ui/keys/decoder.h"

enum { TUI_PROMPTS_NAME = 72 };

/* Zeroed: never opened. */
typedef struct {
    tui_list choice;
    prompts_entry *all;
    int n;
    char deleted[TUI_PROMPTS_NAME]; /* the one that `u` brings back; "": none */
    char shown[TUI_PROMPTS_NAME];   /* the prompt of the preview */
    char preview[2][TUI_LIST_ROW];  /* its settings; its first words */
} tui_prompts;

/* Reads the library. */
tdm_status tui_prompts_open(tui_prompts *p, tdm_error *err);
/* Reads it again after one was edited, and shows the line `said`. */
void tui_prompts_edited(tui_prompts *p, const char *name, const char *said);
extern const tui_list_kind tui_prompts_list; /* the owner is a tui_prompts */
void tui_prompts_close(tui_prompts *p);

#endif
