/* Programs that this one starts. They begin with the default action for every signal, whatever signals this program
 * ignores, blocks or catches. */
#ifndef TANDEM_BASE_CHILD_H
#define TANDEM_BASE_CHILD_H

#include <spawn.h>

/* For posix_spawn: no signal is blocked and none ignored; more: further flags. The caller destroys them. */
void child_attributes(posix_spawnattr_t *out, short more);

/* The same between fork and exec. */
void child_signals(void);

#endif
