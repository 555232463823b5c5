/* The end of a reply's text that no event could tell, for want of memory (tdm_event.lost). */
#ifndef TANDEM_SRC_LOST_TEXT_H
#define TANDEM_SRC_LOST_TEXT_H

#include "engine/tandem.h"

/* Of an END that lacks some: makes the TEXT event that would have told it, its text in *node (tdm_node_free). False:
 * nothing was lost, or there is no memory for it even now; then only the conversation has it. */
bool lost_text(const tdm_chat *c, const tdm_event *end, tdm_node *node, tdm_event *text);

#endif
