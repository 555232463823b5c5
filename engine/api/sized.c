#include "engine/api/sized.h"

#include <string.h>

#include "engine/base/error.h"

tdm_status sized_take(void *own, size_t own_size, const void *given, size_t size, tdm_error *err)
{
    const unsigned char *bytes = given;
    if (!given) return TDM_OK;
    for (size_t i = own_size; i < size; i++)
        if (bytes[i])
            return error_set(err, TDM_E_UNSUPPORTED, "an option is newer than this library, version %s", TDM_VERSION);
    memcpy(own, given, size < own_size ? size : own_size);
    return TDM_OK;
}

void sized_give(void *out, size_t size, const void *own, size_t own_size)
{
    memset(out, 0, size);
    memcpy(out, own, size < own_size ? size : own_size);
}
