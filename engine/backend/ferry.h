/* Private to engine/backend: moves states between the host's memory and a GPU's, or between two GPUs. There are two
 * ports: staging buffers in the host's memory that the device reaches. The caller's team fills (or empties) one of them
 * while the device copies the other. A device that shares its memory with the host needs no ports: the team writes
 * where the state is. */
#ifndef TANDEM_BACKEND_FERRY_H
#define TANDEM_BACKEND_FERRY_H

#include "engine/gpu/gpu.h"
#include "engine/state/crossing.h"

#include <pthread.h>

struct ferry {
    struct gpu_model *model;
    enum kv_type kv;
    const struct state_shape *shape; /* of states there */
    uint64_t bytes;                  /* of a port, made when first needed */
    struct gpu_port *port[2];
    pthread_mutex_t busy; /* one crossing at a time */
};

void ferry_open(struct ferry *f, struct gpu_model *m, enum kv_type kv, const struct state_shape *shape);
void ferry_close(struct ferry *f); /* before the model */

/* Parts of state_cross (crossing.h). They copy all of a device's state; of a state in the host's memory, all but the
 * parts that state_cross copies itself. */
tdm_status ferry_to_device(struct ferry *f, struct gpu_state *to, const struct state *host, struct crossing *x,
                           tdm_error *err);
tdm_status ferry_to_host(struct ferry *f, struct gpu_state *gpu, const struct state *from, struct state *host,
                         struct crossing *x, tdm_error *err);
/* As crossing_link_ms: times the copies between ports and device alone, without filling or emptying the ports. */
tdm_status ferry_link_ms(struct ferry *f, struct gpu_state *s, uint64_t bytes, bool to_device, double *ms,
                         tdm_error *err);

/* Between two devices whose states have one form (key/value types, order of value heads): from port to port, or
 * directly where one of the devices needs none. All but the logits; the target is broken until it is finished. from:
 * the source, as the host has it. */
struct ferry_way {
    struct ferry *from, *to;
    struct gpu_state *source, *target;
};
tdm_status ferry_across(const struct ferry_way *way, const struct state *from, struct crossing *x, tdm_error *err);

#endif
