/* Replaces a file atomically: the new contents are written to a temporary file beside it, flushed to the disk and
 * renamed. Until then the path names the old file, which a crash or a full disk therefore leaves as it was. */
#ifndef TANDEM_BASE_ATOMIC_FILE_H
#define TANDEM_BASE_ATOMIC_FILE_H

#include <stddef.h>

#include "engine/tandem.h"

struct atomic_file;

/* Only the owner may read the file. */
tdm_status atomic_file_new(struct atomic_file **out, const char *path, tdm_error *err);
/* Gives the file the usual permissions, as the umask says, instead. This changes the umask of the process for a moment,
 * so no other thread may create files meanwhile. */
void atomic_file_share(struct atomic_file *f);
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
/* Removes what was written. NULL is allowed. */
void atomic_file_abort(struct atomic_file *f);

/* All of it in one call; only the owner may read the file. */
tdm_status atomic_file_put(const char *path, const void *data, size_t bytes, tdm_error *err);

#endif
