/* The follower: advances a state towards the newest target (engine/README.md, 'The follower').
 *
 * Each round it finds the longest common prefix of the target and its own tokens; if its state holds more than that
 * prefix, it restores the longest checkpoint that is a prefix of the target; then it evaluates the next tokens in one
 * dispatch. Whatever the user does reaches the follower only as a changed target.
 *
 * Threads and the lock. All functions but follower_perform are called with the chat's lock held. follower_perform runs
 * without it, on the driver of the unit, between follower_plan and follower_done; an adoption, which evaluates nothing,
 * may also be performed by the driver of the unit that decodes. While a plan is active, the state and
 * the checkpoints belong to follower_perform alone. `path` lists the tokens of the state, including those that the
 * active plan adds, so that other threads need not read the state.
 */
#ifndef TANDEM_CHAT_FOLLOWER_H
#define TANDEM_CHAT_FOLLOWER_H

#include "engine/backend/backend.h"
#include "engine/chat/reader/target.h"
#include "engine/state/checkpoints.h"
#include "engine/unit/unit.h"

struct follower_plan {
    bool active;
    const struct state *restore; /* a checkpoint, or a state to be adopted, to restore first; NULL: none */
    bool clear;                  /* start from nothing */
    bool joined; /* a reply on a server continues from this plan's request, so it is never cancelled as stale */
    bool keep_before, keep_after, unkept; /* make a checkpoint before or after; unkept: the budget had no room for one
                                             of them */
    enum checkpoint_kind kind_before, kind_after;
    uint32_t from, n;            /* tokens path[from, from + n) */
    bool logits;                 /* compute those of the last token */
    enum span_kind kind;
    int64_t start_ns;
};

struct follower_figures { /* counts of tokens */
    uint64_t evaluated;      /* in all finished dispatches */
    uint64_t cancelled;      /* dispatches dropped at a layer */
    uint64_t unkept;         /* checkpoints for which there was no room */
    uint32_t suffixes;       /* dispatches that reached the end of a complete target */
    int64_t suffix_ns;       /* duration of the last of these */
    int64_t short_ns;        /* duration of the last other short dispatch, */
    uint32_t short_n;        /* and its tokens */
};

struct follower {
    const struct weights *weights; /* the evaluator's */
    struct evaluator *evaluator;
    struct state *state;
    struct checkpoints *checkpoints;
    uint64_t budget; /* bytes of checkpoints, and of other memory that counts with them: */
    uint64_t external;
    /* Figures of the checkpoints when the last plan ended; the running plan has the checkpoints. */
    struct checkpoints_stats kept;
    uint32_t dispatch;       /* most tokens of one forward pass, */
    bool whole;              /* each dispatch is a request to a server and goes to the target's end */
    uint32_t max_while_decoding; /* and while a reply is being decoded, since a dispatch delays the decoder */
    tdm_id *path;            /* [context] */
    uint32_t length;         /* tokens of path that are evaluated; those of the active plan follow them */
    bool usable;             /* the state holds path[0, length); false: the state must be restored from a checkpoint or
                                cleared before use */
    struct follower_plan plan;
    atomic_bool cancel;
    atomic_bool expedited;   /* a turn waits for the running dispatch: its result is used before it is checkpointed */
    struct follower_figures figures;
};

/* The evaluator, state and checkpoints become the follower's. */
tdm_status follower_init(struct follower *f, struct evaluator *evaluator, struct state *state,
                         struct checkpoints *checkpoints, uint32_t dispatch, tdm_error *err);
void follower_free(struct follower *f);

/* The most tokens of a dispatch, from now on. Only while no plan is active. */
void follower_set_dispatch(struct follower *f, uint32_t dispatch);

/* How many of the target's ids are evaluated. */
uint32_t follower_covered(const struct follower *f, const struct target *t);
/* How many of the target's first ids are in the current state. */
uint32_t follower_in_state(const struct follower *f, const struct target *t);
/* How many of the target's first ids the state holds once the best checkpoint is restored. Only while no plan is
 * active. */
uint32_t follower_reachable(struct follower *f, const struct target *t);
/* Where the next dispatch begins: after those ids, but before the last one if it is the target's end and the state
 * lacks its logits. The target's ids from there on are evaluated (again). Only while no plan is active. */
uint32_t follower_begins_at(const struct follower *f, const struct target *t);

/* Sets f->plan to the next dispatch towards the target; false when there is nothing to do.
 * decoding: a reply is being decoded, so a dispatch that is not full is postponed (unless the target is complete).
 * urgent: a turn waits for the end of the target, so no dispatch is split to make a checkpoint. */
bool follower_plan(struct follower *f, const struct target *t, bool decoding, bool urgent);

/* Sets f->plan to becoming a copy of `other`, a state of the same pool that another evaluator made with the same
 * weights by the same kind of unit: its bits are those that the follower's own state would have. Only if `other` is a
 * prefix of the target and holds at least `least` tokens (1 or more) more of it than follower_reachable; else false.
 * Nothing may change `other` while the plan is active. */
bool follower_plan_adoption(struct follower *f, const struct target *t, const struct state *other, uint32_t least);

/* Sets f->plan to making a checkpoint of the state as it is, if that is longer than the longest one of the target's
 * history and not longer than the history; else false. */
bool follower_plan_checkpoint(struct follower *f, const struct target *t);

/* Sets f->plan to a plan without work: until follower_done other code reads the follower's state, which must be usable
 * and does not change. */
void follower_hold(struct follower *f);

/* Requests cancellation of the running dispatch if its tokens are no longer part of the target. */
void follower_cancel_if_stale(struct follower *f, const struct target *t);
/* A turn waits for the end of the target from now on. If the running dispatch reaches that end, the
 * state is handed over before a checkpoint of it is made. A short dispatch, whose time is that of reading the weights,
 * is cancelled if its tokens fit into the next dispatch and cost less there than its own remaining time. */
void follower_expedite(struct follower *f, const struct target *t, int64_t now_ns);

/* Executes the plan. *span becomes that of the forward pass; restoring and making checkpoints get spans of their
 * own. */
tdm_status follower_perform(struct follower *f, struct team *team, struct activity *activity,
                            struct activity_span *span, tdm_error *err);
/* Ends the plan: status and duration of follower_perform. */
void follower_done(struct follower *f, tdm_status status, int64_t took_ns);

/* Is the state exactly the complete target, logits included? */
bool follower_is_ready(const struct follower *f, const struct target *t);
/* Exchanges the ready state for another one of the same pool, whose contents are lost; returns the ready one. */
struct state *follower_take(struct follower *f, struct state *other);
/* After follower_take: makes the longest checkpoint that is a prefix of the target the follower's position. The next
 * plan with a dispatch's worth of tokens restores it. */
void follower_adopt_checkpoint(struct follower *f, const struct target *t);

/* Frees its evaluator, state and checkpoints, and takes these instead; afterwards it has evaluated no token. Only while
 * no plan is active. */
void follower_renew(struct follower *f, struct evaluator *evaluator, struct state *state,
                    struct checkpoints *checkpoints);

/* Only while no plan is active. With a smaller budget checkpoints are dropped, and their memory goes back to the
 * system. */
void follower_set_budget(struct follower *f, uint64_t checkpoint_bytes);
/* Bytes of the budget that other memory takes. While no plan is active, or by the job of one. */
void follower_count_external(struct follower *f, uint64_t bytes);

/* Frees its state, takes this one instead (from a file), and makes a checkpoint of it. Only while no plan
 * is active. */
void follower_adopt(struct follower *f, struct state *s);

#endif
