/* Finds the model that the user names (-m) and returns a path or name for source_open.
 *
 * In this order: `synthetic:...` as it is; an existing file or directory (a directory without config.json and with a
 * single GGUF model means that model); an OWNER/NAME[:TAG] in a Hugging Face hub cache
 * (CACHE/models--OWNER--NAME/snapshots/REVISION, the revision from refs/main). TAG selects one of several GGUF models
 * by its quant (engine/model/hub.h); without TAG it is the only one, or the first of hub_usual_tags. Nothing is
 * downloaded. The caller passes the caches: this library reads no environment variables.
 */
#ifndef TANDEM_MODEL_LOCATE_H
#define TANDEM_MODEL_LOCATE_H

#include "engine/tandem.h"

/* *out is malloc'ed. caches: folders, NULL-terminated; or NULL. If there is no such model, TDM_E_NOT_FOUND with a line
 * that says how to get one. */
tdm_status locate_model(char **out, const char *name, const char *const *caches, tdm_error *err);

/* Calls `each` for all models below a folder: GGUF files (of split ones the first part) in it and up to two levels
 * deeper, and the folder itself if it is a Hugging Face model, with path and tag ("" for the folder). False: `each`
 * returned false, which ends the search, or memory ran out. */
bool locate_each(const char *folder, bool (*each)(void *ctx, const char *path, const char *tag), void *ctx);
/* The path of the snapshot of OWNER/NAME in a cache, malloc'ed; NULL: none. */
char *locate_snapshot(const char *cache, const char *repository);

#endif
