#include "src/play/player.h"

#include <string.h>

#include "engine/base/utf8.h"

void player_open(player *p, const script *s, const player_functions *functions, void *host)
{
    *p = (player){.script = s, .functions = functions, .host = host, .limit = s->max_tokens};
}

void player_close(player *p)
{
    buffer_free(&p->draft);
}

bool player_done(const player *p)
{
    return p->stage == PLAYER_DONE;
}

/* ---- Replies --------------------------------------------------------------------------------------------------- */

void player_event(player *p, const tdm_event *e)
{
    if (e->kind == TDM_EV_TEXT) p->reply_tokens = (int)e->tokens;
    if (e->kind == TDM_EV_REPLY && p->begun < p->sent) {
        p->begun++;
        p->reply_tokens = 0;
    }
    if (e->kind != TDM_EV_END || p->ended == p->sent) return; /* the player asked for no such reply */
    p->ended++;
    if (p->begun < p->ended) p->begun = p->ended; /* it was cut before its first token */
    p->reply_tokens = 0;                          /* the reply to a queued message may not have begun */
    p->rested_ns = p->functions->now(p->host) + p->rest_ns;
}

const player_cause *player_ended(const player *p)
{
    return &p->causes[(p->ended - 1) % PLAYER_REPLIES];
}

static bool idle(const player *p)
{
    return p->ended == p->sent;
}

/* Before that a message waits for another reply to end. */
static bool all_begun(const player *p)
{
    return p->begun == p->sent;
}

static void asked(player *p, script_action action, int limit)
{
    p->causes[p->sent++ % PLAYER_REPLIES] = (player_cause){p->turn, action};
    p->limit = limit;
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

static tdm_status wait_until(player *p, int64_t ns)
{
    p->waits = true;
    p->next_ns = ns;
    return TDM_OK;
}

static tdm_status wait_for_event(player *p)
{
    return wait_until(p, INT64_MAX);
}

static int64_t now(const player *p)
{
    return p->functions->now(p->host);
}

/* Has what came been read? If not, waits. */
static bool rested(player *p)
{
    if (p->rested_ns > now(p)) wait_until(p, p->rested_ns);
    else p->rested_ns = 0;
    return !p->rested_ns;
}

/* ---- The draft ------------------------------------------------------------------------------------------------- */

static const script_turn *turn_of(const player *p)
{
    return &p->script->turns[p->turn];
}

static tdm_status type(player *p, const char *text, size_t n, bool pasted, tdm_error *err)
{
    tdm_status status = buffer_append(&p->draft, text, n, err);
    return status ? status : p->functions->type(p->host, text, n, pasted, err);
}

static tdm_status erase(player *p, int most, tdm_error *err)
{
    int characters = 0;
    for (; characters < most && p->draft.n; characters++) p->draft.n = utf8_before(p->draft.bytes, p->draft.n);
    return characters ? p->functions->erase(p->host, characters, err) : TDM_OK;
}

/* Sends the draft, or waits. last: of the turn; it may be queued. A second message while one is queued would make one
 * of both, or not, depending on the time; so it waits until the reply before it runs, which has its limit then. */
static tdm_status submit(player *p, bool last, tdm_error *err)
{
    if (!p->draft.n) return TDM_OK;
    if (!all_begun(p)) return wait_for_event(p);
    int limit = script_reply_limit(p->script, p->turn, last);
    asked(p, SCRIPT_SEND, limit); /* before it: the host may tell of the reply meanwhile */
    tdm_status status = p->functions->submit(p->host, limit, err);
    buffer_clear(&p->draft);
    return status;
}

/* ---- The stages of a turn ---------------------------------------------------------------------------------------- */

/* The next stage, with the turn's events from the first one on. */
static tdm_status go_on(player *p, player_stage stage)
{
    p->stage = stage;
    p->event = 0;
    return TDM_OK;
}

/* A turn that branches waits for the end of the reply, however early it might begin. */
static tdm_status begin(player *p, tdm_error *err)
{
    const script_turn *t = turn_of(p);
    bool early = t->start_after_tokens >= 0 && all_begun(p) && p->reply_tokens >= t->start_after_tokens;
    for (int i = 0; i < t->n_events; i++) early &= t->events[i].action != SCRIPT_BRANCH;
    if (!idle(p) && !early) return wait_for_event(p);
    if (!rested(p)) return TDM_OK;
    tdm_status status = p->functions->begin(p->host, t, err);
    for (int i = 0; i < t->n_events && !status; i++)
        if (t->events[i].action == SCRIPT_BRANCH) status = p->functions->branch(p->host, t->events[i].turn, err);
    p->character = 0;
    p->at = 0;
    p->due_ns = 0;
    return status ? status : go_on(p, PLAYER_TYPE);
}

/* Events of the keys that stand at this character. */
static tdm_status typed_events(player *p, const script_turn *t, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (; !status && p->event < t->n_events; p->event++) {
        const script_event *e = &t->events[p->event];
        if (e->at_chars != p->character) continue;
        if (e->action == SCRIPT_INSERT) status = type(p, e->text, strlen(e->text), true, err);
        if (e->action == SCRIPT_DELETE) status = erase(p, e->chars, err);
        if (e->action == SCRIPT_SEND) status = submit(p, false, err);
        if (p->waits) break;
    }
    return status;
}

static tdm_status type_one(player *p, tdm_error *err)
{
    const script_turn *t = turn_of(p);
    tdm_status status = typed_events(p, t, err);
    if (status || p->waits) return status;
    if (!p->due_ns) p->due_ns = now(p);
    const char *key = t->text + p->at;
    if (!*key) {
        p->due_ns = now(p) + (int64_t)(1e9 * t->pause_s);
        return go_on(p, PLAYER_ENTER);
    }
    int64_t due = p->due_ns + (int64_t)(1e9 * script_interval(p->script, p->turn, p->character));
    if (p->pressed || now(p) < due) return wait_until(p, due);
    size_t n = 1;
    while (utf8_continues(key[n])) n++;
    p->at += n;
    p->character++;
    p->event = 0;
    p->due_ns = due;
    p->pressed = true;
    return type(p, key, n, false, err);
}

static tdm_status enter(player *p, tdm_error *err)
{
    if (now(p) < p->due_ns) return wait_until(p, p->due_ns);
    int before = p->limit;
    tdm_status status = submit(p, true, err);
    if (status || p->waits) return status;
    p->limit_before = before;
    return go_on(p, PLAYER_LATE);
}

/* The reply that this turn waits for ends there by its limit, mostly; only one that began with a larger one is ended.
 * Not by a call that might come when this turn's own reply has begun. */
static tdm_status send_now(player *p, int after_tokens, tdm_error *err)
{
    if (p->limit_before <= after_tokens || all_begun(p)) return TDM_OK;
    return p->reply_tokens < after_tokens ? wait_for_event(p) : p->functions->send_now(p->host, err);
}

static tdm_status late_action(player *p, script_action action, tdm_error *err)
{
    if (!idle(p)) return wait_for_event(p);
    if (!rested(p)) return TDM_OK;
    bool replies = action == SCRIPT_CONTINUE || action == SCRIPT_REGENERATE;
    int limit = action == SCRIPT_CONTINUE ? p->script->max_tokens : script_reply_limit(p->script, p->turn, true);
    if (replies) asked(p, action, limit); /* before it: the host may tell of the reply meanwhile */
    else p->rested_ns = now(p) + p->rest_ns;
    return p->functions->act(p->host, action, limit, err);
}

/* What comes after the turn's message: the end of the reply that it waits for, and the late actions. */
static tdm_status late(player *p, tdm_error *err)
{
    const script_turn *t = turn_of(p);
    tdm_status status = TDM_OK;
    for (; !status && p->event < t->n_events; p->event++) {
        const script_event *e = &t->events[p->event];
        if (e->action == SCRIPT_SEND_NOW) status = send_now(p, e->after_tokens, err);
        if (script_action_is_late(e->action)) status = late_action(p, e->action, err);
        if (p->waits) return status;
    }
    if (status) return status;
    return go_on(p, ++p->turn < p->script->n ? PLAYER_BEGIN : PLAYER_END);
}

static tdm_status end(player *p, tdm_error *err)
{
    (void)err;
    return idle(p) ? go_on(p, PLAYER_DONE) : wait_for_event(p);
}

tdm_status player_step(player *p, int64_t *next_ns, tdm_error *err)
{
    static tdm_status (*const stages[PLAYER_STAGES])(player *p, tdm_error *err) = {
        [PLAYER_BEGIN] = begin,
        [PLAYER_TYPE] = type_one,
        [PLAYER_ENTER] = enter,
        [PLAYER_LATE] = late,
        [PLAYER_END] = end,
    };
    tdm_status status = TDM_OK;
    p->waits = p->pressed = false;
    while (!status && !p->waits && p->stage != PLAYER_DONE) status = stages[p->stage](p, err);
    *next_ns = p->waits ? p->next_ns : INT64_MAX;
    return status;
}
