#include "engine/chat/reader/replica.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"

void replica_free(struct replica *r)
{
    state_free(r->state);
    r->state = NULL;
    r->whole = r->foreign = r->failed = false;
}

/* The tokens of the first full pages that it has of these. */
static uint32_t kept_pages(const struct replica *r, const tdm_id *ids, uint32_t n)
{
    uint32_t same = 0, most;
    if (!r->state || r->foreign) return 0;
    most = (r->state->length < n ? r->state->length : n) / KV_PAGE;
    while (same < most && !memcmp(r->state->tokens + same * KV_PAGE, ids + same * KV_PAGE, KV_PAGE * sizeof *ids))
        same++;
    return same;
}

bool replica_lacks_pages(const struct replica *r, const struct follower *f)
{
    return f->usable && kept_pages(r, f->path, f->length) < f->length / KV_PAGE;
}

bool replica_is_ready(const struct replica *r, const struct follower *f)
{
    return r->whole && !r->foreign && f->usable && r->state->length == f->length && r->state->logits_valid &&
           !memcmp(r->state->tokens, f->path, f->length * sizeof *f->path);
}

tdm_status replica_carry(struct replica *r, struct bridge *bridge, struct pool *pool, const struct state *from,
                         bool sealed, struct team *team, tdm_error *err)
{
    if (r->meddle) r->meddle(r->meddle_ctx, r, true);
    int64_t start = clock_ns();
    tdm_turn_stats times = {0};
    tdm_status status = r->state ? TDM_OK : state_new(&r->state, pool, err);
    r->bytes = 0;
    if (status) return status;
    struct crossing x = {.team = team, .kept = kept_pages(r, from->tokens, from->length), .sealed = sealed};
    r->whole = r->foreign = false;
    status = bridge_move(bridge, r->state, from, &x, &times, err);
    r->whole = !status && !sealed;
    r->bytes = x.bytes;
    if (r->whole) {
        r->rest.since_ns = start;
        r->rest.until_ns = clock_ns();
        r->rest.bytes = x.bytes;
        r->rest.times = times;
    }
    if (r->meddle) r->meddle(r->meddle_ctx, r, false);
    return status;
}

uint64_t replica_needs(const struct pool *pool, uint32_t tokens)
{
    return pool_buffer_bytes(pool) + pool_held_bytes(pool, tokens);
}

uint64_t replica_bytes(const struct replica *r)
{
    return r->state ? replica_needs(r->state->pool, r->state->length) : 0;
}

struct state *replica_take(struct replica *r, struct state *other)
{
    struct state *ready = r->state;
    assert_always(r->whole);
    r->state = other;
    r->whole = false;
    if (other) state_begin_with(other, ready, ready->length / KV_PAGE);
    return ready;
}

void replica_borrow(struct replica *r, struct state **decoder)
{
    if (r->state || !*decoder) return;
    r->state = *decoder;
    *decoder = NULL;
    r->whole = false;
    r->foreign = true; /* what it has was a reply's */
}

void replica_return(struct replica *r, struct state **decoder)
{
    if (*decoder || !r->state) return;
    *decoder = r->state;
    r->state = NULL;
    r->whole = false;
}
