/* Two models of one file with the weights of the pair of the matrix unit: one decodes by "amx in C", the other reads by
 * "amx-bf16 in C" (tests/engine/kernel/tested.h), with the same packed weights. */
#ifndef TANDEM_TESTS_CHAT_WIDENED_H
#define TANDEM_TESTS_CHAT_WIDENED_H

#include "engine/object/model.h"

/* Whether this CPU runs these sets. */
bool widened_runs(void);
/* Replaces the models' weights; decoding is closed later than reading. */
tdm_status widened_pair(struct tdm_model *decoding, struct tdm_model *reading, tdm_error *err);

#endif
