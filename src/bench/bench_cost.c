#include "src/bench/bench_cost.h"

#include "engine/base/clock.h"
#include "src/bench/bench.h"
#include "src/bench/bench_loop.h"

/* The median of three is beyond what an expectation needs; the first dispatch of each kind touches memory. */
enum { TOKENS = 3 };

static tdm_status step(tdm_session *s, const tdm_id *ids, size_t n, double *seconds, tdm_error *err)
{
    int64_t start = clock_ns();
    tdm_status status = tdm_session_eval(s, ids, n, n == 1, NULL, err);
    *seconds = 1e-9 * (double)(clock_ns() - start);
    return status;
}

tdm_status bench_cost_of(bench *b, tdm_session *prefill, tdm_session *decode, bench_cost *out, tdm_error *err)
{
    tdm_ids ids = {0};
    double took;
    tdm_status status = bench_prompt_ids(&b->prompt, b->models.model, 0, BENCH_LOOP_PROMPT, &ids, err);
    tdm_session_clear(prefill);
    for (int i = 0; i < 2 && !status; i++)
        status = step(prefill, ids.ids + i * BENCH_LOOP_DISPATCH, BENCH_LOOP_DISPATCH, &out->dispatch_s, err);
    if (decode != prefill) tdm_session_clear(decode);
    out->one_s = 0;
    for (int i = 0; i <= TOKENS && !status; i++) {
        status = step(decode, ids.ids + 2 * BENCH_LOOP_DISPATCH + i, 1, &took, err);
        if (i) out->one_s += took / TOKENS;
    }
    tdm_session_clear(prefill);
    tdm_session_clear(decode);
    tdm_ids_free(&ids);
    return status;
}

tdm_status bench_cost_measure(bench *b, tdm_error *err)
{
    tdm_machine *machine = NULL;
    tdm_session *session = NULL;
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err); /* names the units */
    if (!status)
        status = bench_session(b, &session, machine, TDM_DECODE_UNIT, BENCH_LOOP_PROMPT, BENCH_LOOP_DISPATCH, err);
    if (!status) status = bench_cost_of(b, session, session, &b->cost, err);
    tdm_session_close(session);
    tdm_machine_close(machine);
    return status;
}

/* A dispatch reads all weights and works on each token; between the two that were measured it lies on a line. */
static double dispatch_s(const bench_cost *c, int n)
{
    double token = (c->dispatch_s - c->one_s) / (BENCH_LOOP_DISPATCH - 1);
    return c->one_s + (n - 1) * (token > 0 ? token : 0);
}

double bench_cost_prefill(const bench *b, int n, int dispatch)
{
    int whole = dispatch > 0 ? n / dispatch : 0, rest = n - whole * dispatch;
    return whole * dispatch_s(&b->cost, dispatch) + (rest ? dispatch_s(&b->cost, rest) : 0);
}

double bench_cost_decode(const bench *b, int n)
{
    return n * b->cost.one_s;
}
