/* What the programs that open connections (tandem-pull, tandem-net) inherit from the program that starts them: no more
 * than they need. */
#ifndef TANDEM_SRC_INHERIT_H
#define TANDEM_SRC_INHERIT_H

#include <stdbool.h>

/* Proxies, certificates, resolver, locale, the user's folders; with `hub` also the variables of the hub's tools, and
 * those that the folders in them refer to (hub.h); and `key`, the one variable that holds a server's key (NULL: none).
 * A list for execve that ends with NULL; its strings are the environment's own. Free it with free(). NULL: out of
 * memory. */
char **inherit_environment(bool hub, const char *key);

/* Keeps every open descriptor above standard error from programs that are started after this, where the kernel can do
 * so for all at once (Linux 5.11); a program that wants none closes them itself (src/net/confine.h). */
void inherit_no_descriptors(void);

#endif
