/* Paths as users write them. The same rules hold for commands of the conversation, configured values and words of a
 * draft:
 *
 *   ~ and ~USER at the beginning, followed by a slash or nothing, are that home folder
 *   quotes around all of it, single or double, are no part of it
 *   a backslash takes its meaning from the character behind it
 *   the literal path is taken if it exists
 *
 * On the command line only the first rule holds, since the shell has applied the others (it leaves ~ in
 * --model=~/x). */
#ifndef TANDEM_BASE_PATH_H
#define TANDEM_BASE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* In all of them `own` is the user's home folder; NULL or "": ~ alone names none. */

/* Returns the length of the prefix that names a home folder, and writes that folder; 0: there is no such prefix, or the
 * folder is unknown. */
size_t path_home(const char *text, size_t n, const char *own, char home[PATH_MAX]);
/* The path with its home folder in place of ~, malloc'ed; NULL without memory. */
char *path_expand(const char *path, size_t n, const char *own);
/* The path without its quotes and backslashes, malloc'ed; NULL without memory. */
char *path_unquote(const char *text, size_t n);
/* The path without its backslashes only, malloc'ed: for the text between quotes, or a word without quotes. */
char *path_plain(const char *text, size_t n);
/* Applies all the rules, malloc'ed; NULL without memory. */
char *path_read(const char *text, size_t n, const char *own);
/* The inverse of path_read: a text that path_read reads as this path, malloc'ed; NULL without memory. */
char *path_write(const char *path);

#endif
