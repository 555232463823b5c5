#include "src/pull/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/os/starving.h"

struct digest {
    EVP_MD_CTX *context;
};

digest *digest_new(void)
{
    digest *d = malloc(sizeof *d);
    starving_watch(true);
    bool able = d && (d->context = EVP_MD_CTX_new());
    starving_watch(false);
    if (able) return d;
    free(d);
    return NULL;
}

void digest_free(digest *d)
{
    if (d) EVP_MD_CTX_free(d->context);
    free(d);
}

bool digest_begin(digest *d, const repository_file *file)
{
    char head[40];
    int n = snprintf(head, sizeof head, "blob %llu", (unsigned long long)file->size);
    starving_watch(true);
    bool able = EVP_DigestInit_ex(d->context, file->large ? EVP_sha256() : EVP_sha1(), NULL);
    starving_watch(false);
    if (!able) return false;
    return file->large || digest_add(d, head, (size_t)n + 1); /* with the zero byte */
}

bool digest_add(digest *d, const void *bytes, size_t n)
{
    return EVP_DigestUpdate(d->context, bytes, n) == 1;
}

bool digest_end(digest *d, char out[REPOSITORY_DIGEST_ROOM])
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (!EVP_DigestFinal_ex(d->context, raw, &n) || 2 * n >= REPOSITORY_DIGEST_ROOM) return false;
    for (unsigned i = 0; i < n; i++) snprintf(out + 2 * i, 3, "%02x", raw[i]);
    return true;
}
