#include "src/io/clip.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/process/inherit.h"
#include "ui/terminal/questions.h"

/* Which terminal takes an escape sequence: what it has said itself (ui/terminal/questions.h) comes before what the
 * environment says, which ssh and sudo leave out and other terminals inherit. */
static enum clipboard_terminal terminal_of(bool tmux)
{
    enum { TMUX = 84, SCREEN = 83 };
    const int said = questions_identity();
    const char *term = getenv("TERM");
    if (said == TMUX || said == SCREEN) return said == TMUX ? CLIPBOARD_TMUX : CLIPBOARD_SCREEN;
    if (said >= 0) return CLIPBOARD_USUAL;
    if (tmux || (term && !strncmp(term, "tmux", 4))) return CLIPBOARD_TMUX;
    return term && !strncmp(term, "screen", 6) ? CLIPBOARD_SCREEN : CLIPBOARD_USUAL;
}

static struct clipboard_options from_environment(bool terminal)
{
    const enum clipboard_terminal kind = terminal_of(getenv("TMUX") != NULL);
    return (struct clipboard_options){.path = getenv("PATH"),
                                      .wayland_display = getenv("WAYLAND_DISPLAY"),
                                      .display = getenv("DISPLAY"),
                                      .tmux = getenv("TMUX") && kind != CLIPBOARD_USUAL,
                                      .terminal = kind,
                                      .no_terminal = !terminal};
}

/* The same with the environment of helper programs, to be freed. */
static tdm_status prepare(struct clipboard_options *out, char ***environment, bool terminal, tdm_error *err)
{
    *out = from_environment(terminal);
    out->environment = *environment = inherit_for_user();
    return *environment ? TDM_OK : error_set(err, TDM_E_NOMEM, "no memory for the clipboard");
}

tdm_status clip_copy(const char *text, size_t n, bool terminal, struct clipboard_result *out, tdm_error *err)
{
    struct clipboard_options how;
    char **environment;
    tdm_status status = prepare(&how, &environment, terminal, err);
    if (!status) status = clipboard_copy(&how, text, n, out, err);
    free(environment);
    return status;
}

tdm_status clip_paste(size_t most, char **out, size_t *n, tdm_error *err)
{
    struct clipboard_options how;
    char **environment;
    tdm_status status = prepare(&how, &environment, false, err);
    if (!status) status = clipboard_paste(&how, most, out, n, err);
    free(environment);
    return status;
}

tdm_status clip_paste_picture(size_t most, char **out, size_t *n, tdm_error *err)
{
    struct clipboard_options how;
    char **environment;
    tdm_status status = prepare(&how, &environment, false, err);
    if (!status) status = clipboard_paste_picture(&how, most, out, n, err);
    free(environment);
    return status;
}
