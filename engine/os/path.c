#include "engine/os/path.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* As the system's list of users has it. */
static bool user_home(const char *user, char home[PATH_MAX])
{
    enum { ROOM = 1 << 16 };
    struct passwd entry, *who = NULL;
    char *room = malloc(ROOM);
    bool found = room && !getpwnam_r(user, &entry, room, ROOM, &who) && who && who->pw_dir &&
                 strlen(who->pw_dir) < PATH_MAX;
    if (found) strcpy(home, who->pw_dir);
    free(room);
    return found;
}

size_t path_home(const char *text, size_t n, const char *own, char home[PATH_MAX])
{
    char user[256];
    const char *slash = n ? memchr(text, '/', n) : NULL;
    size_t length = slash ? (size_t)(slash - text) : n;
    if (!n || text[0] != '~' || length > sizeof user) return 0;
    if (length > 1) {
        memcpy(user, text + 1, length - 1);
        user[length - 1] = 0;
        return user_home(user, home) ? length : 0;
    }
    if (!own || !own[0] || strlen(own) >= PATH_MAX) return 0;
    strcpy(home, own);
    return length;
}

char *path_expand(const char *path, size_t n, const char *own)
{
    char home[PATH_MAX], *out;
    size_t taken = path_home(path, n, own, home), before = taken ? strlen(home) : 0;
    if (!(out = malloc(before + n - taken + 1))) return NULL;
    if (before) memcpy(out, home, before);
    memcpy(out + before, path + taken, n - taken);
    out[before + n - taken] = 0;
    return out;
}

/* Whether the text is one word in quotes. */
static bool is_quoted(const char *text, size_t n)
{
    if (n < 2 || (text[0] != '"' && text[0] != '\'')) return false;
    size_t at = 1;
    while (at < n && text[at] != text[0]) at += text[at] == '\\' ? 2 : 1;
    return at == n - 1;
}

char *path_plain(const char *text, size_t n)
{
    char *out = malloc(n + 1), *to = out;
    for (size_t at = 0; out && at < n; at++) {
        if (text[at] == '\\' && at + 1 < n) at++;
        *to++ = text[at];
    }
    if (out) *to = 0;
    return out;
}

char *path_unquote(const char *text, size_t n)
{
    size_t quotes = is_quoted(text, n);
    return path_plain(text + quotes, n - 2 * quotes);
}

char *path_read(const char *text, size_t n, const char *own)
{
    struct stat st;
    char *whole = path_expand(text, n, own);
    if (!whole || !lstat(whole, &st)) return whole;
    free(whole);
    char *plain = path_unquote(text, n), *out = plain ? path_expand(plain, strlen(plain), own) : NULL;
    free(plain);
    return out;
}

char *path_write(const char *path)
{
    char *out = malloc(2 * strlen(path) + 1), *to = out;
    for (const char *at = path; out && *at; *to++ = *at++)
        if (*at == '\\' || (at == path && strchr("\"'", *at))) *to++ = '\\';
    if (out) *to = 0;
    return out;
}
