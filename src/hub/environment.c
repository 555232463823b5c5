#include "src/hub/environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/os/path.h"

/* The variable's value, or NULL when it is not set or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* ---- Paths ------------------------------------------------------------------------------------------------------- */

/* A path that is put together; what doesn't fit is no path. */
struct path {
    char *text; /* PATH_MAX bytes */
    size_t n;
    bool full;
};

static void put(struct path *p, const char *text, size_t n)
{
    p->full |= p->n + n >= PATH_MAX;
    if (p->full) return;
    memcpy(p->text + p->n, text, n);
    p->n += n;
    p->text[p->n] = 0;
}

/* The home folder at the beginning of a path: bytes of the text that were taken. */
static size_t put_home(struct path *p, const char *text)
{
    char home[PATH_MAX];
    size_t n = path_home(text, strlen(text), getenv("HOME"), home);
    if (n) put(p, home, strlen(home));
    return n;
}

/* The name of the variable at text, $NAME or ${NAME}, and its length; 0: there is none. *all: of what stands there. */
static size_t name_at(const char *text, const char **name, size_t *all)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (text[0] != '$') return 0;
    bool braces = text[1] == '{';
    *name = text + 1 + braces;
    size_t n = braces ? strcspn(*name, "}") : strspn(*name, word);
    if (braces && !(*name)[n]) return 0;
    *all = n + 1 + 2 * (size_t)braces;
    return n;
}

/* As Python's os.path.expandvars: of a variable that isn't set its name stays. */
static void put_expanded(struct path *p, const char *text)
{
    for (text += put_home(p, text); *text;) {
        const char *name, *value = NULL;
        char held[128];
        size_t all = 1, n = name_at(text, &name, &all);
        if (n && n < sizeof held) {
            snprintf(held, sizeof held, "%.*s", (int)n, name);
            value = getenv(held);
        }
        if (value)
            put(p, value, strlen(value));
        else
            put(p, text, n ? all : 1);
        text += n ? all : 1;
    }
}

/* "folder/name", the folder as its variable says it. False when it doesn't fit. */
static bool put_path(char out[PATH_MAX], const char *folder, const char *name)
{
    struct path p = {.text = out};
    put_expanded(&p, folder);
    if (name[0] && p.n && out[p.n - 1] != '/') put(&p, "/", 1);
    put(&p, name, strlen(name));
    return p.n && !p.full;
}

/* ---- Variables --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *variable, *below;
} caches[] =
    {
        {"HF_HUB_CACHE", ""}, {"HUGGINGFACE_HUB_CACHE", ""}, /* its name once */
        {"HF_HOME", "hub"},   {"XDG_CACHE_HOME", "huggingface/hub"}, {"HOME", ".cache/huggingface/hub"},
},
  tokens[] = {
      {"HF_TOKEN_PATH", ""},
      {"HF_HOME", "token"},
      {"XDG_CACHE_HOME", "huggingface/token"},
      {"HOME", ".cache/huggingface/token"},
};
enum { CACHES = sizeof caches / sizeof *caches, TOKENS = sizeof tokens / sizeof *tokens };

const char *const *hub_caches(void)
{
    static _Thread_local char rooms[CACHES][PATH_MAX];
    static _Thread_local const char *folders[CACHES + 1];
    int n = 0;
    for (int i = 0; i < CACHES; i++) {
        const char *folder = variable(caches[i].variable);
        if (folder && put_path(rooms[n], folder, caches[i].below)) folders[n] = rooms[n], n++;
    }
    folders[n] = NULL;
    return folders;
}

const char *hub_token_file(void)
{
    static _Thread_local char path[PATH_MAX];
    for (int i = 0; i < TOKENS; i++) {
        const char *folder = variable(tokens[i].variable);
        if (folder) return put_path(path, folder, tokens[i].below) ? path : NULL;
    }
    return NULL;
}

const char *hub_token(void)
{
    const char *token = variable("HF_TOKEN");
    return token ? token : variable("HUGGING_FACE_HUB_TOKEN");
}

const char *hub_offline(void)
{
    static const char *const yes[] = {"1", "ON", "YES", "TRUE"};
    const char *name = variable("HF_HUB_OFFLINE") ? "HF_HUB_OFFLINE" : "TRANSFORMERS_OFFLINE", *value = variable(name);
    for (size_t i = 0; value && i < sizeof yes / sizeof *yes; i++)
        if (!strcasecmp(value, yes[i])) return name;
    return NULL;
}

bool hub_refers_to(const char *entry)
{
    size_t length = strcspn(entry, "=");
    for (int i = 0; i < CACHES + TOKENS; i++) {
        const char *text = variable(i < CACHES ? caches[i].variable : tokens[i - CACHES].variable);
        for (; text && *text; text++) {
            const char *name;
            size_t all, n = name_at(text, &name, &all);
            if (n && n == length && !memcmp(name, entry, n)) return true;
        }
    }
    return false;
}
