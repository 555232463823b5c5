/* The line for a model without vision: the reason, and a model that has it. One thread: the front end's. */
#ifndef TANDEM_SRC_VISION_H
#define TANDEM_SRC_VISION_H

#include "src/cli/options.h"

/* Replaces the engine's line by one for the user: "Tandem Demo 51M doesn't see pictures: /model
 * unsloth/Qwen3.5-4B-GGUF:Q4_K_M does". m: the model; what: a picture's name to put before the line, or NULL. */
void vision_explain(const options *o, const tdm_model *m, const char *what, tdm_error *err);

/* A line for a conversation that would continue with a model that can't see its pictures: "Tandem Demo 51M doesn't see
 * its 2 pictures". False: none is needed. */
bool vision_unseen(const tdm_model *m, int pictures, char *out, size_t room);

#endif
