/* Web pages that come in place of the requested file, from a proxy or a network that demands a sign-in. */
#ifndef TANDEM_SRC_PULL_PAGE_H
#define TANDEM_SRC_PULL_PAGE_H

#include "src/pull/transfer.h"

/* A possible reason for a size or ETag that differs from the hub's list; it follows the expected and found values. */
#define PAGE_DOUBT "(a web page came: sign-in or proxy?)"

/* Whether these first bytes are those of a web page. No fetched file of the hub begins so. */
bool page_begins(const void *bytes, size_t n);
/* Fails with the line about a page in place of `what`. */
tdm_status page_came(const char *what, tdm_error *err);

#endif
