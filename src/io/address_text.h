/* The text of a server's address: its scheme, which may be missing if the text can only be an address, and its host.
 * Pure. */
#ifndef TANDEM_SRC_ADDRESS_TEXT_H
#define TANDEM_SRC_ADDRESS_TEXT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

/* The length of the scheme that a text begins with, http:// or https:// in any case; 0: neither. */
size_t address_text_scheme(const char *text);
/* The length of the host, brackets included, at the beginning of a text without scheme. */
size_t address_text_host(const char *text);
/* The bytes of a host that is a numeric address; false: it is a name. family: AF_INET (four bytes) or AF_INET6. */
bool address_text_numbers(const char *host, size_t n, int *family, unsigned char out[sizeof(struct in6_addr)]);
/* Is it HOST:PORT, perhaps with a path, without a scheme, where HOST is localhost or a numeric address? */
bool address_text_is_bare(const char *text);
/* Is it NAME:PORT, perhaps with a path, for any other host? It may be something else, too. */
bool address_text_lacks_scheme(const char *text);

#endif
