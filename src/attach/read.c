#include "src/attach/read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clean.h"
#include "engine/base/error.h"
#include "engine/base/harmless.h"
#include "engine/base/utf8.h"
#include "engine/os/file.h"
#include "engine/os/path.h"
#include "src/attach/kind.h"
#include "src/image/format.h"
#include "src/image/image.h"

enum { DEEPEST = 32, MAX_SEEN = 100000 };

/* While a path is being read. */
typedef struct {
    attach_found *out;
    const char *asked;        /* the path as given */
    bool (*stop)(void *ctx);
    void *ctx;
    char **paths;             /* of regular files */
    size_t n, room;
    bool within;                         /* a folder, whose pictures were not named */
    int links, others, binary, pictures, damaged; /* left out */
} search;

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

void attach_name(char *out, size_t room, const char *name)
{
    size_t at = 0;
    int32_t code;
    for (size_t n = strlen(name), i = 0, length; i < n; i += length) {
        length = utf8_decode(name + i, n - i, &code);
        bool odd = !harmless_code(code);
        if (at + (odd ? 1 : length) + 1 > room) break;
        if (odd) out[at++] = '?';
        else memcpy(out + at, name + i, length), at += length;
    }
    out[at] = 0;
}

/* "the name:\n\ntext\n\n", the text cleaned. */
static tdm_status add_text(struct buffer *out, const char *name, const char *bytes, size_t n, tdm_error *err)
{
    char shown[PATH_MAX];
    attach_name(shown, sizeof shown, name);
    char *clean = clean_text(bytes, n, &n);
    if (!clean) return error_set(err, TDM_E_NOMEM, "out of memory");
    tdm_status status = buffer_reserve(out, strlen(shown) + n + 6, err);
    if (!status) out->n += (size_t)sprintf(out->bytes + out->n, "%s:\n\n%s\n\n", shown, clean);
    free(clean);
    return status;
}

/* FNV-1a of the figures that change with a file; st NULL: it is not there. */
static const uint64_t NO_MARK = UINT64_C(14695981039346656037);

static uint64_t mark_of(uint64_t mark, const struct stat *st)
{
    const uint64_t of[] = {st ? st->st_ino : 0, st ? (uint64_t)st->st_size : 0,
                           st ? (uint64_t)st->st_mtim.tv_sec : 0, st ? (uint64_t)st->st_mtim.tv_nsec : 0};
    for (int i = 0; i < 4; i++) mark = (mark ^ of[i]) * UINT64_C(1099511628211);
    return mark;
}

/* ---- One file -------------------------------------------------------------------------------------------------- */

static const char *mode_name(mode_t mode)
{
    return S_ISLNK(mode)    ? "a symbolic link"
           : S_ISDIR(mode)  ? "a folder"
           : S_ISFIFO(mode) ? "a named pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* Looked at before it is opened, which does something to a device, and again once it is: it may be another one. */
static int open_regular(const char *path, struct stat *st, tdm_error *err)
{
    if (lstat(path, st)) return error_errno(err, TDM_E_IO, "%s: can't be opened", path), -1;
    int fd = S_ISREG(st->st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0 && S_ISREG(st->st_mode)) return error_errno(err, TDM_E_IO, "%s: can't be opened", path), -1;
    if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode)) return fd;
    if (fd >= 0) close(fd);
    error_set(err, TDM_E_FORMAT, "%s: %s, expected a file", path, mode_name(st->st_mode));
    return -1;
}

static tdm_status too_long(const char *path, size_t found, size_t most, tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "%s: %zu bytes, expected at most %zu", path, found, most);
}

/* All of a file, as long as it is when its end is met: it may grow or shrink meanwhile. */
static tdm_status read_file(const search *s, const char *path, struct buffer *out, struct stat *st, tdm_error *err)
{
    tdm_status status = TDM_OK;
    size_t most = ATTACH_BYTES;
    int fd = open_regular(path, st, err);
    if (fd < 0) return err->code;
    for (ssize_t got = 1; !status && got;) {
        if (out->n && picture_is(out->bytes, out->n)) most = IMAGE_BYTES;
        if (out->n && (size_t)st->st_size > most) status = too_long(path, (size_t)st->st_size, most, err);
        if (status || (status = buffer_reserve(out, 65536, err))) break;
        got = read(fd, out->bytes + out->n, 65536);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = error_errno(err, TDM_E_IO, "%s: can't be read", path);
        if (got < 0) break;
        out->n += (size_t)got;
        if (out->n > most) status = too_long(path, out->n, most, err);
        if (!status && s->stop && s->stop(s->ctx)) status = error_set(err, TDM_E_CANCELLED, "%s: stopped", path);
    }
    close(fd);
    return status;
}

/* ---- Folders and patterns -------------------------------------------------------------------------------------- */

static tdm_status add_path(search *s, const char *path, tdm_error *err)
{
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        char **larger = realloc(s->paths, room * sizeof *larger);
        if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
        s->paths = larger;
        s->room = room;
    }
    if (s->n >= MAX_SEEN)
        return error_set(err, TDM_E_FORMAT, "%s: over %d files, expected at most %d", s->asked, MAX_SEEN, ATTACH_FILES);
    if (!(s->paths[s->n] = strdup(path))) return error_set(err, TDM_E_NOMEM, "out of memory");
    s->n++;
    return TDM_OK;
}

static int seen(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* What stands in a folder, by name: its files, and all below its folders; but for names that begin with a dot. */
static tdm_status walk(search *s, const char *folder, int depth, tdm_error *err)
{
    struct dirent **entries;
    int n = depth < DEEPEST ? scandir(folder, &entries, seen, by_bytes) : 0;
    if (n < 0) return depth && errno != ENOMEM ? TDM_OK : error_errno(err, TDM_E_IO, "%s: can't be read", folder);
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    tdm_status status = TDM_OK;
    for (int i = 0; depth < DEEPEST && i < n; i++) {
        char *path = NULL;
        struct stat st;
        if (!status && s->stop && s->stop(s->ctx)) status = error_set(err, TDM_E_CANCELLED, "%s: stopped", s->asked);
        if (!status && asprintf(&path, "%.*s/%s", (int)length, folder, entries[i]->d_name) < 0)
            status = error_set(err, TDM_E_NOMEM, "out of memory");
        if (!status && !lstat(path, &st)) {
            if (S_ISDIR(st.st_mode)) status = walk(s, path, depth + 1, err);
            else if (S_ISREG(st.st_mode)) status = add_path(s, path, err);
            else ++*(S_ISLNK(st.st_mode) ? &s->links : &s->others);
        }
        free(path);
        free(entries[i]);
    }
    if (depth < DEEPEST) free(entries);
    return status;
}

static tdm_status match(search *s, const char *pattern, tdm_error *err)
{
    glob_t found;
    int result = glob(pattern, 0, NULL, &found);
    tdm_status status = TDM_OK;
    if (result == GLOB_NOMATCH || result == GLOB_ABORTED)
        return error_set(err, TDM_E_NOT_FOUND, "%s: no file is called so", s->asked);
    if (result) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < found.gl_pathc && !status; i++) {
        struct stat st;
        if (lstat(found.gl_pathv[i], &st)) continue;
        if (S_ISREG(st.st_mode)) status = add_path(s, found.gl_pathv[i], err);
        else if (!S_ISDIR(st.st_mode)) ++*(S_ISLNK(st.st_mode) ? &s->links : &s->others);
    }
    globfree(&found);
    return status;
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

/* How the model knows a file: by the path that was typed, where that says where it is in a project. */
static const char *title(const char *asked, const char *path)
{
    bool elsewhere = *asked == '/' || *asked == '~' || !strncmp(asked, "..", 2);
    return elsewhere ? file_base(path) : path;
}

/* Decodes a picture, which is placed at the present end of the text. Takes the bytes over. */
static tdm_status take_picture(search *s, const char *path, struct buffer *bytes, tdm_error *err)
{
    attach_found *out = s->out;
    char name[PICTURE_NAME];
    attached_picture taken = {.at = out->text.n};
    if (out->n_pictures == ATTACH_PICTURES)
        return error_set(err, TDM_E_FORMAT, "%s: expected at most %d pictures", s->asked, ATTACH_PICTURES);
    attached_picture *larger = realloc(out->pictures, (size_t)(out->n_pictures + 1) * sizeof *larger);
    if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    out->pictures = larger;
    attach_name(name, sizeof name, file_base(path));
    tdm_status status = picture_take(&taken.picture, &taken.seen, bytes->bytes, bytes->n, name, s->stop, s->ctx, err);
    *bytes = (struct buffer){0};
    if (!status) out->pictures[out->n_pictures++] = taken;
    return status;
}

static tdm_status take_file(search *s, const char *path, bool alone, tdm_error *err)
{
    struct buffer bytes = {0};
    attach_found *out = s->out;
    struct stat st;
    tdm_status status = read_file(s, path, &bytes, &st, err);
    bool unread = status == TDM_E_IO || status == TDM_E_FORMAT;
    if (!alone && unread && !bytes.n) { /* the file has gone, or may not be read; the others are there */
        s->others++;
        buffer_free(&bytes);
        return TDM_OK;
    }
    char room[KIND_ROOM];
    bool shows = !status && bytes.n && picture_is(bytes.bytes, bytes.n), left = shows && s->within;
    const char *refused = status || shows ? NULL : kind_refused(bytes.n ? bytes.bytes : "", bytes.n, room);
    bool taken = !status && !refused && !left, text = taken && !shows;
    if (refused && alone) status = error_set(err, TDM_E_FORMAT, "%s: %s", path, refused);
    if (refused) s->binary++;
    if (left) s->pictures++;
    bool full = out->n_pictures == ATTACH_PICTURES;
    if (shows && taken) status = take_picture(s, path, &bytes, err);
    if (shows && taken && status == TDM_E_FORMAT && !alone && !full) { /* the others are whole */
        s->damaged++;
        return TDM_OK;
    }
    if (text) status = add_text(&out->text, title(s->asked, path), bytes.n ? bytes.bytes : "", bytes.n, err);
    const char *convert = text && alone ? format_other((uint8_t *)bytes.bytes, bytes.n) : NULL;
    if (convert) snprintf(out->left_out, sizeof out->left_out, "as text; %s", strchr(convert, '`'));
    if (taken && !status) status = buffer_append(&out->files, path, strlen(path) + 1, err);
    if (text && !status && out->text.n > (size_t)ATTACH_BYTES + PATH_MAX)
        status = too_long(s->asked, out->text.n, ATTACH_BYTES, err);
    if (taken) out->mark = mark_of(out->mark, &st);
    out->n += taken;
    buffer_free(&bytes);
    return status;
}

static void tell_left_out(search *s)
{
    const struct {
        int n;
        const char *one, *many;
    } kinds[] = {{s->binary, "binary file", "binary files"},
                 {s->pictures, "picture", "pictures"},
                 {s->damaged, "damaged picture", "damaged pictures"},
                 {s->links, "link", "links"},
                 {s->others, "other", "others"}};
    char *out = s->out->left_out;
    size_t room = sizeof s->out->left_out, at = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].n)
            at += (size_t)snprintf(out + at, room - at, "%s%d %s", at ? ", " : "", kinds[i].n,
                                   kinds[i].n == 1 ? kinds[i].one : kinds[i].many);
    if (at) snprintf(out + at, room - at, " left out");
}

/* The chip's name: the last part of the path. */
static void name_it(search *s, const char *path, bool folder, bool many)
{
    char last[PATH_MAX], shown[60];
    snprintf(last, sizeof last, "%s", path);
    size_t n = strlen(last);
    while (n > 1 && last[n - 1] == '/') last[--n] = 0;
    const char *slash = strrchr(last, '/');
    bool long_one = n > 30 || *path == '/';
    attach_name(shown, sizeof shown, many && !folder && !long_one ? last : slash && slash[1] ? slash + 1 : last);
    if (many) snprintf(s->out->name, sizeof s->out->name, "%s%s (%d)", shown, folder ? "/" : "", s->out->n);
    else snprintf(s->out->name, sizeof s->out->name, "%s", shown);
}

static tdm_status take_all(search *s, const char *path, bool folder, tdm_error *err)
{
    tdm_status status = folder ? walk(s, path, 0, err) : match(s, path, err);
    if (!status && s->n > ATTACH_FILES)
        status = error_set(err, TDM_E_FORMAT, "%s: %zu files, expected at most %d", s->asked, s->n, ATTACH_FILES);
    for (size_t i = 0; i < s->n && !status; i++) status = take_file(s, s->paths[i], false, err);
    tell_left_out(s);
    if (!status && !s->out->n)
        status = error_set(err, TDM_E_NOT_FOUND, "%s: expected a text or a picture, found %s", s->asked,
                           s->out->left_out[0] ? s->out->left_out : "none");
    return status;
}

tdm_status attach_find(attach_found *out, const char *asked, bool (*stop)(void *ctx), void *ctx, tdm_error *err)
{
    tdm_error unheard;
    search s = {.out = out, .asked = asked, .stop = stop, .ctx = ctx};
    *out = (attach_found){.mark = NO_MARK};
    if (!err) err = &unheard;
    char *path = path_expand(asked, strlen(asked), getenv("HOME"));
    struct stat st;
    if (!path) return error_set(err, TDM_E_NOMEM, "out of memory");
    bool there = !lstat(path, &st), folder = there && S_ISDIR(st.st_mode);
    bool pattern = !there && strpbrk(path, "*?[");
    s.within = folder;
    tdm_status status = folder || pattern ? take_all(&s, path, folder, err) : take_file(&s, path, true, err);
    if (!status) name_it(&s, path, folder, folder || pattern);
    for (size_t i = 0; i < s.n; i++) free(s.paths[i]);
    free(s.paths);
    free(path);
    return status;
}

void attach_found_free(attach_found *f)
{
    for (int i = 0; i < f->n_pictures; i++) tdm_picture_drop(f->pictures[i].seen);
    free(f->pictures);
    buffer_free(&f->text);
    buffer_free(&f->files);
    *f = (attach_found){0};
}

uint64_t attach_mark(const char *files, size_t n)
{
    uint64_t mark = NO_MARK;
    for (size_t at = 0; at < n; at += strlen(files + at) + 1) {
        struct stat st;
        mark = mark_of(mark, lstat(files + at, &st) ? NULL : &st);
    }
    return mark;
}

bool attach_exists(const char *path, bool *folder)
{
    struct stat st;
    char *expanded = path_expand(path, strlen(path), getenv("HOME"));
    bool there = expanded && !lstat(expanded, &st);
    *folder = there && S_ISDIR(st.st_mode);
    free(expanded);
    return there;
}

bool attach_is_picture(const char *path)
{
    char *expanded = path_expand(path, strlen(path), getenv("HOME")), bytes[64];
    struct stat st;
    tdm_error unheard;
    int fd = expanded ? open_regular(expanded, &st, &unheard) : -1;
    ssize_t n = fd >= 0 ? file_read(fd, bytes, sizeof bytes) : -1;
    if (fd >= 0) close(fd);
    free(expanded);
    return n > 0 && picture_is(bytes, (size_t)n);
}
