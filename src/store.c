#include "src/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/files.h"
#include "src/number.h"

enum { LONGEST_FILE = 256 << 20 };

/* ---- Paths ----------------------------------------------------------------------------------------------------- */

/* Ids become file names, so only our own form is taken. */
static bool id_good(const char *id)
{
    size_t n = strlen(id);
    return n && n < sizeof((store_place *)0)->id && strspn(id, "0123456789-") == n;
}

static char *path_of(const char *id, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "sessions/%s%s", id, suffix);
    return files_path(FILES_STATE, name);
}

char *store_state_path(const char *id)
{
    return path_of(id, ".state");
}

static tdm_status make_folder(tdm_error *err)
{
    char *folder = files_path(FILES_STATE, "sessions");
    if (!folder) return error_set(err, TDM_E_IO, "no place for sessions: neither XDG_STATE_HOME nor HOME is set");
    tdm_status status = files_make_folder(folder, err);
    free(folder);
    return status;
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

/* Whether the locked file is still the one that the path names: the program that held it before removes it. */
static bool still_there(int fd, const char *path)
{
    struct stat ours, named;
    return !fstat(fd, &ours) && !stat(path, &named) && ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

/* TDM_E_BUSY: another program holds it. */
static tdm_status take_lock(const char *id, int *lock, tdm_error *err)
{
    char *path = path_of(id, ".lock");
    tdm_status status = path ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    *lock = -1;
    while (!status && *lock < 0) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            status = error_errno(err, TDM_E_IO, "%s: can't be made", path);
        else if (flock(fd, LOCK_EX | LOCK_NB))
            status = errno == EWOULDBLOCK ? error_set(err, TDM_E_BUSY, "the session is open in another program")
                                          : error_errno(err, TDM_E_IO, "%s: can't be locked", path);
        else if (still_there(fd, path))
            *lock = fd;
        if (fd >= 0 && fd != *lock) close(fd);
    }
    free(path);
    return status;
}

static void remove_file(const char *id, const char *suffix)
{
    char *path = path_of(id, suffix);
    if (path) unlink(path);
    free(path);
}

tdm_status store_create(store_place *out, tdm_error *err)
{
    tdm_status status = make_folder(err);
    if (status) return status;
    time_t now = time(NULL);
    struct tm parts;
    char stamp[24];
    localtime_r(&now, &parts);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
    for (int i = 1; i < 1000; i++) {
        snprintf(out->id, sizeof out->id, "%s-%d", stamp, i);
        char *path = path_of(out->id, ".json");
        bool taken = !path || access(path, F_OK) == 0;
        free(path);
        if (taken) continue;
        status = take_lock(out->id, &out->lock, err);
        if (status != TDM_E_BUSY) return status;
    }
    return error_set(err, TDM_E_IO, "no free name for a session at %s", stamp);
}

static tdm_status read_session(const char *id, session *s, tdm_error *err)
{
    char *path = path_of(id, ".json"), *bytes;
    size_t n;
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = files_read(path, LONGEST_FILE, &bytes, &n, err);
    if (!status) {
        status = session_parse(s, path, bytes, n, err);
        free(bytes);
    }
    free(path);
    return status;
}

tdm_status store_open(store_place *out, const char *id, session *s, bool *copied, tdm_error *err)
{
    if (!id_good(id)) return error_set(err, TDM_E_ARG, "'%s' is not the id of a session", id);
    *copied = false;
    snprintf(out->id, sizeof out->id, "%s", id);
    tdm_status status = take_lock(id, &out->lock, err);
    if (status && status != TDM_E_BUSY) return status;
    bool busy = status == TDM_E_BUSY;
    status = read_session(id, s, err);
    if (!status && busy) {
        *copied = true;
        status = store_create(out, err);
        if (!status) status = store_save(out, s, err);
        if (status) session_free(s);
    }
    if (status) store_close(out);
    return status;
}

void store_close(store_place *p)
{
    if (p->lock < 0) return;
    /* Unlinked while it is held: a program that opens it now gets a new file, which is the one that counts. */
    remove_file(p->id, ".lock");
    close(p->lock);
    p->lock = -1;
}

tdm_status store_save(const store_place *p, const session *s, tdm_error *err)
{
    size_t n = 0;
    char *text = session_format(s, &n), *path = path_of(p->id, ".json");
    tdm_status status = text && path ? files_write(path, text, n, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    free(text);
    free(path);
    return status;
}

tdm_status store_delete(const char *id, tdm_error *err)
{
    if (!id_good(id)) return error_set(err, TDM_E_ARG, "'%s' is not the id of a session", id);
    store_place p = {.lock = -1};
    snprintf(p.id, sizeof p.id, "%s", id);
    tdm_status status = take_lock(id, &p.lock, err);
    if (status) return status;
    remove_file(id, ".state");
    remove_file(id, ".json");
    store_close(&p);
    return TDM_OK;
}

/* ---- The list -------------------------------------------------------------------------------------------------- */

static int latest_first(const void *a, const void *b)
{
    const store_entry *x = a, *y = b;
    if (x->changed_s != y->changed_s) return x->changed_s < y->changed_s ? 1 : -1;
    return strcmp(y->id, x->id);
}

static tdm_status fill_entry(store_entry *e)
{
    session s;
    tdm_error err;
    tdm_status status = read_session(e->id, &s, &err);
    if (status == TDM_E_NOMEM) return status;
    if (status) {
        snprintf(e->damage, sizeof e->damage, "%s", err.text);
        char *path = path_of(e->id, ".json");
        struct stat st;
        if (path && !stat(path, &st)) e->changed_s = st.st_mtime;
        free(path);
        e->name = strdup("(damaged)");
        e->model = strdup("");
        return TDM_OK;
    }
    e->name = s.name ? strdup(s.name) : session_first_words(&s);
    e->model = strdup(s.model_name ? s.model_name : "");
    e->changed_s = s.changed_s;
    e->turns = session_turns(&s);
    session_free(&s);
    return e->name && e->model ? TDM_OK : TDM_E_NOMEM;
}

tdm_status store_list(store_entry **out, int *n, tdm_error *err)
{
    *out = NULL;
    *n = 0;
    char *folder = files_path(FILES_STATE, "sessions");
    DIR *d = folder ? opendir(folder) : NULL;
    free(folder);
    if (!d) return TDM_OK; /* nothing was saved yet */
    tdm_status status = TDM_OK;
    for (struct dirent *file; !status && (file = readdir(d));) {
        char *dot = strrchr(file->d_name, '.');
        if (!dot || strcmp(dot, ".json")) continue;
        *dot = 0;
        if (!id_good(file->d_name)) continue;
        store_entry *larger = realloc(*out, sizeof *larger * ((size_t)*n + 1));
        if (!larger) {
            status = TDM_E_NOMEM;
            break;
        }
        *out = larger;
        store_entry *e = &larger[(*n)++];
        *e = (store_entry){0};
        snprintf(e->id, sizeof e->id, "%.39s", file->d_name);
        status = fill_entry(e);
    }
    closedir(d);
    if (status) {
        store_list_free(*out, *n);
        *out = NULL;
        *n = 0;
        return error_set(err, status, "out of memory");
    }
    if (*n) qsort(*out, (size_t)*n, sizeof **out, latest_first);
    return TDM_OK;
}

void store_list_free(store_entry *entries, int n)
{
    for (int i = 0; i < n; i++) {
        free(entries[i].name);
        free(entries[i].model);
    }
    free(entries);
}

int store_pick(const store_entry *entries, int n, const char *wanted, tdm_error *err)
{
    int64_t number;
    int found = -1, matches = 0;
    if (!n) {
        error_set(err, TDM_E_NOT_FOUND, "there is no saved session yet");
        return -1;
    }
    if (!wanted || !wanted[0]) return 0;
    for (int i = 0; i < n; i++)
        if (!strcasecmp(entries[i].name, wanted) || !strcmp(entries[i].id, wanted)) return i;
    if (number_int(wanted, 1, n, &number)) return (int)number - 1;
    for (int i = 0; i < n; i++)
        if (!strncasecmp(entries[i].name, wanted, strlen(wanted))) {
            if (!matches) found = i;
            matches++;
        }
    if (matches == 1) return found;
    error_set(err, TDM_E_NOT_FOUND,
              matches ? "'%s' begins the names of %d sessions" : "no saved session is called '%s'", wanted, matches);
    return -1;
}

bool store_matches(const char *text, size_t n, const char *words)
{
    bool any = false;
    while (*words) {
        size_t length = strcspn(words, " \t");
        bool held = length == 0;
        for (size_t i = 0; !held && i + length <= n; i++) held = !strncasecmp(text + i, words, length);
        if (!held) return false;
        any |= length > 0;
        words += length;
        words += strspn(words, " \t");
    }
    return any;
}

tdm_status store_search(const char *words, store_found found, void *ctx, tdm_error *err)
{
    store_entry *entries;
    int n;
    tdm_status status = store_list(&entries, &n, err);
    if (status) return status;
    for (int i = 0; i < n; i++) {
        session s;
        if (entries[i].damage[0] || read_session(entries[i].id, &s, NULL)) continue;
        for (int k = 0; k < s.n; k++)
            if (store_matches(s.nodes[k].text, s.nodes[k].length, words)) found(ctx, &entries[i], &s.nodes[k]);
        session_free(&s);
    }
    store_list_free(entries, n);
    return TDM_OK;
}

/* ---- States ---------------------------------------------------------------------------------------------------- */

void store_trim_states(uint64_t limit)
{
    char *folder = files_path(FILES_STATE, "sessions");
    for (;;) {
        DIR *d = folder ? opendir(folder) : NULL;
        if (!d) break;
        uint64_t total = 0;
        char oldest[256] = "";
        struct timespec oldest_time = {0};
        for (struct dirent *file; (file = readdir(d));) {
            const char *dot = strrchr(file->d_name, '.');
            struct stat st;
            if (!dot || strcmp(dot, ".state") || fstatat(dirfd(d), file->d_name, &st, 0)) continue;
            total += (uint64_t)st.st_size;
            bool older = st.st_mtim.tv_sec < oldest_time.tv_sec ||
                         (st.st_mtim.tv_sec == oldest_time.tv_sec && st.st_mtim.tv_nsec < oldest_time.tv_nsec);
            if (oldest[0] && !older) continue;
            snprintf(oldest, sizeof oldest, "%s", file->d_name);
            oldest_time = st.st_mtim;
        }
        bool removed = total > limit && oldest[0] && unlinkat(dirfd(d), oldest, 0) == 0;
        closedir(d);
        if (!removed) break;
    }
    free(folder);
}
