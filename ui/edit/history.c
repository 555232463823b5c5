/* The list in memory mirrors the file as far as it was read (`offset` bytes of inode `inode`), plus entries that are
 * only in memory. A file that was replaced or has shrunk is read anew from its start. */
#include "ui/edit/history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"

struct history_file {
    char *path; /* resolved; NULL: memory only */
    size_t limit;
    char **entries;
    bool *own; /* only in memory: kept when the file is read anew */
    size_t count, size;
    unsigned long generation;
    dev_t device;
    ino_t inode;
    int held; /* that file, open: else its number could be another's by now; -1: none */
    off_t offset;
    size_t lines; /* of the file, up to offset */
    bool lacking; /* there was no memory for entries of the file */
};

/* -- the list ----------------------------------------------------------------------------------------------------- */

static void drop_first(struct history_file *h, size_t n)
{
    for (size_t i = 0; i < n; i++) free(h->entries[i]);
    memmove(h->entries, h->entries + n, (h->count - n) * sizeof *h->entries);
    memmove(h->own, h->own + n, (h->count - n) * sizeof *h->own);
    h->count -= n;
    h->generation++;
}

/* The list may run over its limit by a quarter, so that entries seldom move. */
static void trim(struct history_file *h)
{
    if (h->count > h->limit + h->limit / 4) drop_first(h, h->count - h->limit);
}

/* Takes text over. */
static bool push(struct history_file *h, char *text, bool own)
{
    if (!text) return false;
    if (h->count && !strcmp(h->entries[h->count - 1], text)) {
        h->own[h->count - 1] &= own;
        free(text);
        return true;
    }
    if (h->count == h->size) {
        size_t size = h->size ? h->size * 2 : 64;
        char **entries = realloc(h->entries, size * sizeof *entries);
        if (entries) h->entries = entries;
        bool *owns = entries ? realloc(h->own, size * sizeof *owns) : NULL;
        if (!owns) {
            h->lacking = true;
            free(text);
            return false;
        }
        h->own = owns;
        h->size = size;
    }
    h->entries[h->count] = text;
    h->own[h->count++] = own;
    return true;
}

static bool blank(const char *text)
{
    return !text[strspn(text, " \t\r\n")];
}

/* -- one line of the file ----------------------------------------------------------------------------------------- */

static const char order_mark[] = "\357\273\277"; /* U+FEFF, which an editor may put before the first line */
enum { MARK_LENGTH = sizeof order_mark - 1 };

static size_t escape(const char *text, char *out)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *begin = (const unsigned char *)text;
    size_t n = 0, mark = strncmp(text, order_mark, MARK_LENGTH) ? 0 : MARK_LENGTH; /* an entry's own */
    for (const unsigned char *p = begin; *p; p++) {
        if (*p == '\n' || *p == '\r' || *p == '\\') {
            out[n++] = '\\';
            out[n++] = *p == '\n' ? 'n' : *p == '\r' ? 'r' : '\\';
        } else if (*p < 0x20 || *p == 0x7f || p < begin + mark) {
            out[n++] = '\\';
            out[n++] = 'x';
            out[n++] = hex[*p >> 4];
            out[n++] = hex[*p & 15];
        } else {
            out[n++] = (char)*p;
        }
    }
    out[n++] = '\n';
    return n;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A new string, or NULL for a line that history_file_add() can't have written. */
static char *unescape(const char *line, size_t n)
{
    if (!n || n > 4 * HISTORY_FILE_ENTRY_MAX) return NULL;
    char *out = malloc(n + 1);
    if (!out) return NULL;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f) goto damaged;
        if (c != '\\') {
            out[at++] = (char)c;
            continue;
        }
        if (++i == n) goto damaged;
        if (line[i] == 'n') out[at++] = '\n';
        else if (line[i] == 'r') out[at++] = '\r';
        else if (line[i] == '\\') out[at++] = '\\';
        else if (line[i] == 'x' && i + 2 < n && hex_digit(line[i + 1]) >= 0 && hex_digit(line[i + 2]) >= 0) {
            int value = hex_digit(line[i + 1]) * 16 + hex_digit(line[i + 2]);
            if (!value) goto damaged;
            out[at++] = (char)value;
            i += 2;
        } else {
            goto damaged;
        }
    }
    out[at] = 0;
    for (size_t i = 0; i < at;) {
        int32_t code;
        i += utf8_decode(out + i, at - i, &code);
        if (code < 0) goto damaged;
    }
    if (!blank(out)) return out;
damaged:
    free(out);
    return NULL;
}

/* -- the file ----------------------------------------------------------------------------------------------------- */

static void read_lines(struct history_file *h, const char *data, size_t n)
{
    for (const char *p = data, *end = data + n, *line_end; p < end; p = line_end + 1) {
        line_end = memchr(p, '\n', (size_t)(end - p));
        if (!line_end) break;
        errno = 0;
        char *text = unescape(p, (size_t)(line_end - p));
        h->lacking |= !text && errno == ENOMEM;
        h->lines++;
        if (text) push(h, text, false);
    }
}

/* Reads what fd holds beyond h->offset, up to the last whole line. */
static void read_rest(struct history_file *h, int fd, off_t size)
{
    /* A file that outgrew its limit (another program's, or not ours) is read from near its end. */
    if (size - h->offset > (off_t)HISTORY_FILE_BYTES * 2) h->offset = size - (off_t)HISTORY_FILE_BYTES * 2;
    size_t n = (size_t)(size - h->offset), got = 0;
    char *data = n ? malloc(n) : NULL;
    h->lacking |= n && !data;
    if (!data) return;
    while (got < n) {
        ssize_t r = pread(fd, data + got, n - got, h->offset + (off_t)got);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) break;
        got += (size_t)r;
    }
    while (got && data[got - 1] != '\n') got--;
    size_t mark = !h->offset && got >= MARK_LENGTH && !memcmp(data, order_mark, MARK_LENGTH) ? MARK_LENGTH : 0;
    read_lines(h, data + mark, got - mark);
    h->offset += (off_t)got;
    free(data);
    trim(h);
}

/* Opens the file, locked, and makes sure that it is still the one at the path. -1 with errno. */
static int open_locked(const struct history_file *h, struct stat *st)
{
    for (int tries = 0; tries < 8; tries++) {
        int fd = open(h->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
        if (fd < 0) return -1;
        struct stat now;
        if (fstat(fd, st) == 0 && S_ISREG(st->st_mode)) {
            while (flock(fd, LOCK_EX) < 0 && errno == EINTR) {}
            if (fstat(fd, st) == 0 && stat(h->path, &now) == 0 && now.st_ino == st->st_ino && now.st_dev == st->st_dev)
                return fd;
            close(fd);
            continue;
        }
        close(fd);
        errno = EINVAL;
        return -1;
    }
    errno = EAGAIN;
    return -1;
}

/* This file is the one that the list mirrors from now on. */
static void hold(struct history_file *h, const struct stat *st)
{
    struct stat now;
    h->inode = st->st_ino;
    h->device = st->st_dev;
    if (h->held >= 0) close(h->held);
    h->held = open(h->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (h->held < 0 || (!fstat(h->held, &now) && now.st_ino == st->st_ino && now.st_dev == st->st_dev)) return;
    close(h->held);
    h->held = -1;
}

/* Replaces the file by its newest entries; the caller holds the lock. */
static tdm_status compact(struct history_file *h, tdm_error *err)
{
    if (h->lacking) return error_set(err, TDM_E_NOMEM, "no memory for the history");
    size_t keep = h->count < h->limit ? h->count : h->limit, bytes = 0, first = h->count, lines = 0;
    while (first > h->count - keep && bytes < HISTORY_FILE_BYTES / 2) bytes += strlen(h->entries[--first]);
    char *line = malloc(4 * (size_t)HISTORY_FILE_ENTRY_MAX + 2);
    struct atomic_file *file = NULL;
    tdm_status status =
        line ? atomic_file_new(&file, h->path, err) : error_set(err, TDM_E_NOMEM, "no memory for the history");
    for (size_t i = first; i < h->count && status == TDM_OK; i++) {
        if (h->own[i] || strlen(h->entries[i]) > HISTORY_FILE_ENTRY_MAX) continue;
        status = atomic_file_write(file, line, escape(h->entries[i], line), err);
        lines++;
    }
    free(line);
    struct stat st;
    if (status == TDM_OK && fstat(atomic_file_descriptor(file), &st) < 0)
        status = error_errno(err, TDM_E_IO, "%s: the history can't be written", h->path);
    if (status != TDM_OK) {
        atomic_file_abort(file);
        return status;
    }
    off_t size = (off_t)atomic_file_written(file);
    if ((status = atomic_file_commit(file, err)) != TDM_OK) return status;
    hold(h, &st);
    h->offset = size;
    h->lines = lines;
    return TDM_OK;
}

/* Forgets what came from the file, for reading it anew. */
static void forget(struct history_file *h)
{
    size_t at = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (!h->own[i]) {
            free(h->entries[i]);
            continue;
        }
        h->entries[at] = h->entries[i];
        h->own[at++] = true;
    }
    h->count = at;
    h->offset = 0;
    h->lines = 0;
    h->generation++;
}

static bool same_file(const struct history_file *h, const struct stat *st)
{
    return st->st_ino == h->inode && st->st_dev == h->device && st->st_size >= h->offset;
}

/* Brings the list up to the open file. */
static void catch_up(struct history_file *h, int fd, const struct stat *st)
{
    if (!same_file(h, st)) {
        forget(h);
        hold(h, st);
    }
    read_rest(h, fd, st->st_size);
}

void history_file_refresh(struct history_file *h)
{
    struct stat st;
    if (!h->path || stat(h->path, &st) < 0 || !S_ISREG(st.st_mode)) return;
    if (same_file(h, &st) && st.st_size == h->offset) return;
    int fd = open(h->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) catch_up(h, fd, &st);
    close(fd);
}

static bool make_folder_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path) return true;
    *slash = 0;
    bool made = file_make_folders(path, 0700, NULL) == TDM_OK;
    *slash = '/';
    return made;
}

tdm_status history_file_add(struct history_file *h, const char *text, bool persist, tdm_error *err)
{
    size_t n = strlen(text);
    if (blank(text) || (h->count && !strcmp(h->entries[h->count - 1], text))) return TDM_OK;
    bool to_file = persist && h->path && n <= HISTORY_FILE_ENTRY_MAX;
    tdm_status status = TDM_OK;
    struct stat st;
    int fd = -1;
    if (to_file && (!make_folder_of(h->path) || (fd = open_locked(h, &st)) < 0)) {
        status = error_errno(err, TDM_E_IO, "%s: the history can't be written", h->path);
        to_file = false;
    }
    if (to_file) {
        catch_up(h, fd, &st);
        char *line = malloc(4 * n + 3);
        char last = '\n';
        if (st.st_size && pread(fd, &last, 1, st.st_size - 1) != 1) last = '\n';
        size_t length = 0;
        if (line) {
            if (last != '\n') line[length++] = '\n'; /* a write of another program was cut short */
            length += escape(text, line + length);
        }
        if (line && file_write_all(fd, line, length)) {
            read_rest(h, fd, st.st_size + (off_t)length); /* the list takes it from the file, as all others will */
        } else {
            status = error_errno(err, TDM_E_IO, "%s: the history can't be written", h->path);
            to_file = false;
        }
        free(line);
    }
    if (!to_file && !push(h, strdup(text), true) && status == TDM_OK)
        status = error_set(err, TDM_E_NOMEM, "no memory for the history");
    if (to_file && (h->lines > h->limit + h->limit / 4 || h->offset > (off_t)HISTORY_FILE_BYTES)) compact(h, NULL);
    trim(h);
    if (fd >= 0) close(fd); /* and with it the lock */
    return status;
}

/* -- opening ------------------------------------------------------------------------------------------------------ */

/* Whether the file is missing and the first of its folders that is there can be written. */
static bool may_be_made(const char *path)
{
    char *folder = errno == ENOENT ? strdup(path) : NULL;
    bool able = false;
    for (char *slash; folder && !able && (slash = strrchr(folder, '/'));) {
        *slash = 0;
        able = !access(slash == folder ? "/" : folder, W_OK | X_OK);
        if (!able && errno != ENOENT) break;
    }
    free(folder);
    return able;
}

struct history_file *history_file_open(const char *path, size_t entries, tdm_error *err)
{
    if (err) err->code = TDM_OK;
    struct history_file *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->held = -1;
    h->limit = entries ? entries : HISTORY_FILE_ENTRIES;
    if (!path) return h;
    h->path = realpath(path, NULL); /* a link stays a link when the file is replaced */
    if (!h->path && !(h->path = strdup(path))) return h;
    struct stat st;
    bool there = !stat(h->path, &st), odd = there && !S_ISREG(st.st_mode);
    if (!there && may_be_made(h->path)) return h; /* with the first entry */
    int fd = !odd ? open_locked(h, &st) : -1;
    if (fd < 0) {
        if (!odd) error_errno(err, TDM_E_IO, "%s: no history file", h->path);
        else if (!file_is_null(&st)) file_refuse(h->path, st.st_mode, err);
        free(h->path);
        h->path = NULL;
        return h;
    }
    if (st.st_mode & 077) fchmod(fd, 0600);
    catch_up(h, fd, &st);
    close(fd);
    return h;
}

/* Takes the entries out of the list that are to go. */
static void drop_chosen(struct history_file *h, history_file_choice chosen, void *ctx)
{
    size_t at = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (chosen(ctx, h->entries[i])) {
            free(h->entries[i]);
            continue;
        }
        h->entries[at] = h->entries[i];
        h->own[at++] = h->own[i];
    }
    h->count = at;
    h->generation++;
}

tdm_status history_file_erase(const char *path, history_file_choice chosen, void *ctx, tdm_error *err)
{
    tdm_error why = {0};
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return TDM_OK;
    /* Twice as many, so that none is left out but those that are chosen. */
    struct history_file *h = history_file_open(path, 2 * HISTORY_FILE_ENTRIES, &why);
    if (!h) return error_set(err, TDM_E_NOMEM, "no memory for the history");
    tdm_status status = why.code ? error_set(err, why.code, "%s", why.text) : TDM_OK;
    if (!status && h->path && !stat(h->path, &st)) {
        int fd = open_locked(h, &st);
        if (fd < 0) status = error_errno(err, TDM_E_IO, "%s: the history can't be written", h->path);
        if (!status) {
            catch_up(h, fd, &st);
            drop_chosen(h, chosen, ctx);
            status = compact(h, err);
            close(fd);
        }
    }
    history_file_close(h);
    return status;
}

void history_file_close(struct history_file *h)
{
    if (!h) return;
    for (size_t i = 0; i < h->count; i++) free(h->entries[i]);
    free(h->entries);
    free(h->own);
    free(h->path);
    if (h->held >= 0) close(h->held);
    free(h);
}

size_t history_file_count(const struct history_file *h)
{
    return h->count;
}

unsigned long history_file_generation(const struct history_file *h)
{
    return h->generation;
}

const char *history_file_entry(const struct history_file *h, size_t i)
{
    return i < h->count ? h->entries[i] : NULL;
}
