#include "src/tui/draft/turns.h"
#include "src/chat/compact.h"

/* Text of a turn only grows; whatever else happens to it raises its revision. The reply that streams gets its text from
 * events alone (the chat is ahead of them), every other message from the chat. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "src/tui/frame/view.h"
#include "src/tui/private.h"

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

/* Makes the text this one; true when what was there stays as its beginning. */
static bool assign(struct buffer *t, const char *bytes, size_t n)
{
    bool grows = n >= t->n && (!t->n || !memcmp(t->bytes, bytes, t->n));
    if (grows) {
        buffer_append(t, bytes ? bytes + t->n : NULL, n - t->n, NULL);
    } else {
        buffer_clear(t);
        buffer_append(t, bytes, n, NULL);
    }
    return grows;
}

static void free_turn(tui_turn *turn)
{
    buffer_free(&turn->text);
    buffer_free(&turn->thinking);
    free(turn->pictures);
}

static void free_answers(tui_turns *s)
{
    for (size_t i = 0; i < TDM_ANSWERS_MAX; i++) {
        free_turn(&s->answers[i]);
        s->answers[i] = (tui_turn){0};
        s->answer_tokens[i] = 0;
    }
    s->n_answers = s->looked = 0;
}

void tui_turns_free(tui_turns *s)
{
    free_answers(s);
    for (size_t i = 0; i < s->n; i++) free_turn(&s->turns[i]);
    free(s->turns);
    free(s->shown);
    *s = (tui_turns){0};
}

/* ---- From the chat --------------------------------------------------------------------------------------------- */

static uint64_t id_of(const tui *t, int node)
{
    return ((uint64_t)t->turns.conversation << 32) | (uint32_t)node;
}

/* The time to the first token as the record of a turn has it; glyph_ns 0: not measured. */
static struct view_ttft ttft_of(const tdm_turn_stats *s, int64_t glyph_ns)
{
    static const enum view_ttft_kind kinds[] = {[TDM_TURN_FIRST] = VIEW_TTFT_FIRST,
                                                [TDM_TURN_RESUMED] = VIEW_TTFT_RESUMED,
                                                [TDM_TURN_WARM] = VIEW_TTFT_WARM,
                                                [TDM_TURN_COLD] = VIEW_TTFT_COLD};
    static const enum view_ttft_mark marks[] = {[TDM_TURN_MARK_NONE] = VIEW_TTFT_UNMARKED,
                                                [TDM_TURN_MARK_QUEUED] = VIEW_TTFT_QUEUED,
                                                [TDM_TURN_MARK_CUT] = VIEW_TTFT_CUT,
                                                [TDM_TURN_MARK_HEAD_START] = VIEW_TTFT_HEAD_START};
    return (struct view_ttft){kinds[s->kind], marks[s->mark], figures_ttft_ms(s, glyph_ns)};
}

/* The same of a turn that has ended: none where it was stopped before its first token. */
static struct view_ttft final_ttft(const tdm_turn_stats *s, int64_t glyph_ns)
{
    return s->first_id_ns ? ttft_of(s, glyph_ns) : (struct view_ttft){0};
}

static void set_stats(tui_turn *turn, const tdm_turn_stats *s)
{
    if (!s->enter_ns || !s->end_ns) return;
    turn->v.stats = (struct view_turn_stats){
        .valid = true,
        .ttft = final_ttft(s, turn->glyph_ns),
        .engine_ms = figures_ttft_ms(s, 0),
        .paced = s->paced,
        .in = (int)s->turn_tokens,
        .read_before = (int)s->turn_before_enter,
        .read_again = (int)figures_forgotten(s),
        .estimated = s->by_server && !s->counted,
        .out = (int)s->reply_tokens,
        .tok_s = s->decode_tps,
        .seconds = 1e-9 * (double)(s->end_ns - s->enter_ns),
        .answer_ms = turn->thought_ns && turn->answer_ns ? figures_ttft_ms(s, turn->answer_ns) : 0,
    };
    turn->v.thought_tokens = (int)s->thinking_tokens;
    if (turn->thought_ns) {
        int64_t end = turn->answer_ns ? turn->answer_ns : s->end_ns;
        turn->v.thought_s = 1e-9 * (double)(end - turn->thought_ns);
    }
}

static enum view_turn_state state_of(const tdm_node *node)
{
    if (node->role == TDM_USER) return VIEW_TURN_DONE;
    switch (node->finish) {
    case TDM_FINISH_LENGTH:
        return VIEW_TURN_LENGTH;
    case TDM_FINISH_REPEATS:
        return VIEW_TURN_REPEATS;
    case TDM_FINISH_CONTEXT:
        return VIEW_TURN_FULL;
    case TDM_FINISH_STOPPED:
    case TDM_FINISH_UNFINISHED:
        return VIEW_TURN_STOPPED;
    case TDM_FINISH_FAILED:
        return VIEW_TURN_FAILED;
    default: return VIEW_TURN_DONE;
    }
}

/* The answer of that node among several, or NULL. */
static tui_turn *answer_of(tui *t, int node)
{
    for (size_t i = 0; i < t->turns.n_answers; i++)
        if (t->turns.answers[i].node == node) return &t->turns.answers[i];
    return NULL;
}

static bool is_streaming(const tui_turn *turn)
{
    return turn->v.state == VIEW_TURN_ANSWERING || turn->v.state == VIEW_TURN_THINKING;
}

/* Takes the text that events have brought of an answer, which is selected from now on. */
static void take_answer(tui_turn *turn, const tui_turn *answer)
{
    if (is_streaming(turn)) return; /* it has them itself */
    assign(&turn->text, answer->text.bytes, answer->text.n);
    assign(&turn->thinking, answer->thinking.bytes, answer->thinking.n);
    turn->v.state = answer->v.state;
    turn->v.start_ns = answer->v.start_ns;
    turn->enter_ns = answer->enter_ns;
    turn->thought_ns = answer->thought_ns;
    turn->answer_ns = answer->answer_ns;
    turn->v.revision++;
}

/* True when they are those that were there. */
static bool take_pictures(tui_turn *turn, const tdm_node *node)
{
    struct view_picture *fresh = node->n_pictures ? calloc(node->n_pictures, sizeof *fresh) : NULL;
    size_t n = 0;
    for (size_t i = 0; fresh && i < node->n_pictures; i++) {
        const picture *p = picture_find(node->pictures[i].picture);
        if (p) fresh[n++] = tui_picture_view(p);
    }
    bool same = n == turn->v.n_pictures;
    for (size_t i = 0; same && i < n; i++) same = fresh[i].id == turn->pictures[i].id;
    free(turn->pictures);
    turn->v.pictures = turn->pictures = fresh;
    turn->v.n_pictures = n;
    return same;
}

static void take_node(tui *t, tui_turn *turn, const tdm_node *node)
{
    turn->v.role = node->role == TDM_USER ? VIEW_USER : VIEW_ASSISTANT;
    if (node->branch != turn->v.branch || node->branches != turn->v.branches) turn->v.revision++;
    turn->v.branch = node->branch;
    turn->v.branches = node->branches;
    /* Its text comes with the events, which may be behind: a short reply may even have ended. */
    const tui_turn *answer = answer_of(t, node->node);
    if (answer && is_streaming(answer)) {
        take_answer(turn, answer);
        return;
    }
    bool streams = t->turns.replying == node->node ||
                   (node->finish == TDM_FINISH_UNFINISHED && t->known.status.phase != TDM_PHASE_IDLE);
    if (streams && node->role == TDM_ASSISTANT) return;
    size_t attached = app_attached(&t->app, node);
    bool same = assign(&turn->text, node->text, node->length) && attached == turn->v.attached;
    turn->v.attached = attached;
    same &= take_pictures(turn, node);
    size_t thought = node->thinking ? node->thinking_length : 0;
    same &= assign(&turn->thinking, node->thinking, thought);
    if (!same) turn->v.revision++;
    t->turns.partial |= turn->text.n != node->length || turn->thinking.n != thought;
    turn->v.state = state_of(node);
    turn->v.why = turn->v.state != VIEW_TURN_FAILED ? NULL
                  : !node->length && !thought     ? "there is no reply, /regen asks again"
                  : t->app.info.on_server         ? "what came is kept, /continue goes on"
                                                  : "a unit failed; what came is kept";
    if (node->role == TDM_ASSISTANT) set_stats(turn, &node->stats);
}

tui_turn *tui_turns_find(tui *t, uint64_t id)
{
    tui_turns *s = &t->turns;
    for (size_t i = s->n; i-- > 0;)
        if (id ? s->turns[i].v.id == id : s->turns[i].v.role == VIEW_ASSISTANT) return &s->turns[i];
    return NULL;
}

static bool make_room(tui_turns *s, size_t n)
{
    struct view_turn *shown = realloc(s->shown, sizeof *shown * (n + 1));
    if (shown) s->shown = shown;
    return shown != NULL;
}

/* The old turn of that node, taken out of `old`; a fresh one when there is none. Paths ascend: *at is the first of the
 * old ones that may still be on the new one. */
static tui_turn take_old(tui *t, tui_turn *old, size_t n, size_t *at, int node)
{
    while (*at < n && old[*at].node < node) ++*at;
    if (*at == n || old[*at].node != node) return (tui_turn){.node = node, .v = {.id = id_of(t, node)}};
    tui_turn turn = old[*at];
    old[(*at)++] = (tui_turn){0};
    return turn;
}

void tui_turns_sync(tui *t)
{
    tui_turns *s = &t->turns;
    if (!app_talks(&t->app)) return;
    app_status(&t->app, &t->known.status);
    int n = app_path(&t->app, NULL, 0), number = 0;
    int *path = calloc((size_t)n + 1, sizeof *path);
    tui_turn *fresh = calloc((size_t)n + 1, sizeof *fresh);
    if (!path || !fresh || !make_room(s, (size_t)n)) {
        s->partial = true;
        free(path);
        free(fresh);
        return;
    }
    s->partial = false;
    int there = app_path(&t->app, path, n);
    if (there < n) n = there;
    size_t count = 0, at = 0;
    for (int i = 0; i < n; i++) {
        tdm_node node;
        if (app_node(&t->app, path[i], &node, NULL)) {
            s->partial = true;
            continue;
        }
        tui_turn *turn = &fresh[count++];
        *turn = take_old(t, s->turns, s->n, &at, path[i]);
        number += node.role == TDM_USER;
        turn->v.number = number;
        take_node(t, turn, &node);
        tdm_node_free(&node);
    }
    for (size_t i = 0; i < s->n; i++) free_turn(&s->turns[i]);
    free(s->turns);
    free(path);
    s->turns = fresh;
    s->n = count;
    t->face.dirty = true;
    s->looked = 0;
    while (s->looked < s->n_answers && (!s->n || s->answers[s->looked].node != s->turns[s->n - 1].node)) s->looked++;
    if (s->looked == s->n_answers && t->known.status.phase == TDM_PHASE_IDLE) free_answers(s);
}

void tui_turns_look(tui *t, int number)
{
    tdm_error err = {0};
    if (!t->turns.n_answers) {
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "there are not several answers; /answers 3 makes them");
    } else if (number < 1 || number > (int)t->turns.n_answers) {
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "there are %zu answers", t->turns.n_answers);
    } else if (app_select(&t->app, t->turns.answers[number - 1].node, &err)) {
        tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%s", err.text);
    } else {
        tui_turns_events(t);
        tui_turns_sync(t);
    }
}

bool tui_turns_take(tui *t)
{
    tui_turns *s = &t->turns;
    app_status(&t->app, &t->known.status);
    if (!s->n_answers || t->known.status.phase != TDM_PHASE_IDLE) return false;
    tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "answer %zu goes on; the others are branches (/branch, /compare)",
                    s->looked < s->n_answers ? s->looked + 1 : 1);
    free_answers(s);
    tui_turns_sync(t);
    const tui_turn *taken = tui_turns_find(t, 0);
    if (taken && taken->v.stats.valid) { /* until now they were the first answer's */
        s->ttft = taken->v.stats.ttft;
        s->tok_s = taken->v.stats.tok_s;
    }
    return true;
}

void tui_turns_fresh(tui *t)
{
    for (size_t i = 0; i < t->turns.n; i++) free_turn(&t->turns.turns[i]);
    t->turns.n = 0;
    free_answers(&t->turns);
    t->turns.conversation++;
    t->turns.replying = 0;
    t->turns.waits_for_glyph = t->turns.just_sent = false;
    t->turns.ttft = (struct view_ttft){0};
    t->turns.tok_s = 0;
    t->turns.ended = VIEW_IDLE;
    t->known.context_told = false;
    t->lists.search[0] = 0;
    tui_turns_sync(t);
    if (!t->turns.n) tui_sessions_read(&t->lists.sessions, NULL); /* the card shows the last ones */
    transcript_sent(screen_transcript(t->face.screen));
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

void tui_turns_sent(tui *t, int64_t enter_ns)
{
    t->turns.enter_ns = enter_ns;
    t->turns.waits_for_glyph = true;
    t->turns.ended = VIEW_IDLE;
    t->turns.answered_until_ns = 0;
    tui_notices_end_level(&t->notices, VIEW_NOTICE_INFO); /* earlier notices of this level go */
    tui_figures_enter(t, enter_ns);
    tui_turns_sync(t);
    t->turns.just_sent =
        t->known.status.phase != TDM_PHASE_READING || t->known.status.reading_total == t->known.status.reading_done;
}

/* One of several answers begins. */
static void on_answer(tui *t, const tdm_event *e)
{
    tui_turns *s = &t->turns;
    if (e->answer <= 1) free_answers(s);
    if (e->answers < 2 || e->answer < 1 || e->answer > TDM_ANSWERS_MAX) return;
    tui_turn *answer = &s->answers[e->answer - 1];
    *answer = (tui_turn){.node = e->node, .enter_ns = s->enter_ns};
    answer->v = (struct view_turn){.id = id_of(t, e->node), .role = VIEW_ASSISTANT, .state = VIEW_TURN_ANSWERING};
    s->n_answers = (size_t)e->answer;
}

/* One of several answers has ended: it is what its node says. */
static void end_answer(tui *t, const tdm_event *e)
{
    tui_turn *answer = answer_of(t, e->node);
    tdm_node node;
    if (!answer || app_node(&t->app, e->node, &node, NULL)) return;
    answer->v.state = VIEW_TURN_DONE; /* its text is the node's from now on */
    take_node(t, answer, &node);
    t->turns.answer_tokens[answer - t->turns.answers] = (int)e->stats.reply_tokens;
    tdm_node_free(&node);
}

/* A reply of a conversation that was in the background: its text so far comes, and then the rest. */
static void on_reply_again(tui *t, const tdm_event *e)
{
    on_answer(t, e);
    tui_turn *turn = tui_turns_find(t, id_of(t, e->node)), *answer = answer_of(t, e->node);
    if (e->finish != TDM_FINISH_UNFINISHED) {
        end_answer(t, e);
        tui_turns_sync(t);
        return;
    }
    if (turn) t->turns.replying = e->node;
    tui_turn *both[] = {turn, answer};
    for (int i = 0; i < 2; i++) {
        if (!both[i]) continue;
        buffer_clear(&both[i]->text);
        buffer_clear(&both[i]->thinking);
        both[i]->v.state = VIEW_TURN_ANSWERING;
        both[i]->v.stats.valid = false;
        both[i]->v.revision++;
        both[i]->enter_ns = e->stats.enter_ns;
    }
    if (turn) {
        t->turns.enter_ns = e->stats.enter_ns;
        t->turns.ttft = ttft_of(&e->stats, 0);
        t->turns.waits_for_glyph = !e->stats.first_id_ns;
        t->turns.after_enter = (int)e->stats.after_enter;
        t->figures.base = t->known.status.target;
    }
    tui_turns_sync(t);
}

static void on_reply(tui *t, const tdm_event *e)
{
    if (e->again) {
        on_reply_again(t, e);
        return;
    }
    on_answer(t, e);
    if (e->answer > 1) return;
    t->turns.replying = e->node;
    t->turns.waits_for_glyph = true;
    t->turns.ttft = ttft_of(&e->stats, 0);
    t->turns.after_enter = (int)e->stats.after_enter;
    tui_turns_sync(t);
    tui_turn *turn = tui_turns_find(t, id_of(t, e->node));
    if (!turn) return;
    turn->v.state = VIEW_TURN_ANSWERING;
    turn->v.stats.valid = false;
    turn->enter_ns = t->turns.enter_ns;
    turn->glyph_ns = turn->thought_ns = turn->answer_ns = 0;
    turn->v.start_ns = 0;
    t->figures.base = t->known.status.target;
}

/* The first character is drawn outside the frame clock, and its time is when the terminal has it: that frame shows none
 * yet. */
static void first_glyph(tui *t, tui_turn *turn)
{
    tui_view_draw(t);
    t->turns.waits_for_glyph = false;
    turn->glyph_ns = clock_ns();
    t->turns.ttft.ms = 1e-6 * (double)(turn->glyph_ns - turn->enter_ns);
    tui_figures_glyph(t, t->turns.ttft.ms);
    t->turns.answered_until_ns = turn->glyph_ns + 4 * TUI_S;
}

static bool visible(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", text[i])) return true;
    return false;
}

static void add_text(tui_turn *turn, const tdm_event *e, int64_t now)
{
    buffer_append(e->thinking ? &turn->thinking : &turn->text, e->text, e->length, NULL);
    turn->v.state = e->thinking ? VIEW_TURN_THINKING : VIEW_TURN_ANSWERING;
    if (!turn->v.start_ns) turn->v.start_ns = now;
    if (e->thinking && !turn->thought_ns) turn->thought_ns = now;
    if (!e->thinking && !turn->answer_ns) {
        turn->answer_ns = now;
        turn->v.start_ns = now;
        if (turn->thought_ns) turn->v.thought_s = 1e-9 * (double)(now - turn->thought_ns);
    }
}

static void on_text(tui *t, const tdm_event *e)
{
    int64_t now = clock_ns();
    tui_turn *turn = tui_turns_find(t, id_of(t, e->node)), *answer = answer_of(t, e->node);
    if (answer) {
        add_text(answer, e, now);
        t->turns.answer_tokens[answer - t->turns.answers] = (int)e->tokens;
        t->face.dirty = true;
    }
    if (!turn) return;
    add_text(turn, e, now);
    if (t->turns.waits_for_glyph && visible(e->text, e->length)) first_glyph(t, turn);
    t->face.dirty = true;
}

static void on_end(tui *t, const tdm_event *e)
{
    if (!e->writing || e->node == t->turns.replying) t->turns.replying = 0;
    end_answer(t, e);
    tui_turns_sync(t);
    tui_turn *turn = e->node ? tui_turns_find(t, id_of(t, e->node)) : NULL;
    if (turn && e->answer > 1) set_stats(turn, &e->stats); /* the turn's figures are the first answer's */
    if (e->answer > 1 && e->writing) return;
    if (!e->writing) t->turns.waits_for_glyph = false;
    if (turn && e->answer <= 1) {
        turn->enter_ns = e->stats.enter_ns;
        set_stats(turn, &e->stats);
        t->turns.ttft = final_ttft(&e->stats, turn->glyph_ns); /* to the first character, of a thought, too */
        t->turns.tok_s = e->stats.decode_tps;
        if (e->stats.first_id_ns) tui_figures_turn(t, &t->turns.ttft, &e->stats);
    } else if (!turn && !e->stats.first_id_ns) {
        t->turns.ttft = (struct view_ttft){0}; /* a server's reply that began, and of which nothing came */
    } else if (!turn && t->app.compact.ended) {
        t->turns.tok_s = e->stats.decode_tps; /* a summary's, whose ttft is shown, and which is no turn any more */
    }
    if (e->writing) return;
    t->turns.ended = t->app.compact.ended              ? VIEW_IDLE
                     : !e->node && e->answers <= 1     ? VIEW_UNANSWERED
                     : e->finish == TDM_FINISH_STOPPED ? VIEW_STOPPED
                     : e->finish == TDM_FINISH_LENGTH  ? VIEW_LENGTH
                     : e->finish == TDM_FINISH_REPEATS ? VIEW_REPEATS
                     : e->finish == TDM_FINISH_CONTEXT ? VIEW_FULL
                                                       : VIEW_IDLE;
    t->turns.enter_ns = e->stats.end_ns; /* of a queued message, whose turn may follow */
    t->known.idle_since_ns = clock_ns();
}

/* A conversation that was left has been answered. */
static void on_end_background(tui *t, const tdm_event *e)
{
    if (e->kind != TDM_EV_END || e->writing) return;
    bool ill = e->finish == TDM_FINISH_FAILED || e->finish == TDM_FINISH_CONTEXT;
    char line[BACKGROUND_STATUS];
    background_status(&t->app, line);
    tui_notices_add(&t->notices, ill ? VIEW_NOTICE_WARN : VIEW_NOTICE_INFO, "%s; ^X g goes there", line);
    t->known.status_changed_ns = clock_ns();
    t->face.dirty = true;
}

static void take_event(tui *t, const tdm_event *e)
{
    int64_t glyph_ns = 0;
    if (e->dialogue == TDM_BACK) {
        app_event(&t->app, e, 0);
        on_end_background(t, e);
        return;
    }
    if (e->kind == TDM_EV_END) {
        tui_turn *turn = e->node ? tui_turns_find(t, id_of(t, e->node)) : NULL;
        glyph_ns = turn ? turn->glyph_ns : 0;
    }
    app_event(&t->app, e, glyph_ns);
    char line[300];
    tdm_cold cold;
    switch (e->kind) {
    case TDM_EV_TURN: /* a queued message; its clock began when the reply before it ended, or with the cut */
        tui_turns_sent(t, t->turns.cut_ns ? t->turns.cut_ns : t->turns.enter_ns);
        t->turns.cut_ns = 0;
        transcript_sent(screen_transcript(t->face.screen));
        break;
    case TDM_EV_REPLY: on_reply(t, e); break;
    case TDM_EV_TEXT: on_text(t, e); break;
    case TDM_EV_END:
        on_end(t, e);
        if (t->app.compact.said) tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", t->app.compact.said);
        if (compact_due(&t->app))
            tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s", compact_offer(&t->app));
        break;
    case TDM_EV_PATH: tui_turns_sync(t); break;
    case TDM_EV_NOTICE: tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%.*s", (int)e->length, e->text); break;
    case TDM_EV_ERROR: tui_notices_add(&t->notices, VIEW_NOTICE_ERROR, "%.*s", (int)e->length, e->text); break;
    case TDM_EV_COLD:
        cold = e->cold;
        cold.warm_ms = figures_ttft_ms(&t->app.last.stats, t->app.last.glyph_ns); /* the engine knows its share only */
        figures_cold_line(&cold, t->app.last.stats.kind, line, sizeof line);
        tui_popup_page(&t->lists.popup, "cold start", line);
        break;
    default: break;
    }
    input_set_queued(t->keys.input, app_queued(&t->app) != NULL);
    t->face.dirty = true;
}

void tui_turns_events(tui *t)
{
    tdm_event e;
    if (!app_talks(&t->app)) return;
    while (app_next_event(&t->app, &e)) take_event(t, &e);
}
