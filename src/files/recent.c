#include "src/files/recent.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "src/files/files.h"

enum { LONGEST_FILE = (RECENT_MAX + 1) * PATH_MAX };

/* Of the file; path NULL: there is no place for it. NULL: no memory for all of them. */
static char **list_of(const char *path)
{
    char *text = NULL, *rest;
    char **list = calloc(RECENT_MAX + 1, sizeof *list);
    size_t n;
    bool whole = list && (!path || files_read_text(path, LONGEST_FILE, &text, &n, NULL) != TDM_E_NOMEM);
    int count = 0;
    for (char *line = whole && text ? strtok_r(text, "\n", &rest) : NULL; line && whole && count < RECENT_MAX;
         line = strtok_r(NULL, "\n", &rest))
        if (line[0] == '/') whole = (list[count++] = strdup(line));
    free(text);
    if (whole) return list;
    recent_free(list);
    return NULL;
}

char **recent_list(void)
{
    char *path = files_path(FILES_STATE, "models"), **list = list_of(path);
    free(path);
    return list;
}

void recent_free(char **list)
{
    for (char **at = list; at && *at; at++) free(*at);
    free(list);
}

/* The file's text with `first` before the others; malloc'ed. */
static char *text_with(const char *first, char *const *others, size_t *n)
{
    struct buffer_stream s;
    FILE *out = buffer_stream_open(&s);
    if (!out) return NULL;
    fprintf(out, "%s\n", first);
    int count = 1;
    for (char *const *at = others; *at && count < RECENT_MAX; at++)
        if (strcmp(*at, first)) count++, fprintf(out, "%s\n", *at);
    return buffer_stream_close(&s, n);
}

void recent_add(const char *name)
{
    char whole[PATH_MAX], line[PATH_MAX + 1];
    bool is_path = realpath(name, whole);
    if (!strncmp(name, "synthetic:", 10)) return;
    int length = snprintf(line, sizeof line, "%s\n", is_path ? whole : name);
    if (length < 2 || (size_t)length >= sizeof line || strchr(line, '\n') != line + length - 1) return;
    files_remember("model", line, (size_t)length);
    if (!is_path) return;
    char *path = files_path(FILES_STATE, "models"), **others = path ? list_of(path) : NULL;
    size_t n;
    char *text = others ? text_with(whole, others, &n) : NULL;
    if (text) files_remember("models", text, n);
    free(text);
    free(path);
    recent_free(others);
}

char *recent_last(void)
{
    char *path = files_path(FILES_STATE, "model"), *text = NULL;
    size_t n;
    bool there = path && !access(path, F_OK) && !files_read_text(path, PATH_MAX, &text, &n, NULL);
    free(path);
    if (there) text[strcspn(text, "\n")] = 0;
    if (there && text[0]) return text;
    free(text);
    return NULL;
}
