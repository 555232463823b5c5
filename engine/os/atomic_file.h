/* Replaces a file atomically: the new contents are written to a temporary file beside it, flushed to the disk and
 * renamed, and the folder is flushed. Until then the path names the old file, which a crash or a full disk therefore
 * leaves as it was. Where the path is a link, the file that it leads to is replaced; anything but a regular file (a
 * folder, a device, a FIFO) is an error. Temporary files of a killed program are removed when the next file is written
 * to their folder, or by atomic_file_sweep(). */
#ifndef TANDEM_BASE_ATOMIC_FILE_H
#define TANDEM_BASE_ATOMIC_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tandem.h"

struct atomic_file;

/* Only the owner may read the file. */
tdm_status atomic_file_new(struct atomic_file **out, const char *path, tdm_error *err);
/* The file has the usual permissions, as the umask says. */
tdm_status atomic_file_new_shared(struct atomic_file **out, const char *path, tdm_error *err);
/* The same for a file that the user names: one that is there keeps its mode, and its owner where that is allowed; a
 * device or a FIFO stays, and is written into directly (file_create). */
tdm_status atomic_file_new_named(struct atomic_file **out, const char *path, tdm_error *err);
/* Buffered. An error (a full disk, say) is one line with the path and, if any were written, the number of bytes. */
tdm_status atomic_file_write(struct atomic_file *f, const void *data, uint64_t bytes, tdm_error *err);
uint64_t atomic_file_written(const struct atomic_file *f);
/* The open temporary file, which will be the file at the path: for fstat. */
int atomic_file_descriptor(const struct atomic_file *f);
/* Has the file put in place without flushing it to the disk, which takes long for large ones: after a power cut it may
 * be damaged. For files that are verified when read and can be rebuilt. */
void atomic_file_relax(struct atomic_file *f);
/* Flushes to the disk and puts the file in place. Frees f in any case. */
tdm_status atomic_file_commit(struct atomic_file *f, tdm_error *err);
/* Removes the temporary file and frees f. NULL is allowed. */
void atomic_file_abort(struct atomic_file *f);

/* All of it in one call; only the owner may read the file. */
tdm_status atomic_file_put(const char *path, const void *data, size_t bytes, tdm_error *err);
/* The same for a file of the user's: its mode and owner are kept likewise. A device or a FIFO stays and is written into
 * (file_write_into). */
tdm_status atomic_file_replace(const char *path, const void *data, size_t bytes, tdm_error *err);

/* Removes the temporary files of the folder that no program is writing any more: each is locked while it is written. On
 * a file system of another machine, whose locks may not be seen, only those older than a day. False: some may be there
 * still. */
bool atomic_file_sweep(const char *folder);
/* Removes one file of an open folder, called `name`, by the same rule; false: it stays. */
bool atomic_file_remove_left(int folder, const char *name);

#endif
