/* What the tests of conversations share: a tiny model on a machine, a chat, and its turns as they ended. */
#ifndef TANDEM_TESTS_TURN_TALK_H
#define TANDEM_TESTS_TURN_TALK_H

#include "engine/tandem.h"
#include "engine/text/template/template.h"

enum { TALK_TURNS = 64 };

struct talk {
    tdm_chat *chat;
    struct talk_turn {
        tdm_turn_stats stats;
        tdm_finish finish;
        uint64_t text; /* hash of the reply's text when it ended */
    } turns[TALK_TURNS];
    int n;             /* that ended in front; only the first TALK_TURNS are kept */
    char errors[1024]; /* what error events said, a line each */
};

/* The model that the others use: the smallest of the goldens, unless a test says otherwise before its first call. */
extern const char *talk_path;
extern uint32_t talk_context; /* of chats with talk_options, tokens */
/* A family's (tests/engine/model/family.h) from now on; false: it isn't there. */
bool talk_family(const char *name);
/* That model with a kernel set (NULL: the best); kept until the program ends. NULL: failed. */
const tdm_model *talk_model(const char *kernels);
/* Gives it another of the tests' own (forms.h), until the next call. It begins with qwen35, but for the built-in model;
 * with qwen38 past turns render as they were decoded, thinking off. */
void talk_set_template(const tdm_model *m, const char *name);
/* The built-in model, for talk_path: its replies are text. */
extern const char *const talk_builtin;
/* The units of the machines from now on, as in tdm_machine_options; NULL: cores. */
extern const char *talk_units[TDM_UNITS];
/* A machine of at most so many cores (0: all); kept likewise. */
tdm_machine *talk_machine(int threads);
/* Short replies, a small context, hashes of logits; sampling that looks at everything. */
tdm_chat_options talk_options(const tdm_model *m);

/* False with a failed check when it can't be opened. */
bool talk_open(struct talk *t, const char *kernels, int threads, const tdm_chat_options *options);
void talk_close(struct talk *t);
void talk_events(struct talk *t);
/* Waits until so many turns have ended. */
void talk_until(struct talk *t, int turns);
/* xorshift: a number below n. */
uint32_t talk_draw(uint64_t *seed, uint32_t n);

#endif
