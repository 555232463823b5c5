#include "src/pull/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/os/file.h"
#include "src/io/number.h"
#include "src/process/interrupt.h"
#include "src/pull/transfer.h"

enum { PIECE = 1 << 20, LOCK_LOOK_MS = 200 };

/* A file under way. */
typedef struct {
    const download *d;
    const repository_file *f;
    int fd;             /* of the incomplete blob */
    uint64_t at;        /* bytes of it that are there and in the digest */
    bool went_on;       /* some of them are from an earlier run */
    bool waits;         /* for another program, and the user was told */
    bool begins;        /* the next bytes are the first of an answer */
    bool whole_comes;   /* which begins at the file's first byte, whatever is there */
    bool sizeless;      /* and doesn't say how long it is: only the file's end shows that it was the file */
    bool unsized;       /* what is there came in such an answer */
    char *path, *whole; /* the incomplete blob's, and what it becomes */
} state;

static tdm_status broken_digest(tdm_error *err)
{
    return error_set(err, TDM_E_NOMEM, "libcrypto can't compute a digest");
}

/* ---- What is there --------------------------------------------------------------------------------------------- */

static tdm_status empty(state *s, tdm_error *err)
{
    s->at = 0;
    s->went_on = false;
    if (ftruncate(s->fd, 0) || lseek(s->fd, 0, SEEK_SET))
        return error_errno(err, TDM_E_IO, "%s: can't be emptied", s->path);
    return digest_begin(s->d->digest, s->f) ? TDM_OK : broken_digest(err);
}

/* Drops what has come. */
static tdm_status start_over(state *s, tdm_error *err)
{
    progress_take_back(s->d->progress, (int64_t)s->at);
    return empty(s, err);
}

/* Puts the bytes of an earlier run into the digest. */
static tdm_status take_up(state *s, uint64_t size, tdm_error *err)
{
    char *piece = malloc(PIECE);
    tdm_status status = piece ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    while (!status && s->at < size) {
        ssize_t n = read(s->fd, piece, PIECE);
        if (n > 0 && !s->at && transfer_page_begins(piece, (size_t)n)) { /* an older version took pages for files */
            free(piece);
            progress_take_back(s->d->progress, (int64_t)size);
            return empty(s, err);
        }
        if (n < 0 && errno == EINTR && !interrupt_seen()) continue;
        if (interrupt_seen())
            status = error_set(err, TDM_E_CANCELLED, "interrupted");
        else if (n <= 0)
            status = error_errno(err, TDM_E_IO, "%s: can't be read", s->path);
        else if (!digest_add(s->d->digest, piece, (size_t)n))
            status = broken_digest(err);
        else
            s->at += (uint64_t)n;
    }
    s->went_on = s->at > 0;
    free(piece);
    return status;
}

/* Opens the incomplete blob. `counted` bytes of it are in the progress already. */
static tdm_status open_incomplete(state *s, uint64_t counted, tdm_error *err)
{
    struct stat st;
    s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (s->fd < 0 || fstat(s->fd, &st)) return error_errno(err, TDM_E_IO, "%s: can't be opened", s->path);
    if (!S_ISREG(st.st_mode)) return error_set(err, TDM_E_IO, "%s: expected a plain file", s->path);
    uint64_t size = (uint64_t)st.st_size <= s->f->size ? (uint64_t)st.st_size : 0;
    progress_take_back(s->d->progress, (int64_t)(counted - size));
    if (!size && st.st_size && ftruncate(s->fd, 0)) return error_errno(err, TDM_E_IO, "%s: can't be emptied", s->path);
    return digest_begin(s->d->digest, s->f) ? take_up(s, size, err) : broken_digest(err);
}

/* ---- What comes ------------------------------------------------------------------------------------------------ */

static tdm_status on_begin(void *ctx, uint64_t *from, tdm_error *err)
{
    state *s = ctx;
    tdm_status status = s->unsized ? start_over(s, err) : TDM_OK;
    s->unsized = false;
    *from = s->at;
    return status;
}

static tdm_status other_size(const state *s, const char *does, uint64_t size, tdm_error *err)
{
    return error_set(err, TDM_E_FORMAT, "%s: expected %llu bytes, but the server %s %llu " TRANSFER_PAGE_DOUBT,
                     s->f->path, (unsigned long long)s->f->size, does, (unsigned long long)size);
}

/* The list was of one commit, whose files don't change: what differs from it is not the file. */
static tdm_status on_head(void *ctx, const transfer_reply *reply, tdm_error *err)
{
    state *s = ctx;
    if (reply->html) return transfer_page_came(s->f->path, err);
    if (reply->etag[0] && strcmp(reply->etag, s->f->digest))
        return error_set(err, TDM_E_FORMAT, "%s: expected %s, but the server now has %.64s " TRANSFER_PAGE_DOUBT,
                         s->f->path, s->f->digest, reply->etag);
    if (reply->sized && reply->size != s->f->size) return other_size(s, "now has", reply->size, err);
    s->begins = true;
    s->whole_comes = reply->status == 200;
    if (!s->whole_comes && (!reply->ranged || reply->from != s->at || reply->total != s->f->size))
        return error_set(err, TDM_E_FORMAT, "%s: the server sends another part than was asked for", s->f->path);
    uint64_t wanted = s->f->size - (s->whole_comes ? 0 : s->at);
    if (reply->length >= 0 && (uint64_t)reply->length != wanted)
        return other_size(s, (uint64_t)reply->length > wanted ? "sends more:" : "sends fewer:",
                          (uint64_t)reply->length + (s->f->size - wanted), err);
    s->sizeless = s->whole_comes && reply->length < 0;
    return TDM_OK;
}

/* An answer whose end is marked was sent whole, so it is something else than the file. */
static tdm_status on_short_body(void *ctx, const transfer_reply *reply, tdm_error *err)
{
    state *s = ctx;
    return reply->framed && s->unsized ? other_size(s, "sends fewer:", s->at, err) : TDM_OK;
}

/* What was there is given up only once the answer is known to be no page. */
static tdm_status begin_body(state *s, const void *bytes, size_t n, tdm_error *err)
{
    s->begins = false;
    if ((s->whole_comes || !s->at) && transfer_page_begins(bytes, n)) return transfer_page_came(s->f->path, err);
    s->unsized = s->sizeless;
    return s->whole_comes && s->at ? start_over(s, err) : TDM_OK;
}

static tdm_status on_body(void *ctx, const void *bytes, size_t n, tdm_error *err)
{
    state *s = ctx;
    tdm_status status = s->begins ? begin_body(s, bytes, n, err) : TDM_OK;
    if (status) return status;
    if (n > s->f->size - s->at)
        return error_set(err, TDM_E_FORMAT, "%s: expected %llu bytes, but the server sends more " TRANSFER_PAGE_DOUBT,
                         s->f->path, (unsigned long long)s->f->size);
    for (size_t done = 0; done < n;) {
        ssize_t put = write(s->fd, (const char *)bytes + done, n - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return error_errno(err, TDM_E_IO,
                               "%s: can't be written; what has come stays, the same command goes on with it", s->path);
        if (!digest_add(s->d->digest, (const char *)bytes + done, (size_t)put)) return broken_digest(err);
        done += (size_t)put;
        s->at += (uint64_t)put;
        progress_add(s->d->progress, (size_t)put);
    }
    return TDM_OK;
}

static bool on_complete(void *ctx)
{
    state *s = ctx;
    return s->at == s->f->size;
}

static void on_tick(void *ctx)
{
    state *s = ctx;
    progress_add(s->d->progress, 0);
}

static void on_again(void *ctx, const char *why, int seconds)
{
    state *s = ctx;
    char size[BYTES_ROOM];
    progress_say(s->d->progress, "%s; again in %d s%s%s", why, seconds, s->at ? ", from " : "",
                 s->at ? bytes_words(size, s->at) : "");
}

/* ENDPOINT/OWNER/NAME/resolve/COMMIT/PATH; what a path in an address can't have as it is, is written %XX. */
static char *address_of(const download *d, const repository_file *f)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    size_t n = strlen(d->url);
    char *address = malloc(n + 3 * strlen(f->path) + 2), *end = address + n;
    if (!address) return NULL;
    memcpy(address, d->url, n);
    *end++ = '/';
    for (const char *c = f->path; *c; c++) {
        if (strchr(plain, *c))
            *end++ = *c;
        else
            end += sprintf(end, "%%%02X", (unsigned char)*c);
    }
    *end = 0;
    return address;
}

static tdm_status fetch(state *s, long *denied, tdm_error *err)
{
    transfer_sink sink = {s, on_begin, on_head, on_body, on_complete, on_short_body, on_tick, on_again};
    transfer_reply reply;
    char *address = address_of(s->d, s->f);
    tdm_status status = address ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    bool over = false; /* the server has no part from there on: once more, from the beginning */
    while (!status && !on_complete(s)) {
        status = transfer_get(s->d->transfer, address, &sink, &reply, err);
        if (status || reply.status == 200 || reply.status == 206) break;
        if (reply.status == 416 && s->at && !over) {
            over = true;
            status = start_over(s, err);
            continue;
        }
        if (reply.status == 401 || reply.status == 403 || reply.status == 404) *denied = reply.status;
        status = error_set(err, TDM_E_IO, "%s: the server answers %ld%s%s", s->f->path, reply.status,
                           reply.message[0] ? ": " : "", reply.message);
    }
    free(address);
    return status;
}

/* ---- The whole ------------------------------------------------------------------------------------------------- */

/* Whether the bytes are those that the hub names. */
static tdm_status check(state *s, bool *good, char found[REPOSITORY_DIGEST_ROOM], tdm_error *err)
{
    if (!digest_end(s->d->digest, found)) return broken_digest(err);
    *good = !strcmp(found, s->f->digest);
    return TDM_OK;
}

static tdm_status fetch_and_check(state *s, long *denied, tdm_error *err)
{
    char found[REPOSITORY_DIGEST_ROOM] = "";
    bool good = false;
    tdm_status status = fetch(s, denied, err);
    if (!status) status = check(s, &good, found, err);
    if (!status && !good && s->went_on) {
        /* What an earlier run left may be at fault. */
        progress_say(s->d->progress, "%s: what was there does not fit; from the beginning", s->f->path);
        status = start_over(s, err);
        if (!status) status = fetch(s, denied, err);
        if (!status) status = check(s, &good, found, err);
    }
    if (status || good) return status;
    unlink(s->path);
    return error_set(err, TDM_E_FORMAT, "%s: expected the %s %s, found %s; removed", s->f->path,
                     s->f->large ? "SHA-256" : "git SHA-1", s->f->digest, found);
}

static tdm_status give_name(state *s, tdm_error *err)
{
    if (fsync(s->fd)) return error_errno(err, TDM_E_IO, "%s: can't be written", s->path);
    if (rename(s->path, s->whole)) return error_errno(err, TDM_E_IO, "%s: can't be renamed", s->path);
    return file_sync_folder(s->whole, err);
}

/* A lock can't be waited for together with Ctrl-C, so it is looked at now and then. */
static bool wait_for_lock(void *ctx)
{
    state *s = ctx;
    if (!s->waits) progress_say(s->d->progress, "%s: another program fetches it; waiting", s->f->path);
    s->waits = true;
    return interrupt_pause(LOCK_LOOK_MS);
}

/* With the lock held. */
static tdm_status fetch_locked(state *s, uint64_t counted, long *denied, tdm_error *err)
{
    struct stat st;
    if (!stat(s->whole, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == s->f->size) {
        progress_take_back(s->d->progress, (int64_t)(counted - s->f->size));
        return TDM_OK;
    }
    tdm_status status = open_incomplete(s, counted, err);
    if (!status) status = fetch_and_check(s, denied, err);
    if (!status) return give_name(s, err);
    if (s->fd >= 0 && s->unsized) start_over(s, NULL); /* it may have been anything */
    if (s->fd >= 0 && !s->at) unlink(s->path);
    return status;
}

tdm_status download_file(const download *d, const repository_file *f, uint64_t counted, long *denied, tdm_error *err)
{
    state s = {.d = d,
               .f = f,
               .fd = -1,
               .path = cache_blob(d->cache, f->digest, true),
               .whole = cache_blob(d->cache, f->digest, false)};
    int lock = -1;
    *denied = 0;
    progress_file(d->progress, f->path);
    tdm_status status = s.path && s.whole ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
    if (!status) status = cache_lock(&lock, d->cache, f->digest, wait_for_lock, &s, err);
    if (!status) status = fetch_locked(&s, counted, denied, err);
    if (s.fd >= 0) close(s.fd);
    if (lock >= 0) close(lock);
    free(s.path);
    free(s.whole);
    return status;
}
