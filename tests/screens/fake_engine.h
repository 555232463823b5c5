/* An engine that does what a script says, linked in place of the real one: the functions of engine/tandem.h that the
 * front end calls, on the engine's own conversation tree and event queue. Nothing of it computes, waits or has threads
 * (the loader's thread is the front end's and waits in tdm_model_open until the script lets it go). */
#ifndef TANDEM_TESTS_SCREENS_FAKE_ENGINE_H
#define TANDEM_TESTS_SCREENS_FAKE_ENGINE_H

#include "engine/tandem.h"
#include "engine/unit/sensors.h"

/* What the next answers are; a script sets the fields before or while the front end runs. */
struct fake {
    tdm_chat_status status;  /* as told; phase, queued, context and draft tokens are kept by the chat itself */
    tdm_chat_options options;
    tdm_turn_stats stats;    /* of the turn that ends next; times and kind are the chat's */
    bool can_think, synthetic, builtin_template;
    int cores, context;
    int tokens; /* in the next texts of a reply */
    struct sensors_now sensors;
};
extern struct fake fake;

void fake_reset(void);

/* The model that is being opened: how far, then that it is there or why not. */
void fake_load(tdm_step step, uint64_t done, uint64_t total);
void fake_loaded(tdm_status status, const char *why);

/* The reply to the last message: begun with the first of its text. */
void fake_reply(const char *text, size_t n, bool thinking);
void fake_end(tdm_finish finish);
/* Of several answers, the one that the next texts and ends are of; from 1. */
void fake_answer(int number);
/* An event as it stands. */
void fake_post(const tdm_event *event);

/* The lanes of the last 20 s up to now_ns, a letter a column. */
void fake_lanes(const char *prefill, const char *decode, int64_t now_ns);

#endif
