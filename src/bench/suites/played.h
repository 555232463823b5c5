/* Conversations that `tandem bench turns` plays: typed in real time, on one machine, in one pipeline and level of
 * speculation; and their results. */
#ifndef TANDEM_SRC_BENCH_PLAYED_H
#define TANDEM_SRC_BENCH_PLAYED_H

#include "src/bench/bench.h"
#include "src/bench/talk.h"

enum { BENCH_MESSAGE_TOKENS = 74 };

typedef struct {
    tdm_pipeline pipeline;
    tdm_speculation level;
    bool keeps, adopts; /* past turns render as they were decoded; the follower may take over the decoder's state */
    bool varied;        /* no token is repeated soon */
    tdm_thinking think;
} bench_variant;

/* How a conversation is typed. */
typedef struct {
    int turns;
    double cps, gap_s[BENCH_TALK_TURNS];
    int last_words; /* words of a message that are typed live; the others are in the draft before. 0: all */
    bool while_it_streams;
    bool unread; /* type also if the draft is not read before Enter, so that typing takes equally long in all
                    variants */
} bench_keying;

typedef struct {
    tdm_turn_stats stats[BENCH_TALK_TURNS];
    size_t typed[BENCH_TALK_TURNS];       /* characters */
    int64_t last_key_ns[BENCH_TALK_TURNS]; /* 0: nothing was typed live */
    double history_ms[BENCH_TALK_TURNS];  /* of prefill_ms, on tokens before the user's message */
    double history_tokens[BENCH_TALK_TURNS]; /* those tokens */
    double prefill_ms[BENCH_TALK_TURNS];  /* time of both units for the turn's prompt, before and after Enter */
    double pause_ms[BENCH_TALK_TURNS]; /* from the last key to the evaluation of the suffix before Enter; 0: there was
                                          none */
} bench_played;

/* Plays a conversation whose words differ by seed. */
tdm_status bench_play(bench *b, tdm_machine *machine, const bench_variant *v, const bench_keying *typing, int seed,
                      bench_played *out, tdm_error *err);

/* "full"; "-" in a pipeline without levels. */
const char *bench_variant_level(const bench_variant *v);
int bench_reply_tokens(const bench *b);
/* bench_live_words: words of a message that are typed live; 0: all. bench_note_live_words: says so below the table. */
int bench_live_words(const bench *b);
void bench_note_live_words(const bench *b, bench_table *t);

#endif
