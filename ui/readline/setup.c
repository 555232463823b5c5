#include "ui/readline/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/os/file.h"

#define EXPORT __attribute__((visibility("default"))) /* for the library */

/* Some thousand times what a line of ordinary length takes. */
enum { RESERVE = 256 << 10 };

static void *reserve;
static void (*on_failure)(void);

EXPORT void *xmalloc(size_t size);
EXPORT void *xrealloc(void *old, size_t size);

void setup_memory(void (*failed)(void))
{
    on_failure = failed;
    if (!reserve) reserve = malloc(RESERVE);
}

/* Once more, with what was set aside. */
static void *again(void *old, size_t size)
{
    free(reserve);
    reserve = NULL;
    void *p = realloc(old, size);
    if (p) return p;
    if (on_failure) on_failure();
    abort();
}

void *xmalloc(size_t size)
{
    return xrealloc(NULL, size);
}

void *xrealloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p) p = again(old, size ? size : 1);
    if (!reserve) reserve = malloc(RESERVE); /* there may be memory again */
    return p;
}

tdm_status setup_inputrc(tdm_error *err)
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
