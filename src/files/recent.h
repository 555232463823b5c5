/* The models that were used lately. $XDG_STATE_HOME/tandem/models has the files and folders, a path a line, the latest
 * first, without names on the hub, which the hub's cache lists. $XDG_STATE_HOME/tandem/model has the name of the last
 * model, of any kind. */
#ifndef TANDEM_SRC_RECENT_H
#define TANDEM_SRC_RECENT_H

enum { RECENT_MAX = 20 };

/* Notes that a conversation uses this model (as -m takes it): it becomes the last one, and a path becomes the first of
 * the list. Failures are ignored. Synthetic models are not noted, since a user does not want to find them again.
 */
void recent_add(const char *name);
/* The name of the last one, malloc'ed; NULL: none. */
char *recent_last(void);
/* The paths, malloc'ed with a NULL at the end, to be freed by recent_free; NULL: no memory for all of them. */
char **recent_list(void);
void recent_free(char **list);

#endif
