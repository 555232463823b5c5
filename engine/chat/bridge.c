/* The bridge: how a state reaches a unit that does not share its memory, weights' layout or precision. It is saved,
 * read and restored through a file in memory, as between two programs, and each step is timed.
 */
#include "engine/chat/chat.h"

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

tdm_status chat_transfer(struct tdm_chat *c, struct state **state, struct state *spare, tdm_turn_stats *stats,
                         tdm_error *err)
{
    int fd = memfd_create("tandem-bridge", MFD_CLOEXEC);
    if (fd < 0) return error_errno(err, TDM_E_IO, "bridge: no file in memory");
    int64_t start = clock_ns();
    tdm_status status = state_save_memory(*state, BRIDGE_FINGERPRINT, &c->bridge, err);
    if (status == TDM_OK) status = put(fd, c->bridge.data, c->bridge.size, err);
    stats->save_ms = ms_since(start);
    start = clock_ns();
    if (status == TDM_OK) status = get(fd, c->bridge.data, c->bridge.size, err);
    stats->read_ms = ms_since(start);
    start = clock_ns();
    if (status == TDM_OK) status = state_load_memory(spare, BRIDGE_FINGERPRINT, c->bridge.data, c->bridge.size, err);
    stats->restore_ms = ms_since(start);
    close(fd);
    if (status == TDM_OK) *state = spare;
    return status;
}

void chat_record_transfer(tdm_turn_stats *to, const tdm_turn_stats *from)
{
    to->save_ms = from->save_ms;
    to->read_ms = from->read_ms;
    to->restore_ms = from->restore_ms;
}
