/* The draft in the user's editor. The program continues in the background: its loop waits for editor_fd() beside
 * everything else, and receives and saves replies, but does not draw.
 *
 *     editor_start(&e, options, text)      hands the terminal over (options.release) and starts the editor
 *     poll(editor_fd(e), POLLIN)           readable when the editor has ended
 *     editor_finish(e, &text, err)         takes the terminal back (options.retake), returns the text
 *
 * The editor gets the terminal by inheriting descriptors 0-2, in our process group: Ctrl-Z in it stops both, as in a
 * shell pipeline, and the program must not draw on SIGCONT while editor_start() is in force. SIGINT and SIGQUIT are
 * ignored in the program for that time. The draft lies in a file of mode 0600 in a folder of its own
 * (engine/os/scratch.h), which is removed in any case, with all other files there; if the program is killed, by the
 * next scratch_sweep(). UI thread.
 */
#ifndef TANDEM_UI_EDITOR_H
#define TANDEM_UI_EDITOR_H

#include "engine/tandem.h"

#define EDITOR_TEXT_MAX (64u << 20) /* bytes that are read back */

struct editor_options {
    /* $VISUAL, $EDITOR; may be NULL or empty: then `vi`. May hold arguments ("code --wait"). */
    const char *visual, *editor;
    const char *folder;          /* the folder in which that folder is made: $XDG_RUNTIME_DIR or $TMPDIR; NULL: /tmp */
    char *const *environment;    /* of the editor; used only during editor_start(). NULL: the program's own */
    void (*release)(void *context); /* may be NULL */
    void (*retake)(void *context);  /* called exactly once for every release */
    void *context;
};

struct editor;

/* TDM_E_IO: nothing was started, and the terminal is ours. */
tdm_status editor_start(struct editor **out, const struct editor_options *options, const char *text, tdm_error *err);
int editor_fd(const struct editor *e);

/* Ends the editor, because the program ends: by SIGTERM, and after half a second by SIGKILL. editor_finish() then
 * returns the file's text at that time. */
void editor_end(struct editor *e);

/* Waits for the editor if it still runs. *text: the file's text, cleaned (engine/base/clean.h), without one line end at
 * its end; the caller frees it. TDM_E_CANCELLED: the editor ended with an error (`:cq`) or couldn't be run: the draft
 * stays. Frees e. */
tdm_status editor_finish(struct editor *e, char **text, tdm_error *err);

#endif
