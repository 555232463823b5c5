/* A conversation as one self-contained page of HTML: no script, no address that a browser would follow or load,
 * embedded pictures, colours for light and dark. Messages look as on the screen: those of the user as they were
 * written, replies and system prompt with the structure of their Markdown, thinking folded. All texts are untrusted:
 * they are escaped, and characters that could reverse or hide text are replaced (output_harmless). Any thread. */
#ifndef TANDEM_SRC_HTML_H
#define TANDEM_SRC_HTML_H

#include "src/session/session.h"

/* The current path, zero-terminated, malloc'ed; NULL without memory. */
char *html_page(const session *s, size_t *n);

#endif
