#include "src/process/inherit.h"

#include <limits.h>
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

void inherit_no_descriptors(void)
{
    enum { CLOSE_RANGE = 436, CLOEXEC = 1 << 2 }; /* of every architecture; older headers have no names for them */
    syscall(CLOSE_RANGE, STDERR_FILENO + 1, UINT_MAX, CLOEXEC);
}
