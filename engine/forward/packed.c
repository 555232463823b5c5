#include "engine/forward/packed.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/os/atomic_file.h"
#include "engine/os/file.h"

enum { PAGE = 4096, PIECE = 4 << 20, SUFFIX_LENGTH = 7 };

#define SUFFIX ".packed"
#define MAGIC "TDMPACK1"

/* The end of the file, behind the checksums. */
struct trailer {
    char magic[8];
    uint64_t key, pieces, sums_at, sums_checksum;
};

/* Pieces between two calls of the progress function; and how many pieces ahead the system is asked to fetch. */
enum { RUN = 64, AHEAD = 8 };

/* A stretch of a blob that is read and checked by itself. */
struct piece {
    unsigned char *data;
    uint64_t offset; /* in the file */
    size_t bytes;
};

struct pieces {
    struct piece *list;
    uint64_t *sums;
    size_t n;
    uint64_t sums_at; /* where the checksums stand in the file */
};

static uint64_t on_page(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint64_t checksum_of(const void *data, size_t bytes)
{
    struct checksum c = checksum_start;
    checksum_add(&c, data, bytes);
    return checksum_end(&c);
}

static bool cut(struct pieces *p, const struct blob *blobs, size_t n)
{
    *p = (struct pieces){0};
    for (size_t i = 0; i < n; i++) p->n += (size_t)((blobs[i].bytes + PIECE - 1) / PIECE);
    p->list = calloc(p->n + 1, sizeof *p->list);
    p->sums = calloc(p->n + 1, sizeof *p->sums);
    if (!p->list || !p->sums) return false;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        for (uint64_t done = 0; done < blobs[i].bytes; done += PIECE) {
            uint64_t left = blobs[i].bytes - done;
            p->list[at++] = (struct piece){(unsigned char *)blobs[i].data + done, p->sums_at + done,
                                           left < PIECE ? (size_t)left : PIECE};
        }
        p->sums_at = on_page(p->sums_at + blobs[i].bytes);
    }
    return true;
}

static void pieces_free(struct pieces *p)
{
    free(p->list);
    free(p->sums);
}

/* path: PATH_MAX bytes. */
static bool put_path(char *path, const char *folder, uint64_t key)
{
    int n = snprintf(path, PATH_MAX, "%s/%016" PRIx64 SUFFIX, folder, key);
    return n > 0 && n < PATH_MAX;
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static bool read_all(int fd, void *to, size_t bytes, uint64_t offset)
{
    for (unsigned char *p = to; bytes;) {
        ssize_t n = pread(fd, p, bytes, (off_t)offset);
        if (n <= 0) return false;
        p += n, bytes -= (size_t)n, offset += (uint64_t)n;
    }
    return true;
}

struct reading {
    const struct pieces *pieces;
    int fd;
    size_t first, end; /* the pieces of one run of the team */
    atomic_bool failed;
};

/* By stretches that are still in the core's own cache when their checksum is taken. */
static bool read_piece(int fd, const struct piece *p, uint64_t expected)
{
    enum { STRETCH = 256 << 10 };
    struct checksum c = checksum_start;
    for (size_t done = 0; done < p->bytes;) {
        size_t n = p->bytes - done < STRETCH ? p->bytes - done : STRETCH;
        if (!read_all(fd, p->data + done, n, p->offset + done)) return false;
        checksum_add(&c, p->data + done, n);
        done += n;
    }
    return checksum_end(&c) == expected;
}

/* The system begins to fetch it. */
static void ask_for(int fd, const struct piece *p)
{
    posix_fadvise(fd, (off_t)p->offset, (off_t)p->bytes, POSIX_FADV_WILLNEED);
}

static void read_member(void *ctx, struct member *m)
{
    struct reading *r = ctx;
    uint32_t begin, end;
    while (member_claim(m, (uint32_t)(r->end - r->first), 1, &begin, &end)) {
        size_t i = r->first + begin;
        if (atomic_load_explicit(&r->failed, memory_order_relaxed)) continue;
        if (i + AHEAD < r->pieces->n) ask_for(r->fd, &r->pieces->list[i + AHEAD]);
        if (!read_piece(r->fd, &r->pieces->list[i], r->pieces->sums[i]))
            atomic_store_explicit(&r->failed, true, memory_order_relaxed);
    }
}

/* The checksums of the file that is open, when it is the one for these pieces. */
static bool read_sums(int fd, uint64_t key, struct pieces *p)
{
    struct trailer t;
    struct stat st;
    size_t bytes = p->n * sizeof *p->sums;
    return !fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == p->sums_at + bytes + sizeof t &&
           read_all(fd, &t, sizeof t, p->sums_at + bytes) && !memcmp(t.magic, MAGIC, sizeof t.magic) && t.key == key &&
           t.pieces == p->n && t.sums_at == p->sums_at && read_all(fd, p->sums, bytes, p->sums_at) &&
           checksum_of(p->sums, bytes) == t.sums_checksum;
}

static bool read_pieces(int fd, const struct pieces *p, const struct packed_reading *how, bool *cancelled)
{
    uint64_t done = 0;
    struct reading r = {.pieces = p, .fd = fd};
    for (; r.first < p->n && !r.failed; r.first = r.end) {
        r.end = p->n - r.first < RUN ? p->n : r.first + RUN;
        if (how->progress && how->progress(how->progress_ctx, TDM_STEP_READING, done, p->sums_at)) {
            *cancelled = true;
            return false;
        }
        team_run(how->team, read_member, &r);
        done = r.pieces->list[r.end - 1].offset;
        if (how->forget && done) file_forget(fd, done); /* not what has been asked for ahead */
    }
    return !r.failed;
}

bool packed_load(const char *folder, uint64_t key, const struct blob *blobs, size_t n, const struct packed_reading *how,
                 bool *cancelled)
{
    char path[PATH_MAX];
    *cancelled = false;
    int fd = put_path(path, folder, key) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
    if (fd < 0) return false;
    struct pieces p;
    if (!cut(&p, blobs, n)) { /* no memory: the file is none the worse for it */
        pieces_free(&p);
        close(fd);
        return false;
    }
    bool good = read_sums(fd, key, &p);
    for (size_t i = 0; good && i < p.n && i < AHEAD; i++) ask_for(fd, &p.list[i]);
    good = good && read_pieces(fd, &p, how, cancelled);
    if (good) futimens(fd, NULL); /* where this can't be, it only counts as older than it is */
    if (!good && !*cancelled) unlink(path);
    close(fd);
    pieces_free(&p);
    return good;
}

/* ---- Making room ----------------------------------------------------------------------------------------------- */

struct kept {
    char name[NAME_MAX + 1];
    uint64_t bytes;
    struct timespec used;
};

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct kept *)a)->used, *y = &((const struct kept *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* The folder's files, the least recently used first; *list is malloc'ed. What a killed process left half-written is
 * removed. */
static size_t list_kept(DIR *dir, struct kept **list)
{
    size_t n = 0;
    *list = NULL;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const char *suffix = strstr(entry->d_name, SUFFIX);
        struct stat st;
        if (!suffix || fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        if (suffix[SUFFIX_LENGTH]) {
            atomic_file_remove_left(dirfd(dir), entry->d_name);
            continue;
        }
        struct kept *more = realloc(*list, (n + 1) * sizeof *more);
        if (!more) break;
        *list = more;
        more[n] = (struct kept){.bytes = (uint64_t)st.st_blocks * 512, .used = st.st_mtim};
        snprintf(more[n++].name, sizeof more->name, "%s", entry->d_name);
    }
    if (n) qsort(*list, n, sizeof **list, by_use);
    return n;
}

/* Removes the least recently used files until there is room for one of `bytes` bytes. */
static tdm_status make_room(const char *folder, uint64_t bytes, uint64_t limit, tdm_error *err)
{
    struct statvfs fs;
    DIR *dir = opendir(folder);
    if (!dir || fstatvfs(dirfd(dir), &fs)) {
        tdm_status status = error_errno(err, TDM_E_IO, "%s: cannot be read", folder);
        if (dir) closedir(dir);
        return status;
    }
    struct kept *list;
    size_t n = list_kept(dir, &list);
    uint64_t taken = 0, free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    for (size_t i = 0; i < n; i++) taken += list[i].bytes;
    if (limit == PACKED_AUTO) limit = (free_bytes + taken) / 10;
    tdm_status status = TDM_OK;
    if (bytes > limit)
        status = error_set(err, TDM_E_NOMEM, "%s: packed weights of %.1f GB, the limit is %.1f GB", folder,
                           1e-9 * (double)bytes, 1e-9 * (double)limit);
    for (size_t i = 0; i < n && !status && taken + bytes > limit; i++)
        if (!unlinkat(dirfd(dir), list[i].name, 0)) taken -= list[i].bytes;
    free(list);
    closedir(dir);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */

static tdm_status write_pieces(struct atomic_file *f, struct pieces *p, const atomic_bool *stop, tdm_error *err)
{
    static const unsigned char zeros[PAGE];
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < p->n && !status; i++) {
        const struct piece *piece = &p->list[i];
        if (atomic_load_explicit(stop, memory_order_relaxed))
            return error_set(err, TDM_E_CANCELLED, "keeping packed weights was cancelled");
        p->sums[i] = checksum_of(piece->data, piece->bytes);
        uint64_t gap = piece->offset - atomic_file_written(f); /* below a page */
        status = atomic_file_write(f, zeros, gap, err);
        if (!status) status = atomic_file_write(f, piece->data, piece->bytes, err);
    }
    return status ? status : atomic_file_write(f, zeros, p->sums_at - atomic_file_written(f), err);
}

static tdm_status write_file(struct atomic_file *f, uint64_t key, struct pieces *p, const atomic_bool *stop,
                             tdm_error *err)
{
    tdm_status status = write_pieces(f, p, stop, err);
    if (!status) status = atomic_file_write(f, p->sums, p->n * sizeof *p->sums, err);
    struct trailer t = {.key = key, .pieces = p->n, .sums_at = p->sums_at};
    memcpy(t.magic, MAGIC, sizeof t.magic);
    t.sums_checksum = checksum_of(p->sums, p->n * sizeof *p->sums);
    return status ? status : atomic_file_write(f, &t, sizeof t, err);
}

tdm_status packed_save(const char *folder, uint64_t key, uint64_t limit, const struct blob *blobs, size_t n,
                       const atomic_bool *stop, tdm_error *err)
{
    char path[PATH_MAX];
    if (!put_path(path, folder, key)) return error_set(err, TDM_E_ARG, "%s: too long a path", folder);
    struct pieces p;
    struct atomic_file *f = NULL;
    tdm_status status = cut(&p, blobs, n) ? file_make_folders(folder, 0700, err)
                                          : error_set(err, TDM_E_NOMEM, "no memory for keeping packed weights");
    if (!status) status = make_room(folder, p.sums_at, limit, err);
    if (!status) status = atomic_file_new(&f, path, err);
    if (!status) atomic_file_relax(f);
    if (!status) status = write_file(f, key, &p, stop, err);
    pieces_free(&p);
    if (!status) return atomic_file_commit(f, err);
    atomic_file_abort(f);
    return status;
}
