#include "engine/chat/policy/joining.h"

#include <math.h>

/* What the replies in front may be slowed by. */
static const double most = 0.2;
/* How much a new value moves the means. */
static const double weight = 1.0 / 8;
/* A pass of their own slows as much as a pass that takes twice as long. */
static const double own = 2;
enum { MAX_EVERY = 64 };

double joining_cost(const struct joining *j)
{
    if (j->alone < JOINING_LEAST || j->joined < JOINING_LEAST) return 0;
    return j->joined_s > j->alone_s ? j->joined_s / j->alone_s : 1;
}

uint32_t joining_every(const struct joining *j, bool room)
{
    double cost = room ? joining_cost(j) : own;
    if (cost == 0) return 2;
    double every = ceil((cost - 1) / most - 1e-9);
    return every < 1 ? 1 : every > MAX_EVERY ? MAX_EVERY : (uint32_t)every;
}

bool joining_due(const struct joining *j, bool room)
{
    uint32_t every = joining_every(j, room);
    return every == 1 ? j->in_a_row < JOINING_PROBE : j->since + 1 >= every;
}

void joining_passed(struct joining *j, bool joined)
{
    j->since = joined ? 0 : j->since + 1;
    j->in_a_row = joined ? j->in_a_row + 1 : 0;
}

void joining_count(struct joining *j, bool joined, double seconds)
{
    double *mean = joined ? &j->joined_s : &j->alone_s;
    uint32_t *n = joined ? &j->joined : &j->alone;
    if (*n >= JOINING_LEAST && seconds > 2 * *mean) seconds = 2 * *mean; /* it was held up */
    *mean += (*n < JOINING_LEAST ? 1.0 / (*n + 1) : weight) * (seconds - *mean);
    ++*n;
}
