#include "src/chat/prompts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/base/utf8.h"
#include "engine/os/file.h"
#include "engine/os/path.h"
#include "src/cli/words.h"
#include "src/files/files.h"
#include "src/files/unfinished.h"
#include "src/models/load.h"
#include "src/models/settings.h"

enum { LONGEST_NAME = 64, LONGEST_WORDS = 100 };
static const char ending[] = ".md";

/* ---- Names and files ------------------------------------------------------------------------------------------- */

static bool is_name(const char *name, size_t n)
{
    if (!n || n > LONGEST_NAME || *name == '.') return false;
    for (size_t i = 0, length; i < n; i += length) {
        int32_t code;
        length = utf8_decode(name + i, n - i, &code);
        if (!harmless_code(code) || code == ' ' || code == '/' || code == 0xa0) return false;
    }
    return true;
}

/* The folder of the user's prompts, or of those that come with the program; malloc'ed, NULL: none. */
static char *folder(bool own)
{
    char path[PATH_MAX];
    if (own) return files_path(FILES_CONFIG, "prompts");
    return load_data("prompts", path) ? strdup(path) : NULL;
}

/* "folder/name.md", malloc'ed; NULL without folder or memory. */
static char *path_of(bool own, const char *name)
{
    char *in = folder(own), *path = NULL;
    if (in && asprintf(&path, "%s/%s%s", in, name, ending) < 0) path = NULL;
    free(in);
    return path;
}

/* shown: what a failure names. */
static tdm_status read_file(prompt_file *out, const char *path, const char *shown, tdm_error *err)
{
    char *bytes;
    size_t n;
    tdm_status status = files_read_text(path, PROMPT_LARGEST, &bytes, &n, err);
    if (status) return status;
    status = prompt_parse(out, shown, bytes, n, err);
    free(bytes);
    return status;
}

/* ---- The list -------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const prompts_entry *first = a, *second = b;
    int order = strcmp(first->name, second->name);
    return order ? order : second->own - first->own; /* the user's own before the other */
}

/* Adds the names of a folder's prompts; a folder that isn't there has none. */
static tdm_status add_names(bool own, prompts_entry **all, int *n, tdm_error *err)
{
    errno = 0;
    char *in = folder(own);
    DIR *d = in ? opendir(in) : NULL;
    free(in);
    tdm_status status = !d && errno == ENOMEM ? error_set(err, TDM_E_NOMEM, "out of memory") : TDM_OK;
    for (struct dirent *e; d && !status && (e = readdir(d));) {
        size_t length = strlen(e->d_name), end = sizeof ending - 1;
        if (length <= end || strcmp(e->d_name + length - end, ending) || !is_name(e->d_name, length - end)) continue;
        prompts_entry *larger = realloc(*all, ((size_t)*n + 1) * sizeof *larger);
        if (larger) *all = larger;
        char *name = larger ? strndup(e->d_name, length - end) : NULL;
        if (name)
            (*all)[(*n)++] = (prompts_entry){.name = name, .own = own};
        else
            status = error_set(err, TDM_E_NOMEM, "out of memory");
    }
    if (d) closedir(d);
    return status;
}

/* One line about a prompt, malloc'ed. */
static char *words_of(const prompts_entry *e)
{
    prompt_file p;
    tdm_error why = {.text = "out of memory"};
    char *path = path_of(e->own, e->name), *slash = path ? strrchr(path, '/') : NULL, *words;
    if (!slash || read_file(&p, path, slash + 1, &why)) {
        words = strdup(why.text);
    } else {
        const char *text = p.description;
        for (int i = 0; i < p.n && !text; i++)
            if (p.parts[i].kind == PROMPT_TEXT) text = p.parts[i].text + strspn(p.parts[i].text, " \t\n");
        size_t length = text ? strcspn(text, "\n") : 0;
        if (length > LONGEST_WORDS) {
            length = LONGEST_WORDS;
            while (utf8_continues(text[length])) length--;
        }
        words = strndup(text ? text : "", length);
        prompt_free(&p);
    }
    free(path);
    return words;
}

void prompts_list_free(prompts_entry *all, int n)
{
    for (int i = 0; i < n; i++) {
        free(all[i].name);
        free(all[i].words);
    }
    free(all);
}

/* The names alone, each once. */
static tdm_status list_names(prompts_entry **out, int *n, tdm_error *err)
{
    prompts_entry *all = NULL;
    int found = 0, kept = 0;
    tdm_status status = add_names(true, &all, &found, err);
    if (!status) status = add_names(false, &all, &found, err);
    if (status) {
        prompts_list_free(all, found);
        return status;
    }
    if (found) qsort(all, (size_t)found, sizeof *all, by_name);
    for (int i = 0; i < found; i++) {
        if (kept && !strcmp(all[kept - 1].name, all[i].name))
            free(all[i].name);
        else
            all[kept++] = all[i];
    }
    *out = all;
    *n = kept;
    return TDM_OK;
}

tdm_status prompts_list(prompts_entry **out, int *n, tdm_error *err)
{
    tdm_status status = list_names(out, n, err);
    for (int i = 0; i < *n && !status; i++)
        if (!((*out)[i].words = words_of(&(*out)[i]))) status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (status && *out) prompts_list_free(*out, *n);
    return status;
}

/* ---- One of them ----------------------------------------------------------------------------------------------- */

static tdm_status unknown(const char *name, tdm_error *err)
{
    prompts_entry *all;
    int n;
    nearest best = {0};
    tdm_status status = list_names(&all, &n, err);
    if (status) return status;
    for (int i = 0; i < n; i++) nearest_offer(&best, name, all[i].name);
    if (best.name)
        error_set(err, TDM_E_NOT_FOUND, "there is no prompt '%s'; did you mean '%s'?", name, best.name);
    else
        error_set(err, TDM_E_NOT_FOUND, "there is no prompt '%s'; /p lists them", name);
    prompts_list_free(all, n);
    return TDM_E_NOT_FOUND;
}

static tdm_status check_name(const char *name, tdm_error *err)
{
    if (is_name(name, strlen(name))) return TDM_OK;
    return error_set(err, TDM_E_ARG, "expected a prompt's name, without slashes and blanks, found '%.70s'", name);
}

tdm_status prompts_read(prompt_file *out, const char *name, tdm_error *err)
{
    tdm_status wrong = check_name(name, err);
    if (wrong) return wrong;
    for (int own = 1; own >= 0; own--) {
        char *path = path_of(own, name);
        bool there = path && file_is_there(path);
        tdm_status status = there ? read_file(out, path, path, err) : TDM_E_NOT_FOUND;
        free(path);
        if (there) return status;
    }
    return unknown(name, err);
}

/* ---- Changing them --------------------------------------------------------------------------------------------- */

tdm_status prompts_text(const char *name, char **text, size_t *n, bool *own, tdm_error *err)
{
    tdm_status status = check_name(name, err);
    if (status) return status;
    for (int mine = 1; mine >= 0; mine--) {
        char *path = path_of(mine, name);
        bool there = path && file_is_there(path);
        *own = mine;
        status = there ? files_read_text(path, PROMPT_LARGEST, text, n, err) : TDM_E_NOT_FOUND;
        free(path);
        if (there) return status;
    }
    return unknown(name, err);
}

tdm_status prompts_put(const char *name, const char *text, size_t n, tdm_error *err)
{
    tdm_status status = check_name(name, err);
    if (status) return status;
    char *in = folder(true), *path = path_of(true, name);
    if (!in || !path) status = error_set(err, TDM_E_NOMEM, "there is no place for prompts");
    if (!status) status = file_make_folders(in, 0700, err);
    if (!status) status = unfinished_replace(path, text, n, err);
    free(path);
    free(in);
    return status;
}

/* "trash/name", as path_of takes it. */
static bool in_trash(char out[LONGEST_NAME + 8], const char *name)
{
    int n = snprintf(out, LONGEST_NAME + 8, "trash/%s", name);
    return n > 0 && n < LONGEST_NAME + 8;
}

/* Moves a file of the user's. */
static tdm_status move_own(const char *from, const char *to, bool replaces, tdm_error *err)
{
    char *old = path_of(true, from), *new = path_of(true, to);
    tdm_status status = TDM_OK;
    if (!old || !new) status = error_set(err, TDM_E_NOMEM, "out of memory");
    else if (!replaces && file_is_there(new)) status = error_set(err, TDM_E_BUSY, "there is a prompt '%s' already", to);
    else if (rename(old, new)) status = error_errno(err, TDM_E_IO, "%s", old);
    else if (!(status = file_sync_folder(new, err))) status = file_sync_folder(old, err);
    free(old);
    free(new);
    return status;
}

static tdm_status check_own(const char *name, tdm_error *err)
{
    tdm_status status = check_name(name, err);
    char *path = status ? NULL : path_of(true, name);
    bool there = path && file_is_there(path);
    free(path);
    if (status || there) return status;
    return error_set(err, TDM_E_UNSUPPORTED, "%s comes with the program; one of your own of that name goes before it",
                     name);
}

tdm_status prompts_delete(const char *name, tdm_error *err)
{
    char gone[LONGEST_NAME + 8];
    tdm_status status = check_own(name, err);
    char *in = folder(true), *trash = NULL;
    if (!status && (!in || asprintf(&trash, "%s/trash", in) < 0 || !in_trash(gone, name)))
        status = error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) status = file_make_folders(trash, 0700, err);
    if (!status) status = move_own(name, gone, true, err);
    free(trash);
    free(in);
    return status;
}

tdm_status prompts_undelete(const char *name, tdm_error *err)
{
    char gone[LONGEST_NAME + 8];
    tdm_status status = check_name(name, err);
    return status || !in_trash(gone, name) ? status : move_own(gone, name, false, err);
}

tdm_status prompts_rename(const char *name, const char *to, tdm_error *err)
{
    tdm_status status = check_own(name, err);
    if (!status) status = check_name(to, err);
    return status ? status : move_own(name, to, false, err);
}

bool prompts_sets(const prompt_file *p, option_id id, const tdm_model_info *model)
{
    bool live = option_table[id].flags & LIVE && options_given(&p->settings, id);
    return live && settings_fit(model, id, options_text(&p->settings, id));
}

tdm_status prompts_attach(const prompt_file *p, attachments *a, const tdm_model *model, int room, tdm_error *err)
{
    int before = a->n;
    tdm_status status = TDM_OK;
    for (int i = 0; i < p->n && !status; i++) {
        const prompt_part *part = &p->parts[i];
        if (part->kind == PROMPT_CLIPBOARD) status = attach_clipboard(a, model, room, err);
        if (part->kind != PROMPT_FILE) continue;
        int place;
        char *path = path_read(part->text, part->n, getenv("HOME"));
        status = path ? attach_file(a, path, model, room, &place, err) : error_set(err, TDM_E_NOMEM, "out of memory");
        free(path);
    }
    while (status && a->n > before) attach_remove(a, a->n - 1);
    return status;
}
