/* When to repeat a request to a server that has no answer yet:
 *
 *   429 with Retry-After      after that time, if it is at most LATER_BUSY_S; LATER_TRIES times in all
 *   503 with Retry-After      after that time, until LATER_MAX_S have passed
 *   503 'Loading model'       every LATER_LOADING_S seconds, until LATER_MAX_S have passed: llama-server
 *                             and similar servers don't say how long loading takes
 *
 * Pure. */
#ifndef TANDEM_SRC_LATER_H
#define TANDEM_SRC_LATER_H

#include <stdbool.h>

#include "engine/base/span.h"

enum { LATER_TRIES = 4, LATER_BUSY_S = 60, LATER_LOADING_S = 5, LATER_MAX_S = 600 };

/* An answer without content. */
typedef struct {
    int status;
    int retry_after_s; /* -1: not said */
    struct span body;
    bool loads; /* a 503 of this server means that it loads its model, whatever its body */
} later_answer;

/* Does it load its model, or start? */
bool later_is_loading(const later_answer *a);
/* Seconds until the next attempt; -1: none. tries: attempts so far; waited_s: seconds since the first. */
int later_seconds(const later_answer *a, int tries, int waited_s);

#endif
