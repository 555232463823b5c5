/* The engine behind the server of the tests: some conversations ("slots") of one model, each with the state of what it
 * evaluated last, from which the next prompt goes on as far as it begins alike.
 *
 * These models keep one running state that can't be shortened. So a prompt goes on from the state's very end, or from
 * one of the copies made where earlier prompts ended (`checkpoints`); where neither is the beginning of the prompt, all
 * of it is evaluated anew, as servers do that keep no checkpoints.
 *
 * Threads: any; the requests of several threads are evaluated by turns, some tokens each. */
#ifndef TANDEM_TESTS_SLOTS_H
#define TANDEM_TESTS_SLOTS_H

#include "engine/tandem.h"

typedef struct slots slots;
typedef struct slot slot;

typedef struct {
    const char *model; /* a GGUF file */
    int n, context;    /* slots; tokens of each */
    int threads;       /* 0: every allowed core */
    bool checkpoints;
    int slow_ms; /* rest after each step: of a token, and of some tokens of a prompt */
} slots_options;

tdm_status slots_open(slots **out, const slots_options *options, tdm_error *err);
void slots_close(slots *s);
const tdm_model *slots_model(const slots *s);
/* All states are empty from now on, also those of slots in use, after which they become so. */
void slots_forget(slots *s);
bool slots_is_busy(slots *s, int id);
/* Tokens evaluated since the beginning: of prompts, of replies. */
void slots_evaluated(slots *s, uint64_t *prompt, uint64_t *reply);

/* Waits for a slot and takes it: of this number, or with -1 the free one that knows most of the prompt, else the one
 * used longest ago. NULL: there is no such slot, or nobody waits any more. */
typedef bool slots_gone(void *ctx);
slot *slots_take(slots *s, int id, const tdm_ids *prompt, slots_gone *gone, void *ctx);
void slots_give(slots *s, slot *one);
int slot_id(const slot *one);

typedef struct {
    int prompt, cached, evaluated; /* tokens */
    double ms;
} slot_work;

/* Evaluates a prompt; `anew`: without what is known of it. TDM_E_CANCELLED: gone() said so, between two steps; what was
 * evaluated until then is kept. */
tdm_status slot_prompt(slot *one, const tdm_ids *prompt, bool anew, slots_gone *gone, void *ctx, slot_work *out,
                       tdm_error *err);
/* Draws the token `index` of the reply; -1: it failed. */
tdm_id slot_draw(slot *one, const tdm_sampling *sampling, int index);
/* Evaluates a token of the reply. */
tdm_status slot_append(slot *one, tdm_id id, tdm_error *err);

#endif
