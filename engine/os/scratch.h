/* A private folder for each file that is handed to another program, such as an editor: files that the program leaves
 * beside it (a copy, a swap file) are removed with the folder. Only the owner may read it. It is called
 * tandem-draft-XXXXXX, and its lock (flock) is held until it is removed: an unlocked folder of such a name was left by
 * a killed program. */
#ifndef TANDEM_BASE_SCRATCH_H
#define TANDEM_BASE_SCRATCH_H

#include <limits.h>

#include "engine/tandem.h"

struct scratch {
    char path[PATH_MAX];
    int lock; /* the folder, open; a program that inherits it keeps the folder from being swept. -1: there is none */
};

/* Makes one in `folder`. */
tdm_status scratch_make(struct scratch *out, const char *folder, tdm_error *err);
/* Removes it with its files. */
void scratch_remove(struct scratch *s);

/* Removes those of this user's in `folder` that no program holds. */
void scratch_sweep(const char *folder);

#endif
