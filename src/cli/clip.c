#include "src/cli/clip.h"

#include <stdlib.h>

tdm_status clip_copy(const char *text, size_t n, bool terminal, struct clipboard_result *out, tdm_error *err)
{
    const struct clipboard_options how = {.path = getenv("PATH"),
                                          .wayland_display = getenv("WAYLAND_DISPLAY"),
                                          .display = getenv("DISPLAY"),
                                          .term = getenv("TERM"),
                                          .tmux = getenv("TMUX") != NULL,
                                          .no_terminal = !terminal};
    return clipboard_copy(&how, text, n, out, err);
}
