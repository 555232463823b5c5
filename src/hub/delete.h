/* Deleting a model from the hub's cache (engine/hub/hub.h shows the layout), which other programs may be using. */
#ifndef TANDEM_SRC_HUB_DELETE_H
#define TANDEM_SRC_HUB_DELETE_H

#include "engine/tandem.h"

/* path: of a model as models_find reports it, in the snapshot of a repository in one of hub_caches(): a GGUF file, with
 * which all its parts are deleted, or the folder of a safetensors model. Deletes its links, and their blobs unless
 * another file or revision links to them; then empty folders. *freed: bytes of those blobs, and of files that are not
 * links.
 *
 * Nothing outside of the repository's folder is deleted: no folder is entered through a link, and of a link that leads
 * elsewhere only the link is deleted. While a program holds the lock of one of the blobs (it is fetching it) nothing is
 * deleted (TDM_E_BUSY). The caller makes sure that the model isn't in use. */
tdm_status models_delete(const char *path, uint64_t *freed, tdm_error *err);

#endif
