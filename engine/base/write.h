/* Writing a file so that it is there whole or not at all: to a temporary name beside it, then renamed. */
#ifndef TANDEM_MODEL_WRITE_H
#define TANDEM_MODEL_WRITE_H

#include "engine/tandem.h"

struct file_writer;

tdm_status file_writer_new(struct file_writer **out, const char *path, tdm_error *err);
/* Before the first write: only the owner may read the file. */
void file_writer_private(struct file_writer *w);
/* Buffered. An error (a full disk, say) is one line with the path and the bytes written so far. */
tdm_status file_write(struct file_writer *w, const void *data, uint64_t bytes, tdm_error *err);
uint64_t file_written(const struct file_writer *w);
/* Flushes to the disk and puts the file in place. Frees w in any case. */
tdm_status file_writer_commit(struct file_writer *w, tdm_error *err);
/* Removes what was written. NULL is allowed. */
void file_writer_abort(struct file_writer *w);

#endif
