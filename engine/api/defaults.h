/* The default values that zeros in a chat's options stand for. */
#ifndef TANDEM_API_DEFAULTS_H
#define TANDEM_API_DEFAULTS_H

#include "engine/object/model.h"

/* Replaces zeros by their defaults in those members whose values the rest of the engine needs: the level of
 * speculation, the types of keys and values, and the sampling. */
void defaults_fill(tdm_chat_options *o, const struct tdm_model *m);

#endif
