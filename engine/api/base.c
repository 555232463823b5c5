/* The functions of tandem/base.h: the version, and those for programs that end with one line, whatever happens. */
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/model/mapped.h"
#include "engine/tandem.h"

TDM_API const char *tdm_version(void)
{
    return TDM_VERSION;
}

TDM_API int tdm_version_number(void)
{
    return TDM_VERSION_NUMBER;
}

TDM_API void tdm_set_panic_hook(void (*hook)(const char *line))
{
    panic_set_hook(hook);
}

TDM_API bool tdm_mapped_find(const void *address, tdm_mapped *out)
{
    struct stat st;
    const struct mapped *m = mapped_find(address);
    if (!m) return false;
    *out = (tdm_mapped){.path = mapped_path(m), .bytes = mapped_bytes(m)};
    if (!fstat(mapped_fd(m), &st) && st.st_size > 0) out->bytes_now = (uint64_t)st.st_size;
    return true;
}
