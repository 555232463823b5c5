/* Safetensors files, read memory-mapped.
 *
 * Layout: a u64 length, that many bytes of JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...,
 * "__metadata__": {...}}, then the data; offsets count from its start. Row-major, little-endian.
 *
 * Everything in a file is untrusted: after opening, each tensor lies within the map and has the size that its dtype and
 * shape say. All pointers live until safetensors_close. Threads: reading is safe from any number of threads.
 */
#ifndef TANDEM_MODEL_SAFETENSORS_H
#define TANDEM_MODEL_SAFETENSORS_H

#include "engine/model/type.h"
#include "engine/tandem.h"

enum { SAFETENSORS_MAX_DIMS = 8 };

struct safetensors_tensor {
    const char *name;
    char dtype[12]; /* "BF16", "I64" ... */
    enum type type; /* F32, F16 or BF16; TYPE_COUNT for every other dtype */
    uint32_t dims;
    uint64_t shape[SAFETENSORS_MAX_DIMS]; /* slowest first; 1 beyond dims */
    uint64_t elements;
    const uint8_t *data;
    uint64_t bytes;
};

struct safetensors;

tdm_status safetensors_open(struct safetensors **out, const char *path, tdm_error *err);
/* The same for bytes in memory (not copied), for tests and fuzz targets; `name` is for error lines. */
tdm_status safetensors_open_memory(struct safetensors **out, const void *data, uint64_t size, const char *name,
                                   tdm_error *err);
void safetensors_close(struct safetensors *s);

const char *safetensors_path(const struct safetensors *s);
uint64_t safetensors_file_bytes(const struct safetensors *s);
uint64_t safetensors_stamp(const struct safetensors *s); /* of struct map; 0 for bytes in memory */
tdm_status safetensors_check(const struct safetensors *s, tdm_error *err); /* map_check */
void safetensors_release(const struct safetensors *s, const void *data, uint64_t bytes); /* map_release */
void safetensors_forget(const struct safetensors *s); /* map_forget */
size_t safetensors_tensors(const struct safetensors *s, const struct safetensors_tensor **list);  /* in header order */
/* NULL: absent. For the golden files of tests, which are read by name. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *s, const char *name);

#endif
