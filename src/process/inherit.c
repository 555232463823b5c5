#include "src/process/inherit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/hub/environment.h"

extern char **environ;

/* One that ends with * stands for all that begin so. */
static const char *const always[] = {
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "CURL_CA_BUNDLE", "LOCALDOMAIN", "RES_OPTIONS", "LANG", "LANGUAGE", "LC_*", "HOME", "XDG_*",
};

/* The variables of the hub's tools. */
static const char *const of_hub[] = {"HF_*", "HUGGINGFACE_HUB_CACHE", "HUGGING_FACE_HUB_TOKEN", "TRANSFORMERS_OFFLINE"};

static bool matches(const char *entry, const char *name)
{
    size_t n = strlen(name);
    if (n && name[n - 1] == '*') return !strncmp(entry, name, n - 1);
    return !strncmp(entry, name, n) && entry[n] == '=';
}

static bool is_needed(const char *entry, bool hub, const char *key)
{
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (matches(entry, always[i])) return true;
    for (size_t i = 0; hub && i < sizeof of_hub / sizeof *of_hub; i++)
        if (matches(entry, of_hub[i])) return true;
    return (hub && hub_refers_to(entry)) || (key && !strchr(key, '*') && matches(entry, key));
}

char **inherit_environment(bool hub, const char *key)
{
    size_t n = 0;
    while (environ && environ[n]) n++;
    char **list = calloc(n + 1, sizeof *list);
    size_t kept = 0;
    for (size_t i = 0; list && i < n; i++)
        if (is_needed(environ[i], hub, key)) list[kept++] = environ[i];
    return list;
}

/* ---- Programs of the user's -------------------------------------------------------------------------------------- */

static const char *const tokens[] = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"};
static char **keys; /* the names of the others */
static size_t n_keys;

bool inherit_keep_back(const char *name)
{
    char **longer = realloc(keys, (n_keys + 1) * sizeof *keys);
    if (longer) keys = longer;
    char *copy = longer ? strdup(name) : NULL;
    if (copy) keys[n_keys++] = copy;
    return copy;
}

static bool is_kept_back(const char *entry)
{
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        if (matches(entry, tokens[i])) return true;
    for (size_t i = 0; i < n_keys; i++) /* no name that a configuration has stands for several */
        if (!strchr(keys[i], '*') && matches(entry, keys[i])) return true;
    return false;
}

/* "PATH=" and the absolute folders of the list; where there is none, a shell would look into folders of its own choice,
 * the current one among them. `to` has room for the list and for what takes its place. */
static const char usual_folders[] = "PATH=/usr/local/bin:/usr/bin:/bin";

static void write_path(char *to, const char *folders)
{
    char *begin = stpcpy(to, "PATH="), *end = begin;
    for (const char *at = folders; at;) {
        size_t n = strcspn(at, ":");
        if (*at == '/') end += sprintf(end, "%s%.*s", end == begin ? "" : ":", (int)n, at);
        at = at[n] ? at + n + 1 : NULL;
    }
    if (end == begin) strcpy(to, usual_folders);
}

char **inherit_for_user(void)
{
    size_t n = 0, kept = 0;
    const char *folders = getenv("PATH");
    while (environ && environ[n]) n++;
    size_t room = (folders ? strlen(folders) : 0) + sizeof usual_folders;
    char **list = calloc(1, (n + 2) * sizeof *list + room);
    if (!list) return NULL;
    char *path = list[kept++] = (char *)(list + n + 2);
    write_path(path, folders);
    for (size_t i = 0; i < n; i++)
        if (!matches(environ[i], "PATH") && !is_kept_back(environ[i])) list[kept++] = environ[i];
    return list;
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

void inherit_no_descriptors(void)
{
    enum { CLOSE_RANGE = 436, CLOEXEC = 1 << 2 }; /* of every architecture; older headers have no names for them */
    syscall(CLOSE_RANGE, STDERR_FILENO + 1, UINT_MAX, CLOEXEC);
}
