/* Conversations that benches play on a chat: with a new chat, typed in real time, up to the end of each reply. Replies
 * have exactly the requested number of tokens, greedy, so that every pipeline and level gives the same. */
#ifndef TANDEM_SRC_BENCH_TALK_H
#define TANDEM_SRC_BENCH_TALK_H

#include "src/play/player_chat.h"

enum { BENCH_TALK_TURNS = 5 };

typedef struct {
    player_chat chat;     /* first: it is the player's host */
    tdm_turn_stats stats; /* of the last turn that ended */
    int64_t last_key_ns[BENCH_TALK_TURNS]; /* when each turn's draft was changed last; 0: it was set with Enter */
    bool unread[BENCH_TALK_TURNS];         /* the turn's draft is set only with Enter, since it would not be read
                                              before */
} bench_talk;

/* Options of a chat for measuring: greedy, no end token, hashes off, a context that is large enough for the benches. */
void bench_talk_defaults(tdm_chat_options *o, const tdm_model *m);
/* Opens the chat and waits until it is idle, with the opening of the prompt evaluated. */
tdm_status bench_talk_open(bench_talk *t, const tdm_model *m, tdm_machine *machine, const tdm_chat_options *o,
                           tdm_error *err);
void bench_talk_close(bench_talk *t);

/* Plays the script, of at most BENCH_TALK_TURNS turns. Text that the script pastes while the chat is idle is put into
 * the draft first; typing begins once it is read. */
tdm_status bench_talk_play(bench_talk *t, const script *s, tdm_error *err);
/* Sends one message and waits for the end of its reply. */
tdm_status bench_talk_ask(bench_talk *t, const char *text, tdm_error *err);

#endif
