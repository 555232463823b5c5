/* The environment and descriptors that started programs inherit: those that open connections (tandem-pull, tandem-net)
 * get only what they need, and the user's programs get no secrets. */
#ifndef TANDEM_SRC_INHERIT_H
#define TANDEM_SRC_INHERIT_H

#include <stdbool.h>

/* Proxies, certificates, resolver, locale, the user's folders; with `hub` also the variables of the hub's tools, and
 * those to which the folders in them refer (src/hub/environment.h); and `key`, the one variable that holds a server's
 * key (NULL: none). A list for execve that ends with NULL; its strings are the environment's own. Free it with free().
 * NULL: out of memory. */
char **inherit_environment(bool hub, const char *key);

/* The environment of the user's programs: an editor, clipboard helpers, a browser, commands of the shell. It is this
 * program's own, without the hub's tokens and the variables of inherit_keep_back(), and PATH has only absolute folders,
 * so that no program in the current folder is run by accident. Otherwise as inherit_environment(). */
char **inherit_for_user(void);
/* From now on withholds a variable with a server's key from those programs. False: out of memory. */
bool inherit_keep_back(const char *name);

/* Sets close-on-exec on every open descriptor above standard error, if the kernel can do so for all at once (Linux
 * 5.11); programs that must have none also close them themselves (src/net/confine.h). */
void inherit_no_descriptors(void);

#endif
