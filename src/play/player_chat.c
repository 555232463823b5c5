#include "src/play/player_chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/io/output.h"
#include "src/process/interrupt.h"
#include "src/chat/talk.h"

enum { TICK_MS = 500, MS = 1000000 };

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static int64_t now(void *host)
{
    (void)host;
    return clock_ns();
}

static tdm_status begin(void *host, const script_turn *turn, tdm_error *err)
{
    player_chat *c = host;
    if (turn->speculation < 0) return TDM_OK;
    c->settings.speculation = (tdm_speculation)turn->speculation;
    return tdm_chat_configure(c->chat, &c->settings, err);
}

static tdm_status branch(void *host, int turn, tdm_error *err)
{
    enum { LIMIT = 20000 };
    static int path[LIMIT];
    player_chat *c = host;
    int n = tdm_chat_path(c->chat, TDM_FRONT, path, LIMIT), seen = 0;
    for (int i = 0; i < n && i < LIMIT; i++) {
        tdm_node node;
        tdm_status status = tdm_chat_node(c->chat, TDM_FRONT, path[i], &node, err);
        if (status) return status;
        bool there = node.role == TDM_USER && ++seen == turn;
        tdm_node_free(&node);
        if (there) return tdm_chat_edit(c->chat, path[i], err);
    }
    return error_set(err, TDM_E_ARG, "turn %d: there is no turn %d to branch at", c->player.turn + 1, turn);
}

static tdm_status draft_changed(player_chat *c, tdm_error *err)
{
    return tdm_chat_set_draft_pictures(c->chat, c->player.draft.bytes, c->player.draft.n, c->pictures,
                                       c->player.sent ? 0 : c->n_pictures, false, err);
}

static tdm_status type(void *host, const char *text, size_t n, bool pasted, tdm_error *err)
{
    (void)text, (void)n, (void)pasted;
    return draft_changed(host, err);
}

static tdm_status erase(void *host, int characters, tdm_error *err)
{
    (void)characters;
    return draft_changed(host, err);
}

static tdm_status limit_reply(player_chat *c, int limit, tdm_error *err)
{
    if (c->settings.max_tokens == limit) return TDM_OK;
    c->settings.max_tokens = limit;
    return tdm_chat_configure(c->chat, &c->settings, err);
}

static tdm_status submit(void *host, int reply_limit, tdm_error *err)
{
    player_chat *c = host;
    tdm_status status = limit_reply(c, reply_limit, err);
    if (status) return status;
    return tdm_chat_send_pictures(c->chat, c->player.draft.bytes, c->player.draft.n, c->pictures,
                                  c->player.sent ? 0 : c->n_pictures, 1, clock_ns(), err);
}

static tdm_status send_now(void *host, tdm_error *err)
{
    (void)err;
    tdm_chat_send_now(((player_chat *)host)->chat, clock_ns());
    return TDM_OK;
}

static tdm_status act(void *host, script_action action, int reply_limit, tdm_error *err)
{
    player_chat *c = host;
    if (action == SCRIPT_UNDO) return tdm_chat_undo(c->chat, err);
    if (action == SCRIPT_REDO) return tdm_chat_redo(c->chat, err);
    tdm_status status = limit_reply(c, reply_limit, err);
    if (status) return status;
    return action == SCRIPT_CONTINUE ? tdm_chat_continue(c->chat, err) : tdm_chat_regenerate(c->chat, clock_ns(), err);
}

const player_functions player_chat_functions = {
    .now = now,
    .begin = begin,
    .branch = branch,
    .type = type,
    .erase = erase,
    .submit = submit,
    .send_now = send_now,
    .act = act,
};

/* ---- Playing --------------------------------------------------------------------------------------------------- */

/* Takes the events that are there. */
static tdm_status take(player_chat *c, tdm_error *err)
{
    tdm_event e;
    tdm_status status = TDM_OK;
    while (!status && tdm_chat_next_event(c->chat, &e)) {
        player_event(&c->player, &e);
        if (e.kind == TDM_EV_ERROR) status = error_set(err, TDM_E_IO, "%.*s", (int)e.length, e.text);
        else if (c->seen) status = c->seen(c, &e, err);
    }
    if (status || (!interrupt_seen() && output_read())) return status;
    return error_set(err, TDM_E_CANCELLED, "interrupted");
}

/* Waits for the deadline or an event, but not longer than to the next tick. False: nothing happened, and the chat
 * rests. The wait is one of whole milliseconds; keys are due at their time, so the last one is waited for by itself. */
static bool wait(player_chat *c, int64_t next_ns)
{
    int64_t left = next_ns - clock_ns(), most = c->tick_ms ? c->tick_ms : TICK_MS;
    if (left <= 0) return true;
    bool quiet = !talk_wait_for(c->chat, -1, left < MS ? 1 : left > most * MS ? (int)most : (int)(left / MS));
    if (!quiet || next_ns != INT64_MAX) return true;
    tdm_chat_status status; /* before the events are taken: a reply's end may be among them */
    tdm_chat_status_of(c->chat, &status);
    return status.phase != TDM_PHASE_IDLE;
}

static tdm_status run(player_chat *c, tdm_error *err)
{
    player *p = &c->player;
    for (bool busy = true;;) {
        int64_t next;
        int before = p->sent + p->begun + p->ended;
        tdm_status status = take(c, err);
        if (!status) status = player_step(p, &next, err);
        if (status || player_done(p)) return status;
        if (!busy && next == INT64_MAX && before == p->sent + p->begun + p->ended)
            return error_set(err, TDM_E_REFUSED, "%d of %d replies ended, and nothing is left to do", p->ended,
                             p->sent);
        busy = wait(c, next);
        if (c->tick && !c->tick(c)) return error_set(err, TDM_E_CANCELLED, "interrupted");
    }
}

tdm_status player_chat_play(player_chat *c, const script *s, const player_functions *functions, tdm_error *err)
{
    player_open(&c->player, s, functions, c);
    c->player.rest_ns = c->rest_ns;
    tdm_status status = run(c, err);
    player_close(&c->player);
    return status;
}
