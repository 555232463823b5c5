#include "src/bench/loop.h"

#include <pthread.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"

static tdm_status begin(bench_loop *l)
{
    tdm_sequence_clear(l->session);
    return l->decodes ? tdm_sequence_eval(l->session, l->prompt, BENCH_LOOP_START, true, NULL, &l->err) : TDM_OK;
}

static tdm_status step(bench_loop *l)
{
    static const tdm_sampling greedy = {.top_p = 1, .repeat_penalty = 1};
    size_t length = tdm_sequence_length(l->session);
    if (!l->decodes) {
        if (length + BENCH_LOOP_DISPATCH > BENCH_LOOP_PROMPT) tdm_sequence_clear(l->session);
        length = tdm_sequence_length(l->session);
        return tdm_sequence_eval(l->session, l->prompt + length, BENCH_LOOP_DISPATCH, false, NULL, &l->err);
    }
    if (length >= BENCH_LOOP_START + (size_t)l->room) {
        tdm_status status = begin(l);
        if (status) return status;
        length = BENCH_LOOP_START;
    }
    tdm_id next;
    uint32_t index = (uint32_t)(length - BENCH_LOOP_START);
    tdm_status status = tdm_sequence_sample(l->session, &greedy, 0, 0, index, &next, &l->err);
    return status ? status : tdm_sequence_eval(l->session, &next, 1, true, NULL, &l->err);
}

static bool continues(bench_loop *l, int64_t start_ns)
{
    if (l->status || atomic_load(&l->stop)) return false;
    if (l->tokens && atomic_load(&l->done) >= l->tokens) return false;
    return l->at_most_s <= 0 || 1e-9 * (double)(clock_ns() - start_ns) < l->at_most_s;
}

static void *run(void *ctx)
{
    bench_loop *l = ctx;
    l->status = begin(l);
    for (int warm_up = 0; warm_up < 2 && !l->status; warm_up++) l->status = step(l);
    atomic_store(&l->done, 0);
    atomic_store(&l->running, true); /* also when it failed at once */
    int64_t start = clock_ns();
    while (continues(l, start)) {
        l->status = step(l);
        atomic_fetch_add(&l->done, l->decodes ? 1 : BENCH_LOOP_DISPATCH);
    }
    l->seconds = 1e-9 * (double)(clock_ns() - start);
    return NULL;
}

tdm_status bench_loop_run(bench_loop *measured, bench_loop *other, double *tps, double *other_tps, tdm_error *err)
{
    pthread_t thread;
    measured->status = TDM_OK;
    measured->stop = measured->running = false;
    if (other) {
        other->status = TDM_OK;
        other->stop = other->running = false;
        if (pthread_create(&thread, NULL, run, other)) return error_set(err, TDM_E_NOMEM, "bench: no thread");
        while (!atomic_load(&other->running)) {
            struct timespec moment = {.tv_nsec = 1000000};
            nanosleep(&moment, NULL);
        }
    }
    run(measured);
    *tps = (double)measured->done / measured->seconds;
    if (other) {
        atomic_store(&other->stop, true);
        pthread_join(thread, NULL);
        *other_tps = (double)other->done / other->seconds;
    }
    bench_loop *bad = measured->status ? measured : other && other->status ? other : NULL;
    if (bad && err) *err = bad->err;
    return bad ? bad->status : TDM_OK;
}
