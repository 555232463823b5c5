#include "ui/edit/complete.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/harmless.h"
#include "engine/base/utf8.h"
#include "engine/os/path.h"
#include "ui/edit/path_word.h"
#include "ui/edit/slash.h"
#include "ui/unicode/fold.h"

enum { CANDIDATES_MAX = 10000 };

static bool begins(const struct completion *c, const char *name)
{
    return fold_begins(name, c->word, c->ignore_case ? FOLD_CASE : FOLD_FORM);
}

/* Takes both strings over. */
static bool append(struct completion *c, char *name, char *note)
{
    if (name && c->count < CANDIDATES_MAX && c->count == c->size) {
        size_t size = c->size ? c->size * 2 : 32;
        char **names = realloc(c->names, size * sizeof *names);
        if (names) c->names = names;
        char **notes = names ? realloc(c->notes, size * sizeof *notes) : NULL;
        if (notes) {
            c->notes = notes;
            c->size = size;
        }
    }
    if (!name || c->count == c->size || c->count == CANDIDATES_MAX) {
        free(name);
        free(note);
        return false;
    }
    c->names[c->count] = name;
    c->notes[c->count++] = note;
    return true;
}

/* A name that can stand in a line and on the screen. */
static bool presentable(const char *name)
{
    return harmless_text(name, strlen(name));
}

bool completion_add(struct completion *out, const char *name, const char *note)
{
    if (!begins(out, name) || !presentable(name)) return true;
    return append(out, strdup(name), note ? strdup(note) : NULL);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void files(struct completion *out, const char *home)
{
    const char *word = out->word, *slash = strrchr(word, '/');
    size_t folder_length = slash ? (size_t)(slash - word) + 1 : 0;
    const char *base = word + folder_length;
    char *folder = path_expand(word, folder_length, home);
    if (!folder) return;
    DIR *d = opendir(*folder ? folder : ".");
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (e->d_name[0] == '.' && base[0] != '.') continue;
        size_t size = folder_length + strlen(e->d_name) + 2;
        char *name = malloc(size);
        if (!name) break;
        snprintf(name, size, "%.*s%s", (int)folder_length, word, e->d_name);
        if (!begins(out, name) || !presentable(name)) {
            free(name);
            continue;
        }
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode)) strcat(name, "/");
        append(out, name, NULL);
    }
    if (d) closedir(d);
    free(folder);
    if (out->count > 1) qsort(out->names, out->count, sizeof *out->names, by_name); /* the notes are all NULL */
    out->append = 0; /* blanks belong to the name: none is added */
}

/* The word that the cursor stands at the end of becomes the candidates, written as the word is; a file's name is then
 * over. */
static void paths(struct completion *out, const char *line, const struct path_word *w, const char *home)
{
    char *path = path_word_read(line, w);
    if (!path) return;
    out->start = w->first;
    out->word = path;
    files(out, home);
    out->word = NULL;
    free(path);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        char *word = path_word_write(out->names[i], w->quote);
        free(out->names[i]);
        if (word) out->names[kept++] = word;
    }
    out->count = kept;
    bool folder = kept == 1 && out->names[0][strlen(out->names[0]) - 1] == '/';
    out->append = kept != 1 || folder ? 0 : w->quote ? w->quote : ' ';
}

bool complete_path(const char *line, size_t cursor, bool ignore_case, const char *home, struct completion *out)
{
    struct path_word w;
    *out = (struct completion){.ignore_case = ignore_case};
    for (size_t at = 0; path_word_next(line, cursor, &at, &w);)
        if (w.last == cursor) paths(out, line, &w, home);
    return out->count > 0;
}

bool complete_line(const struct completer *completer, const char *line, size_t cursor, bool ignore_case,
                   const char *home, struct completion *out)
{
    *out = (struct completion){.append = ' ', .ignore_case = ignore_case};
    if (!slash_may_be_command(line, cursor, false)) return complete_path(line, cursor, ignore_case, home, out);
    if (!completer) return false;
    char *text = strndup(line, cursor);
    if (!text) return false;
    size_t name_end = strcspn(text, " \t\n");
    if (!text[name_end]) {
        out->start = 1;
        out->word = text + 1;
        const char *name, *help;
        for (size_t i = 0; (help = NULL, name = completer->command(completer->context, i, &help)); i++)
            completion_add(out, name, help);
    } else if (completer->argument) {
        text[name_end] = 0;
        const char *command = text + 1, *arguments = text + name_end + 1;
        arguments += strspn(arguments, " \t\n");
        const char *last = arguments + strlen(arguments);
        while (last > arguments && !strchr(" \t\n", last[-1])) last--;
        size_t words = 0;
        for (const char *p = arguments; p < last; p += strspn(p, " \t\n")) words++, p += strcspn(p, " \t\n");
        out->word = ""; /* all candidates, until it is known what they replace */
        enum complete_kind kind = completer->argument(completer->context, command, words, arguments, out);
        out->word = kind == COMPLETE_WORD ? last : arguments;
        out->start = (size_t)(out->word - text);
        if (kind == COMPLETE_FILE && strpbrk(arguments, "\"'\\")) { /* it is to be written so that it is read back */
            char quote = *arguments == '"' || *arguments == '\'' ? *arguments : 0;
            paths(out, line, &(struct path_word){.first = out->start + (quote != 0), .last = cursor, .quote = quote},
                  home);
        } else if (kind == COMPLETE_FILE) {
            files(out, home);
        } else if (kind == COMPLETE_PATHS) {
            struct path_word w = {.first = cursor, .last = cursor};
            for (size_t at = (size_t)(arguments - text); path_word_argument(line, cursor, &at, &w);) {
            }
            if (w.last != cursor) w = (struct path_word){.first = cursor, .last = cursor};
            paths(out, line, &w, home);
        } else {
            size_t kept = 0;
            for (size_t i = 0; i < out->count; i++) {
                if (begins(out, out->names[i])) {
                    out->names[kept] = out->names[i];
                    out->notes[kept++] = out->notes[i];
                } else {
                    free(out->names[i]);
                    free(out->notes[i]);
                }
            }
            out->count = kept;
        }
    }
    out->word = NULL; /* it lies in text */
    free(text);
    return out->count > 0;
}

size_t completion_common(const struct completion *c)
{
    if (!c->count) return 0;
    size_t n = strlen(c->names[0]);
    for (size_t i = 1; i < c->count; i++) {
        size_t k = 0;
        while (k < n && c->names[0][k] == c->names[i][k]) k++;
        n = k;
    }
    while (n && utf8_continues(c->names[0][n])) n--; /* no half characters */
    return n;
}

void completion_free(struct completion *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->names[i]);
        free(c->notes[i]);
    }
    free(c->names);
    free(c->notes);
    *c = (struct completion){0};
}
