/* The models that were talked with lately. $XDG_STATE_HOME/tandem/models has the files and folders, a path a line, the
 * latest first, without names on the hub: the hub's cache has them. $XDG_STATE_HOME/tandem/model has the name of the
 * last one, whatever it was. */
#ifndef TANDEM_SRC_RECENT_H
#define TANDEM_SRC_RECENT_H

enum { RECENT_MAX = 20 };

/* A conversation is held with this model (as -m takes it): it becomes the last one, and where it is a path, that
 * becomes the first. What can't be kept is passed over, and so are made-up weights, which a user does not want to find
 * again.
 */
void recent_add(const char *name);
/* The name of the last one, malloc'ed; NULL: none. */
char *recent_last(void);
/* The paths, malloc'ed with a NULL at the end, to be freed by recent_free; NULL: no memory for all of them. */
char **recent_list(void);
void recent_free(char **list);

#endif
