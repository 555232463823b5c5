/* Where the program keeps its files, and writing them so that a crash or a full disk never leaves half a file. */
#ifndef TANDEM_SRC_FILES_H
#define TANDEM_SRC_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

typedef enum { FILES_CONFIG, FILES_STATE, FILES_CACHE } files_kind;

/* "$XDG_..._HOME/tandem/name" (defaults: ~/.config, ~/.local/state, ~/.cache), malloc'ed; NULL when there is neither
 * the variable nor a home folder, or no memory. */
char *files_path(files_kind kind, const char *name);
/* Makes the folder and those above it, 0700: only the user's; files_make_folders as mode and umask say. */
tdm_status files_make_folder(const char *path, tdm_error *err);
tdm_status files_make_folders(const char *path, unsigned mode, tdm_error *err);
/* "folder/name", malloc'ed. */
char *files_join(const char *folder, const char *name);

/* Writes a new file (0600) beside `path`, flushes it to the disk and renames it to path. */
tdm_status files_write(const char *path, const void *bytes, size_t n, tdm_error *err);
/* A whole file of at most `most` bytes, malloc'ed, with a zero byte after it. "-" is standard input. */
tdm_status files_read(const char *path, size_t most, char **out, size_t *n, tdm_error *err);

#endif
