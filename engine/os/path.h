/* Paths as users write them. In every place that takes one, a command of the conversation, a configured value, a word
 * of a draft, the same holds:
 *
 *   ~ and ~USER at the beginning, followed by a slash or nothing, are that home folder
 *   quotes around all of it, single or double, are no part of it
 *   a backslash takes its meaning from the character behind it
 *   what exists as it is written is meant as it is written
 *
 * The shell has read the command line already: there the first alone holds, for what it has left (--model=~/x). */
#ifndef TANDEM_BASE_PATH_H
#define TANDEM_BASE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of the text that name a home folder, and that folder; 0: none, or none that is known. */
size_t path_home(const char *text, size_t n, char home[PATH_MAX]);
/* With its home folder, malloc'ed; NULL without memory. */
char *path_expand(const char *path, size_t n);
/* Without its quotes and backslashes, malloc'ed; NULL without memory. */
char *path_unquote(const char *text, size_t n);
/* Without its backslashes alone, malloc'ed: of what stands between quotes, or of a word without them. */
char *path_plain(const char *text, size_t n);
/* All of the above, malloc'ed; NULL without memory. */
char *path_read(const char *text, size_t n);
/* How path_read takes it for this path, malloc'ed; NULL without memory. */
char *path_write(const char *path);

#endif
