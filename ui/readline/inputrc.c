#include "ui/readline/inputrc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/os/file.h"

tdm_status inputrc_check(tdm_error *err)
{
    const char *path = getenv("INPUTRC"), *home = getenv("HOME");
    char *below = NULL;
    struct stat st;
    if (!path || !*path) path = home && asprintf(&below, "%s/.inputrc", home) >= 0 ? below : "";
    bool odd = !stat(path, &st) && !S_ISREG(st.st_mode) && !file_is_null(&st);
    tdm_status status = odd ? file_refuse(path, st.st_mode, err) : TDM_OK;
    if (odd) setenv("INPUTRC", "/dev/null", 1);
    free(below);
    return status;
}
