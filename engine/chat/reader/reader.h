/* The data of reading: the draft, the target, the follower, the prompter, and figures of the turn. */
#ifndef TANDEM_CHAT_READER_H
#define TANDEM_CHAT_READER_H

#include "engine/base/buffer.h"
#include "engine/chat/policy/pause.h"
#include "engine/chat/reader/follower.h"
#include "engine/chat/reader/prompter.h"
#include "engine/chat/reader/replica.h"
#include "engine/chat/reader/target.h"

/* Pages and buffers kept ready, with their memory already mapped, for the next dispatches, forks and hand-overs. */
enum { READY_PAGES = 16, READY_BUFFERS = 3 };

/* What is being typed. */
struct draft {
    struct buffer text;
    struct picture_list pictures; /* its pictures */
    bool held, closed, too_long;
    struct typing typing; /* last_ns: its last change */
    uint32_t tokens;      /* tokens of a draft that is too long, with the end of its turn; 0: not counted */
};

/* Pictures that are encoded or wait for it (pictures.h). */
struct reader_pictures {
    struct vision_job *running; /* the picture that is being encoded, or NULL; `busy` while a job runs a step of it */
    bool busy;
    uint32_t step;      /* steps of it that are done */
    struct pads **held; /* [n] pictures whose rows are held */
    size_t n, room;
    struct pads *failed; /* a picture that could not be encoded, and why; it is tried again when the target changes */
    char why[160];
};

/* The prefill unit's part: the target, how far it is read, and how many of the tokens belong to this turn. */
struct reader {
    struct target_cache *targets;
    struct target target;
    struct follower follower;
    struct reader_pictures pictures;
    struct replica replica;   /* of the follower's state, where the decode unit has a memory of its own */
    struct prompter prompter; /* of pipelines that don't follow; in some of them it works on the decode unit */
    struct state *loaded;    /* read from a file; replaces the follower's state when no job uses that; or NULL */
    uint32_t read_again;     /* tokens from the first one on that the last tdm_chat_configure changed */
    bool dry;                /* the pool could not be warmed: no memory */
    bool unmade;             /* the last target could not be computed, and an event said so */
    bool failed;             /* the follower's last dispatch failed: it rests until the target changes */
    bool ahead_failed; /* reading ahead failed, here or on a server, and an event said so; until it succeeds */
    bool never_adopts;       /* the follower evaluates everything itself: for measuring, and with a server */
    bool head_start;         /* the draft began as the text of an edited message */
    uint64_t evaluated_mark; /* follower.figures.evaluated when the last reply began */
    uint32_t suffix_mark;    /* follower.figures.suffixes when the last reply began */
    uint32_t turn_base;      /* tokens that the prompt shares with the last one: not evaluated for this turn */
    uint32_t read_at_enter;  /* tokens of the prompt evaluated at Enter and not discarded since */
    struct {                 /* the follower's tokens [from, to) came from the decoder's state */
        uint32_t from, to;
    } adopted;
    uint32_t unfollowed;     /* reply tokens since the follower was woken */
    uint32_t asked;          /* tokens of the turn's prompt that a server was asked to evaluate before Enter */
    double prefill_rate;
    atomic_int fail_dispatches; /* fault injection: how many of the follower's next dispatches fail */
};

#endif
