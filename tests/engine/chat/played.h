/* Chats that are played: what a test types and sends, and what the chat tells; on top of talk.h. */
#ifndef TANDEM_TESTS_CHAT_PLAYED_H
#define TANDEM_TESTS_CHAT_PLAYED_H

#include "tests/engine/chat/talk.h"

struct played {
    tdm_turn_stats stats[16], begun[16]; /* as told at a turn's end, and when its reply began */
    tdm_finish finish[16];
    int node[16];
    int n;
    char text[4096];
    char errors[1024], notices[1024];
    uint32_t told; /* tokens of the running reply, as its text tells them */
};

/* Four messages that have a bit of everything. */
extern const char *const played_lines[4];

/* A chat with replies of 20 tokens on all cores; NULL with a failed check when it can't be opened. */
tdm_chat *played_open(tdm_pipeline pipeline, tdm_speculation level);
/* One that follows everything, and nothing played yet. */
tdm_chat *played_begin(struct played *p);
void played_events(tdm_chat *c, struct played *p);
/* Until `turns` turns have ended. */
void played_until(tdm_chat *c, struct played *p, int turns);
/* Key by key. */
void played_type(tdm_chat *c, const char *text, int wait_us);
void played_send(tdm_chat *c, const char *text);
/* Sends, and plays until the turn has ended. */
void played_say(tdm_chat *c, struct played *p, const char *text);
/* The length of a reply (0: none) and its pace (0: none), from now on. */
void played_limit(tdm_chat *c, int max_tokens, double pace_tps);
/* Rests, and says how many tokens were evaluated since the last call. */
uint32_t played_spent(tdm_chat *c);

#endif
