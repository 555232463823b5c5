/* tdm_gpu_describe: the GPUs that a unit may name. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/error.h"
#include "engine/gpu/gpu.h"

enum { MOST = 16 };

TDM_API tdm_status tdm_gpu_describe(char **text, tdm_error *err)
{
    static const char *const kinds[] = {[GPU_DISCRETE] = "discrete", [GPU_INTEGRATED] = "integrated",
                                        [GPU_VIRTUAL] = "virtual", [GPU_SOFTWARE] = "software, runs on the cores"};
    size_t size;
    FILE *out = open_memstream(text, &size);
    if (!out) return error_set(err, TDM_E_NOMEM, "no memory for the list of GPUs");
    struct gpu_info info[MOST];
    int n = gpu_list(info, MOST);
    if (gpu_absence()) fprintf(out, "%s\n", gpu_absence());
    if (!gpu_absence() && n == 0) fprintf(out, "no GPU has Vulkan 1.3 and what the shaders need\n");
    for (int i = 0; i < n && i < MOST; i++)
        fprintf(out, "gpu:%-10d %s\n%-14s %s, driver %s, %.1f GB\n", i, info[i].name, "", kinds[info[i].kind],
                info[i].driver, 1e-9 * (double)info[i].memory);
    return fclose(out) ? error_set(err, TDM_E_NOMEM, "no memory for the list of GPUs") : TDM_OK;
}
