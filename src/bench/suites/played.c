#include <stdlib.h>
#include <string.h>

#include "src/bench/suites/played.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/object/model.h"
#include "engine/tandem/measure.h"

enum {
    REPLY_TOKENS = 100,
    QUICK_REPLY_TOKENS = 24,
    BUDGET_WORDS = 12, /* typed live within a budget */
    QUICK_WORDS = 2,
    MAX_SPANS = 8192,
};

const char *bench_variant_level(const bench_variant *v)
{
    return v->pipeline == TDM_PIPE_TANDEM ? tdm_speculation_name(v->level) : "-";
}

int bench_reply_tokens(const bench *b)
{
    return (int)options_int(b->o, OPTION_BENCH_REPLY, b->quick ? QUICK_REPLY_TOKENS : REPLY_TOKENS);
}

static double ms(int64_t ns)
{
    return 1e-6 * (double)ns;
}

/* Words of a message that are typed live; 0: all. */
int bench_live_words(const bench *b)
{
    return b->full_counts ? 0 : b->quick ? QUICK_WORDS : BUDGET_WORDS;
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

/* Below level draft the draft is not read, so typing it would only take time. At level history the script pauses for a
 * second instead, in which a follower that is behind catches up. */
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
    tdm_span *spans = malloc(sizeof *spans * MAX_SPANS);
    if (!spans) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (int u = 0; u < TDM_UNITS; u++) {
        size_t n = tdm_unit_spans(machine, u, since_ns, spans, MAX_SPANS);
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
    int path[2 * BENCH_TALK_TURNS], n = tdm_chat_path(chat, TDM_FRONT, path, 2 * BENCH_TALK_TURNS);
    if (n != 2 * turns)
        return error_set(err, TDM_E_IO, "bench: expected %d messages after %d turns, found %d", 2 * turns, turns, n);
    for (int i = 1; i < n; i += 2) {
        tdm_node node;
        tdm_status status = tdm_chat_node(chat, TDM_FRONT, path[i], &node, err);
        if (status) return status;
        out->stats[i / 2] = node.stats;
        tdm_node_free(&node);
    }
    return TDM_OK;
}

/* One conversation. With v->keeps it has ChatML's template, which renders past turns as they were decoded, and ends its
 * replies itself: an ignored end token is no part of the text. */
tdm_status bench_play(bench *b, tdm_machine *machine, const bench_variant *v, const bench_keying *typing, int seed,
                       bench_played *out, tdm_error *err)
{
    struct tdm_model *model = b->models.model;
    struct template *own = model->template, *keeps = NULL;
    *out = (bench_played){0};
    tdm_chat_options o;
    bench_chat_options(b, &o);
    o.pipeline = v->pipeline;
    o.speculation = v->level ? v->level : TDM_SPEC_OFF; /* a pipeline without levels */
    o.max_tokens = bench_reply_tokens(b);
    o.ignore_eos = !v->keeps;
    if (v->varied) o.sampling.repeat_penalty = 100;
    o.think = v->think;
    struct scripted s = {0};
    const script turns = {.turns = s.turns, .n = typing->turns, .max_tokens = o.max_tokens, .typing_cps = typing->cps,
                          .seed = (uint64_t)seed};
    bench_talk talk = {0};
    tdm_status status = TDM_OK;
    if (v->keeps) status = template_new(&keeps, &(struct template_source){.tokenizer = model->tokenizer}, err);
    if (keeps) model->template = keeps;
    for (int i = 0; i < typing->turns && !status; i++)
        status = bench_prompt_message(&b->prompt, model, 97 * (BENCH_TALK_TURNS * seed + i), BENCH_MESSAGE_TOKENS,
                                      &s.text[i], err);
    int64_t began_ns = clock_ns();
    if (!status) status = bench_talk_open(&talk, model, machine, &o, err);
    if (!status) tdm_chat_set_adoption(talk.chat.chat, v->adopts);
    for (int i = 0; i < typing->turns && !status; i++) status = script_one_turn(b, &s, i, v, typing, &talk, out, err);
    if (!status) status = bench_talk_play(&talk, &turns, err);
    for (int i = 0; i < typing->turns; i++)
        if (out->typed[i]) out->last_key_ns[i] = talk.last_key_ns[i];
    if (!status) status = add_stats(talk.chat.chat, typing->turns, out, err);
    if (!status) status = add_spans(machine, began_ns, typing->turns, out, err);
    bench_talk_close(&talk);
    model->template = own;
    template_free(keeps);
    for (int i = 0; i < typing->turns; i++) {
        free(s.text[i]);
        free(s.there[i]);
    }
    return status;
}
