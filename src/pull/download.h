/* Fetches one file of a repository into the cache: continues where an earlier attempt ended, checks the digest, and
 * only then gives the blob its name. */
#ifndef TANDEM_SRC_PULL_DOWNLOAD_H
#define TANDEM_SRC_PULL_DOWNLOAD_H

#include "src/hub/cache.h"
#include "src/pull/digest.h"
#include "src/pull/progress.h"
#include "src/pull/transfer.h"

typedef struct {
    transfer *transfer;
    const cache *cache;
    digest *digest;
    progress *progress;
    const char *url; /* ENDPOINT/OWNER/NAME/resolve/COMMIT: followed by the file's path */
} download;

/* TDM_OK once the blob is there and has been checked, whichever program fetched it. After any failure, a kill included,
 * the next call continues with the part that has come. counted: bytes that the progress counts already. *denied: the
 * status of HTTP when the server refuses the file (401, 403, 404), else 0. */
tdm_status download_file(const download *d, const repository_file *f, uint64_t counted, long *denied, tdm_error *err);

#endif
