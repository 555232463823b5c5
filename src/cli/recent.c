#include "src/cli/recent.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/files.h"

enum { LONGEST_FILE = (RECENT_MOST + 1) * PATH_MAX };

char **recent_list(void)
{
    char *path = files_path(FILES_STATE, "models"), *text = NULL, *rest;
    char **list = calloc(RECENT_MOST + 1, sizeof *list);
    size_t n;
    bool there = list && path && !files_read(path, LONGEST_FILE, &text, &n, NULL);
    int count = 0;
    if (there)
        for (char *line = strtok_r(text, "\n", &rest); line && count < RECENT_MOST; line = strtok_r(NULL, "\n", &rest))
            if (line[0] == '/' && !(list[count++] = strdup(line))) break;
    free(text);
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
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    if (!out) return NULL;
    fprintf(out, "%s\n", first);
    int count = 1;
    for (char *const *at = others; at && *at && count < RECENT_MOST; at++)
        if (strcmp(*at, first)) count++, fprintf(out, "%s\n", *at);
    return fclose(out) ? NULL : text;
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
    char **others = recent_list();
    size_t n;
    char *text = text_with(whole, others, &n);
    if (text) files_remember("models", text, n);
    free(text);
    recent_free(others);
}

char *recent_last(void)
{
    char *path = files_path(FILES_STATE, "model"), *text = NULL;
    size_t n;
    bool there = path && !access(path, F_OK) && !files_read(path, PATH_MAX, &text, &n, NULL);
    free(path);
    if (there) text[strcspn(text, "\n")] = 0;
    if (there && text[0]) return text;
    free(text);
    return NULL;
}
