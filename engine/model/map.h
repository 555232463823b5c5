/* A file mapped read-only. Its pages are clean copies of the file, so they can be given back at any time. */
#ifndef TANDEM_MODEL_MAP_H
#define TANDEM_MODEL_MAP_H

#include "engine/tandem.h"

struct map {
    const uint8_t *data; /* NULL when size is 0 */
    uint64_t size;
};

tdm_status map_open(struct map *m, const char *path, tdm_error *err);
void map_close(struct map *m);

/* Gives back the pages that lie wholly or partly within [data, data+bytes); they are read again when touched. */
void map_release(const void *data, uint64_t bytes);

#endif
