/* Files of packed weights: a cache that the next start reads instead of packing a model's weights again.
 * They are in one folder, KEY.packed each. The key is a hash of the model's files (with their sizes and times), the
 * kernel set, and its way of packing. If any of these changes, another file is looked up, and the old one is eventually
 * removed as the least recently used.
 *
 * Layout, in this machine's byte order: the blobs one after the other, each beginning on a page, a checksum for each
 * piece of 4 MiB of a blob, and a trailer. A damaged, truncated or foreign file is not an error: it is removed, and
 * the weights are packed as usual.
 */
#ifndef TANDEM_FORWARD_PACKED_H
#define TANDEM_FORWARD_PACKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tandem.h"
#include "engine/thread/team.h"

/* A block of memory in the file: a packed matrix, all vectors, or all experts. */
struct blob {
    void *data;
    uint64_t bytes;
};

/* How a file is read. */
struct packed_reading {
    struct team *team;
    tdm_progress progress; /* as in tdm_model_options; may be NULL */
    void *progress_ctx;
    bool forget; /* what has been read leaves the system's cache (weights_options) */
};

/* Reads and verifies all blobs of KEY.packed and marks the file as most recently used. False: no such file, an unusable
 * one, or no memory (the file stays); the blobs' contents are then undefined. If the progress function cancels,
 * *cancelled is set and the result is false. */
bool packed_load(const char *folder, uint64_t key, const struct blob *blobs, size_t n, const struct packed_reading *how,
                 bool *cancelled);

/* Writes KEY.packed, after removing the least recently used files until all together take at most `limit` bytes
 * (PACKED_AUTO: a tenth of what is free on the disk or taken by such files). Creates the folder. *stop is polled
 * every few megabytes: when set, nothing is written (TDM_E_CANCELLED). A file that alone is over the limit is
 * TDM_E_NOMEM; a full disk TDM_E_IO. The folder's other files stay as they are. */
#define PACKED_AUTO UINT64_MAX
tdm_status packed_save(const char *folder, uint64_t key, uint64_t limit, const struct blob *blobs, size_t n,
                       const atomic_bool *stop, tdm_error *err);

#endif
