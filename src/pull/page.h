/* Web pages that come in the place of what was asked for, as a proxy, or a network that wants a sign-in, sends them. */
#ifndef TANDEM_SRC_PULL_PAGE_H
#define TANDEM_SRC_PULL_PAGE_H

#include "src/pull/transfer.h"

/* Why another size or ETag comes than the hub's list says; it stands behind what was expected and found. */
#define PAGE_DOUBT "(a web page came: sign-in or proxy?)"

/* Whether what begins so is a page. None of the hub's files that are taken does. */
bool page_begins(const void *bytes, size_t n);
/* The line for a page in the place of `what`. */
tdm_status page_came(const char *what, tdm_error *err);

#endif
