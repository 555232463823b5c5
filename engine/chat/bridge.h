/* The bridge: how a state reaches a unit that does not share its memory, weights' layout or precision: directly
 * (engine/state/crossing.h); or saved, read and restored through a file in memory, as between two programs, each step
 * timed. */
#ifndef TANDEM_CHAT_BRIDGE_H
#define TANDEM_CHAT_BRIDGE_H

#include "engine/state/crossing.h"
#include "engine/state/statefile.h"

struct bridge {
    tdm_bridge way;             /* of the next move, as the options said when its job was claimed */
    struct state_bytes scratch; /* the buffer of saved states, kept for the next move */
};

void bridge_free(struct bridge *b);
/* Makes `to`, a state of another pool, equal to `from`, as state_cross; through bytes it always copies all of it. Fills
 * the times in stats, and x->bytes. Without the chat's lock; one move at a time. */
tdm_status bridge_move(struct bridge *b, struct state *to, const struct state *from, struct crossing *x,
                       tdm_turn_stats *stats, tdm_error *err);
/* Copies these times. */
void bridge_record(tdm_turn_stats *to, const tdm_turn_stats *from);

#endif
