/* Conversations that are drawn from a seed and played in different ways; on top of talk.h. All that decides what is
 * said is placed by tokens (max_tokens), never by time. */
#ifndef TANDEM_TESTS_CHAT_DRAWN_H
#define TANDEM_TESTS_CHAT_DRAWN_H

#include "tests/engine/chat/talk.h"

struct way { /* of playing */
    tdm_pipeline pipeline;
    int level; /* -1: another one for every turn */
    int dispatch, threads;
};

/* The template renders past turns as they were decoded. */
extern bool drawn_keeps;

/* Plays the conversation of this seed; `hand` is that of moments, wrong keys and pastes. */
void drawn_play(struct talk *t, const char *kernels, const struct way *way, uint64_t seed, uint64_t hand);
/* Have both the same tokens and logits? What differs is a failed check. */
void drawn_compare(const struct talk *a, const struct talk *b, const char *kernels, const struct way *way,
                   uint64_t seed);

#endif
