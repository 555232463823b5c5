/* The model files and folders that were talked with lately: $XDG_STATE_HOME/tandem/models, a path a line, the latest
 * first. Names on the hub are not kept: the hub's cache has them. */
#ifndef TANDEM_SRC_RECENT_H
#define TANDEM_SRC_RECENT_H

enum { RECENT_MOST = 20 };

/* Puts a path first. What is no path of a file that exists, or can't be kept, is passed over. */
void recent_add(const char *path);
/* The paths, malloc'ed with a NULL at the end, to be freed by recent_free; NULL: none. */
char **recent_list(void);
void recent_free(char **list);

#endif
