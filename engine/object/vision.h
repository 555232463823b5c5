/* A model's vision: its tower, and the rows of pictures that it encoded.
 *
 * A picture is encoded by the device of the model that reads it, if its tower was loaded there (backend_model.tower),
 * otherwise by the cores. The two give different bits, hence different rows, and pads tell them apart. For the cores,
 * weights are packed with the first picture. Pads are the keys of a cache of rows (state/pads.h) with a budget: of the
 * rows that are not held, the least recently used are dropped first. A pass that evaluates pads holds them from before
 * it begins to its end.
 *
 * Threads: any number; `lock` guards rows and figures, and is held for moments; `packing` the weights, as long as they
 * are packed.
 */
#ifndef TANDEM_OBJECT_VISION_H
#define TANDEM_OBJECT_VISION_H

#include "engine/backend/backend.h"
#include "engine/object/picture.h"
#include "engine/state/pads.h"
#include "engine/tandem/measure.h"
#include "engine/vision/encoder.h"

#include <pthread.h>

enum { VISION_BUDGET = 256 << 20 };

struct vision {
    struct tower *tower;
    const struct kernels *kernels;
    tdm_id pad;        /* the id that prompts have in a picture's place; -1: the files don't say */
    uint64_t identity; /* of the tower's weights and the kernels: with others a picture has other rows on cores */
    pthread_mutex_t lock, packing;
    struct vision_weights *weights; /* NULL: no picture was encoded yet */
    struct seen {
        struct pads *pads; /* whose rows are kept while they are held, or while there is room in the budget */
        uint64_t used;
        uint32_t holders;
    } * seen;
    size_t n, room;
    uint64_t clock;
    tdm_picture_figures figures;
};

/* width: of the language model. pad: -1: as the tower's files say.
 * TDM_E_UNSUPPORTED: a tower of another width. */
tdm_status vision_open(struct vision **out, const char *path, const struct kernels *kernels, uint32_t width, tdm_id pad,
                       tdm_error *err);
void vision_close(struct vision *e); /* NULL is allowed */
void vision_set_budget(struct vision *e, uint64_t bytes);

/* The size to which a picture is scaled for this model, and its tokens; most_tokens as in tandem/pictures.h. */
tdm_status vision_fit(const struct vision *e, uint32_t width, uint32_t height, uint32_t most_tokens,
                      tdm_picture_fit *out, tdm_error *err);
/* The pads that stand for it where this model reads it. */
tdm_status vision_pads(const struct vision *e, const struct backend_model *reads, const tdm_picture *p,
                       uint32_t most_tokens, struct pads **out, tdm_error *err);

/* Holds a picture's rows, if they are there. */
bool vision_hold(struct vision *e, struct pads *pads);
void vision_release(struct vision *e, struct pads *pads);
bool vision_has(struct vision *e, const struct pads *pads);

/* Whether a picture that this model reads is encoded elsewhere than on cores. */
bool vision_offloaded(const struct vision *e, const struct backend_model *reads);

/* A picture that is being encoded: p outlives it, and so does the model where it is. Steps are the encoder's; the first
 * one packs the weights where that has to be done. */
struct vision_job;
tdm_status vision_job_new(struct vision_job **out, struct vision *e, const struct backend_model *reads,
                          const tdm_picture *p, struct pads *pads, int members, tdm_error *err);
uint32_t vision_job_steps(const struct vision *e);
/* True: there is more to do. *done: its rows are there, and held. Else an error ended it. */
bool vision_job_step(struct vision_job *s, struct team *team, bool *done, tdm_error *err);
uint32_t vision_job_done(const struct vision_job *s); /* steps: on a slow GPU a call is a part of one */
void vision_job_free(struct vision_job *s); /* NULL is allowed; before its last step it is given up */
struct pads *vision_job_pads(const struct vision_job *s);

#endif
