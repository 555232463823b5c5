/* A residence: where a unit computes with a model: on its device, on the cores, or on the model's server. */
#ifndef TANDEM_OBJECT_RESIDENCE_H
#define TANDEM_OBJECT_RESIDENCE_H

#include "engine/object/machine.h"
#include "engine/object/model.h"

struct residence {
    const struct backend_model *model; /* `cores`, `loaded` or the server's */
    struct backend_model cores;
    struct backend_model *loaded;
};

/* On the cores, whatever the unit is. */
void residence_on_cores(struct residence *p, const struct tdm_model *m);

/* The engine's type of keys and values; the default is float16. */
static inline enum kv_type residence_kv(tdm_kv kv)
{
    return kv == TDM_KV_F32 ? KV_F32 : kv == TDM_KV_Q8_0 ? KV_Q8_0 : KV_F16;
}

/* Replaces a context of 0 by the default for the model with keys and values of this type. */
tdm_status residence_context(int *context, const struct tdm_model *m, enum kv_type kv, tdm_error *err);

/* The form of the states there. Residences of one model with the same type of keys and values and the same context
 * share its copy on a device. */
struct residence_form {
    enum kv_type kv;
    uint32_t context;
    tdm_progress progress; /* of copying to a device; may be NULL */
    void *progress_ctx;
};

/* Where the unit computes. Fails as backend.h's load; p is then on the cores. */
tdm_status residence_open(struct residence *p, const struct tdm_machine *machine, int unit, const struct tdm_model *m,
                          const struct residence_form *form, tdm_error *err);
/* Moves the residence to the cores. Its device is lost, and all its pools and evaluators there have been freed. */
void residence_fall_back(struct residence *p);
/* After pools and evaluators. One that is all zero may be closed. */
void residence_close(struct residence *p);

#endif
