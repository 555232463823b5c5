/* Any bytes as an address of a picture: a file's has a path without zeros that is no longer than it; what is read as
 * base64 reads the same once it is written again. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/base64.h"
#include "src/image/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_base64(const char *text, size_t size)
{
    size_t n, again_n;
    char *bytes = base64_bytes(text, size, &n);
    if (!bytes) return;
    char *written = base64_text(bytes, n), *again = written ? base64_bytes(written, strlen(written), &again_n) : NULL;
    if (!written || strlen(written) != size || !again || again_n != n || memcmp(again, bytes, n) || bytes[n]) abort();
    free(again);
    free(written);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = address_path((const char *)data, size);
    if (path && (*path != '/' || strlen(path) > size)) abort();
    free(path);
    check_base64((const char *)data, size);
    return 0;
}
