/* The hub cache's own layout, which other programs share:
 *
 *     HUB/models--OWNER--NAME/blobs/DIGEST              contents, named by what the hub calls their ETag
 *     HUB/models--OWNER--NAME/blobs/DIGEST.incomplete   what has come so far of one
 *     HUB/models--OWNER--NAME/snapshots/COMMIT/PATH     relative links to blobs
 *     HUB/models--OWNER--NAME/refs/main                 the commit that was fetched last
 *     HUB/.locks/models--OWNER--NAME/DIGEST.lock        held (flock) by who fetches a blob
 *
 * Paths, digests and commits were checked before (src/pull/repository.h): none leads out of the folder. */
#ifndef TANDEM_SRC_PULL_CACHE_H
#define TANDEM_SRC_PULL_CACHE_H

#include "src/pull/repository.h"

typedef struct {
    char *folder; /* HUB/models--OWNER--NAME */
    char *locks;  /* HUB/.locks/models--OWNER--NAME */
} cache;

/* Names the folders of OWNER/NAME; makes nothing. */
tdm_status cache_open(cache *c, const char *hub, const char *name, tdm_error *err);
/* Makes them, with those above. */
tdm_status cache_make(const cache *c, tdm_error *err);
void cache_close(cache *c);

/* The folders in which something is written, malloc'ed, whether they are there or not, then NULL. False: out of
 * memory. */
enum { CACHE_FOLDERS = 5 };
bool cache_folders(const cache *c, char *out[CACHE_FOLDERS + 1]);

/* The path of a blob, malloc'ed; with .incomplete when it is not whole yet. NULL: out of memory. */
char *cache_blob(const cache *c, const repository_file *f, bool incomplete);
/* How much of a file is there: all of it, or the size of its incomplete blob. */
uint64_t cache_present(const cache *c, const repository_file *f);
/* Bytes that can still be written below the folder, or the nearest one above it that exists; UINT64_MAX: not known. */
uint64_t cache_free_space(const cache *c);

/* Waits until nobody else fetches the blob. *out is the lock's descriptor; closing it gives the lock back. `waiting` is
 * called once, before the first wait. TDM_E_CANCELLED after Ctrl-C. */
tdm_status cache_lock(int *out, const cache *c, const repository_file *f, void (*waiting)(void *ctx), void *ctx,
                      tdm_error *err);

/* snapshots/COMMIT/PATH becomes a link to the file's blob. */
tdm_status cache_link(const cache *c, const char *commit, const repository_file *f, tdm_error *err);
/* refs/main becomes COMMIT. */
tdm_status cache_set_main(const cache *c, const char *commit, tdm_error *err);

#endif
