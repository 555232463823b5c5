/* Lines of a response's head, which are untrusted. */
#ifndef TANDEM_SRC_HEADER_H
#define TANDEM_SRC_HEADER_H

#include <stdbool.h>

#include "engine/base/span.h"

/* The trimmed value of the line when it is the header `name`. */
bool header_value(const char *line, size_t n, const char *name, struct span *out);
/* The seconds that a Retry-After asks for, by number or date (of the forms of RFC 9110); -1: neither. */
int header_seconds(struct span value);

#endif
