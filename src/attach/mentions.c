#include "src/attach/mentions.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/attach/read.h"
#include "ui/edit/path_word.h"

/* Of a draft, words that are looked at, and sentence marks behind one: each asks the file system. */
enum { MAX_WORDS = 500, MAX_MARKS = 6 };

/* ---- Lists of paths --------------------------------------------------------------------------------------------- */

static size_t length_of(char *const *list)
{
    size_t n = 0;
    while (list && list[n]) n++;
    return n;
}

static bool holds(char *const *list, const char *path)
{
    for (; list && *list; list++)
        if (!strcmp(*list, path)) return true;
    return false;
}

/* Takes path over. */
static void add(char ***list, char *path)
{
    size_t n = length_of(*list);
    char **larger = path && !holds(*list, path) ? realloc(*list, (n + 2) * sizeof *larger) : NULL;
    if (!larger) {
        free(path);
        return;
    }
    larger[n] = path;
    larger[n + 1] = NULL;
    *list = larger;
}

static void drop_at(char **at)
{
    free(*at);
    for (; *at; at++) *at = at[1];
}

static void drop(char **list, const char *path)
{
    while (list && *list && strcmp(*list, path)) list++;
    if (list && *list) drop_at(list);
}

static void free_list(char ***list)
{
    attach_words_free(*list);
    *list = NULL;
}

/* ---- Words ------------------------------------------------------------------------------------------------------ */

/* It has been found before: it stays named, although its file may be gone or its word unfinished again. */
static bool is_known(const mentions *m, const attachments *a, const char *path)
{
    return attach_place(a, path) >= 0 || holds(m->text, path);
}

/* The path that a word names, malloc'ed. NULL: none. */
static char *named_by(const mentions *m, const attachments *a, const char *text, struct path_word w, bool files_alone)
{
    int tries = w.last - w.first < PATH_MAX ? MAX_MARKS : 0;
    while (tries-- > 0) {
        bool folder = false;
        char *path = path_word_read(text, &w);
        if (path && is_known(m, a, path)) return path;
        if (path && *path && attach_exists(path, &folder) && !(folder && files_alone)) return path;
        free(path);
        if (!path_word_shorten(text, &w)) break;
    }
    return NULL;
}

static char **find(const mentions *m, const attachments *a, const char *text, size_t n, size_t cursor,
                   mentions_state state)
{
    char **found = NULL;
    struct path_word w;
    int words = 0;
    if (!memchr(text, '@', n)) return NULL;
    for (size_t at = 0; words < MAX_WORDS && path_word_next(text, n, &at, &w); words++) {
        bool closed = w.quoted && w.end > w.last;
        bool unfinished = state != MENTIONS_OVER && !closed && cursor > w.start && cursor <= w.end;
        if (unfinished && state == MENTIONS_TYPING) {
            char *path = path_word_read(text, &w); /* what is there stays there */
            if (path && is_known(m, a, path)) add(&found, path);
            else free(path);
            continue;
        }
        char *path = named_by(m, a, text, w, unfinished);
        if (path) add(&found, path);
    }
    return found;
}

static void look(mentions *m, attachments *a, const char *text, size_t n, size_t cursor, mentions_state state)
{
    char **found = find(m, a, text, n, cursor, state);
    free_list(&m->named);
    m->named = found;
    for (int i = a->n; i-- > 0;)
        if (a->all[i].of_draft && !holds(found, a->all[i].path)) attach_remove(a, i);
    for (size_t i = length_of(m->text); i-- > 0;)
        if (!holds(found, m->text[i])) drop_at(m->text + i);
}

static bool waits(const mentions *m, const attachments *a, const char *path)
{
    return !holds(m->text, path) && attach_place(a, path) < 0;
}

static bool asked(const attach_job *j, const char *path)
{
    attach_kind kind;
    const char *what;
    for (int i = 0; attach_job_waiting(j, i, &kind, &what); i++)
        if (kind == ATTACH_FILE && !strcmp(what, path)) return true;
    return false;
}

void mentions_follow(mentions *m, attachments *a, attach_job *j, const char *text, size_t n, size_t cursor,
                     mentions_state state)
{
    look(m, a, text, n, cursor, state);
    for (char **path = m->named; path && *path; path++)
        if (waits(m, a, *path) && !asked(j, *path)) attach_job_ask(j, ATTACH_FILE, *path, true, NULL);
}

tdm_status mentions_read(mentions *m, attachments *a, const tdm_model *model, int room, const char *text, size_t n,
                         mentions_which which, tdm_error *err)
{
    tdm_status status = TDM_OK;
    int before;
    look(m, a, text, n, 0, MENTIONS_OVER);
    before = a->n;
    for (char **path = m->named; path && *path && !status; path++) {
        int place;
        if (!waits(m, a, *path) || (which == MENTIONS_PICTURES && !attach_is_picture(*path))) continue;
        status = attach_file(a, *path, model, room, &place, err);
        if (!status) a->all[place].of_draft = true;
    }
    while (status && a->n > before) attach_remove(a, a->n - 1);
    return status;
}

void mentions_leave(mentions *m, attachments *a, const char *text, size_t n)
{
    look(m, a, text, n, 0, MENTIONS_OVER);
    for (char **path = m->named; path && *path; path++)
        if (attach_place(a, *path) < 0) add(&m->text, strdup(*path));
}

bool mentions_wait(const mentions *m, const attachments *a)
{
    for (char **path = m->named; path && *path; path++)
        if (waits(m, a, *path)) return true;
    return false;
}

bool mentions_wants(const mentions *m, const char *path)
{
    return holds(m->named, path) && !holds(m->text, path);
}

void mentions_as_text(mentions *m, const char *path, bool on)
{
    if (on && holds(m->named, path)) add(&m->text, strdup(path));
    if (!on) drop(m->text, path);
}

void mentions_free(mentions *m)
{
    free_list(&m->named);
    free_list(&m->text);
}
