/* A reply of the tests' server as it is written: tokens to whole characters, stop strings, the end.
 *
 * Threads: one at a time per object. */
#ifndef TANDEM_TESTS_REPLY_H
#define TANDEM_TESTS_REPLY_H

#include "engine/base/buffer.h"
#include "tests/server/slots.h"

enum { REPLY_STOPS = 16 };

typedef enum { REPLY_WRITES, REPLY_EOS, REPLY_LIMIT, REPLY_STOP, REPLY_FULL, REPLY_FAILED } reply_end;

typedef struct {
    const slots *slots;
    slot *slot;
    tdm_sampling sampling;
    int most; /* tokens; -1: until the end */
    int room; /* tokens that the context has left */
    bool ignore_eos;
    char *stops[REPLY_STOPS]; /* malloc'ed */
    int n_stops;
    tdm_id ends[2];
    tdm_ids ids;
    struct buffer text; /* all of it, without the stop string */
    size_t told;        /* bytes of text that were handed out */
    reply_end end;
    const char *stop; /* which of the stops */
    int tokens;
    double ms;
} reply;

void reply_free(reply *r);
/* Writes one token. The bytes that are new and sure go to `piece`, which is emptied first; none may be. False: the
 * reply has ended, with what was left in the piece. */
bool reply_step(reply *r, struct buffer *piece);

#endif
