#include "src/chat/play.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "src/chat/figures.h"
#include "src/chat/load.h"
#include "src/chat/script.h"
#include "src/chat/settings.h"
#include "src/chat/trace.h"
#include "src/chat/turn_json.h"
#include "src/cli/interrupt.h"
#include "src/cli/jsonio.h"
#include "src/cli/subcommands.h"
#include "src/cli/output.h"
#include "src/cli/wait.h"

enum { REPLIES = 4 }; /* one runs and one message is queued at the most */

typedef struct {
    const options *o;
    script script;
    load_pair models;
    tdm_machine *machine;
    tdm_chat *chat;
    tdm_chat_options settings;
    trace *trace;
    bool json;
    struct buffer draft; /* what stands in the input */
    int sent;         /* messages that were sent, or replies asked for otherwise */
    int begun, ended; /* of their replies */
    int reply_tokens; /* of the running or last reply, as far as told */
    int turn;         /* being typed, from 0 */
    const char *actions[REPLIES]; /* what asked for the reply of this number: "send", "regenerate", "continue"; a ring */
    figures_row ttft, decode, after, handover;
    tdm_error failure;
} player;

/* ---- Events ---------------------------------------------------------------------------------------------------- */

static void print_reply(player *p, const tdm_event *e)
{
    const tdm_turn_stats *s = &e->stats;
    tdm_node node;
    bool there = !tdm_chat_node(p->chat, e->node, &node, NULL);
    if (p->json) {
        json_object *o = json_object_new_object();
        jsonio_add_int(o, "turn", p->ended);
        jsonio_add_string(o, "do", p->actions[(p->ended - 1) % REPLIES]);
        turn_json_add(o, s);
        if (there) jsonio_add_text(o, "reply", node.text, node.length);
        jsonio_add_hash(o, "ids_hash", s->ids_hash);
        jsonio_add_hash(o, "logits_hash", s->logits_hash);
        output_print("%s\n", jsonio_line(o));
        json_object_put(o);
    } else {
        char line[300];
        figures_turn_line(s, 0, line, sizeof line);
        if (there) output_text(node.text, node.length);
        output_print("\n%s\n\n", line);
    }
    output_flush();
    if (there) tdm_node_free(&node);
}

static void on_end(player *p, const tdm_event *e)
{
    p->ended++;
    if (p->begun < p->ended) p->begun = p->ended; /* it was cut before its first token */
    if (p->trace) trace_turn(p->trace, &e->stats);
    if (figures_counts(&e->stats, TDM_WARM)) {
        figures_add(&p->ttft, figures_ttft_ms(&e->stats, 0));
        figures_add(&p->after, e->stats.after_enter);
        figures_add(&p->handover, e->stats.handover_ms);
        if (e->stats.reply_tokens > 1) figures_add(&p->decode, e->stats.decode_tps);
    }
    print_reply(p, e);
}

static tdm_status limit_reply(player *p, int limit, tdm_error *err)
{
    p->settings.max_tokens = limit;
    return tdm_chat_configure(p->chat, &p->settings, err);
}

static void on_reply(player *p)
{
    p->reply_tokens = 0;
    p->begun++;
}

/* Takes events until `until_ns` (0: those that are there). False: the script can't go on (p->failure). */
static bool pump(player *p, int64_t until_ns)
{
    for (;;) {
        tdm_event e;
        while (tdm_chat_next_event(p->chat, &e)) {
            if (e.kind == TDM_EV_REPLY) on_reply(p);
            if (e.kind == TDM_EV_TEXT) p->reply_tokens = (int)e.tokens;
            if (e.kind == TDM_EV_END) on_end(p, &e);
            if (e.kind == TDM_EV_ERROR) error_set(&p->failure, TDM_E_IO, "%.*s", (int)e.length, e.text);
        }
        if (interrupt_seen()) error_set(&p->failure, TDM_E_CANCELLED, "interrupted");
        if (p->failure.code || !output_good()) return false;
        int64_t left = until_ns - clock_ns();
        if (left <= 0) return true;
        wait_for(p->chat, -1, left < 1000000 ? 1 : left > 500000000 ? 500 : (int)(left / 1000000));
        if (p->trace) trace_collect(p->trace);
    }
}

static bool pump_until_ended(player *p)
{
    while (p->ended < p->sent)
        if (!pump(p, clock_ns() + 100000000)) return false;
    return true;
}

/* Until the reply that runs has so many tokens, or has ended. */
static bool pump_until_tokens(player *p, int tokens)
{
    int ended = p->ended;
    while (p->ended == ended && p->ended < p->sent && p->reply_tokens < tokens)
        if (!pump(p, clock_ns() + 2000000)) return false;
    return true;
}

/* Until the reply to the last message has begun; before that the message may wait for another reply to end. */
static bool pump_until_begun(player *p)
{
    while (p->begun < p->sent)
        if (!pump(p, clock_ns() + 2000000)) return false;
    return true;
}

static bool failed(player *p, tdm_status status)
{
    return status != TDM_OK || p->failure.code;
}

/* ---- Actions ----------------------------------------------------------------------------------------------------- */

static tdm_status draft_changed(player *p)
{
    return tdm_chat_set_draft(p->chat, p->draft.bytes, p->draft.n, false, &p->failure);
}

static tdm_status append(player *p, const char *text, size_t n)
{
    tdm_status status = buffer_append(&p->draft, text, n, &p->failure);
    if (status) return status;
    return draft_changed(p);
}

static tdm_status delete_characters(player *p, int characters)
{
    for (; characters && p->draft.n; characters--) {
        p->draft.n--;
        while (p->draft.n && utf8_continues(p->draft.bytes[p->draft.n])) p->draft.n--;
    }
    return draft_changed(p);
}

/* last: of the turn. It may be queued. A second message while one is queued would make one of both, or not, depending on
 * the time; so it waits until the reply before it runs, which has its limit then. */
static tdm_status send_draft(player *p, bool last)
{
    if (!p->draft.n) return TDM_OK;
    if (!pump_until_begun(p)) return p->failure.code;
    tdm_status status = limit_reply(p, script_reply_limit(&p->script, p->turn, last), &p->failure);
    if (!status) status = tdm_chat_send(p->chat, p->draft.bytes, p->draft.n, clock_ns(), &p->failure);
    if (status) return status;
    if (!p->json) {
        output_print("> ");
        output_text(p->draft.bytes, p->draft.n);
        output_print("\n\n");
    }
    p->actions[p->sent++ % REPLIES] = "send";
    p->draft.n = 0;
    return TDM_OK;
}

static tdm_status branch(player *p, int turn)
{
    enum { MOST = 20000 };
    static int path[MOST];
    int n = tdm_chat_path(p->chat, path, MOST), seen = 0;
    for (int i = 0; i < n && i < MOST; i++) {
        tdm_node node;
        if (tdm_chat_node(p->chat, path[i], &node, &p->failure)) return p->failure.code;
        bool there = node.role == TDM_USER && ++seen == turn;
        tdm_node_free(&node);
        if (there) return tdm_chat_edit(p->chat, path[i], &p->failure);
    }
    return error_set(&p->failure, TDM_E_ARG, "turn %d: there is no turn %d to branch at", p->turn + 1, turn);
}

static tdm_status late_action(player *p, script_action action)
{
    tdm_error *err = &p->failure;
    tdm_status status = TDM_OK;
    switch (action) {
    case SCRIPT_UNDO: return tdm_chat_undo(p->chat, err);
    case SCRIPT_REDO: return tdm_chat_redo(p->chat, err);
    case SCRIPT_CONTINUE:
        status = limit_reply(p, p->script.max_tokens, err);
        if (!status) status = tdm_chat_continue(p->chat, err);
        break;
    default:
        status = limit_reply(p, script_reply_limit(&p->script, p->turn, true), err);
        if (!status) status = tdm_chat_regenerate(p->chat, clock_ns(), err);
        break;
    }
    if (!status) p->actions[p->sent++ % REPLIES] = script_action_name(action);
    return status;
}

/* ---- Turns ----------------------------------------------------------------------------------------------------- */

/* Actions of the keys that stand at this character. */
static bool typed_actions(player *p, const script_turn *t, int characters)
{
    for (int i = 0; i < t->n_events; i++) {
        const script_event *e = &t->events[i];
        tdm_status status = TDM_OK;
        if (e->at_chars != characters) continue;
        if (e->action == SCRIPT_INSERT) status = append(p, e->text, strlen(e->text));
        if (e->action == SCRIPT_DELETE) status = delete_characters(p, e->chars);
        if (e->action == SCRIPT_SEND) status = send_draft(p, false);
        if (failed(p, status)) return false;
    }
    return true;
}

static bool type_text(player *p, const script_turn *t)
{
    int64_t next = clock_ns();
    int characters = 0;
    if (!typed_actions(p, t, 0)) return false;
    for (const char *c = t->text; *c;) {
        size_t n = 1;
        while (utf8_continues(c[n])) n++;
        next += (int64_t)(1e9 * script_interval(&p->script, p->turn, characters));
        if (!pump(p, next) || failed(p, append(p, c, n))) return false;
        c += n;
        if (!typed_actions(p, t, ++characters)) return false;
    }
    return pump(p, clock_ns() + (int64_t)(1e9 * t->pause_s));
}

static bool begin_turn(player *p, const script_turn *t)
{
    if (t->start_after_tokens < 0 ? !pump_until_ended(p)
                                  : !pump_until_begun(p) || !pump_until_tokens(p, t->start_after_tokens))
        return false;
    if (t->speculation >= 0) {
        p->settings.speculation = (tdm_speculation)t->speculation;
        if (failed(p, tdm_chat_configure(p->chat, &p->settings, &p->failure))) return false;
    }
    for (int i = 0; i < t->n_events; i++)
        if (t->events[i].action == SCRIPT_BRANCH && (!pump_until_ended(p) || failed(p, branch(p, t->events[i].turn))))
            return false;
    return true;
}

static bool play_turn(player *p, const script_turn *t)
{
    if (!begin_turn(p, t) || !type_text(p, t)) return false;
    int limit = p->settings.max_tokens; /* of the reply that this turn waits for */
    if (failed(p, send_draft(p, true))) return false;
    for (int i = 0; i < t->n_events; i++) {
        const script_event *e = &t->events[i];
        if (e->action == SCRIPT_SEND_NOW) {
            /* It ends there by its limit: a call might come when this turn's own reply has begun. */
            if (limit <= e->after_tokens || p->begun == p->sent) continue;
            if (!pump_until_tokens(p, e->after_tokens)) return false;
            tdm_chat_send_now(p->chat, clock_ns());
        } else if (script_action_is_late(e->action)) {
            if (!pump_until_ended(p) || failed(p, late_action(p, e->action))) return false;
        }
    }
    return true;
}

static void print_summary(player *p)
{
    if (p->json) {
        json_object *o = json_object_new_object();
        json_object_object_add(o, "summary", json_object_new_boolean(1));
        jsonio_add_int(o, "turns", p->ended);
        jsonio_add_int(o, "warm", p->ttft.n);
        jsonio_add_real(o, "ttft_engine_ms_p50", figures_median(&p->ttft));
        jsonio_add_real(o, "ttft_engine_ms_p95", figures_percentile(&p->ttft, 95));
        jsonio_add_real(o, "evaluated_after_enter_p50", figures_median(&p->after));
        jsonio_add_real(o, "handover_ms_p50", figures_median(&p->handover));
        jsonio_add_real(o, "handover_ms_p95", figures_percentile(&p->handover, 95));
        jsonio_add_real(o, "decode_tps_p50", figures_median(&p->decode));
        output_print("%s\n", jsonio_line(o));
        json_object_put(o);
    } else if (p->ttft.n) {
        output_print("%d turns; %d warm: median %.1f ms, 95th percentile %.1f ms to the first token\n", p->ended,
                     p->ttft.n, figures_median(&p->ttft), figures_percentile(&p->ttft, 95));
    }
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

static tdm_status load_history(player *p, tdm_error *err)
{
    const script *s = &p->script;
    const char *system = s->system ? s->system : options_text(p->o, OPTION_SYSTEM);
    size_t n = system ? strlen(system) : 0;
    if (!s->n_history) return system ? tdm_chat_set_system(p->chat, system, n, err) : TDM_OK;
    tdm_node *nodes = calloc(s->n_history, sizeof *nodes);
    if (!nodes) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < s->n_history; i++) /* borrowed: tdm_chat_load copies */
        nodes[i] = (tdm_node){.node = (int)i + 1,
                              .parent = (int)i,
                              .role = s->history[i].role,
                              .text = (char *)s->history[i].text,
                              .length = s->history[i].length};
    tdm_status status = tdm_chat_load(p->chat, system, n, nodes, (int)s->n_history, (int)s->n_history, err);
    free(nodes);
    return status;
}

static tdm_status open_all(player *p, tdm_error *err)
{
    const options *o = p->o;
    const char *path = options_text(o, OPTION_MODEL);
    tdm_status status = script_read(&p->script, options_text(o, OPTION_SCRIPT), err);
    if (!status) status = load_pair_open(&p->models, o, path, &(load_how){0}, err);
    if (!status) status = load_machine(&p->machine, o, err);
    if (status) return status;
    load_machine_notes(o, p->machine);
    settings_chat_options(&p->settings, o, p->models.model);
    p->settings.prefill_model = p->models.prefill;
    p->settings.ignore_eos = p->settings.hash_logits = true;
    p->settings.max_tokens = p->script.max_tokens;
    p->settings.max_answer_tokens = 0; /* the script's counts alone */
    if (p->script.temperature >= 0) p->settings.sampling.temperature = (float)p->script.temperature;
    if (!options_given(o, OPTION_SEED)) p->settings.sampling.seed = p->script.seed;
    status = tdm_chat_open(&p->chat, p->models.model, p->machine, &p->settings, err);
    if (!status) status = load_history(p, err);
    if (!status) tdm_chat_wait_idle(p->chat, -1);
    return status;
}

static void close_all(player *p)
{
    trace_free(p->trace);
    tdm_chat_close(p->chat);
    tdm_machine_close(p->machine);
    load_pair_close(&p->models);
    script_free(&p->script);
    figures_row_free(&p->ttft);
    figures_row_free(&p->decode);
    figures_row_free(&p->after);
    figures_row_free(&p->handover);
    buffer_free(&p->draft);
}

int play_main(options *o)
{
    player p = {.o = o, .json = options_flag(o, OPTION_JSON)};
    const char *trace_path = options_text(o, OPTION_TRACE);
    if (o->n_arguments) return subcommands_usage(o, "a script takes no prompt");
    tdm_status status = open_all(&p, &p.failure);
    if (!status && trace_path) p.trace = trace_new(p.machine);
    interrupt_catch();
    for (p.turn = 0; !status && p.turn < p.script.n; p.turn++)
        if (!play_turn(&p, &p.script.turns[p.turn])) status = p.failure.code ? p.failure.code : TDM_E_IO;
    if (!status && !pump_until_ended(&p)) status = p.failure.code ? p.failure.code : TDM_E_IO;
    interrupt_release();
    if (!status) print_summary(&p);
    if (!status && p.trace) status = trace_write(p.trace, trace_path, &p.failure);
    close_all(&p);
    if (!status) return 0;
    return output_good() ? load_failed(&p.failure) : 1;
}
