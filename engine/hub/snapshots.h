/* The snapshots of a repository in the hub's cache, as they lie on the disk (hub.h shows the layout). */
#ifndef TANDEM_HUB_SNAPSHOTS_H
#define TANDEM_HUB_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "engine/hub/hub.h"

struct snapshot {
    char *path;
    bool main; /* that refs/main names */
    struct timespec made;
};

/* All below the folder of a repository: the one of refs/main first, then the newest; *n of them. NULL: out of
 * memory. */
struct snapshot *snapshots_list(const char *repository, size_t *n);
void snapshots_free(struct snapshot *list, size_t n);

/* The revision that refs/main names; repository: descriptor of its folder. False: there is none. */
bool snapshots_main(int repository, char revision[HUB_REVISION_ROOM]);

#endif
