/* A place: where a unit computes with a model, on its device or on the cores; or on the model's server. */
#ifndef TANDEM_OBJECT_PLACE_H
#define TANDEM_OBJECT_PLACE_H

#include "engine/object/machine.h"
#include "engine/object/model.h"

struct place {
    const struct backend_model *model; /* `cores`, `loaded` or the server's */
    struct backend_model cores;
    struct backend_model *loaded;
};

/* On the cores, whatever the unit is. */
void place_on_cores(struct place *p, const struct tdm_model *m);

/* What for; a place with the same keys, values and context is shared. */
struct place_form {
    enum kv_type kv;
    uint32_t context;
    tdm_progress progress; /* of copying to a device; may be NULL */
    void *progress_ctx;
};

/* Where the unit computes. Fails as backend.h's load; p is then on the cores. */
tdm_status place_open(struct place *p, const struct tdm_machine *machine, int unit, const struct tdm_model *m,
                      const struct place_form *form, tdm_error *err);
/* Its device is lost, and all pools and evaluators there are gone: it is on the cores now. */
void place_fall_back(struct place *p);
/* After pools and evaluators. One that is all zero may be closed. */
void place_close(struct place *p);

#endif
