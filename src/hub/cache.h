/* Filling a repository in the hub's cache (engine/hub/hub.h shows the layout). The caller has checked paths, digests
 * and commits: none leads out of the folder. */
#ifndef TANDEM_SRC_HUB_CACHE_H
#define TANDEM_SRC_HUB_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/hub/hub.h"
#include "engine/tandem.h"

typedef struct {
    char *hub, *folder;         /* of the cache, and of the repository in it */
    char name[HUB_FOLDER_ROOM]; /* of that folder */
} cache;

/* Names the folders of OWNER/NAME; makes nothing. */
tdm_status cache_open(cache *c, const char *hub, const char *name, tdm_error *err);
/* Makes them, with those above. */
tdm_status cache_make(const cache *c, tdm_error *err);
void cache_close(cache *c);

/* The folders in which files are written, malloc'ed, whether they exist or not, then NULL. False: out of memory. */
enum { CACHE_FOLDERS = 2 + HUB_PARTS };
bool cache_folders(const cache *c, char *out[CACHE_FOLDERS + 1]);

/* The path of a blob, malloc'ed; `incomplete`: of the part that was fetched. NULL: out of memory. */
char *cache_blob(const cache *c, const char *digest, bool incomplete);
/* How much of a blob of this many bytes is there: all of it, or the size of its incomplete part. */
uint64_t cache_present(const cache *c, const char *digest, uint64_t size);
/* Bytes that can still be written below the folder, or the nearest one above it that exists; UINT64_MAX: not known. */
uint64_t cache_free_space(const cache *c);

/* Takes the lock of a blob. *out is its descriptor; closing it releases the lock. While another program has it, `wait`
 * is called repeatedly: it should wait for a moment, and return false to give up (TDM_E_CANCELLED). */
tdm_status cache_lock(int *out, const cache *c, const char *digest, bool (*wait)(void *ctx), void *ctx, tdm_error *err);

/* FILE in the snapshot COMMIT becomes a link to the blob. */
tdm_status cache_link(const cache *c, const char *commit, const char *file, const char *digest, tdm_error *err);
/* refs/main becomes COMMIT. */
tdm_status cache_set_main(const cache *c, const char *commit, tdm_error *err);

#endif
