/* The line for a model that doesn't see: why, and which model does. One thread: the front end's. */
#ifndef TANDEM_SRC_VISION_H
#define TANDEM_SRC_VISION_H

#include "src/cli/options.h"

/* Puts one line in place of the engine's: "Tandem Demo 51M doesn't see pictures: /model unsloth/Qwen3.5-4B-GGUF:Q4_K_M
 * does". m: that was asked; what: a picture's name that goes before it, or NULL. */
void vision_explain(const options *o, const tdm_model *m, const char *what, tdm_error *err);

/* Where a conversation would go on with a model that doesn't see the pictures in it: "Tandem Demo 51M doesn't see its 2
 * pictures". False: nothing is to be said. */
bool vision_unseen(const tdm_model *m, int pictures, char *out, size_t room);

#endif
