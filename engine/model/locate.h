/* From what the user says (-m) to a path or name that source_open takes.
 *
 * In this order: `synthetic:...` as it is; an existing file or directory (one that holds a single GGUF model and no
 * config.json stands for that); an OWNER/NAME[:TAG] that a Hugging Face hub cache holds
 * (CACHE/models--OWNER--NAME/snapshots/REVISION, the revision from refs/main). Of several GGUF models TAG names one by
 * its quant (engine/model/hub.h); without TAG it is the only one, or the usual one. Nothing is downloaded. The caches
 * are the caller's to find: this library reads no environment.
 */
#ifndef TANDEM_MODEL_LOCATE_H
#define TANDEM_MODEL_LOCATE_H

#include "engine/tandem.h"

/* *out is malloc'ed. caches: folders, NULL-terminated; or NULL. When nothing is there, TDM_E_NOT_FOUND with a line that
 * says how to get a model. */
tdm_status locate_model(char **out, const char *name, const char *const *caches, tdm_error *err);

/* All models below some folder: GGUF files, the first of split ones, in it and in folders up to two deeper, and the
 * folder itself when it is a Hugging Face model. `each` gets the path and the tag ("" for the folder); false from it
 * ends the search. False: it did, or memory ran out. */
bool locate_each(const char *folder, bool (*each)(void *ctx, const char *path, const char *tag), void *ctx);
/* The snapshot that a cache holds of OWNER/NAME, malloc'ed; NULL: none. */
char *locate_snapshot(const char *cache, const char *repository);

#endif
