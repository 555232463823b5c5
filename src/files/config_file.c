#include "src/files/config_file.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/os/file.h"
#include "src/files/files.h"
#include "src/files/unfinished.h"

enum { LONGEST_FILE = 1 << 20 };

/* Whether the line, without its end, sets the name, by the rules of options_read_file. */
static bool sets(const char *line, size_t n, const char *name)
{
    size_t length = strlen(name);
    while (n && isspace((unsigned char)*line)) line++, n--;
    if (n < length || memcmp(line, name, length)) return false;
    for (line += length, n -= length; n && isspace((unsigned char)*line); line++) n--;
    return n && *line == '=';
}

/* A value that is read back as it was: the reader takes blanks off both ends. */
static bool fits_line(const char *value)
{
    size_t n = strlen(value);
    if (!n || isspace((unsigned char)value[0]) || isspace((unsigned char)value[n - 1])) return false;
    return harmless_text(value, n);
}

/* The text with the line in it, malloc'ed. */
static char *with_line(const char *text, size_t n, const char *name, const char *value, size_t *length)
{
    struct buffer_stream s;
    size_t from = n, to = n; /* the line that is replaced, without its end */
    for (size_t at = 0; at < n;) {
        const char *newline = memchr(text + at, '\n', n - at);
        size_t end = newline ? (size_t)(newline - text) : n;
        if (sets(text + at, end - at, name)) from = at, to = end;
        at = end + 1;
    }
    FILE *f = buffer_stream_open(&s);
    if (!f) return NULL;
    fwrite(text, 1, from, f);
    if (from == n && n && text[n - 1] != '\n') fputc('\n', f);
    fprintf(f, "%s = %s%s", name, value, from == n || to == n ? "\n" : "");
    fwrite(text + to, 1, n - to, f);
    return buffer_stream_close(&s, length);
}

static tdm_status make_folder(const char *path, tdm_error *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return TDM_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return file_make_folders(folder, 0700, err);
}

tdm_status config_file_set(const char *path, const char *name, const char *value, tdm_error *err)
{
    char whole[PATH_MAX], *text = NULL;
    size_t n = 0, length;
    struct stat st;
    if (!fits_line(value))
        return error_set(err, TDM_E_ARG, "%s: expected a value without control characters or blanks at its ends", name);
    if (realpath(path, whole)) path = whole; /* a link of the user's stays one */
    bool there = !stat(path, &st);
    tdm_status status = there ? files_read_text(path, LONGEST_FILE, &text, &n, err) : make_folder(path, err);
    char *changed = status ? NULL : with_line(text ? text : "", n, name, value, &length);
    if (!status && !changed) status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) status = unfinished_replace(path, changed, length, err);
    free(changed);
    free(text);
    return status;
}
