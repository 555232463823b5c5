/* The replica: the follower's state in the decode unit's memory, where the two units share none. The follower's state
 * is copied ahead of Enter: pages when they are full, since they never change again; the rest at a pause, when the
 * target is complete with its suffix. At Enter the replica and the decoder's state change places. If the user types on,
 * the rest is discarded, but never the full pages. A replica is one state more in that memory than a decoder needs:
 * if there is no room for it and a turn waits, the decoder's own state is used as the replica, since it is not needed
 * before the exchange.
 *
 * A page belongs to its tokens alone: the prefill unit gives the same bits whenever it evaluates them. So pages are
 * identified by their tokens, and a copy that is late, given up or repeated changes no bit of the decoder's state.
 *
 * Threads and the lock: as the follower's state; replica_carry runs without the lock while a plan of the follower is
 * active, the other functions with it.
 */
#ifndef TANDEM_CHAT_REPLICA_H
#define TANDEM_CHAT_REPLICA_H

#include "engine/chat/bridge.h"
#include "engine/chat/reader/follower.h"

struct replica {
    struct state *state; /* NULL: not made yet; its first length / KV_PAGE pages are valid */
    bool whole;          /* it has all that the follower's state had when it was copied */
    bool foreign;        /* its pages may have other bits than the follower's would have now */
    bool failed;         /* copying failed: nothing is copied until a turn needs it */
    bool awaited;        /* a turn waited when the last copying began */
    int64_t rests_ns;    /* by clock_ns(): until then nothing is copied while a reply is decoded */
    struct {             /* the last copy of the rest */
        int64_t since_ns, until_ns;
        uint64_t bytes;
        tdm_turn_stats times;
    } rest;
    uint64_t bytes; /* of the last copying */
    struct {        /* of all copies, with the lock: bytes before a turn waited, and bytes that a turn waited for */
        uint64_t ahead, after;
        int64_t ns;
    } carried;
    void (*meddle)(void *ctx, struct replica *r, bool before); /* a test's hook, called around each copy; or NULL */
    void *meddle_ctx;
};

void replica_free(struct replica *r); /* before its pool */

/* Whether the follower has full pages that are not copied yet. While no plan is active. */
bool replica_lacks_pages(const struct replica *r, const struct follower *f);
/* Whether it equals the follower's state. */
bool replica_is_ready(const struct replica *r, const struct follower *f);

/* Copies what is missing; sealed: only full pages. After an error the replica is empty. pool: the decode unit's. */
tdm_status replica_carry(struct replica *r, struct bridge *bridge, struct pool *pool, const struct state *from,
                         bool sealed, struct team *team, tdm_error *err);
/* Bytes that it has, or would have with this many tokens. */
uint64_t replica_bytes(const struct replica *r);
uint64_t replica_needs(const struct pool *pool, uint32_t tokens);
/* Exchanges the ready replica for the decoder's state `other` (NULL: it was lent), and returns the replica. The new
 * replica keeps the full pages, which both states share. */
struct state *replica_take(struct replica *r, struct state *other);
/* Takes the decoder's state, which is NULL then, if the replica has none; replica_return gives it back if the decoder's
 * is missing. */
void replica_borrow(struct replica *r, struct state **decoder);
void replica_return(struct replica *r, struct state **decoder);

#endif
