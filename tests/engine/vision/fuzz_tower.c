/* Any bytes as a projector, or as the processor's file where they begin as an object. A tower that is opened holds its
 * promises, and pictures of any sides get some that it can take. */
#include <stdlib.h>
#include <string.h>

#include "engine/vision/patches.h"
#include "engine/vision/tower_private.h"
#include "tests/fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void touch(const struct tower *t)
{
    const struct vision_shape *s = tower_shape(t);
    if (!s->depth || !s->side || s->width % s->heads || vision_head_dim(s) > VISION_MAX_HEAD) abort();
    for (int role = 0; role < VISION_ROLES; role++)
        for (uint32_t b = 0; b < (role >= VISION_NORM1 ? s->depth : 1); b++) {
            const struct vision_tensor *tensor = tower_tensor(t, (enum vision_role)role, b);
            if (!tensor->data && role != VISION_PATCH_NEXT) abort();
            if (!tensor->data) continue;
            sink = tensor->data[0];
            sink = tensor->data[tensor->rows * type_row_bytes(tensor->type, tensor->cols) - 1];
        }
}

static void fit(const struct vision_shape *s, uint32_t width, uint32_t height)
{
    uint32_t w, h, unit = s->patch * s->merge;
    if (patches_fit(s, width, height, &w, &h, NULL)) return;
    if (!w || !h || w % unit || h % unit) abort();
}

static void read_processor(const uint8_t *data, size_t size)
{
    struct vision_shape s = tower_usual();
    char folder[400];
    strcpy(folder, fuzzed_file("preprocessor_config.json", data, size));
    *strrchr(folder, '/') = 0;
    (void)tower_read_processor(&s, folder, NULL); /* what it leaves is validated with the rest */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tower *t;
    if (size && data[0] == '{') {
        read_processor(data, size);
        return 0;
    }
    if (tower_open_memory(&t, data, size, "fuzz", NULL)) return 0;
    touch(t);
    fit(tower_shape(t), 1, 1);
    fit(tower_shape(t), 640, 480);
    fit(tower_shape(t), 65536, 400);
    fit(tower_shape(t), 65536, 65536);
    tower_close(t);
    return 0;
}
