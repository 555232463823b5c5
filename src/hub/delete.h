/* Deleting a model from the hub's cache, whose layout engine/model/hub.h shows, beside other programs that use it. */
#ifndef TANDEM_SRC_HUB_DELETE_H
#define TANDEM_SRC_HUB_DELETE_H

#include "engine/tandem.h"

/* path: of a model as models_find reports it, in the snapshot of a repository in one of hub_caches(): a GGUF file,
 * which all parts of it go with, or the folder of a safetensors model. Its links go, and those of their blobs that no
 * other file and no other revision leads to; then folders that are empty. *freed: bytes of those blobs, and of files
 * that are no links.
 *
 * Nothing outside of the repository's folder is touched: no folder is entered through a link, and a link that leads
 * elsewhere goes without what it leads to. While a program holds the lock of one of the blobs (it is fetching it)
 * nothing is deleted (TDM_E_BUSY). That the model isn't in use is the caller's to see to. */
tdm_status models_delete(const char *path, uint64_t *freed, tdm_error *err);

#endif
