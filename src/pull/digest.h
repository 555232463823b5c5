/* The digests by which the hub names a file's content: the SHA-256 of its bytes or, for small files, git's SHA-1 of a
 * blob (of "blob SIZE", a zero byte, and the bytes). By libcrypto. */
#ifndef TANDEM_SRC_PULL_DIGEST_H
#define TANDEM_SRC_PULL_DIGEST_H

#include "src/pull/repository.h"

typedef struct digest digest;

/* NULL: out of memory, or libcrypto refuses the algorithm. */
digest *digest_new(void);
void digest_free(digest *d);
/* Begins a digest for a file of this kind and size. */
bool digest_begin(digest *d, const repository_file *file);
bool digest_add(digest *d, const void *bytes, size_t n);
/* The digest in hexadecimal. Afterwards only digest_begin and digest_free may be called. */
bool digest_end(digest *d, char out[REPOSITORY_DIGEST_ROOM]);

#endif
