#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/chat.h"
#include "engine/chat/pipeline.h"
#include "src/bench/bench_loop.h"
#include "src/bench/bench_played.h"

enum {
    MESSAGE_CHARACTERS = 370, /* about so many of a message, for the expected time */
    REPLY_TOKENS = 100,
    QUICK_REPLY_TOKENS = 24,
    BUDGET_WORDS = 12, /* typed live within a budget */
    QUICK_WORDS = 2,
    MOST_SPANS = 8192,
};

const char *bench_variant_level(const bench_variant *v)
{
    return v->pipeline == TDM_PIPE_TANDEM ? tdm_speculation_name(v->level) : "-";
}

int bench_reply_tokens(const bench *b)
{
    return b->quick ? QUICK_REPLY_TOKENS : REPLY_TOKENS;
}

static double ms(int64_t ns)
{
    return 1e-6 * (double)ns;
}

/* Words of a message that are typed live; 0: all. */
int bench_live_words(const bench *b)
{
    return b->in_full ? 0 : b->quick ? QUICK_WORDS : BUDGET_WORDS;
}

void bench_note_live_words(const bench *b, bench_table *t)
{
    if (bench_live_words(b))
        bench_table_note(t,
                         "within a budget only the last %d words are typed live, where the draft is read before Enter; "
                         "the others stand there before",
                         bench_live_words(b));
}

/* The byte where the last n words begin. */
static size_t last_words(const char *text, int n)
{
    size_t at = strlen(text);
    while (n-- && at) {
        at--;
        while (at && text[at - 1] != ' ') at--;
    }
    return at;
}

/* Turns of a conversation as a script; the texts are malloc'ed. */
struct scripted {
    char *text[BENCH_TALK_TURNS], *there[BENCH_TALK_TURNS]; /* the latter stands there before the typing begins */
    script_turn turns[BENCH_TALK_TURNS];
    script_event paste[BENCH_TALK_TURNS];
};

/* Nobody looks at the draft below level draft: its typing would be mere waiting. There a second lets a follower that is
 * behind catch up. */
static tdm_status script_one_turn(const bench *b, struct scripted *s, int turn, const bench_variant *v,
                                  const bench_keying *typing, bench_talk *talk, bench_played *out, tdm_error *err)
{
    const char *text = s->text[turn];
    bool looked_at = v->pipeline == TDM_PIPE_TANDEM && v->level >= TDM_SPEC_DRAFT;
    bool typed = turn && (looked_at || typing->unread), follows = turn && !typed && v->level == TDM_SPEC_HISTORY;
    size_t there = !typed ? strlen(text) : typing->last_words ? last_words(text, typing->last_words) : 0;
    if (!(s->there[turn] = strndup(text, there))) return error_set(err, TDM_E_NOMEM, "out of memory");
    s->paste[turn] = (script_event){.action = SCRIPT_INSERT, .text = s->there[turn], .after_tokens = -1};
    s->turns[turn] = (script_turn){.text = text + there,
                                   .pause_s = typed ? typing->gap_s[turn] : follows ? 1 : 0,
                                   .start_after_tokens =
                                       turn && typing->while_it_streams ? bench_reply_tokens(b) / 5 : -1,
                                   .speculation = -1,
                                   .events = &s->paste[turn],
                                   .n_events = there > 0};
    talk->unread[turn] = !typed && !follows;
    out->typed[turn] = typed ? strlen(text) - there : 0;
    return TDM_OK;
}

/* Fills in prefill_ms, pause_ms and the history's part, from the spans of both units since the conversation began. */
static tdm_status add_spans(tdm_machine *machine, int64_t since_ns, int turns, bench_played *p, tdm_error *err)
{
    tdm_span *spans = malloc(sizeof *spans * MOST_SPANS);
    if (!spans) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (int u = 0; u < TDM_UNITS; u++) {
        size_t n = tdm_unit_spans(machine, u, since_ns, spans, MOST_SPANS);
        for (size_t i = 0; i < n; i++) {
            const tdm_span *s = &spans[i];
            int turn = 0;
            if (s->kind > TDM_SPAN_PROMPT || !s->end_ns) continue;
            while (turn < turns && p->stats[turn].first_id_ns <= s->start_ns) turn++;
            if (turn == turns) continue; /* the follower after the last turn */
            if (s->kind == TDM_SPAN_HISTORY) {
                p->history_ms[turn] += ms(s->end_ns - s->start_ns);
                p->history_tokens[turn] += s->tokens;
            }
            p->prefill_ms[turn] += ms(s->end_ns - s->start_ns);
            int64_t key = p->last_key_ns[turn];
            if (s->kind == TDM_SPAN_SUFFIX && key && s->start_ns > key && s->start_ns < p->stats[turn].enter_ns &&
                (p->pause_ms[turn] <= 0 || ms(s->start_ns - key) < p->pause_ms[turn]))
                p->pause_ms[turn] = ms(s->start_ns - key);
        }
    }
    free(spans);
    return TDM_OK;
}

/* The figures of the turns' replies. */
static tdm_status add_stats(const tdm_chat *chat, int turns, bench_played *out, tdm_error *err)
{
    int path[2 * BENCH_TALK_TURNS], n = tdm_chat_path(chat, path, 2 * BENCH_TALK_TURNS);
    if (n != 2 * turns) return error_set(err, TDM_E_IO, "bench: the conversation has %d messages", n);
    for (int i = 1; i < n; i += 2) {
        tdm_node node;
        tdm_status status = tdm_chat_node(chat, path[i], &node, err);
        if (status) return status;
        out->stats[i / 2] = node.stats;
        tdm_node_free(&node);
    }
    return TDM_OK;
}

/* One conversation. With v->keeps it has the template of Qwen3.8, thinking off, and ends its replies itself: an ignored
 * end token is no part of the text. */
tdm_status bench_play(bench *b, tdm_machine *machine, const bench_variant *v, const bench_keying *typing, int seed,
                       bench_played *out, tdm_error *err)
{
    struct tdm_model *model = b->models.model;
    struct template_form form = model->form;
    *out = (bench_played){0};
    tdm_chat_options o;
    bench_chat_options(b, &o);
    o.pipeline = v->pipeline;
    o.speculation = v->level;
    o.max_tokens = bench_reply_tokens(b);
    o.ignore_eos = !v->keeps;
    if (v->keeps) model->form = (struct template_form){TEMPLATE_QWEN38, true, false};
    struct scripted s = {0};
    const script turns = {.turns = s.turns, .n = typing->turns, .max_tokens = o.max_tokens, .typing_cps = typing->cps,
                          .seed = (uint64_t)seed};
    bench_talk talk = {0};
    tdm_status status = TDM_OK;
    for (int i = 0; i < typing->turns && !status; i++)
        status = bench_prompt_message(&b->prompt, model, 97 * (BENCH_TALK_TURNS * seed + i), BENCH_MESSAGE_TOKENS,
                                      &s.text[i], err);
    int64_t began_ns = clock_ns();
    if (!status) status = bench_talk_open(&talk, model, machine, &o, err);
    if (!status) talk.chat.chat->never_adopts = !v->adopts;
    for (int i = 0; i < typing->turns && !status; i++) status = script_one_turn(b, &s, i, v, typing, &talk, out, err);
    if (!status) status = bench_talk_play(&talk, &turns, err);
    for (int i = 0; i < typing->turns; i++)
        if (out->typed[i]) out->last_key_ns[i] = talk.last_key_ns[i];
    if (!status) status = add_stats(talk.chat.chat, typing->turns, out, err);
    if (!status) status = add_spans(machine, began_ns, typing->turns, out, err);
    bench_talk_close(&talk);
    model->form = form;
    for (int i = 0; i < typing->turns; i++) {
        free(s.text[i]);
        free(s.there[i]);
    }
    return status;
}

/* What a conversation takes, in seconds. */
double bench_played_s(const bench *b, const bench_variant *v, const bench_keying *typing)
{
    enum { FRAME = 15, SUFFIX = 12, CHARACTERS_A_WORD = 6 };
    static const int pieces[] = {
        [PIECES_WHOLE] = 128, [PIECES_SLOTS] = 64, [PIECES_ONE] = 1, [PIECES_DISPATCH] = BENCH_LOOP_DISPATCH};
    bool follows = v->pipeline == TDM_PIPE_TANDEM && v->level >= TDM_SPEC_HISTORY;
    bool looked_at = v->pipeline == TDM_PIPE_TANDEM && v->level >= TDM_SPEC_DRAFT;
    int live = typing->last_words ? CHARACTERS_A_WORD * typing->last_words : MESSAGE_CHARACTERS;
    double seconds = 0;
    for (int turn = 0; turn < typing->turns; turn++) {
        int prompt = FRAME + BENCH_MESSAGE_TOKENS + turn * (FRAME + BENCH_MESSAGE_TOKENS + bench_reply_tokens(b));
        int after = turn && looked_at ? SUFFIX : turn && follows ? SUFFIX + BENCH_MESSAGE_TOKENS : prompt;
        seconds += bench_cost_prefill(b, after, pieces[pipeline_of(v->pipeline)->pieces]) +
                   bench_cost_decode(b, bench_reply_tokens(b));
        if (!turn) continue;
        if (looked_at || typing->unread) /* the message stands there, is read, and its last words are typed */
            seconds += 0.3 + bench_cost_prefill(b, BENCH_MESSAGE_TOKENS, BENCH_LOOP_DISPATCH) + live / typing->cps +
                       typing->gap_s[turn];
        else if (follows)
            seconds += 1.3;
    }
    return seconds;
}
