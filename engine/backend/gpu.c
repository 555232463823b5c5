/* GPUs as a backend: this build has none. */
#include "engine/backend/backend.h"

#include "engine/base/error.h"

static tdm_status gpu_unit_open(struct backend_device **out, const char *name, tdm_error *err)
{
    *out = NULL;
    return error_set(err, TDM_E_NOT_FOUND, "%s: this program was built without GPUs", name);
}

const struct backend backend_gpu = {.name = "gpu", .open = gpu_unit_open};
