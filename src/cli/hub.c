#include "src/cli/hub.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The variable's value, or NULL when it is not set or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* "folder/name"; a folder that begins with ~/ is below the home, as the tools take it. False when it doesn't fit. */
static bool put_path(char out[PATH_MAX], const char *folder, const char *name)
{
    const char *home = variable("HOME");
    bool below = !strncmp(folder, "~/", 2) && home;
    int n = snprintf(out, PATH_MAX, "%s%s%s%s", below ? home : "", folder + below, name[0] ? "/" : "", name);
    return n > 0 && n < PATH_MAX;
}

const char *const *hub_caches(void)
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"HF_HUB_CACHE", ""},
        {"HF_HOME", "hub"},
        {"XDG_CACHE_HOME", "huggingface/hub"},
        {"HOME", ".cache/huggingface/hub"},
    };
    enum { PLACES = sizeof places / sizeof *places };
    static _Thread_local char rooms[PLACES][PATH_MAX];
    static _Thread_local const char *folders[PLACES + 1];
    int n = 0;
    for (int i = 0; i < PLACES; i++) {
        const char *folder = variable(places[i].variable);
        if (folder && put_path(rooms[n], folder, places[i].below)) folders[n] = rooms[n], n++;
    }
    folders[n] = NULL;
    return folders;
}

const char *hub_token_file(void)
{
    static char path[PATH_MAX];
    const char *file = variable("HF_TOKEN_PATH"), *home = variable("HF_HOME");
    const char *xdg = variable("XDG_CACHE_HOME"), *user = variable("HOME");
    bool good = file   ? put_path(path, file, "")
                : home ? put_path(path, home, "token")
                : xdg  ? put_path(path, xdg, "huggingface/token")
                : user ? put_path(path, user, ".cache/huggingface/token")
                       : false;
    return good ? path : NULL;
}
