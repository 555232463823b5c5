/* Conversations that benches play on a chat: opened fresh, typed in real time, waited for. Replies have exactly the
 * tokens asked for, greedy, so that every pipeline and level gives the same. */
#ifndef TANDEM_SRC_BENCH_TALK_H
#define TANDEM_SRC_BENCH_TALK_H

#include "engine/tandem.h"

typedef struct {
    tdm_chat *chat;
    uint64_t seed;          /* of the typing's jitter */
    int turn;
    int ended;              /* replies */
    int reply_tokens;       /* of the running or last reply */
    tdm_turn_stats stats;   /* of the last turn that ended */
    tdm_finish finish;
    int64_t last_key_ns;    /* when the draft was changed last */
} bench_talk;

/* Options of a chat for measuring: greedy, no end token, hashes off, a context that holds what benches play. */
void bench_talk_defaults(tdm_chat_options *o, const tdm_model *m);
/* Opens the chat and waits until it is idle, the opening of the prompt evaluated. */
tdm_status bench_talk_open(bench_talk *t, const tdm_model *m, tdm_machine *machine, const tdm_chat_options *o,
                           uint64_t seed, tdm_error *err);
void bench_talk_close(bench_talk *t);

/* Gives the first `there` bytes of text at once, waits until they are read, then types the rest at cps characters a
 * second (jittered by half to either side) and rests for gap_s. Returns when Enter is due. */
tdm_status bench_talk_type(bench_talk *t, const char *text, size_t there, double cps, double gap_s, tdm_error *err);
/* Enter; then tdm_chat's rules. */
tdm_status bench_talk_send(bench_talk *t, const char *text, tdm_error *err);
/* Until the running reply has this many tokens, or has ended. */
tdm_status bench_talk_wait_tokens(bench_talk *t, int tokens, tdm_error *err);
/* Until `ended` replies have ended; TDM_E_REFUSED when the chat comes to rest before. */
tdm_status bench_talk_wait_ended(bench_talk *t, int ended, tdm_error *err);

#endif
