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

/* What a mode of stat() says that it is: "a FIFO", "a folder". */
const char *file_kind(unsigned mode);

/* Opens a file that is read as a whole, by a name from outside: *fd stays -1 on failure, with one line in err
 * (TDM_E_NOT_FOUND: there is none). A FIFO, a device, a socket or a folder is refused without waiting for anybody. */
tdm_status file_open(const char *path, int *fd, tdm_error *err);
/* The same where the file has to be there: TDM_E_IO if it isn't. */
tdm_status file_open_needed(const char *path, int *fd, tdm_error *err);

/* Writes into a device or a FIFO that is there. A FIFO that nobody reads, or whose reader stops reading for two
 * seconds, is an error. */
tdm_status file_write_into(const char *path, const void *data, size_t bytes, tdm_error *err);

/* Flushes the folder that the path stands in to the disk, so that a file renamed or removed there stays so after a
 * power cut. A file system that can't is no error. */
tdm_status file_sync_folder(const char *path, tdm_error *err);

/* Makes the folder and those above it that are missing, with the mode that the umask leaves of `mode`. */
tdm_status file_make_folders(const char *path, unsigned mode, tdm_error *err);

/* A regular file that this process may run. */
bool file_is_program(const char *path);
/* The program in the first of these folders (as PATH has them, with colons between; NULL: none) that has it. Empty and
 * relative ones don't count: what lies in the folder where the user happens to be is never run. */
bool file_find_program(const char *folders, const char *name, char out[PATH_MAX]);

#endif
