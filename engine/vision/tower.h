/* A vision tower in its files: its shape, and its tensors by role. From a GGUF projector (mmproj-*.gguf, arch "clip",
 * projector "qwen3vl_merger") or a Hugging Face directory whose model has one (model.visual.*).
 *
 * A key or tensor that no row of the table (tower.c) names is refused, since ignoring it could change the numbers
 * silently. Files are untrusted: after opening, every tensor lies within its map and has the shape that
 * the tower's shape says. All pointers live until tower_close. Threads: reading is safe from any number of threads. */
#ifndef TANDEM_VISION_TOWER_H
#define TANDEM_VISION_TOWER_H

#include <stdbool.h>

#include "engine/model/type.h"
#include "engine/vision/shape.h"

enum vision_role {
    VISION_PATCH, /* [width][channel, frame, y, x]; of the first frame alone if there is VISION_PATCH_NEXT */
    VISION_PATCH_NEXT,
    VISION_PATCH_BIAS,
    VISION_POSITIONS, /* [side * side][width] */
    VISION_MERGER_NORM,
    VISION_MERGER_NORM_BIAS,
    VISION_FC1,
    VISION_FC1_BIAS,
    VISION_FC2,
    VISION_FC2_BIAS,
    /* of each block */
    VISION_NORM1,
    VISION_NORM1_BIAS,
    VISION_QKV, /* queries of all heads, keys of all heads, values of all heads */
    VISION_QKV_BIAS,
    VISION_OUT,
    VISION_OUT_BIAS,
    VISION_NORM2,
    VISION_NORM2_BIAS,
    VISION_UP,
    VISION_UP_BIAS,
    VISION_DOWN,
    VISION_DOWN_BIAS,
    VISION_ROLES
};

struct vision_tensor {
    enum type type;
    uint64_t rows, cols; /* a vector has 1 row */
    const uint8_t *data; /* NULL: there is none */
};

struct tower;

/* A projector file, or a directory. TDM_E_NOT_FOUND: the directory's model has no tower. */
tdm_status tower_open(struct tower **out, const char *path, tdm_error *err);
/* A projector in memory (not copied), for tests and fuzz targets; `name` is for error lines. */
tdm_status tower_open_memory(struct tower **out, const void *data, uint64_t size, const char *name, tdm_error *err);
/* Made-up weights of this shape in BF16, the same in all blocks: for measurements, where only the time counts. */
tdm_status tower_make(struct tower **out, const struct vision_shape *shape, tdm_error *err);
void tower_close(struct tower *t); /* NULL is allowed */

/* The projector beside a GGUF model (mmproj-*.gguf; one called mmproj- and the model's name is preferred; in a snapshot
 * of a hub cache, folders above the model's are searched too), or the model's own directory: malloc'ed, what tower_open
 * takes. NULL: there is none or, if errno is ENOMEM, no memory. */
char *tower_beside(const char *model);
/* Whether a file is a GGUF projector, by its architecture. */
bool tower_is_projector(const char *path);

const struct vision_shape *tower_shape(const struct tower *t);
const char *tower_path(const struct tower *t);
const char *tower_format(const struct tower *t); /* "GGUF", "safetensors", "made up" */
uint64_t tower_bytes(const struct tower *t);     /* of its tensors */
uint64_t tower_parameters(const struct tower *t);
/* block: 0 for roles that a tower has once. */
const struct vision_tensor *tower_tensor(const struct tower *t, enum vision_role role, uint32_t block);

#endif
