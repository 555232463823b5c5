/* Files of the user's that are being written, wherever that is: exports, traces, converted models. A killed program
 * leaves what it had written beside such a file (engine/os/atomic_file.h). So the folder stands in a list,
 * $XDG_STATE_HOME/tandem/unfinished, while the file is written, and what was left there goes at the next start.
 *
 * Each name in the list ends with a zero byte. A program holds the list (flock, shared) while it writes; only one that
 * holds it alone takes names out. An empty list is no file. Where there is no state folder, there is no list. */
#ifndef TANDEM_SRC_UNFINISHED_H
#define TANDEM_SRC_UNFINISHED_H

#include <stddef.h>

#include "engine/tandem.h"

/* From here to unfinished_end() a file is written at this path, or where it leads to. Never fails; what it returns is
 * for unfinished_end() alone. */
int unfinished_begin(const char *path);
void unfinished_end(int list);

/* atomic_file_replace() between the two: the one way to write a file of the user's as a whole. */
tdm_status unfinished_replace(const char *path, const void *data, size_t bytes, tdm_error *err);

/* Removes what killed programs left in the folders of the list. */
void unfinished_sweep(void);

#endif
