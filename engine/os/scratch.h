/* Folders of their own for files that other programs are given, as an editor is: whatever such a program leaves beside
 * its file (a copy, a swap file) lies there too and goes with it. Only the owner may look into one. It is called
 * tandem-draft-XXXXXX, and its lock (flock) is held until it is removed: a folder of such a name without one is what a
 * killed program left. */
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
