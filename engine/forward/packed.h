/* Files of packed weights: what loading a model made of its files, kept so that the next start reads it instead of packing
 * again. They live in one folder, KEY.packed each. The key stands for the model's files (their sizes and times, too), the
 * kernel set, and how that packs: whatever changes there, another name is looked up, and the old file is removed in time
 * as the least recently used.
 *
 * Layout, in this machine's byte order: the blobs one after the other, each beginning on a page, a checksum for each piece
 * of 4 MiB of a blob, and a trailer. A file that is damaged, cut short or of another layout is never an error: it counts
 * as not there, is removed, and the weights are packed as usual.
 */
#ifndef TANDEM_FORWARD_PACKED_H
#define TANDEM_FORWARD_PACKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tandem.h"
#include "engine/thread/team.h"

/* Memory that is kept: a packed matrix, all vectors, all experts. */
struct blob {
    void *data;
    uint64_t bytes;
};

/* Reads and checks all blobs of KEY.packed with the threads of the team; the file is the most recently used one then.
 * false: there is no such file, or it is unusable; what the blobs hold is undefined. progress as in tdm_model_options: when
 * it wants to stop, *cancelled is set and the answer is false. */
bool packed_load(const char *folder, uint64_t key, const struct blob *blobs, size_t n, struct team *team,
                 tdm_progress progress, void *progress_ctx, bool *cancelled);

/* Writes KEY.packed, after removing the least recently used files until all together take at most `limit` bytes
 * (PACKED_AUTO: a tenth of what is free on the disk or taken by such files). The folder is made. *stop is looked at every
 * few megabytes: when set, nothing is written (TDM_E_CANCELLED). A file that alone is over the limit is TDM_E_NOMEM; a full
 * disk TDM_E_IO. The folder's other files stay as they are. */
#define PACKED_AUTO UINT64_MAX
tdm_status packed_save(const char *folder, uint64_t key, uint64_t limit, const struct blob *blobs, size_t n,
                       const atomic_bool *stop, tdm_error *err);

#endif
