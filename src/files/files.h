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
/* $XDG_RUNTIME_DIR where it is what the standard has it be: a folder of this user's that is closed to all others
 * (0700). Else NULL: a folder of another kind may be another user's, or on a disk, and one that is missing is not
 * made. */
const char *files_runtime(void);

/* "folder/name", malloc'ed. */
char *files_join(const char *folder, const char *name);

/* Removes what killed programs left: half-written files in all folders that the program writes to, also in those of the
 * user's that unfinished.h knows of, and drafts in folders of their own (engine/os/scratch.h). */
void files_sweep(void);

/* The file that a command is to write: its argument without a --force before or behind it, as path_read() reads it,
 * malloc'ed. Without --force
 * an existing file is refused; what is no regular file is written into and not asked about. NULL with a line. */
char *files_to_write(const char *argument, tdm_error *err);
/* Whether files_to_write() would refuse. */
bool files_would_overwrite(const char *argument);
/* Whether --force stands beside the name. */
bool files_forces(const char *argument);

/* Before a command writes the file that its command line names (NULL: it names none), and again when it does: one that
 * is there, through links too, is refused (TDM_E_IO) unless it may be overwritten. What is no regular file is written
 * into. */
tdm_status files_may_write(const char *path, bool overwrite, tdm_error *err);

/* A whole file of at most `most` bytes, malloc'ed, with a zero byte after it. "-" is standard input,
 * and /dev/fd/N may be a pipe; no other FIFO or device is read. */
tdm_status files_read(const char *path, size_t most, char **out, size_t *n, tdm_error *err);

/* The same of a text of the program's own, or of settings, which an editor may begin with a byte order mark: it is left
 * out. */
tdm_status files_read_text(const char *path, size_t most, char **out, size_t *n, tdm_error *err);

/* A file that is written as it comes, as file_create() opens it. NULL on failure. */
tdm_status files_create(const char *path, unsigned mode, FILE **out, tdm_error *err);

/* Keeps a small text as the state folder's file of that name. One that is so already isn't touched; what can't be
 * kept is passed over. */
void files_remember(const char *name, const char *text, size_t n);

#endif
