/* Base64 (RFC 4648, padded). Pure; any thread. */
#ifndef TANDEM_BASE_BASE64_H
#define TANDEM_BASE_BASE64_H

#include <stddef.h>

/* n bytes as 4 * ceil(n / 3) characters and a NUL, malloc'ed; NULL without memory. */
char *base64_text(const void *data, size_t n);
/* The bytes that n characters stand for, malloc'ed with a NUL after them. The text is untrusted: NULL if it is not
 * exactly padded base64, or without memory. */
char *base64_bytes(const char *text, size_t n, size_t *out_n);

#endif
