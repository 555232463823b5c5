/* Finds the model that the user names (-m) and returns a path or name for source_open.
 *
 * In this order: `synthetic:...` as it is; an existing file or directory (one without safetensors means the single GGUF
 * model in it, or in the two levels of directories below); an OWNER/NAME[:TAG] in a Hugging Face hub cache
 * (CACHE/models--OWNER--NAME/snapshots/REVISION: first the revision of refs/main, then the others, the newest first; a
 * model that is incomplete in one may be complete in another). TAG selects one of several GGUF models by its quant or
 * its name (engine/hub/hub.h); without TAG it is the only one, or the first of hub_usual_tags. An incomplete model is
 * skipped if there is a complete one, and is reported as incomplete otherwise. Nothing is downloaded. The caller passes
 * the caches: this library reads no environment variables.
 */
#ifndef TANDEM_MODEL_LOCATE_H
#define TANDEM_MODEL_LOCATE_H

#include "engine/tandem.h"

/* *out is malloc'ed. caches: folders, NULL-terminated; or NULL. If there is no such model, TDM_E_NOT_FOUND with a line
 * that says how to get one. */
tdm_status locate_model(char **out, const char *name, const char *const *caches, tdm_error *err);

/* Called for each model that is found: its path, the tag that names it ("" for a folder, and for a GGUF file whose name
 * another folder of the repository has as well: its path names it), and the name of a missing file if it is incomplete,
 * else NULL. False ends the search. */
typedef bool locate_found(void *ctx, const char *path, const char *tag, const char *missing);

/* All models below a folder: GGUF files (of split ones the first part) in it and up to two levels deeper, and the
 * folder itself if it has safetensors, or a configuration and no GGUF file. False: `each` returned false, or memory ran
 * out. */
bool locate_each(const char *folder, locate_found *each, void *ctx);
/* All models of OWNER/NAME in a cache, as locate_model finds them by name. */
bool locate_each_cached(const char *cache, const char *repository, locate_found *each, void *ctx);

#endif
