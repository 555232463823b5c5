/* Commands that show figures or measure them. */
#include "src/slash/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/figures/trace.h"
#include "src/files/files.h"
#include "src/models/units.h"

static tdm_status measure_units(slash_running *r, tdm_error *err)
{
    tdm_chat_status now;
    tdm_error unkept = {0}, *kept = r->a->open.private ? NULL : &unkept;
    tdm_chat_status_of(r->a->chat, &now);
    if (now.phase != TDM_PHASE_IDLE)
        return error_set(err, TDM_E_BUSY, "the units are at work: measure when the reply has ended");
    tdm_status status = ceilings_measure(&r->a->ceilings, r->a->machine, r->a->info.kernels, NULL, NULL, kept, err);
    if (status) return status;
    char *text = ceilings_text(&r->a->ceilings, r->a->machine);
    command_say_text(r, text ? text : "");
    if (unkept.code) command_say(r, "for this run only, not kept: %s\n", unkept.text);
    free(text);
    return TDM_OK;
}

static void say_unit(const slash_running *r, const char *role, const tdm_unit_info *info)
{
    if (info->server[0]) {
        command_say(r, "%s: the server %s\n", role, info->server);
        return;
    }
    if (!info->device[0]) {
        command_say(r, "%s: %s, %s, %d %s\n", role, info->name, info->kind, info->cores,
                    info->cores == 1 ? "core" : "cores");
        return;
    }
    command_say(r, "%s: %s, %s, %.1f of %.1f GiB%s%s\n", role, info->name, info->device,
                (double)info->device_used / (1 << 30), (double)info->device_memory / (1 << 30),
                info->shares_device ? "; both share one GPU" : "",
                info->device_lost ? "; it was lost, the cores do its work" : "");
}

/* Says what was measured of pairs of units with this model, if anything was. */
static void say_pairs(const slash_running *r)
{
    units_measured measured;
    bool matrix = units_have_matrix(r->a->o, &r->a->info);
    char *text = units_recall(&measured, r->a->info.fingerprint, matrix) ? units_table(&measured) : NULL;
    if (text) command_say_text(r, text);
    free(text);
}

tdm_status command_units(slash_running *r, tdm_error *err)
{
    if (r->call->argument) return measure_units(r, err);
    static const char *const kinds[TDM_SPAN_KINDS] = {"reply, history", "draft",        "end of prompt", "prompt",
                                                      "writes",         "to DECODE",    "checkpoints",   "restores",
                                                      "pictures",       "helps",          "to its memory"};
    for (int unit = 0; unit < TDM_UNITS; unit++) {
        tdm_unit_info info;
        tdm_unit_describe(r->a->machine, unit, &info);
        say_unit(r, unit == TDM_PREFILL_UNIT ? "PREFILL" : "DECODE", &info);
        command_say(r, "%-14s %5s %8s %6s\n", "", "spans", "tokens", "s");
        for (int kind = 0; kind < TDM_SPAN_KINDS; kind++)
            if (info.total[kind].spans)
                command_say(r, "%-14s %5" PRIu64 " %8" PRIu64 " %6.1f\n", kinds[kind], info.total[kind].spans,
                            info.total[kind].tokens, 1e-9 * (double)info.total[kind].ns);
    }
    if (r->a->models.server) return TDM_OK; /* ceilings are those of this computer */
    char *text = r->a->ceilings.known ? ceilings_text(&r->a->ceilings, r->a->machine) : NULL;
    command_say_text(r, text ? text : "ceilings: not measured yet (/units measure)\n");
    free(text);
    say_pairs(r);
    return TDM_OK;
}

static void say_median(const slash_running *r, const char *name, const figures_row *row, const char *unit)
{
    char median[32];
    if (!row->n) return;
    figures_number(figures_median(row), median);
    command_say(r, "  %-22s %s %s (n %d)\n", name, median, unit, row->n);
}

static void say_turn_figures(const slash_running *r)
{
    const app *a = r->a;
    char line[300];
    if (!a->last.stats.enter_ns) {
        command_say(r, "no turn since the start\n");
        return;
    }
    char adopted[40] = ""; /* of the reply: the decoder's state was taken over */
    if (a->last.stats.adopted) snprintf(adopted, sizeof adopted, "%u taken over, ", a->last.stats.adopted);
    figures_turn_line(&a->last.stats, a->last.glyph_ns, line, sizeof line);
    command_say(r, "last turn: %s\n", line);
    command_say(r,
                "  prompt %u tokens: %u of earlier turns, %s%u read before Enter, %u after; %u discarded; at most %u "
                "behind; hand-over %.2f ms\n",
                a->last.stats.prompt_tokens, a->last.stats.earlier, adopted,
                a->last.stats.before_enter - a->last.stats.adopted, a->last.stats.after_enter, a->last.stats.wasted,
                a->last.stats.lag_max, a->last.stats.handover_ms);
}

tdm_status command_stats(slash_running *r, tdm_error *err)
{
    app *a = r->a;
    const char *argument = r->call->argument;
    if (argument) {
        bool off = !strcmp(argument, "turn off");
        if (!off && strcmp(argument, "turn line") && strcmp(argument, "turn card"))
            return error_set(err, TDM_E_ARG, "/stats: expected 'turn off', 'turn line' or 'turn card'");
        if (!strcmp(argument, "turn card") && !r->front->figures)
            return error_set(err, TDM_E_ARG, "/stats turn card belongs to the full screen");
        a->no_turn_line = off;
        if (r->front->figures) r->front->figures(r->front->ctx, argument + strlen("turn "));
        return TDM_OK;
    }
    tdm_chat_status now;
    tdm_chat_status_of(a->chat, &now);
    say_turn_figures(r);
    command_say(r, "since the start: %d turn%s\n", a->figures.turns, a->figures.turns == 1 ? "" : "s");
    say_median(r, "warm, median", &a->figures.warm_ms, "ms");
    say_median(r, "cold, median", &a->figures.cold_ms, "ms");
    say_median(r, "decode, median", &a->figures.decode_tps, "tok/s");
    say_median(r, "read ahead", &a->figures.full_ms, "ms");
    say_median(r, "read after Enter", &a->figures.off_ms, "ms");
    command_say(r, "context: %u of %u tokens\n", now.context_used, now.context_size);
    command_say(r, "checkpoints: %u, %.0f of %.0f MB\n", now.checkpoints, 1e-6 * (double)now.checkpoint_bytes,
                1e-6 * (double)now.checkpoint_budget);
    if (now.replica_bytes)
        command_say(
            r, "  of these to DECODE's memory: %.0f MB; crossed: %.0f MB ahead of Enter, %.0f MB after it, %.1f GB/s\n",
            1e-6 * (double)now.replica_bytes, 1e-6 * (double)now.carried_ahead, 1e-6 * (double)now.carried_after,
            (double)(now.carried_ahead + now.carried_after) / (double)now.carried_ns);
    return TDM_OK;
}

tdm_status command_trace(slash_running *r, tdm_error *err)
{
    char *path = files_to_write(r->call->argument, err);
    tdm_status status = path ? trace_write_recent(r->a->machine, path, err) : err->code;
    if (!status) command_say(r, "%s: written; ui.perfetto.dev opens it\n", path);
    free(path);
    return status;
}

tdm_status command_sensors(slash_running *r, tdm_error *err)
{
    enum { LIMIT = 64 };
    tdm_sensor found[LIMIT];
    tdm_sensors *sensors = tdm_sensors_open();
    if (!sensors) return error_set(err, TDM_E_NOMEM, "out of memory");
    size_t n = tdm_sensors_read(sensors, found, LIMIT);
    for (size_t i = 0; i < n; i++) {
        if (found[i].valid && !strcmp(found[i].unit, "B"))
            command_say(r, "  %-24s %.1f GiB\n", found[i].name, found[i].value / (1 << 30));
        else if (found[i].valid)
            command_say(r, "  %-24s %.1f %s\n", found[i].name, found[i].value, found[i].unit);
        else
            command_say(r, "  %-24s n/a: %s%s%s\n", found[i].name, found[i].reason,
                        found[i].remedy[0] ? "; allow it with: " : "", found[i].remedy);
    }
    if (!n) command_say(r, "this machine tells neither power nor temperature\n");
    tdm_sensors_close(sensors);
    return TDM_OK;
}

tdm_status command_cold(slash_running *r, tdm_error *err)
{
    int pipeline = r->call->argument ? tdm_pipeline_find(r->call->argument) : TDM_PIPE_SINGLE;
    tdm_status status = tdm_chat_cold(r->a->chat, (tdm_pipeline)pipeline, err);
    r->result->waits = r->result->cold = !status;
    return status;
}

tdm_status command_ab(slash_running *r, tdm_error *err)
{
    app *a = r->a;
    bool on = command_means_on(r, !a->ab);
    if (!on && a->ab) {
        tdm_chat_options c;
        tdm_chat_options_of(a->chat, &c);
        c.speculation = TDM_SPEC_FULL;
        tdm_status status = tdm_chat_configure(a->chat, &c, err);
        if (status) return status;
    }
    a->ab = on;
    command_say(r, on ? "one turn is read ahead, the next after Enter; /stats shows both medians\n"
                      : "all is read ahead again\n");
    return TDM_OK;
}
