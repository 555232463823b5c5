#include "src/bench/pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/gpu.h"
#include "src/bench/bench.h"
#include "src/bench/loop.h"
#include "src/bench/talk.h"

static const bench_pair kinds[BENCH_PAIRS] = {{.name = "GPU+GPU", .gpu = {true, true}},
                                              {.name = "cores+GPU", .gpu = {false, true}},
                                              {.name = "GPU+cores", .gpu = {true, false}},
                                              {.name = "cores+cores"},
                                              {.name = "GPU+other", .gpu = {true, true}, .other = true}};

static bool is_gpu(const char *unit)
{
    return unit && !strncmp(unit, "gpu", 3);
}

void bench_pairs_find_gpu(bench *b)
{
    enum { LIMIT = 16 };
    const char *named[] = {options_text(b->o, OPTION_PREFILL_UNIT), options_text(b->o, OPTION_DECODE_UNIT)};
    struct gpu_info info[LIMIT];
    int n = gpu_list(info, LIMIT), at = n > 0 && info[0].kind != GPU_SOFTWARE ? 0 : -1;
    for (int u = 1; u >= 0; u--) {
        const char *number = is_gpu(named[u]) ? strchr(named[u], ':') : NULL;
        if (is_gpu(named[u])) at = number ? atoi(number + 1) : 0;
    }
    if (at < 0 || at >= n || at >= LIMIT) return;
    snprintf(b->host.gpu, sizeof b->host.gpu, "gpu:%d", at);
    snprintf(b->host.gpu_name, sizeof b->host.gpu_name, "%s", info[at].name);
    snprintf(b->host.gpu_driver, sizeof b->host.gpu_driver, "%s", info[at].driver);
    b->host.gpu_software = info[at].kind == GPU_SOFTWARE;
    snprintf(b->host.gpu_pci, sizeof b->host.gpu_pci, "%s", info[at].pci);
    int other = is_gpu(named[0]) && is_gpu(named[1]) && strchr(named[1], ':') ? atoi(strchr(named[1], ':') + 1) : at;
    for (int i = 0; i < n && i < LIMIT && other == at; i++)
        if (i != at && info[i].kind != GPU_SOFTWARE) other = i;
    if (other != at && other < n) snprintf(b->host.other_gpu, sizeof b->host.other_gpu, "gpu:%d", other);
}

static bool is_wanted(const bench *b, const bench_pair *pair, const char *const *rows)
{
    bool wanted = false;
    if (pair->other && !b->host.other_gpu[0]) return false;
    for (; *rows; rows++) wanted |= bench_wanted(b, "pairs|%s|%s", pair->name, *rows);
    return wanted;
}

bool bench_pairs_wanted(const bench *b, const char *const *rows)
{
    bool wanted = false;
    for (int i = 0; i < BENCH_PAIRS && b->host.gpu[0]; i++) wanted |= is_wanted(b, &kinds[i], rows);
    return wanted;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void close_pair(bench_pair *p)
{
    for (int u = 0; u < TDM_UNITS; u++) tdm_sequence_close(p->session[u]);
    tdm_machine_close(p->machine);
    p->session[0] = p->session[1] = NULL;
    p->machine = NULL;
}

static tdm_status open_pair(bench *b, bench_pair *p, int context, tdm_error *err)
{
    static const option_id chosen[TDM_UNITS] = {OPTION_PREFILL_UNIT, OPTION_DECODE_UNIT};
    const char *unit[TDM_UNITS];
    for (int u = 0; u < TDM_UNITS; u++) {
        const char *named = options_text(b->o, chosen[u]);
        unit[u] = p->gpu[u] ? b->host.gpu : is_gpu(named) ? NULL : named;
    }
    if (p->other) unit[TDM_DECODE_UNIT] = b->host.other_gpu;
    tdm_machine_options m = {.prefill_unit = unit[0],
                             .decode_unit = unit[1],
                             .no_lending = options_flag(b->o, OPTION_NO_LENDING)};
    bench_step(b, "opening %s", p->name);
    tdm_status status = tdm_machine_open(&p->machine, &m, err);
    for (int u = 0; u < TDM_UNITS && !status; u++)
        status = bench_session(b, &p->session[u], p->machine, u, context,
                               p->gpu[u] ? BENCH_PAIR_DISPATCH : BENCH_LOOP_DISPATCH, err);
    return status;
}

/* A pair that can't be opened does not keep the others from being measured. */
static tdm_status try_pair(bench *b, bench_pair *pair, int context, tdm_error *err)
{
    pair->tried = true;
    tdm_status status = open_pair(b, pair, context, err);
    if (!status) return TDM_OK;
    close_pair(pair);
    snprintf(pair->missing, sizeof pair->missing, "left out: %s: %.150s", pair->name, err->text);
    return status == TDM_E_CANCELLED ? status : TDM_OK;
}

tdm_status bench_pairs_open(bench *b, bench_table *t, const char *const *rows, const bench_pairs **out, tdm_error *err)
{
    bench_pairs *p = &b->pairs;
    tdm_status status = TDM_OK;
    tdm_chat_options talk;
    *out = p;
    bench_talk_defaults(&talk, b->models.model);
    p->context = talk.context;
    for (int i = 0; i < BENCH_PAIRS && !status; i++) {
        bench_pair *pair = &p->pair[i];
        if (!pair->tried) *pair = kinds[i];
        if (!is_wanted(b, pair, rows)) continue;
        if (!pair->tried) status = try_pair(b, pair, p->context, err);
        if (pair->missing[0]) bench_table_note(t, "%s", pair->missing);
    }
    return status;
}

void bench_pairs_close(bench_pairs *p)
{
    for (int i = 0; i < BENCH_PAIRS; i++) close_pair(&p->pair[i]);
    *p = (bench_pairs){0};
}
