/* Conversations that are drawn from a seed and played in different ways; on top of talk.h. All that decides what is
 * said is placed by tokens (max_tokens), never by time. */
#ifndef TANDEM_TESTS_CHAT_SEEDED_H
#define TANDEM_TESTS_CHAT_SEEDED_H

#include "tests/engine/chat/talk.h"

struct way { /* of playing */
    tdm_pipeline pipeline;
    int level; /* -1: another one for every turn */
    int dispatch, threads;
};

/* Another template of the tests' own; with qwen38 past turns render as they were decoded. NULL: qwen35. */
extern const char *seeded_template;

/* Pictures that some of the messages have; 0: none has any. */
extern tdm_picture *seeded_pictures[4];
extern uint32_t seeded_n_pictures;

/* Paths are chosen, too (tdm_chat_select). */
extern bool seeded_chooses;

/* How many things are done in a conversation: 8, unless a test says otherwise. */
extern int seeded_steps;

/* What else is done with a chat's options, and with the chat once it is open; or NULL. */
extern void (*seeded_options)(tdm_chat_options *o);
extern void (*seeded_opened)(tdm_chat *c);

/* Plays the conversation of this seed; `hand` is that of moments, wrong keys and pastes. */
void seeded_play(struct talk *t, const char *kernels, const struct way *way, uint64_t seed, uint64_t hand);
/* Have both the same tokens and logits? What differs is a failed check. */
void seeded_compare(const struct talk *a, const struct talk *b, const char *kernels, const struct way *way,
                    uint64_t seed);

#endif
