/* Any bytes as a server's list of models, and as its settings: names stay in their places and can be shown. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/server/server_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name, size_t room)
{
    for (const char *c = name; *c; c++)
        if (c - name >= (ptrdiff_t)room || (unsigned char)*c < ' ') __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    server_info settings = {0};
    if (!server_info_read_props(&settings, (struct span){(const char *)data, size}, NULL)) {
        check_name(settings.model, sizeof settings.model);
        check_name(settings.version, sizeof settings.version);
        if (settings.context < 0 || settings.slots < 0) __builtin_trap();
    }
    server_info_free(&settings);
    static const char *const wanted[] = {NULL, "m"};
    for (int i = 0; i < 2; i++) {
        server_info f = {0};
        tdm_error err;
        tdm_status status = server_info_read_models(&f, (struct span){(const char *)data, size}, wanted[i], &err);
        if (f.n_models > SERVER_INFO_MODELS || (status == TDM_OK && !f.model[0])) __builtin_trap();
        for (int m = 0; m < f.n_models; m++) check_name(f.models[m], SERVER_INFO_NAME);
        server_info_free(&f);
    }
    return 0;
}
