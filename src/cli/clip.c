#include "src/cli/clip.h"

#include <stdlib.h>

static struct clipboard_options from_environment(bool terminal)
{
    return (struct clipboard_options){.path = getenv("PATH"),
                                      .wayland_display = getenv("WAYLAND_DISPLAY"),
                                      .display = getenv("DISPLAY"),
                                      .term = getenv("TERM"),
                                      .tmux = getenv("TMUX") != NULL,
                                      .no_terminal = !terminal};
}

tdm_status clip_copy(const char *text, size_t n, bool terminal, struct clipboard_result *out, tdm_error *err)
{
    const struct clipboard_options how = from_environment(terminal);
    return clipboard_copy(&how, text, n, out, err);
}

tdm_status clip_paste(size_t most, char **out, size_t *n, tdm_error *err)
{
    const struct clipboard_options how = from_environment(false);
    return clipboard_paste(&how, most, out, n, err);
}
