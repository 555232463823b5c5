#include "engine/chat/bridge.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"

/* The same model on both sides; statefile checks the shape. */
enum { BRIDGE_FINGERPRINT = 0 };

static double ms_since(int64_t start_ns)
{
    return (double)(clock_ns() - start_ns) / 1e6;
}

static tdm_status put(int fd, const uint8_t *data, size_t n, tdm_error *err)
{
    for (size_t at = 0; at < n;) {
        ssize_t wrote = pwrite(fd, data + at, n - at, (off_t)at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return error_errno(err, TDM_E_IO, "bridge: writing %zu bytes", n);
        at += (size_t)wrote;
    }
    return TDM_OK;
}

static tdm_status get(int fd, uint8_t *data, size_t n, tdm_error *err)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = pread(fd, data + at, n - at, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return error_errno(err, TDM_E_IO, "bridge: reading %zu bytes", n);
        at += (size_t)got;
    }
    return TDM_OK;
}

static tdm_status move_by_bytes(struct state_bytes *scratch, struct state *to, const struct state *from,
                                tdm_turn_stats *stats, tdm_error *err)
{
    int fd = memfd_create("tandem-bridge", MFD_CLOEXEC);
    if (fd < 0) return error_errno(err, TDM_E_IO, "bridge: no file in memory");
    int64_t start = clock_ns();
    tdm_status status = state_save_memory(from, BRIDGE_FINGERPRINT, scratch, err);
    if (status == TDM_OK) status = put(fd, scratch->data, scratch->size, err);
    stats->save_ms = ms_since(start);
    start = clock_ns();
    if (status == TDM_OK) status = get(fd, scratch->data, scratch->size, err);
    stats->read_ms = ms_since(start);
    start = clock_ns();
    if (status == TDM_OK) status = state_load_memory(to, BRIDGE_FINGERPRINT, scratch->data, scratch->size, err);
    stats->restore_ms = ms_since(start);
    close(fd);
    return status;
}

tdm_status bridge_move(struct bridge *b, struct state *to, const struct state *from, struct crossing *x,
                       tdm_turn_stats *stats, tdm_error *err)
{
    if (b->way == TDM_BRIDGE_BYTES) {
        tdm_status status = move_by_bytes(&b->scratch, to, from, stats, err);
        x->bytes = b->scratch.size;
        return status;
    }
    int64_t start = clock_ns();
    tdm_status status = state_cross(to, from, x, err);
    stats->copy_ms = ms_since(start);
    return status;
}

void bridge_free(struct bridge *b)
{
    state_bytes_free(&b->scratch);
}

void bridge_record(tdm_turn_stats *to, const tdm_turn_stats *from)
{
    to->copy_ms = from->copy_ms;
    to->save_ms = from->save_ms;
    to->read_ms = from->read_ms;
    to->restore_ms = from->restore_ms;
}
