/* Private to engine/vision: tower.c and the readers of its two forms. */
#ifndef TANDEM_VISION_TOWER_PRIVATE_H
#define TANDEM_VISION_TOWER_PRIVATE_H

#include "engine/base/span.h"
#include "engine/model/gguf/gguf.h"
#include "engine/model/hf/shards.h"
#include "engine/vision/tower.h"

struct tower {
    struct vision_shape shape;
    const char *format;
    char *path;
    uint64_t bytes, parameters;
    struct vision_tensor *tensors; /* [depth][VISION_ROLES]; roles that a tower has once are under block 0 */

    /* Owners of what the tensors point to. */
    struct gguf *gguf;
    struct shards shards;
    struct notes notes;
    void *made;
};

enum tower_form { TOWER_GGUF, TOWER_HF };

/* Makes room for the tensors, once the shape is read (except for the members that follow from tensors). */
tdm_status tower_reserve(struct tower *t, tdm_error *err);
/* Takes a tensor by its name in this form; one that no row of the table names is refused. shape: slowest first. */
tdm_status tower_take(struct tower *t, enum tower_form form, struct span name, struct vision_tensor tensor,
                      tdm_error *err);
/* Checks that all tensors are there and have the shapes of their roles. */
tdm_status tower_finish(struct tower *t, tdm_error *err);

/* Rows and columns of a tensor with these dimensions, the slowest first. */
void tower_dimensions(struct vision_tensor *out, const uint64_t *shape, uint32_t dims, bool fastest_first);

tdm_status tower_read_gguf(struct tower *t, tdm_error *err);
tdm_status tower_read_hf(struct tower *t, tdm_error *err);
/* Reads a directory's preprocessor_config.json, which says how pictures are prepared, into the shape. */
tdm_status tower_read_processor(struct vision_shape *s, const char *directory, tdm_error *err);

/* The shape with the default of every key. */
struct vision_shape tower_usual(void);

#endif
