/* `tandem bench power`: watts of each package while one unit prefills, decodes, or both work; joules per token. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench.h"

enum { LENGTH = 256, DISPATCH = 32, START = 74, SENSORS = 64 };

/* A sensor's reading, or NULL with the reason in out. */
static const tdm_sensor *find(const tdm_sensor *all, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    return NULL;
}

/* Works for about two seconds: prefill, or decode; counts tokens. */
static tdm_status work(tdm_session *s, const tdm_id *ids, bool decodes, int *tokens, tdm_error *err)
{
    static const tdm_sampling greedy = {.top_p = 1, .repeat_penalty = 1};
    int64_t until = clock_ns() + 1000000000;
    tdm_status status = TDM_OK;
    while (!status && clock_ns() < until) {
        if (tdm_session_length(s) + DISPATCH > LENGTH) tdm_session_clear(s);
        size_t at = tdm_session_length(s);
        if (!decodes) {
            status = tdm_session_eval(s, ids + at, DISPATCH, false, NULL, err);
            *tokens += DISPATCH;
        } else if (at < START) {
            status = tdm_session_eval(s, ids, START, true, NULL, err);
        } else {
            tdm_id next = tdm_session_sample(s, &greedy, 0, 0, (uint32_t)at);
            status = tdm_session_eval(s, &next, 1, true, NULL, err);
            ++*tokens;
        }
    }
    return status;
}

tdm_status bench_power(bench *b, tdm_error *err)
{
    static const char *const phases[] = {"idle", "prefill", "decode"};
    enum { PHASES = 3 };
    bench_table *t = bench_new_table(b, "", "power of all packages", "phase", "power:W|energy:J/token", err);
    if (!t) return err->code;
    tdm_sensors *sensors = tdm_sensors_open();
    tdm_sensor all[SENSORS];
    size_t n = 0;
    if (!sensors) return error_set(err, TDM_E_NOMEM, "out of memory");
    n = tdm_sensors_read(sensors, all, SENSORS);
    const tdm_sensor *energy = find(all, n, "energy");
    if (!energy || !energy->valid) {
        bench_table_note(t, "not measured: %s%s%s", energy ? energy->reason : "no sensor",
                         energy && energy->remedy[0] ? "; " : "", energy ? energy->remedy : "");
        tdm_sensors_close(sensors);
        return TDM_OK;
    }
    tdm_machine *machine = NULL;
    tdm_session *session = NULL;
    tdm_ids ids = {0};
    tdm_status status = bench_machine(b, &machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) status = bench_prompt_ids(&b->prompt, b->model, 0, LENGTH, &ids, err);
    if (!status) status = bench_session(b, &session, machine, TDM_DECODE_UNIT, LENGTH, DISPATCH, err);
    for (int round = 0; !status && bench_again(b, round); round++)
        for (int p = 0; p < PHASES && !status; p++) {
            int tokens = 0;
            bench_step(b, "%s", phases[p]);
            n = tdm_sensors_read(sensors, all, SENSORS);
            energy = find(all, n, "energy");
            double before = energy ? energy->value : 0;
            int64_t start = clock_ns();
            if (p)
                status = work(session, ids.ids, p == 2, &tokens, err);
            else
                usleep(1000000);
            double seconds = 1e-9 * (double)(clock_ns() - start);
            n = tdm_sensors_read(sensors, all, SENSORS);
            energy = find(all, n, "energy");
            if (status || !energy) break;
            int row = bench_table_row(t, "%s", phases[p]);
            bench_table_add(t, row, 0, (energy->value - before) / seconds);
            if (tokens) bench_table_add(t, row, 1, (energy->value - before) / tokens);
        }
    tdm_session_close(session);
    tdm_machine_close(machine);
    tdm_sensors_close(sensors);
    tdm_ids_free(&ids);
    return status;
}
