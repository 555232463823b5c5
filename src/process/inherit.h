/* What programs inherit from the one that starts them: those that open connections (tandem-pull, tandem-net) no more
 * than they need, those of the user's nothing that is to be kept from them. */
#ifndef TANDEM_SRC_INHERIT_H
#define TANDEM_SRC_INHERIT_H

#include <stdbool.h>

/* Proxies, certificates, resolver, locale, the user's folders; with `hub` also the variables of the hub's tools, and
 * those that the folders in them refer to (hub.h); and `key`, the one variable that holds a server's key (NULL: none).
 * A list for execve that ends with NULL; its strings are the environment's own. Free it with free(). NULL: out of
 * memory. */
char **inherit_environment(bool hub, const char *key);

/* The environment of programs of the user's: an editor, what reaches the clipboard, a browser, commands of the
 * shell. It is this program's own, without the hub's tokens and the variables of inherit_keep_back(), and PATH has
 * absolute folders alone: what lies in the folder where the user happens to be is never run. Otherwise as
 * inherit_environment(). */
char **inherit_for_user(void);
/* Keeps a variable that holds a server's key from those programs, from now on. False: out of memory. */
bool inherit_keep_back(const char *name);

/* Keeps every open descriptor above standard error from programs that are started after this, where the kernel can do
 * so for all at once (Linux 5.11); a program that wants none closes them itself (src/net/confine.h). */
void inherit_no_descriptors(void);

#endif
