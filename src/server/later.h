/* When a server that has no answer yet is asked again:
 *
 *   429 with Retry-After      after as long as it says, if that is no more than LATER_BUSY_S; LATER_TRIES times in all
 *   503 with Retry-After      after as long as it says, until LATER_MAX_S have passed
 *   503 'Loading model'       every LATER_LOADING_S seconds, as long: llama-server and its like don't say how long they
 *                             load
 *
 * Pure. */
#ifndef TANDEM_SRC_LATER_H
#define TANDEM_SRC_LATER_H

#include <stdbool.h>

#include "engine/base/span.h"

enum { LATER_TRIES = 4, LATER_BUSY_S = 60, LATER_LOADING_S = 5, LATER_MAX_S = 600 };

/* An answer that is none, and what it is about. */
typedef struct {
    int status;
    int retry_after_s; /* -1: not said */
    struct span body;
    bool loads; /* a 503 of this server means that it loads its model, whatever it says */
} later_answer;

/* Does it load its model, or start? */
bool later_is_loading(const later_answer *a);
/* In how many seconds it is asked again; -1: never. tries: how often it was asked; waited_s: since the first time. */
int later_seconds(const later_answer *a, int tries, int waited_s);

#endif
