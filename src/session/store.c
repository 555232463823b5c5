#include "src/session/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"
#include "src/cli/words.h"
#include "src/files/files.h"
#include "src/io/number.h"
#include "src/session/pictures.h"
#include "ui/unicode/fold.h"

#define SESSIONS "sessions"
#define TRASH    "trash"
enum { LONGEST_FILE = 256 << 20, DAY_S = 24 * 60 * 60 };

/* ---- Paths ----------------------------------------------------------------------------------------------------- */

/* Ids become file names, so only our own form is taken. */
static bool id_good(const char *id)
{
    size_t n = strlen(id);
    return n && n < sizeof((session_slot *)0)->id && strspn(id, "0123456789-") == n;
}

static char *path_in(const char *folder, const char *id, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s%s", folder, id, suffix);
    return files_path(FILES_STATE, name);
}

static char *path_of(const char *id, const char *suffix)
{
    return path_in(SESSIONS, id, suffix);
}

char *store_state_path(const char *id)
{
    return path_of(id, ".state");
}

/* The folder of a session's pictures; malloc'ed. */
static char *pictures_of(const char *folder, const char *id)
{
    return path_in(folder, id, ".pictures");
}

static DIR *open_folder(const char *name)
{
    char *folder = files_path(FILES_STATE, name);
    DIR *d = folder ? opendir(folder) : NULL;
    free(folder);
    return d;
}

static tdm_status make_folder(const char *name, tdm_error *err)
{
    char *folder = files_path(FILES_STATE, name);
    if (!folder) return error_set(err, TDM_E_IO, "no place for sessions: neither XDG_STATE_HOME nor HOME is set");
    tdm_status status = file_make_folders(folder, 0700, err);
    free(folder);
    return status;
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

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
        else if (file_is_at(fd, path))
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

static bool is_there(const char *folder, const char *id)
{
    char *path = path_in(folder, id, ".json");
    bool there = !path || access(path, F_OK) == 0;
    free(path);
    return there;
}

tdm_status store_create(session_slot *out, tdm_error *err)
{
    tdm_status status = make_folder(SESSIONS, err);
    if (status) return status;
    time_t now = time(NULL);
    struct tm parts;
    char stamp[24];
    localtime_r(&now, &parts);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
    for (int i = 1; i < 1000; i++) {
        snprintf(out->id, sizeof out->id, "%s-%d", stamp, i);
        if (is_there(SESSIONS, out->id) || is_there(TRASH, out->id)) continue;
        status = take_lock(out->id, &out->lock, err);
        if (status != TDM_E_BUSY) return status;
    }
    return error_set(err, TDM_E_IO, "no free name for a session at %s", stamp);
}

tdm_status store_keep(session_slot *p, tdm_error *err)
{
    if (p->lock < 0) return store_create(p, err);
    char *path = path_of(p->id, ".lock");
    bool there = !path || file_is_at(p->lock, path);
    free(path);
    if (there) return TDM_OK;
    int lock;
    tdm_status status = make_folder(SESSIONS, err);
    if (!status) status = take_lock(p->id, &lock, err);
    if (status) return status;
    close(p->lock);
    p->lock = lock;
    return TDM_OK;
}

static tdm_status read_session(const char *folder, const char *id, session *s, tdm_error *err)
{
    char *path = path_in(folder, id, ".json"), *bytes;
    size_t n;
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = files_read_text(path, LONGEST_FILE, &bytes, &n, err);
    if (!status) {
        status = session_parse(s, path, bytes, n, err);
        free(bytes);
    }
    free(path);
    return status;
}

static void copy_pictures(const char *from, const char *to)
{
    char *old = pictures_of(SESSIONS, from), *fresh = pictures_of(SESSIONS, to);
    if (old && fresh) pictures_copy(old, fresh);
    free(old);
    free(fresh);
}

tdm_status store_open(session_slot *out, const char *id, session *s, bool *copied, tdm_error *err)
{
    if (!id_good(id)) return error_set(err, TDM_E_ARG, "'%s' is not the id of a session", id);
    *copied = false;
    snprintf(out->id, sizeof out->id, "%s", id);
    tdm_status status = take_lock(id, &out->lock, err); /* a session that can't be written can still be read */
    if (status == TDM_E_NOMEM) return status;
    bool busy = status == TDM_E_BUSY;
    status = read_session(SESSIONS, id, s, err);
    if (!status && busy) {
        *copied = true;
        status = store_create(out, err);
        if (!status) copy_pictures(id, out->id);
        if (!status) status = store_save(out, s, err);
        if (status) session_free(s);
    }
    if (status) store_close(out);
    return status;
}

tdm_status store_peek(const char *id, bool trash, session *out, tdm_error *err)
{
    if (!id_good(id)) return error_set(err, TDM_E_ARG, "'%s' is not the id of a session", id);
    return read_session(trash ? TRASH : SESSIONS, id, out, err);
}

void store_close(session_slot *p)
{
    if (p->lock < 0) return;
    /* Unlinked while it is held: a program that opens it now gets a new file, which is the one that counts. */
    remove_file(p->id, ".lock");
    close(p->lock);
    p->lock = -1;
}

tdm_status store_save(const session_slot *p, const session *s, tdm_error *err)
{
    size_t n = 0;
    char *text = session_format(s, &n), *path = path_of(p->id, ".json"), *folder = pictures_of(SESSIONS, p->id);
    tdm_status status =
        text && path && folder ? pictures_save(folder, s, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) status = atomic_file_put(path, text, n, err);
    free(folder);
    free(text);
    free(path);
    store_sweep();
    return status;
}

tdm_status store_picture(const char *id, const session_picture *p, const picture **out, tdm_picture **seen,
                         tdm_error *err)
{
    char *folder = pictures_of(SESSIONS, id);
    tdm_status status =
        folder ? pictures_read(folder, p, out, seen, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    free(folder);
    return status;
}

/* A picture behind those that the message has; it is taken over. */
static tdm_status show(tdm_node *node, tdm_picture *seen, size_t at, tdm_error *err)
{
    tdm_placed_picture *larger = realloc(node->pictures, (node->n_pictures + 1) * sizeof *larger);
    if (!larger) {
        tdm_picture_drop(seen);
        return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    node->pictures = larger;
    node->pictures[node->n_pictures++] = (tdm_placed_picture){seen, at};
    return TDM_OK;
}

tdm_status store_load_pictures(const char *id, session *s, tdm_error *missing, tdm_error *err)
{
    *missing = (tdm_error){0};
    for (int i = 0; i < s->n_pictures; i++) {
        const session_picture *p = &s->pictures[i];
        const picture *its;
        tdm_picture *seen;
        tdm_error why = {0};
        tdm_status status = store_picture(id, p, &its, &seen, &why);
        if (status == TDM_E_NOMEM) return error_set(err, status, "%s", why.text);
        if (status && !missing->code) *missing = why;
        if (!status) status = show(&s->nodes[p->node - 1], seen, p->at, err);
        if (status == TDM_E_NOMEM) return status;
    }
    return TDM_OK;
}

tdm_status store_rename(const char *id, const char *name, tdm_error *err)
{
    session_slot slot;
    session s;
    if (!id_good(id)) return error_set(err, TDM_E_ARG, "'%s' is not the id of a session", id);
    snprintf(slot.id, sizeof slot.id, "%s", id);
    tdm_status status = take_lock(id, &slot.lock, err);
    if (status) return status;
    status = read_session(SESSIONS, id, &s, err);
    if (!status) {
        char *copy = strdup(name);
        if (copy) {
            free(s.name);
            s.name = copy;
        }
        status = copy ? store_save(&slot, &s, err) : error_set(err, TDM_E_NOMEM, "out of memory");
        session_free(&s);
    }
    store_close(&slot);
    return status;
}

/* ---- Deleting -------------------------------------------------------------------------------------------------- */

/* Only the caller has the session open, where it holds the place; end_change gives the lock back. */
static tdm_status begin_change(session_slot *p, const session_slot *held, const char *id, tdm_error *err)
{
    if (held) *p = *held;
    if (held) return TDM_OK;
    *p = (session_slot){.lock = -1};
    if (!id_good(id)) return error_set(err, TDM_E_ARG, "'%s' is not the id of a session", id);
    snprintf(p->id, sizeof p->id, "%s", id);
    return take_lock(id, &p->lock, err);
}

/* A lock that was held stays held if nothing was changed. */
static void end_change(session_slot *p, session_slot *held, tdm_status status)
{
    if (held && status) return;
    store_close(p);
    if (held) held->lock = -1;
}

static tdm_status move(const char *id, const char *from, const char *to, tdm_error *err)
{
    char *old = path_in(from, id, ".json"), *fresh = path_in(to, id, ".json");
    char *pictures = pictures_of(from, id), *moved = pictures_of(to, id);
    tdm_status status = old && fresh ? make_folder(to, err) : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status && rename(old, fresh)) status = error_errno(err, TDM_E_IO, "%s: can't be moved to %s", old, fresh);
    if (!status && pictures && moved) rename(pictures, moved); /* there may be none */
    if (!status) status = file_sync_folder(fresh, err);
    if (!status) status = file_sync_folder(old, err);
    free(pictures);
    free(moved);
    free(old);
    free(fresh);
    return status;
}

/* Removes partly written files, which a program left that was killed while it saved. No program writes now, since the
 * caller holds the lock. */
static void remove_left(const char *id)
{
    DIR *d = open_folder(SESSIONS);
    size_t n = strlen(id);
    for (const struct dirent *file; d && (file = readdir(d));) {
        const char *ending = strncmp(file->d_name, id, n) ? "" : file->d_name + n;
        if (!strncmp(ending, ".json.", 6) || !strncmp(ending, ".state.", 7)) unlinkat(dirfd(d), file->d_name, 0);
    }
    if (d) closedir(d);
}

static void remove_pictures(const char *folder, const char *id)
{
    char *path = pictures_of(folder, id);
    if (path) pictures_remove(path);
    free(path);
}

tdm_status store_delete(const char *id, session_slot *held, tdm_error *err)
{
    session_slot p;
    tdm_status status = begin_change(&p, held, id, err);
    if (status) return status;
    char *path = path_of(id, ".json");
    const struct timespec now = {.tv_sec = time(NULL)}, times[2] = {now, now};
    if (path) utimensat(AT_FDCWD, path, times, 0); /* before it moves: the trash is purged by this time */
    free(path);
    status = move(id, SESSIONS, TRASH, err);
    if (!status) remove_file(id, ".state"), remove_left(id);
    end_change(&p, held, status);
    return status;
}

tdm_status store_erase(const char *id, session_slot *held, tdm_error *err)
{
    session_slot p;
    tdm_status status = begin_change(&p, held, id, err);
    if (status) return status;
    char *path = path_of(id, ".json");
    if (!path) status = error_set(err, TDM_E_NOMEM, "out of memory");
    else if (unlink(path) && errno != ENOENT) status = error_errno(err, TDM_E_IO, "%s: can't be erased", path);
    if (!status) remove_file(id, ".state"), remove_left(id), remove_pictures(SESSIONS, id);
    if (!status) status = file_sync_folder(path, err);
    free(path);
    end_change(&p, held, status);
    return status;
}

tdm_status store_undelete(const char *id, tdm_error *err)
{
    session_slot p;
    tdm_status status = begin_change(&p, NULL, id, err);
    if (status) return status;
    status = is_there(SESSIONS, id) ? error_set(err, TDM_E_BUSY, "%s: a session of this id is saved already", id)
                                    : move(id, TRASH, SESSIONS, err);
    end_change(&p, NULL, status);
    return status;
}

/* The id of the next file of an open folder that is a session's; false: there is none. */
static bool next_session(DIR *d, char id[40])
{
    for (struct dirent *file; (file = readdir(d));) {
        const char *dot = strrchr(file->d_name, '.');
        if (!dot || strcmp(dot, ".json") || dot - file->d_name >= 40) continue;
        snprintf(id, 40, "%.*s", (int)(dot - file->d_name), file->d_name);
        if (id_good(id)) return true;
    }
    return false;
}

static void tell_last(const char *id, void (*last)(void *ctx, const session *s), void *ctx)
{
    session s;
    if (!last || read_session(TRASH, id, &s, NULL)) return;
    last(ctx, &s);
    session_free(&s);
}

void store_purge_trash(void (*last)(void *ctx, const session *s), void *ctx)
{
    DIR *d = open_folder(TRASH);
    time_t now = time(NULL);
    for (char id[40]; d && next_session(d, id);) {
        char *path = path_in(TRASH, id, ".json");
        struct stat st;
        bool old = path && !stat(path, &st) && now - st.st_mtime > (time_t)STORE_TRASH_DAYS * DAY_S;
        if (old) tell_last(id, last, ctx), unlink(path), remove_pictures(TRASH, id);
        free(path);
    }
    if (d) closedir(d);
}

/* Versions without marked names (engine/os/atomic_file.h) called the files that they were writing ID.json.XXXXXX. */
static bool is_old_temporary(const char *name)
{
    size_t id = strspn(name, "0123456789-");
    const char *ending = name + id;
    size_t n = !strncmp(ending, ".json.", 6) ? 6 : !strncmp(ending, ".state.", 7) ? 7 : 0;
    return id && n && strlen(ending + n) == 6;
}

void store_sweep(void)
{
    static const char *const folders[] = {SESSIONS, TRASH};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        DIR *d = open_folder(folders[i]);
        for (const struct dirent *file; d && (file = readdir(d));)
            if (is_old_temporary(file->d_name)) atomic_file_remove_left(dirfd(d), file->d_name);
        if (d) closedir(d);
    }
}

/* ---- The list -------------------------------------------------------------------------------------------------- */

static int latest_first(const void *a, const void *b)
{
    const store_entry *x = a, *y = b;
    if (x->changed_s != y->changed_s) return x->changed_s < y->changed_s ? 1 : -1;
    return strcmp(y->id, x->id);
}

static int64_t file_time(const char *folder, const char *id)
{
    char *path = path_in(folder, id, ".json");
    struct stat st;
    int64_t time_s = path && !stat(path, &st) ? st.st_mtime : 0;
    free(path);
    return time_s;
}

static tdm_status fill_entry(store_entry *e, const char *folder)
{
    session s;
    tdm_error err;
    bool trash = !strcmp(folder, TRASH);
    tdm_status status = read_session(folder, e->id, &s, &err);
    if (status == TDM_E_NOMEM) return status;
    if (status || trash) e->changed_s = file_time(folder, e->id);
    if (status) {
        snprintf(e->damage, sizeof e->damage, "%s", err.text);
        e->name = strdup("(damaged)");
        e->model = strdup("");
        return e->name && e->model ? TDM_OK : TDM_E_NOMEM;
    }
    e->name = s.name ? strdup(s.name) : session_first_words(&s);
    e->model = strdup(s.model_name ? s.model_name : "");
    if (!trash) e->changed_s = s.changed_s;
    e->turns = session_turns(&s);
    session_free(&s);
    return e->name && e->model ? TDM_OK : TDM_E_NOMEM;
}

static tdm_status list(const char *folder, store_entry **out, int *n, tdm_error *err)
{
    *out = NULL;
    *n = 0;
    errno = 0;
    DIR *d = open_folder(folder);
    tdm_status status = !d && errno == ENOMEM ? TDM_E_NOMEM : TDM_OK;
    for (char id[40]; d && !status && next_session(d, id);) { /* without a folder nothing was saved yet */
        store_entry *larger = realloc(*out, sizeof *larger * ((size_t)*n + 1));
        if (!larger) {
            status = TDM_E_NOMEM;
            break;
        }
        *out = larger;
        store_entry *e = &larger[(*n)++];
        *e = (store_entry){0};
        memcpy(e->id, id, sizeof e->id);
        status = fill_entry(e, folder);
    }
    if (d) closedir(d);
    if (status) {
        store_list_free(*out, *n);
        *out = NULL;
        *n = 0;
        return error_set(err, status, "out of memory");
    }
    if (*n) qsort(*out, (size_t)*n, sizeof **out, latest_first);
    return TDM_OK;
}

tdm_status store_list(store_entry **out, int *n, tdm_error *err)
{
    return list(SESSIONS, out, n, err);
}

tdm_status store_list_trash(store_entry **out, int *n, tdm_error *err)
{
    return list(TRASH, out, n, err);
}

void store_list_free(store_entry *entries, int n)
{
    for (int i = 0; i < n; i++) {
        free(entries[i].name);
        free(entries[i].model);
    }
    free(entries);
}

void store_listing_set(store_listing *listing, const store_entry *entries, int n)
{
    store_listing_free(listing);
    if (!(listing->ids = calloc((size_t)n + 1, sizeof *listing->ids))) return;
    listing->n = n;
    for (int i = 0; i < n; i++) memcpy(listing->ids[i], entries[i].id, sizeof entries[i].id);
}

void store_listing_free(store_listing *listing)
{
    free(listing->ids);
    *listing = (store_listing){0};
}

static int find_id(const store_entry *entries, int n, const char *id)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(entries[i].id, id)) return i;
    return -1;
}

/* The only entry whose name begins so. */
static int find_beginning(const store_entry *entries, int n, const char *wanted, tdm_error *err)
{
    int found = -1, matches = 0;
    nearest best = {0};
    for (int i = 0; i < n; i++) {
        if (fold_begins(entries[i].name, wanted, FOLD_CASE) && !matches++) found = i;
        if (!entries[i].damage[0]) nearest_offer(&best, wanted, entries[i].name);
    }
    if (matches == 1) return found;
    if (matches)
        error_set(err, TDM_E_NOT_FOUND, "'%s' begins the names of %d sessions", wanted, matches);
    else if (strspn(wanted, "0123456789") == strlen(wanted))
        error_set(err, TDM_E_NOT_FOUND, "no session is called '%s', and no list with that number was shown", wanted);
    else if (best.name)
        error_set(err, TDM_E_NOT_FOUND, "no session is called '%s'; did you mean '%s'?", wanted, best.name);
    else
        error_set(err, TDM_E_NOT_FOUND, "no session is called '%s'", wanted);
    return -1;
}

int store_pick(const store_entry *entries, int n, const store_listing *listing, const char *wanted, tdm_error *err)
{
    int64_t number;
    if (!n) {
        error_set(err, TDM_E_NOT_FOUND, "there is no saved session yet");
        return -1;
    }
    if (!wanted || !wanted[0]) return 0;
    int found = find_id(entries, n, wanted);
    if (found >= 0) return found;
    if (listing && number_int(wanted, 1, listing->n, &number)) { /* before names: one may be a number */
        found = find_id(entries, n, listing->ids[number - 1]);
        if (found < 0)
            error_set(err, TDM_E_NOT_FOUND, "number %s of the list shown last is not there any more", wanted);
        return found;
    }
    for (int i = 0; i < n; i++)
        if (!fold_compare(entries[i].name, wanted)) return i;
    return find_beginning(entries, n, wanted, err);
}

bool store_matches(const char *text, size_t n, const char *words)
{
    bool any = false;
    while (*words) {
        size_t length = strcspn(words, " \t");
        if (length && !fold_find(text, n, 0, words, length, NULL)) return false;
        any |= length > 0;
        words += length;
        words += strspn(words, " \t");
    }
    return any;
}

void store_excerpt(const char *text, size_t n, const char *words, char *out, size_t room)
{
    size_t at = n, length = fold_find(text, n, 0, words, strcspn(words, " \t"), &at);
    size_t start = at, end = at + length;
    while (start && text[start - 1] != '\n' && at - start < 60) start--;
    while (end < n && text[end] != '\n' && end - start < 110) end++;
    bool cut = start && text[start - 1] != '\n', more = end < n && text[end] != '\n';
    while (start < at && utf8_continues(text[start])) start++;
    while (end > start && end < n && utf8_continues(text[end])) end--;
    for (size_t i = start; cut && i < at; i++)
        if (text[i] == ' ') {
            start = i + 1;
            break;
        }
    for (size_t i = end; more && i > at + length; i--)
        if (text[i - 1] == ' ') {
            end = i - 1;
            break;
        }
    snprintf(out, room, "%s%.*s%s", cut ? "... " : "", (int)(end - start), text + start, more ? " ..." : "");
}

tdm_status store_search(const char *words, store_found found, void *ctx, tdm_error *err)
{
    store_entry *entries;
    int n;
    tdm_status status = store_list(&entries, &n, err);
    if (status) return status;
    for (int i = 0; i < n; i++) {
        session s;
        if (entries[i].damage[0] || read_session(SESSIONS, entries[i].id, &s, NULL)) continue;
        for (int k = 0; k < s.n; k++)
            if (store_matches(s.nodes[k].text, s.nodes[k].length, words)) found(ctx, &entries[i], k + 1, &s.nodes[k]);
        session_free(&s);
    }
    store_list_free(entries, n);
    return TDM_OK;
}

/* ---- States ---------------------------------------------------------------------------------------------------- */

void store_trim_states(uint64_t limit)
{
    for (;;) {
        DIR *d = open_folder(SESSIONS);
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
}
