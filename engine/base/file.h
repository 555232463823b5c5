/* Bytes to a descriptor, and folders. */
#ifndef TANDEM_BASE_FILE_H
#define TANDEM_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

/* Writes all bytes to a blocking descriptor, however many calls and interruptions that takes; false with errno. Safe in
 * signal handlers. */
bool file_write_all(int fd, const void *data, size_t bytes);

/* Makes the folder and those above it that are missing, with the mode that the umask leaves of `mode`. */
tdm_status file_make_folders(const char *path, unsigned mode, tdm_error *err);

#endif
