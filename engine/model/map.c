#include "engine/model/map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/base/signature.h"
#include "engine/json/json.h"
#include "engine/model/mapped.h"
#include "engine/os/file.h"

static uint64_t stamp_of(const struct stat *st)
{
    const int64_t facts[] = {st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
    return fnv_bytes(FNV_START, facts, sizeof facts);
}

tdm_status map_open(struct map *m, const char *path, tdm_error *err)
{
    *m = (struct map){0};
    int fd;
    tdm_status status = file_open_needed(path, &fd, err);
    if (status) return status;
    struct stat st;
    if (fstat(fd, &st)) {
        status = error_errno(err, TDM_E_IO, "%s: cannot stat", path);
    } else if (st.st_size > 0) {
        uint64_t size = (uint64_t)st.st_size;
        void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            status = error_errno(err, TDM_E_IO, "%s: cannot map %llu bytes", path, (unsigned long long)size);
        } else if (!(m->mapped = mapped_add(path, fd, p, size))) {
            munmap(p, (size_t)size);
            status = error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
        } else {
            *m = (struct map){.data = p, .size = size, .stamp = stamp_of(&st), .mapped = m->mapped};
        }
    }
    if (!m->mapped) close(fd);
    return status;
}

void map_close(struct map *m)
{
    if (m->mapped) mapped_remove(m->mapped);
    if (m->data) munmap((void *)(uintptr_t)m->data, m->size);
    *m = (struct map){0};
}

/* Whether the file is as long as it was mapped. */
static tdm_status check_length(const struct mapped *f, struct stat *st, tdm_error *err)
{
    if (fstat(mapped_fd(f), st)) return error_errno(err, TDM_E_IO, "%s: cannot stat", mapped_path(f));
    if (st->st_size >= 0 && (uint64_t)st->st_size >= mapped_bytes(f)) return TDM_OK;
    return error_set(err, TDM_E_IO, "%s shrank while it was in use: expected %llu bytes, found %llu", mapped_path(f),
                     (unsigned long long)mapped_bytes(f), (unsigned long long)st->st_size);
}

tdm_status map_check(const struct map *m, tdm_error *err)
{
    struct stat st;
    if (!m->mapped) return TDM_OK;
    tdm_status status = check_length(m->mapped, &st, err);
    if (status || stamp_of(&st) == m->stamp) return status;
    return error_set(err, TDM_E_IO, "%s changed while it was read: another program writes it", mapped_path(m->mapped));
}

tdm_status map_json(struct json_object **out, const char *path, tdm_error *err)
{
    *out = NULL;
    struct map map;
    tdm_status status = map_open(&map, path, err);
    if (status) return status;
    status = json_parse_object(out, path, map.data, map.size, err);
    char found[SIGNATURE_ROOM];
    if (status == TDM_E_FORMAT && map.size && signature_of_bytes(found, map.data, map.size))
        error_set(err, status, "%s: expected JSON, found %s", path, found);
    if (!status && (status = map_check(&map, err))) {
        json_free(*out);
        *out = NULL;
    }
    map_close(&map);
    return status;
}

tdm_status map_copy(const void *from, uint64_t bytes, void *to, tdm_error *err)
{
    const struct mapped *f = mapped_find(from);
    if (!f) {
        memcpy(to, from, (size_t)bytes);
        return TDM_OK;
    }
    uint64_t at = (uint64_t)((const uint8_t *)from - mapped_data(f));
    for (uint8_t *p = to; bytes;) {
        ssize_t n = pread(mapped_fd(f), p, (size_t)bytes, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error_errno(err, TDM_E_IO, "%s: can't be read any more", mapped_path(f));
        if (n == 0) {
            struct stat st;
            tdm_status status = check_length(f, &st, err);
            return status ? status : error_set(err, TDM_E_IO, "%s shrank while it was in use", mapped_path(f));
        }
        p += n, at += (uint64_t)n, bytes -= (uint64_t)n;
    }
    return TDM_OK;
}

const char *map_incomplete(char text[MAP_INCOMPLETE_ROOM], uint64_t have, uint64_t need)
{
    static const struct { uint64_t bytes; const char *name; } units[] = {{1000000, "MB"}, {1000, "kB"}, {1, "bytes"}};
    size_t i = 0;
    /* Find the largest unit in which the numbers are not too small, and differ. */
    while (units[i].bytes > 1 && (need < 10 * units[i].bytes || have / units[i].bytes == need / units[i].bytes)) i++;
    text[0] = 0;
    if (!need)
        snprintf(text, MAP_INCOMPLETE_ROOM, "incomplete download? only %llu bytes are there; ",
                 (unsigned long long)have);
    else if (have < need && need < UINT64_MAX)
        snprintf(text, MAP_INCOMPLETE_ROOM, "incomplete download? %llu of %llu %s are there; ",
                 (unsigned long long)(have / units[i].bytes), (unsigned long long)(need / units[i].bytes),
                 units[i].name);
    return text;
}

/* The pages that lie wholly or partly within. */
static void advise(const void *data, uint64_t bytes, int advice)
{
    if (!bytes) return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)data & ~(page - 1);
    uintptr_t end = ((uintptr_t)data + bytes + page - 1) & ~(page - 1);
    madvise((void *)begin, end - begin, advice);
}

void map_release(const struct map *m, const void *data, uint64_t bytes)
{
    enum { FOLIO = 2 << 20 };
    uint64_t at = (uint64_t)((uintptr_t)data - (uintptr_t)m->data); /* huge if it lies before */
    if (!bytes || at >= m->size || bytes > m->size - at) return;
    uint64_t begin = at < FOLIO ? 0 : at - FOLIO;
    uint64_t end = m->size - at - bytes < FOLIO ? m->size : at + bytes + FOLIO;
    advise(m->data + begin, end - begin, MADV_DONTNEED);
}

void map_forget(const struct map *m)
{
    if (m->mapped) file_forget(mapped_fd(m->mapped), 0);
}

void map_will_read(const void *data, uint64_t bytes)
{
    advise(data, bytes, MADV_WILLNEED);
}
