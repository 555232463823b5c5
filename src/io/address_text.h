/* How a server's address is written: its scheme, which may be missing where nothing else can be meant, and its host.
 * Pure. */
#ifndef TANDEM_SRC_ADDRESS_TEXT_H
#define TANDEM_SRC_ADDRESS_TEXT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

/* The length of the scheme that a text begins with, http:// or https:// in any case; 0: neither. */
size_t address_text_scheme(const char *text);
/* Of a text behind its scheme: the length of the host, brackets included. */
size_t address_text_host(const char *text);
/* The numbers of a host that is an address; false: it is a name. family: AF_INET, of which four bytes are written, or
 * AF_INET6. */
bool address_text_numbers(const char *host, size_t n, int *family, unsigned char out[sizeof(struct in6_addr)]);
/* Is it HOST:PORT, and what may follow, without a scheme, of a host that is localhost or an address in numbers? */
bool address_text_is_bare(const char *text);
/* Is it NAME:PORT, and what may follow, of any other host? It may be something else, too. */
bool address_text_lacks_scheme(const char *text);

#endif
