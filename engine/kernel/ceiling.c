#include "engine/kernel/ceiling.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/os/pages.h"

struct peak_work {
    uint64_t (*peak)(enum panel_kind kind, uint64_t rounds);
    enum panel_kind kind;
    uint64_t rounds;
    _Atomic uint64_t operations;
};

static void peak_member(void *ctx, struct member *m)
{
    struct peak_work *w = ctx;
    (void)m;
    w->operations += w->peak(w->kind, w->rounds);
}

static double operations_per_second(struct team *t, struct peak_work w)
{
    enum { MS = 1000000, LEAST = 20 * MS, AIM = 22 * MS, TELLING = MS };
    w.rounds = 1000;
    for (;;) { /* the first rounds also bring the clock to what it is under this load */
        w.operations = 0;
        int64_t start = clock_ns();
        team_run(t, peak_member, &w);
        int64_t ns = clock_ns() - start;
        if (ns > LEAST) return (double)w.operations / (double)ns * 1e9;
        w.rounds = ns > TELLING ? w.rounds * AIM / (uint64_t)ns + 1 : w.rounds * 8;
    }
}

double ceiling_peak(struct team *t, const struct kernels *k, enum panel_kind kind)
{
    return operations_per_second(t, (struct peak_work){.peak = k->peak, .kind = kind});
}

double ceiling_matrix_peak(struct team *t, const struct kernels *k, enum panel_kind kind)
{
    if (!k->matrix_peak || !k->matrix_peak(kind, 1)) return 0;
    return operations_per_second(t, (struct peak_work){.peak = k->matrix_peak, .kind = kind});
}

struct read_work {
    const struct kernels *k;
    const uint8_t *memory;
    size_t bytes;
};

static void read_member(void *ctx, struct member *m)
{
    struct read_work *w = ctx;
    enum { CHUNK = 1 << 20 };
    uint32_t begin, end;
    volatile float sink = 0;
    while (member_claim(m, (uint32_t)(w->bytes / CHUNK), 1, &begin, &end))
        sink += w->k->read(w->memory + (size_t)begin * CHUNK, CHUNK);
    (void)sink;
}

double ceiling_read(struct team *t, const struct kernels *k, const void *memory, size_t bytes)
{
    struct read_work w = {k, memory, bytes >> 20 << 20};
    int64_t start = clock_ns();
    team_run(t, read_member, &w);
    return (double)w.bytes / (double)(clock_ns() - start) * 1e9;
}

void *ceiling_memory(size_t bytes)
{
    void *p = pages_map(bytes);
    if (p) memset(p, 0, bytes);
    return p;
}
