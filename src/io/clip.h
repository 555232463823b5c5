/* The clipboard of the terminal, or of the desktop, that this program runs in. */
#ifndef TANDEM_SRC_CLIP_H
#define TANDEM_SRC_CLIP_H

#include "ui/terminal/clipboard.h"

/* clipboard_copy() with options from the environment. terminal: there is a terminal to which an escape sequence can be
 * written. */
tdm_status clip_copy(const char *text, size_t n, bool terminal, struct clipboard_result *out, tdm_error *err);
/* clipboard_paste(), likewise. */
tdm_status clip_paste(size_t most, char **out, size_t *n, tdm_error *err);
/* clipboard_paste_picture(), likewise. */
tdm_status clip_paste_picture(size_t most, char **out, size_t *n, tdm_error *err);

#endif
