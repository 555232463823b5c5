/* A conversation that types itself: the format of src/chat/script.h, played through the same keys as a person's.
 *
 * It runs in a private conversation of its own on the script's prepared history. The user's conversation is put aside
 * meanwhile, with its settings, its draft and what the screen shows of it, and comes back however the demo ends: by any
 * key or by itself, with a page that compares the turns with and without reading ahead. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/chat/load.h"
#include "src/chat/player.h"
#include "src/tui/tui.h"
#include "src/tui/tui_private.h"

enum { PACE_TPS = 30, FIRST_PAUSE_MS = 1500, REST_MS = 600, LAST_PAUSE_MS = 2500 };

struct tui_demo {
    script s;
    player player;
    bool playing;  /* the model was there, and the user's conversation is put aside */
    bool stepping; /* a key of the script is being pressed */
    bool over;     /* ended by what that key does */
    int64_t next_ns;
    app_parked parked; /* the user's conversation, while playing */
    char *draft;
    tui_turns turns;
    struct view_monitor_turn monitor_turns[TUI_MONITOR_TURNS];
    size_t n_monitor_turns;
    int seen_turns;
    struct played {
        tdm_turn_kind kind;
        double ms; /* Enter to the first glyph; 0: it is not compared */
    } *played;     /* [s.n] */
};

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

bool tui_demo_begin(tui *t, const char *path)
{
    tdm_error err = {0};
    if (t->demo) return false;
    char *found = path ? strdup(path) : tui_demo_script();
    struct tui_demo *d = calloc(1, sizeof *d);
    if (!found || !d || script_read(&d->s, found, &err) ||
        !(d->played = calloc((size_t)d->s.n + 1, sizeof *d->played))) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text[0] ? err.text : "the demo is not installed");
        free(found);
        free(d);
        return false;
    }
    free(found);
    t->demo = d;
    d->next_ns = clock_ns();
    return true;
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

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static void press(tui *t, enum decoder_kind kind, const char *bytes, size_t n)
{
    const struct decoder_event e = {.kind = kind, .time_ns = clock_ns(), .data = bytes, .length = n};
    input_feed_event(t->input, &e);
    tui_input(t);
    t->dirty = t->urgent = true;
}

static int64_t now(void *host)
{
    (void)host;
    return clock_ns();
}

static tdm_status begin(void *host, const script_turn *turn, tdm_error *err)
{
    /* A change of level in the middle of a reply would show in that reply. */
    if (!configure(host, turn, err)) tui_notice_add(host, VIEW_NOTICE_ERROR, "%s", err->text);
    return TDM_OK;
}

static tdm_status branch(void *host, int turn, tdm_error *err)
{
    tui *t = host;
    (void)err;
    tui_act(t, tui_action_number(SLASH_EDIT, turn));
    input_set_text(t->input, "");
    tui_draft_tell(t); /* typed from nothing: no head start */
    return TDM_OK;
}

static tdm_status type(void *host, const char *text, size_t n, bool pasted, tdm_error *err)
{
    (void)err;
    press(host, pasted ? DECODER_PASTE : DECODER_BYTES, text, n);
    return TDM_OK;
}

static tdm_status erase(void *host, int characters, tdm_error *err)
{
    (void)err;
    while (characters--) press(host, DECODER_BYTES, "\x7f", 1);
    return TDM_OK;
}

static tdm_status submit(void *host, int reply_limit, tdm_error *err)
{
    (void)err;
    limit_reply(host, reply_limit);
    press(host, DECODER_BYTES, "\r", 1);
    return TDM_OK;
}

static tdm_status send_now(void *host, tdm_error *err)
{
    tui *t = host;
    (void)err;
    tdm_chat_send_now(t->app.chat, clock_ns());
    return TDM_OK;
}

static tdm_status act(void *host, script_action action, int reply_limit, tdm_error *err)
{
    static const slash_id by[SCRIPT_ACTIONS] = {[SCRIPT_CONTINUE] = SLASH_CONTINUE, [SCRIPT_REGENERATE] = SLASH_REGEN,
                                                [SCRIPT_UNDO] = SLASH_UNDO, [SCRIPT_REDO] = SLASH_REDO};
    (void)err;
    if (action == SCRIPT_CONTINUE || action == SCRIPT_REGENERATE) limit_reply(host, reply_limit);
    tui_act(host, tui_action_command(by[action], NULL));
    return TDM_OK;
}

static const player_functions keys = {.now = now, .begin = begin, .branch = branch, .type = type, .erase = erase,
                                      .submit = submit, .send_now = send_now, .act = act};

/* ---- The user's conversation ----------------------------------------------------------------------------------- */

static bool put_aside(tui *t, tdm_error *err)
{
    struct tui_demo *d = t->demo;
    struct input_view in;
    if (t->editing) { /* the path ends before the message that is edited */
        tui_draft_leave_editing(t);
        tdm_chat_edit(t->app.chat, 0, NULL);
    }
    if (app_park(&t->app, &d->parked, err)) return false;
    input_view(t->input, clock_ns(), &in);
    d->draft = strndup(in.text, in.length);
    d->turns = t->turns;
    t->turns = (tui_turns){.conversation = d->turns.conversation};
    tui_turns_events(t);
    memcpy(d->monitor_turns, t->figures.turns, sizeof d->monitor_turns);
    d->n_monitor_turns = t->figures.n_turns;
    d->seen_turns = t->figures.seen_turns;
    t->figures.n_turns = 0;
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
    if (app_unpark(&t->app, &d->parked, &err)) tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
    tui_turns_events(t);
    memcpy(t->figures.turns, d->monitor_turns, sizeof d->monitor_turns);
    t->figures.n_turns = d->n_monitor_turns;
    t->figures.seen_turns = d->seen_turns;
    tui_set(&t->told, NULL);
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
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        tui_demo_end(t);
        return;
    }
    player_open(&d->player, &d->s, &keys, t);
    d->player.rest_ns = REST_MS * TUI_MS;
    d->playing = true;
    const char *system = d->s.system ? d->s.system : "";
    if (script_load_history(&d->s, t->app.chat, system, &err) || !configure(t, NULL, &err)) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        tui_demo_end(t);
        return;
    }
    tui_turns_events(t);
    tui_set(&t->told, NULL);
    tui_turns_fresh(t);
    input_set_text(t->input, "");
    d->next_ns = clock_ns() + FIRST_PAUSE_MS * TUI_MS;
    tui_notice_add(t, VIEW_NOTICE_INFO, "the demo types by itself; any key ends it%s",
                   d->parked.s.n ? " and brings your conversation back" : "");
}

void tui_demo_end(tui *t)
{
    struct tui_demo *d = t->demo;
    if (!d) return;
    d->over = d->stepping;
    if (d->over) return; /* when the step is done */
    t->demo = NULL;
    if (d->playing) {
        tui_notices_end(&t->notices); /* of the demo's turns */
        put_back(t, d);
        tui_notice_add(t, VIEW_NOTICE_INFO, "the demo has ended%s",
                       tdm_chat_nodes(t->app.chat) ? "; your conversation is back" : "");
    }
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

void tui_demo_step(tui *t, int64_t now_ns)
{
    struct tui_demo *d = t->demo;
    tdm_error err;
    if (!d->playing) {
        start(t);
        return;
    }
    if (player_done(&d->player)) {
        compare(t);
        return;
    }
    d->stepping = true;
    if (player_step(&d->player, &d->next_ns, &err)) { /* without memory: all else that fails is told by the screen */
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        d->over = true;
    }
    d->stepping = false;
    if (d->over) tui_demo_end(t);
    else if (player_done(&d->player)) d->next_ns = now_ns + LAST_PAUSE_MS * TUI_MS;
}

int64_t tui_demo_deadline(const tui *t)
{
    return t->demo ? t->demo->next_ns : INT64_MAX;
}

void tui_demo_event(tui *t, const tdm_event *e)
{
    struct tui_demo *d = t->demo;
    if (!d || !d->playing) return;
    player_event(&d->player, e);
    if (e->kind == TDM_EV_END && e->stats.mark == TDM_UNMARKED && d->player.ended)
        d->played[player_ended(&d->player)->turn] = (struct played){e->stats.kind, t->turns.ttft.ms};
    if (d->next_ns == INT64_MAX) d->next_ns = clock_ns();
}
