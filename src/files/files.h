/* Where the program keeps its files, and reading whole ones. */
#ifndef TANDEM_SRC_FILES_H
#define TANDEM_SRC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/tandem.h"

typedef enum { FILES_CONFIG, FILES_STATE, FILES_CACHE } files_kind;

/* "$XDG_..._HOME/tandem/name" (defaults: ~/.config, ~/.local/state, ~/.cache), malloc'ed; NULL when there is neither
 * the variable nor a home folder, or no memory. */
char *files_path(files_kind kind, const char *name);
/* $XDG_RUNTIME_DIR if it is as the standard demands: a folder of this user's that is closed to all others (0700). Else
 * NULL: another folder may be another user's, or on a disk. A missing one is not created. */
const char *files_runtime(void);

/* Removes files that killed programs left: half-written ones in all folders that the program writes to, including
 * folders of the user's that unfinished.h lists, and folders of drafts (engine/os/scratch.h). */
void files_sweep(void);

/* The file that a command must write: its argument without a --force before or after it, as path_read() reads it,
 * malloc'ed. Without --force an existing regular file is refused; others, such as devices, are written into. NULL with
 * a line in err. */
char *files_to_write(const char *argument, tdm_error *err);
/* Whether files_to_write() would refuse. */
bool files_would_overwrite(const char *argument);
/* Whether --force stands beside the name. */
bool files_forces(const char *argument);

/* Before a command writes the file that its command line names (NULL: it names none), and again when it does: an
 * existing one, also through links, is refused (TDM_E_IO) unless it may be overwritten. So is a folder, and a place
 * where no file can be made, or all that comes before the writing would be done in vain. Other files that are not
 * regular are written into. */
tdm_status files_may_write(const char *path, bool overwrite, tdm_error *err);

/* A whole file of at most `most` bytes, malloc'ed, with a zero byte after it. "-" is standard input,
 * and /dev/fd/N may be a pipe; no other FIFO or device is read. */
tdm_status files_read(const char *path, size_t most, char **out, size_t *n, tdm_error *err);

/* The same for the program's own texts and for settings: a byte order mark, which editors may put at the beginning, is
 * left out. */
tdm_status files_read_text(const char *path, size_t most, char **out, size_t *n, tdm_error *err);

/* Opens a file for writing in place with file_create(). *out is NULL on failure. */
tdm_status files_create(const char *path, unsigned mode, FILE **out, tdm_error *err);

/* Stores a small text in the state folder's file of that name. An equal file isn't touched; failures are ignored. */
void files_remember(const char *name, const char *text, size_t n);

#endif
