#include "engine/model/map.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/fnv.h"

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
        const int64_t facts[] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
        m->stamp = fnv_bytes(FNV_START, facts, sizeof facts);
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            status = error_errno(err, TDM_E_IO, "%s: cannot map %lld bytes", path, (long long)st.st_size);
        } else {
            m->data = p;
            m->size = (uint64_t)st.st_size;
        }
    }
    close(fd);
    return status;
}

void map_close(struct map *m)
{
    if (m->data) munmap((void *)(uintptr_t)m->data, m->size);
    *m = (struct map){0};
}

const char *map_incomplete(char text[MAP_INCOMPLETE_ROOM], uint64_t have, uint64_t need)
{
    static const struct { uint64_t bytes; const char *name; } units[] = {{1000000, "MB"}, {1000, "kB"}, {1, "bytes"}};
    size_t i = 0;
    /* The largest unit in which the numbers say something, and differ. */
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

void map_will_read(const void *data, uint64_t bytes)
{
    advise(data, bytes, MADV_WILLNEED);
}
