#include "src/play/play.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "src/cli/subcommands.h"
#include "src/figures/figures.h"
#include "src/figures/trace.h"
#include "src/io/frames.h"
#include "src/io/output.h"
#include "src/models/load.h"
#include "src/models/settings.h"
#include "src/play/player_chat.h"
#include "src/process/interrupt.h"
#include "src/chat/talk.h"

typedef struct {
    player_chat chat; /* first: it is the player's host */
    const options *o;
    script script;
    load_pair models;
    tdm_machine *machine;
    trace *trace;
    bool json;
    figures_row ttft, decode, after, handover;
} play;

/* ---- Events ---------------------------------------------------------------------------------------------------- */

static void print_reply(play *p, const tdm_event *e)
{
    const tdm_turn_stats *s = &e->stats;
    tdm_node node;
    bool there = !tdm_chat_node(p->chat.chat, TDM_FRONT, e->node, &node, NULL);
    if (p->json) {
        json_object *o = json_new_object();
        json_add_int(o, "turn", p->chat.player.ended);
        json_add_string(o, "do", script_action_name(player_ended(&p->chat.player)->action));
        figures_turn_json(o, s);
        if (there) json_add_text(o, "reply", node.text, node.length);
        json_add_hash(o, "ids_hash", s->ids_hash);
        json_add_hash(o, "logits_hash", s->logits_hash);
        frames_print(o);
    } else {
        char line[300];
        figures_turn_line(s, 0, line, sizeof line);
        if (there) output_text(node.text, node.length);
        output_print("\n%s\n\n", line);
    }
    output_flush();
    if (there) tdm_node_free(&node);
}

static tdm_status on_event(void *host, const tdm_event *e, tdm_error *err)
{
    play *p = host;
    (void)err;
    if (e->kind != TDM_EV_END) return TDM_OK;
    if (p->trace) trace_turn(p->trace, &e->stats);
    if (figures_counts(&e->stats, TDM_TURN_WARM)) {
        figures_add(&p->ttft, figures_ttft_ms(&e->stats, 0));
        figures_add(&p->after, e->stats.after_enter);
        figures_add(&p->handover, e->stats.handover_ms);
        if (e->stats.decode_tps > 0) figures_add(&p->decode, e->stats.decode_tps);
    }
    print_reply(p, e);
    return TDM_OK;
}

static bool on_tick(void *host)
{
    play *p = host;
    if (p->trace) trace_collect(p->trace);
    return true;
}

static tdm_status submit(void *host, int reply_limit, tdm_error *err)
{
    play *p = host;
    tdm_status status = player_chat_functions.submit(host, reply_limit, err);
    if (status || p->json) return status;
    output_print("> ");
    output_text(p->chat.player.draft.bytes, p->chat.player.draft.n);
    output_print("\n\n");
    return TDM_OK;
}

static void print_summary(play *p)
{
    if (p->json) {
        json_object *o = json_new_object();
        json_add_bool(o, "summary", true);
        json_add_int(o, "turns", p->chat.player.ended);
        json_add_int(o, "warm", p->ttft.n);
        json_add_real(o, "ttft_engine_ms_p50", figures_median(&p->ttft));
        json_add_real(o, "ttft_engine_ms_p95", figures_percentile(&p->ttft, 95));
        json_add_real(o, "evaluated_after_enter_p50", figures_median(&p->after));
        json_add_real(o, "handover_ms_p50", figures_median(&p->handover));
        json_add_real(o, "handover_ms_p95", figures_percentile(&p->handover, 95));
        json_add_real(o, "decode_tps_p50", figures_median(&p->decode));
        frames_print(o);
    } else if (p->ttft.n) {
        output_print("%d turn%s; %d warm: median %.1f ms, 95th percentile %.1f ms to the first token\n",
                     p->chat.player.ended, p->chat.player.ended == 1 ? "" : "s", p->ttft.n, figures_median(&p->ttft),
                     figures_percentile(&p->ttft, 95));
    }
}

/* What -v asks for. */
static void print_figures(const play *p)
{
    char line[FIGURES_END_ROOM];
    if (!options_flag(p->o, OPTION_VERBOSE)) return;
    figures_end_line(NULL, p->machine, line);
    output_note("%s", line);
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

static tdm_status load_history(play *p, tdm_error *err)
{
    const char *system = p->script.system ? p->script.system : options_text(p->o, OPTION_SYSTEM);
    if (p->script.n_history) return script_load_history(&p->script, p->chat.chat, system, err);
    return system ? tdm_chat_set_system(p->chat.chat, system, strlen(system), err) : TDM_OK;
}

static tdm_status open_all(play *p, tdm_error *err)
{
    const options *o = p->o;
    tdm_chat_options *settings = &p->chat.settings;
    const char *path = options_text(o, OPTION_MODEL);
    tdm_status status = script_read(&p->script, options_text(o, OPTION_SCRIPT), err);
    if (!status) status = load_pair_open(&p->models, o, path, &(load_how){0}, err);
    if (!status) status = load_machine(&p->machine, o, p->models.model, &(load_how){0}, err);
    if (!status) status = load_places(&p->models, p->machine, o, &(load_how){0}, err);
    if (status) return status;
    load_machine_notes(o, p->machine);
    settings_chat_options(settings, o, p->models.model);
    settings->ignore_eos = settings->hash_logits = true; /* so the loop guard rests */
    settings->max_tokens = p->script.max_tokens;
    settings->max_answer_tokens = 0; /* the script's counts alone */
    if (p->script.temperature >= 0) settings->sampling.temperature = (float)p->script.temperature;
    if (!options_given(o, OPTION_SEED)) settings->sampling.seed = p->script.seed;
    status = load_chat(&p->chat.chat, &p->models, p->machine, settings, err);
    if (!status) status = load_history(p, err);
    if (!status && !talk_wait_idle(p->chat.chat)) status = error_set(err, TDM_E_CANCELLED, "interrupted");
    return status;
}

static void close_all(play *p)
{
    trace_free(p->trace);
    tdm_chat_close(p->chat.chat);
    load_pair_close(&p->models);
    tdm_machine_close(p->machine);
    script_free(&p->script);
    figures_row_free(&p->ttft);
    figures_row_free(&p->decode);
    figures_row_free(&p->after);
    figures_row_free(&p->handover);
}

int play_main(options *o)
{
    play p = {.o = o, .json = options_flag(o, OPTION_JSON), .chat = {.seen = on_event, .tick = on_tick}};
    player_functions functions = player_chat_functions;
    functions.submit = submit;
    tdm_error err = {0};
    if (o->n_arguments) return subcommands_usage(o, "a script takes no prompt");
    tdm_status status = open_all(&p, &err);
    if (!status) status = trace_begin(&p.trace, o, p.machine, &err);
    interrupt_catch();
    if (!status) status = player_chat_play(&p.chat, &p.script, &functions, &err);
    interrupt_release();
    if (!status) print_summary(&p);
    if (!status) print_figures(&p);
    if (!status) status = trace_end(p.trace, o, &err);
    close_all(&p);
    if (!status) return 0;
    return output_good() ? load_failed(&err) : 1;
}
