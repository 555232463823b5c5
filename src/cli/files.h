/* Where the program keeps its files, and reading whole ones. */
#ifndef TANDEM_SRC_FILES_H
#define TANDEM_SRC_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

typedef enum { FILES_CONFIG, FILES_STATE, FILES_CACHE } files_kind;

/* "$XDG_..._HOME/tandem/name" (defaults: ~/.config, ~/.local/state, ~/.cache), malloc'ed; NULL when there is neither
 * the variable nor a home folder, or no memory. */
char *files_path(files_kind kind, const char *name);
/* "folder/name", malloc'ed. */
char *files_join(const char *folder, const char *name);

/* A path as the program opens it, malloc'ed: what begins with ~/ is below the home folder. */
char *files_expand(const char *path, size_t n);

/* A whole file of at most `most` bytes, malloc'ed, with a zero byte after it. "-" is standard input. */
tdm_status files_read(const char *path, size_t most, char **out, size_t *n, tdm_error *err);

#endif
