#include "src/files/agreed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "src/files/files.h"

enum { LONGEST_FILE = 1 << 16, LONGEST_LINE = 400 };

/* A line: scheme, host and port behind what it is about; false: the url has none, or is too long. */
static bool line_of(const char *about, const char *url, char out[LONGEST_LINE])
{
    const char *host = strstr(url, "://");
    if (!host) return false;
    size_t n = (size_t)(host - url) + 3;
    n += strcspn(url + n, "/#?");
    if (strlen(about) + n >= LONGEST_LINE || memchr(url, '\n', n)) return false;
    snprintf(out, LONGEST_LINE, "%s%.*s", about, (int)n, url);
    return true;
}

/* The file, malloc'ed; NULL: there is none. */
static tdm_status read_all(const char *path, char **text, tdm_error *err)
{
    size_t n;
    *text = NULL;
    if (!path) return error_set(err, TDM_E_NOMEM, "no place to keep it");
    return access(path, F_OK) ? TDM_OK : files_read_text(path, LONGEST_FILE, text, &n, err);
}

static bool has_line(const char *text, const char *line)
{
    size_t n = strlen(line);
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, line, n) && (at[n] == '\n' || !at[n])) return true;
    return false;
}

static bool is_kept(const char *about, const char *url)
{
    char line[LONGEST_LINE], *path = files_path(FILES_STATE, "servers"), *text;
    bool is = !read_all(path, &text, NULL) && text && line_of(about, url, line) && has_line(text, line);
    free(text);
    free(path);
    return is;
}

static tdm_status keep(const char *about, const char *url, tdm_error *err)
{
    char line[LONGEST_LINE], *folder = files_path(FILES_STATE, ""), *path = files_path(FILES_STATE, "servers");
    char *text, *longer = NULL;
    tdm_status status = read_all(path, &text, err); /* what can't be read is not written over */
    if (!status && !line_of(about, url, line))
        status = error_set(err, TDM_E_ARG, "expected the address of a server, found %.100s", url);
    if (!status && (!text || !has_line(text, line))) {
        bool ends = !text || !text[0] || text[strlen(text) - 1] == '\n';
        if (!folder || asprintf(&longer, "%s%s%s\n", text ? text : "", ends ? "" : "\n", line) < 0)
            status = error_set(err, TDM_E_NOMEM, "no place to keep it");
        if (!status) status = file_make_folders(folder, 0700, err);
        if (!status) status = atomic_file_put(path, longer, strlen(longer), err);
    }
    free(longer);
    free(text);
    free(path);
    free(folder);
    return status;
}

static const char PLAIN[] = "plain ";

bool agreed_with(const char *url)
{
    return is_kept("", url);
}

tdm_status agreed_keep(const char *url, tdm_error *err)
{
    return keep("", url, err);
}

bool agreed_with_plain_http(const char *url)
{
    return is_kept(PLAIN, url);
}

tdm_status agreed_keep_plain_http(const char *url, tdm_error *err)
{
    return keep(PLAIN, url, err);
}
