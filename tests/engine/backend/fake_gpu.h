/* A GPU for tests, in place of engine/backend/gpu.c: the kernels of the cores with states of a memory of its own, whose
 * bits differ from those of the cores: what a token leaves in the recurrent states and logits is rounded after it. So a
 * token that the wrong kind of unit evaluated shows in every logit behind it. There are two devices, gpu:0 and gpu:1,
 * which round differently. */
#ifndef TANDEM_TESTS_FAKE_GPU_H
#define TANDEM_TESTS_FAKE_GPU_H

#include "engine/backend/backend.h"

/* What may fail, by the function of the table. */
enum fake_call {
    FAKE_LOAD, FAKE_POOL, FAKE_EVALUATOR, FAKE_MAKE, FAKE_COPY, FAKE_ROOM, FAKE_LOGITS, FAKE_SAVE, FAKE_RESTORE,
    FAKE_WARM, FAKE_FORWARD, FAKE_DRAW, FAKE_REPLY, FAKE_CALLS
};
extern const char *const fake_call_names[FAKE_CALLS];

/* The n-th call from now on (1: the next) fails with this status; TDM_E_IO: and so does every later one of the device,
 * until it is opened again. */
void fake_gpu_fail(enum fake_call call, int n, tdm_status status);
/* Calls so far that did not fail, or the whole of it is off: no failure waits any more. */
int fake_gpu_calls(enum fake_call call);
void fake_gpu_heal(void);
/* Devices opened from now on fail their self-test, for this reason; NULL: they don't. */
void fake_gpu_fail_selftest(const char *why);
/* Models that were copied to a device so far; one that is shared is copied once. */
int fake_gpu_copies(void);
/* Replies at temperature 0 come so many tokens at once from now on, 1 at first. */
void fake_gpu_burst(uint32_t n);
/* A hook that runs in the middle of each such part, in the unit's thread; NULL: none. */
void fake_gpu_interrupt(void (*hook)(void *ctx), void *ctx);
/* Tokens evaluated by all devices so far. */
uint64_t fake_gpu_tokens(void);

#endif
