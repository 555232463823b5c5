#include "src/tui/tui_demo.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/chat/load.h"
#include "src/chat/player.h"
#include "src/tui/tui.h"
#include "src/tui/tui_private.h"
#include "src/tui/tui_view.h"

enum { PACE_TPS = 30, FIRST_PAUSE_MS = 1500, REST_MS = 600, LAST_PAUSE_MS = 2500 };

struct tui_demo {
    script s;
    player player;
    bool playing;  /* the model was there, and the user's conversation is put aside */
    tui_action *actions; /* what the player's last step asks for, that was not handed out yet, in order */
    int n_actions, room;
    int64_t next_ns; /* of the player's next step */
    app_parked parked; /* the user's conversation, while playing */
    char *draft;
    tui_turns turns;
    tui_turn_log log;
    struct played {
        tdm_turn_kind kind;
        double ms; /* Enter to the first glyph; 0: it is not compared */
    } *played;     /* [s.n] */
};

static void on_event(tui *t, const tdm_event *e)
{
    struct tui_demo *d = t->demo;
    if (!d->playing) return;
    player_event(&d->player, e);
    if (e->kind == TDM_EV_END && e->stats.mark == TDM_UNMARKED && d->player.ended)
        d->played[player_ended(&d->player)->turn] = (struct played){e->stats.kind, t->turns.ttft.ms};
    if (d->next_ns == INT64_MAX) d->next_ns = clock_ns();
}

/* ---- Beginning and ending -------------------------------------------------------------------------------------- */

char *tui_demo_script(void)
{
    const char *model = load_builtin();
    char path[PATH_MAX + 16];
    if (!model) return NULL;
    snprintf(path, sizeof path, "%s", model);
    char *name = strrchr(path, '/');
    if (!name) return NULL;
    strcpy(name, "/demo.json");
    return strdup(path);
}

void tui_demo_begin(tui *t, const char *path)
{
    tdm_error err = {0};
    if (t->demo) return;
    char *found = path ? strdup(path) : tui_demo_script();
    struct tui_demo *d = calloc(1, sizeof *d);
    bool read = found && d && !script_read(&d->s, found, &err);
    free(found);
    if (!read || !(d->played = calloc((size_t)d->s.n + 1, sizeof *d->played))) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text[0] ? err.text : "the demo is not installed");
        if (read) script_free(&d->s);
        free(d);
        return;
    }
    t->demo = d;
    t->heard = on_event;
    d->next_ns = clock_ns();
}

/* A reply ends where the script says, stop and send_now alike: by a limit that is there before it begins. */
static void limit_reply(tui *t, int limit)
{
    tdm_chat_options c;
    tdm_chat_options_of(t->app.chat, &c);
    c.max_tokens = limit;
    tdm_chat_configure(t->app.chat, &c, NULL);
}

static bool configure(tui *t, const script_turn *turn, tdm_error *err)
{
    struct tui_demo *d = t->demo;
    tdm_chat_options c = d->parked.settings, now;
    tdm_chat_options_of(t->app.chat, &now);
    c.max_tokens = now.max_tokens; /* of a reply that may not have begun */
    c.max_answer_tokens = 0;
    if (d->s.temperature >= 0) c.sampling.temperature = (float)d->s.temperature;
    c.sampling.seed = d->s.seed;
    if (!(c.pace_tps > 0)) c.pace_tps = PACE_TPS;
    if (turn && turn->speculation >= 0) c.speculation = (tdm_speculation)turn->speculation;
    return !tdm_chat_configure(t->app.chat, &c, err);
}

/* ---- Keys: what the player asks for becomes actions -------------------------------------------------------------- */

static tdm_status add(tui *t, tui_action a, tdm_error *err)
{
    struct tui_demo *d = t->demo;
    tui_action *larger = d->actions;
    int room = d->n_actions < d->room ? d->room : 2 * d->room + 4;
    if (room > d->room) larger = realloc(d->actions, (size_t)room * sizeof *larger);
    if (!larger || a.kind == TUI_ACTION_NONE) {
        free(a.text);
        return error_set(err, TDM_E_NOMEM, "out of memory");
    }
    d->actions = larger;
    d->room = room;
    d->actions[d->n_actions++] = a;
    return TDM_OK;
}

static int64_t now(void *host)
{
    (void)host;
    return clock_ns();
}

static tdm_status begin(void *host, const script_turn *turn, tdm_error *err)
{
    tui *t = host;
    /* A change of level in the middle of a reply would show in that reply. */
    if (!configure(t, turn, err)) tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err->text);
    return TDM_OK;
}

/* The message is typed from nothing: no head start. */
static tdm_status branch(void *host, int turn, tdm_error *err)
{
    tdm_status status = add(host, tui_action_number(SLASH_EDIT, turn), err);
    return status ? status : add(host, (tui_action){.kind = TUI_ACTION_CLEAR}, err);
}

static tdm_status type(void *host, const char *text, size_t n, bool pasted, tdm_error *err)
{
    char *copy = strndup(text, n);
    tui_action a = {.kind = pasted ? TUI_ACTION_PASTE : TUI_ACTION_TYPE, .text = copy};
    if (!copy) a.kind = TUI_ACTION_NONE;
    return add(host, a, err);
}

static tdm_status erase(void *host, int characters, tdm_error *err)
{
    tui_action a = {.kind = TUI_ACTION_TYPE, .text = calloc((size_t)characters + 1, 1)};
    if (a.text) memset(a.text, 0x7f, (size_t)characters);
    else a.kind = TUI_ACTION_NONE;
    return add(host, a, err);
}

static tdm_status submit(void *host, int reply_limit, tdm_error *err)
{
    limit_reply(host, reply_limit);
    return add(host, tui_action_type("\r"), err);
}

static tdm_status send_now(void *host, tdm_error *err)
{
    return add(host, tui_action_key(ACTION_SEND_NOW, 1), err);
}

static tdm_status act(void *host, script_action action, int reply_limit, tdm_error *err)
{
    static const slash_id by[SCRIPT_ACTIONS] = {[SCRIPT_CONTINUE] = SLASH_CONTINUE, [SCRIPT_REGENERATE] = SLASH_REGEN,
                                                [SCRIPT_UNDO] = SLASH_UNDO, [SCRIPT_REDO] = SLASH_REDO};
    if (action == SCRIPT_CONTINUE || action == SCRIPT_REGENERATE) limit_reply(host, reply_limit);
    return add(host, tui_action_command(by[action], NULL), err);
}

static const player_functions keys = {.now = now, .begin = begin, .branch = branch, .type = type, .erase = erase,
                                      .submit = submit, .send_now = send_now, .act = act};

/* ---- The user's conversation ----------------------------------------------------------------------------------- */

static bool put_aside(tui *t, tdm_error *err)
{
    struct tui_demo *d = t->demo;
    struct input_view in;
    tui_draft_end_editing(t);
    if (app_park(&t->app, &d->parked, err)) return false;
    input_view(t->input, clock_ns(), &in);
    d->draft = strndup(in.text, in.length);
    d->turns = t->turns;
    t->turns = (tui_turns){.conversation = d->turns.conversation};
    tui_turns_events(t);
    d->log = t->figures.log;
    t->figures.log.n = 0;
    return true;
}

/* The turns as they were, of a conversation whose nodes are numbered as before, under ids that nothing has had. */
static void show_again(tui *t, tui_turns *kept)
{
    uint32_t conversation = t->turns.conversation + 1;
    tui_turns_free(&t->turns);
    t->turns = *kept;
    t->turns.conversation = conversation;
    t->turns.replying = 0;
    for (size_t i = 0; i < t->turns.n; i++) {
        struct view_turn *v = &t->turns.turns[i].v;
        v->id = (uint64_t)conversation << 32 | (uint32_t)v->id;
    }
    tui_turns_sync(t);
}

static void put_back(tui *t, struct tui_demo *d)
{
    tdm_error err = {0};
    app_end_parking(&t->app);
    tui_turns_events(t); /* of the demo's nodes */
    if (app_unpark(&t->app, &d->parked, &err)) tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
    tui_turns_events(t);
    t->figures.log = d->log;
    tui_draft_forget(t);
    tui_turns_fresh(t);
    show_again(t, &d->turns);
    input_set_text(t->input, d->draft ? d->draft : "");
    free(d->draft);
    tui_view_name_model(t);
}

/* The model is there: a conversation of its own. */
static void start(tui *t)
{
    tdm_error err = {0};
    struct tui_demo *d = t->demo;
    if (t->load.state == TUI_LOAD_RUNNING) {
        d->next_ns = clock_ns() + 50 * TUI_MS;
        return;
    }
    if (!t->app.chat) {
        tui_demo_end(t);
        return;
    }
    if (!put_aside(t, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        tui_demo_end(t);
        return;
    }
    player_open(&d->player, &d->s, &keys, t);
    d->player.rest_ns = REST_MS * TUI_MS;
    d->playing = true;
    const char *system = d->s.system ? d->s.system : "";
    if (script_load_history(&d->s, t->app.chat, system, &err) || !configure(t, NULL, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        tui_demo_end(t);
        return;
    }
    tui_turns_events(t);
    tui_draft_forget(t);
    tui_turns_fresh(t);
    input_set_text(t->input, "");
    d->next_ns = clock_ns() + FIRST_PAUSE_MS * TUI_MS;
    tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "the demo types by itself; any key ends it%s",
                   d->parked.s.n ? " and brings your conversation back" : "");
}

void tui_demo_end(tui *t)
{
    struct tui_demo *d = t->demo;
    if (!d) return;
    t->demo = NULL;
    t->heard = NULL;
    if (d->playing) {
        tui_notices_end(&t->notices); /* of the demo's turns */
        put_back(t, d);
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "the demo has ended%s",
                       tdm_chat_nodes(t->app.chat) ? "; your conversation is back" : "");
    }
    for (int i = 0; i < d->n_actions; i++) free(d->actions[i].text);
    free(d->actions);
    player_close(&d->player);
    script_free(&d->s);
    free(d->played);
    free(d);
}

/* The turns that were played twice, with the same question at the same place: warm and cold. */
static void collect_pairs(const struct tui_demo *d, figures_row *warm, figures_row *cold)
{
    for (int i = 0; i < d->s.n; i++) {
        if (d->played[i].kind != TDM_COLD || !(d->played[i].ms > 0)) continue;
        for (int k = 0; k < d->s.n; k++) {
            bool same =
                d->played[k].kind == TDM_WARM && d->played[k].ms > 0 && !strcmp(d->s.turns[i].text, d->s.turns[k].text);
            if (!same) continue;
            figures_add(warm, d->played[k].ms);
            figures_add(cold, d->played[i].ms);
            break;
        }
    }
}

static void compare(tui *t)
{
    char text[600], ahead[32], after[32];
    figures_row warm = {0}, cold = {0};
    collect_pairs(t->demo, &warm, &cold);
    figures_number(figures_median(&warm), ahead);
    figures_number(figures_median(&cold), after);
    if (warm.n)
        snprintf(text, sizeof text,
                 "Enter to the first word, median of the %d %s played both ways:\n\n"
                 "  warm, read ahead          %10s ms\n"
                 "  cold, read after Enter    %10s ms\n\n"
                 "The same model, the same machine, the same conversation: only the time of reading differs.\n"
                 "/cold asks your last message again from an empty state; /ab on compares your own turns.",
                 warm.n, warm.n == 1 ? "turn that was" : "turns that were", ahead, after);
    else
        snprintf(text, sizeof text,
                 "No turn was played both ways, read ahead and read after Enter: there is nothing to compare.\n"
                 "/stats tells the times of the turns; /ab on compares your own.");
    figures_row_free(&warm);
    figures_row_free(&cold);
    tui_demo_end(t);
    tui_popup_page(&t->popup, "the demo's figures", text);
}

/* ---- Steps ----------------------------------------------------------------------------------------------------- */

static void play(tui *t, int64_t now_ns)
{
    struct tui_demo *d = t->demo;
    tdm_error err;
    if (player_step(&d->player, &d->next_ns, &err)) { /* without memory: all else that fails is told by the screen */
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
        tui_demo_end(t);
    } else if (player_done(&d->player)) {
        d->next_ns = now_ns + LAST_PAUSE_MS * TUI_MS;
    }
}

tui_action tui_demo_step(tui *t, int64_t now_ns)
{
    struct tui_demo *d = t->demo;
    if (!d->n_actions) {
        if (!d->playing) start(t);
        else if (player_done(&d->player)) compare(t);
        else play(t, now_ns);
        d = t->demo;
    }
    if (!d || !d->n_actions) return (tui_action){0};
    tui_action first = d->actions[0];
    memmove(d->actions, d->actions + 1, (size_t)--d->n_actions * sizeof first);
    return first;
}

int64_t tui_demo_deadline(const tui *t)
{
    if (!t->demo) return INT64_MAX;
    return t->demo->n_actions ? 0 : t->demo->next_ns;
}
