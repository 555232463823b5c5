/* Models that a newcomer could get: the sizes of the Qwen3.5 family. Their figures are estimates from their parameters;
 * no request is made to the hub. */
#ifndef TANDEM_SRC_FAMILY_H
#define TANDEM_SRC_FAMILY_H

#include "src/models/models.h"

/* A line with the command that gets the one that suits a computer with this many bytes of memory (0: not known): the
 * largest whose weights fit into it less HUB_SPARE. */
void family_suggest(uint64_t memory, char *out, size_t room);
/* The same for one that sees pictures, as all of them do: "`tandem pull NAME` fetches one that does (about 2.6 GB)". */
void family_suggest_seeing(uint64_t memory, char *out, size_t room);

/* If the list has no model except the built-in one: appends a row for each, with `offered` set. */
tdm_status family_offer(models_list *l, tdm_error *err);

#endif
