/* Chooses the files of a repository that make up the wanted model: a GGUF model of one quant with all its parts and its
 * vision projector, or the files of a safetensors model, those that its index names if there is one. Pure: nothing is
 * fetched. */
#ifndef TANDEM_SRC_PULL_CHOOSE_H
#define TANDEM_SRC_PULL_CHOOSE_H

#include "engine/hub/hub.h"
#include "src/hub/environment.h"
#include "src/pull/repository.h"

typedef struct {
    const repository_file **files; /* of the repository; the weights last */
    const repository_file *projector; /* of `files`; NULL: none */
    size_t n;
    uint64_t bytes;
    uint64_t weights;       /* of `bytes`, those that must fit into memory, approximately */
    char tag[HUB_TAG_ROOM]; /* "" for safetensors */
    char reason[240];       /* one clause with the reason for the choice */
    bool fits;              /* weights within memory less HUB_SPARE; true when the memory is not known */
} choice;

/* The index that must be fetched before choosing (repository_take_index); NULL: none. */
const repository_file *choose_index(const repository *r);
/* The file that has all weights, or NULL. */
const repository_file *choose_whole(const repository *r);
/* The wanted model; memory in bytes, 0: not known. */
typedef struct {
    const char *tag;
    uint64_t memory;
    bool vision; /* with the vision projector */
} choice_wish;

/* tag "": Q4_K_M, else UD-Q4_K_XL, else the largest quant that fits into the memory less HUB_SPARE. A tag is
 * taken whether it fits or not. Of several projectors it is the one in BF16, else in F16. TDM_E_NOT_FOUND, with a line
 * about the existing files, if nothing can be chosen. */
tdm_status choose(choice *out, const repository *r, const choice_wish *wish, tdm_error *err);
void choose_free(choice *c);

#endif
