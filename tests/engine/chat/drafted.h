/* Conversations with drafts beside the same without, for tests: every token and every logit is the same. */
#ifndef TANDEM_TESTS_CHAT_DRAFTED_H
#define TANDEM_TESTS_CHAT_DRAFTED_H

#include "tests/engine/chat/talk.h"

struct words {
    tdm_sampling sampling;
    const char *const *stops;
    int max_tokens;
    bool ends; /* at the model's end token, too */
    bool once; /* with one number of drafts: 3, or another way */
    int first; /* 0: 3 drafts; 1: as many as pay; 2: the most */
};

/* 14 tokens a reply. */
struct words drafted_words(uint64_t seed, float temperature);

/* Three turns, one of which is continued, without drafts, then with several numbers of them; check_slow: `once`. */
void drafted_check(const char *kernels, const struct words *w);

/* What is asked. */
extern const char *const drafted_questions[3];

/* Drafts so far, and those that were right. */
extern uint32_t drafted_accepted, drafted_made;

#endif
