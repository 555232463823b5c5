/* Files of the user's that are being written, wherever that is: exports, traces, logits, converted models. A killed
 * program leaves its temporary file beside such a file (engine/os/atomic_file.h). So while the file is written its
 * folder is in a list, $XDG_STATE_HOME/tandem/unfinished, and the next start removes temporary files there.
 *
 * Each name in the list ends with a zero byte. A program holds a shared lock (flock) on the list while it writes;
 * removing names needs the exclusive lock. An empty list is deleted. Without a state folder there is no list. */
#ifndef TANDEM_SRC_UNFINISHED_H
#define TANDEM_SRC_UNFINISHED_H

#include <stddef.h>

#include "engine/tandem.h"

/* Call it before writing a file at this path, or at the target of a link there, and unfinished_end() afterwards with
 * the result. Never fails. */
int unfinished_begin(const char *path);
void unfinished_end(int list);

/* atomic_file_replace() between the two: the one way to write a file of the user's as a whole. */
tdm_status unfinished_replace(const char *path, const void *data, size_t bytes, tdm_error *err);

/* Removes temporary files of killed programs in the folders of the list. */
void unfinished_sweep(void);

#endif
