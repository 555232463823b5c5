/* The GPU's forward pass with models of other families against Hugging Face transformers (../shared/goldens/families):
 * logits of every position, and after feeding the golden greedy ids one by one. Weights as stored and float32 keys and
 * values, with the tolerances that the cores have. */
#ifndef TANDEM_TESTS_GPU_FAMILIES_H
#define TANDEM_TESTS_GPU_FAMILIES_H

#include "tests/engine/gpu/rig.h"

/* A prompt in one pass, then, for `fed` of the golden's tokens, passes of one, in one dispatch where the model can
 * (together). 150 positions go beyond a block of attention, and beyond what scaled positions were first made for. */
void families_check_one(const char *name, uint32_t n, int fed, bool together, uint32_t context);

/* In the short form there is one of each kind, and the prompt alone where its tokens, one by one, would need a shader
 * that drivers on cores compile for ten seconds. */
enum families_brief { LEFT_OUT, PROMPT, WHOLE };
struct families_case {
    const char *name;
    bool together;
    enum families_brief brief;
};
void families_check(const struct families_case *list, size_t n);

#endif
