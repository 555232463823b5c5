/* Bytes to a descriptor, folders, and programs. */
#ifndef TANDEM_BASE_FILE_H
#define TANDEM_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

/* Writes all bytes to a blocking descriptor, however many calls and interruptions that takes; false with errno. Safe in
 * signal handlers. */
bool file_write_all(int fd, const void *data, size_t bytes);

/* Makes the folder and those above it that are missing, with the mode that the umask leaves of `mode`. */
tdm_status file_make_folders(const char *path, unsigned mode, tdm_error *err);

/* A regular file that this process may run. */
bool file_is_program(const char *path);
/* The program in the first of these folders (as PATH has them, with colons between; NULL: none) that has it. Empty and
 * relative ones don't count: what lies in the folder where the user happens to be is never run. */
bool file_find_program(const char *folders, const char *name, char out[PATH_MAX]);

#endif
