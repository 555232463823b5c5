/* `tandem bench handover`: what it costs to bring a state to the other unit, through the bridge (saved, read, restored,
 * as between units that share nothing) and in memory, by its length. The values are made up. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench.h"

static double ms_since(int64_t start)
{
    return 1e-6 * (double)(clock_ns() - start);
}

/* Writes n bytes to a file in memory, or reads them. */
static tdm_status through(int fd, char *bytes, size_t n, bool write, tdm_error *err)
{
    for (size_t at = 0; at < n;) {
        ssize_t done = write ? pwrite(fd, bytes + at, n - at, (off_t)at) : pread(fd, bytes + at, n - at, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return error_errno(err, TDM_E_IO, "bench: a file in memory of %zu bytes", n);
        at += (size_t)done;
    }
    return TDM_OK;
}

enum { H_BRIDGE, H_MOVE, H_SAVE, H_READ, H_RESTORE, H_SIZE };

static tdm_status one(bench_table *t, int row, tdm_session *from, tdm_session *to, bool keep, size_t length,
                      tdm_error *err)
{
    void *bytes = NULL;
    size_t n = 0;
    double save = 0, read = 0, restore = 0, move = 0;
    int fd = memfd_create("tandem-bench", MFD_CLOEXEC);
    if (fd < 0) return error_errno(err, TDM_E_IO, "bench: no file in memory");
    tdm_session_clear(to);
    int64_t start = clock_ns();
    tdm_status status = tdm_session_save(from, &bytes, &n, err);
    if (!status) status = through(fd, bytes, n, true, err);
    save = ms_since(start);
    start = clock_ns();
    if (!status) status = through(fd, bytes, n, false, err);
    read = ms_since(start);
    start = clock_ns();
    if (!status) status = tdm_session_load(to, bytes, n, err);
    restore = ms_since(start);
    free(bytes);
    close(fd);
    if (!status) tdm_session_clear(to);
    start = clock_ns();
    if (!status) status = tdm_session_handover(to, from, err);
    move = ms_since(start);
    if (!status && tdm_session_length(to) != length)
        status = error_set(err, TDM_E_IO, "bench: %zu tokens arrived instead of %zu", tdm_session_length(to), length);
    if (status || !keep) return status;
    bench_table_add(t, row, H_MOVE, move);
    bench_table_add(t, row, H_BRIDGE, save + read + restore);
    bench_table_add(t, row, H_SAVE, save);
    bench_table_add(t, row, H_READ, read);
    bench_table_add(t, row, H_RESTORE, restore);
    bench_table_add(t, row, H_SIZE, 1e-6 * (double)n);
    return TDM_OK;
}

tdm_status bench_handover(bench *b, tdm_error *err)
{
    static const int lengths[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    tdm_machine *machine;
    bench_table *t = bench_new_table(b, "", "bringing a state to the other unit: in memory, and through the bridge",
                                     "tokens", "bridge:ms|in_memory:ms|save:ms|read:ms|restore:ms|state:MB", err);
    if (!t) return err->code;
    int context = bench_context(b), n = 0;
    while (n < LENGTHS && lengths[n] <= context && !(b->quick && lengths[n] > 4096)) n++;
    for (int i = n; i < LENGTHS; i++)
        bench_table_note(t, "left out: %d tokens, %s", lengths[i],
                         lengths[i] > context ? "beyond the model's context" : "for --quick");
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (status) return status;
    for (int i = 0; i < n && !status; i++) {
        tdm_session *from = NULL, *to = NULL;
        status = bench_session(b, &from, machine, TDM_PREFILL_UNIT, lengths[i], 0, err);
        if (!status) status = bench_session(b, &to, machine, TDM_DECODE_UNIT, lengths[i], 0, err);
        int row = bench_table_row(t, "%d", lengths[i]);
        bench_part(b, 1.0 / (n - i));
        for (int round = -1; !status && (round < 0 || bench_again(b, round)); round++) { /* -1 warms up */
            bench_step(b, "%d tokens", lengths[i]);
            /* A hand-over may take the state away, so each round fills it anew. */
            tdm_session_clear(from);
            status = tdm_session_fill(from, (size_t)lengths[i], 1, err);
            if (!status) status = one(t, row, from, to, round >= 0, (size_t)lengths[i], err);
        }
        tdm_session_close(from);
        tdm_session_close(to);
    }
    tdm_machine_close(machine);
    return status;
}
