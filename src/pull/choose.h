/* Which files of a repository are the model that is asked for: a GGUF model of one quant with all its parts, or the
 * files of a safetensors model. Pure: nothing is fetched. */
#ifndef TANDEM_SRC_PULL_CHOOSE_H
#define TANDEM_SRC_PULL_CHOOSE_H

#include "engine/model/hub.h"
#include "src/cli/hub.h"
#include "src/pull/repository.h"

typedef struct {
    const repository_file **files; /* of the repository; the weights last */
    size_t n;
    uint64_t bytes;
    uint64_t weights;       /* of `bytes`, about what has to fit into memory */
    char tag[HUB_TAG_ROOM]; /* "" for safetensors */
    char reason[240];       /* one clause: why these */
    bool fits;              /* weights within memory less HUB_SPARE; true when the memory is not known */
} choice;

/* tag "": Q4_K_M, else UD-Q4_K_XL, else the largest quant that fits into `memory` bytes (0: not known) less
 * HUB_SPARE. A tag is taken whether it fits or not. TDM_E_NOT_FOUND, with a line of what there is, when nothing can
 * be chosen. */
tdm_status choose(choice *out, const repository *r, const char *tag, uint64_t memory, tdm_error *err);
void choose_free(choice *c);

#endif
