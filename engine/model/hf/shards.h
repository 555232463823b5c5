/* The weight files of a Hugging Face directory, and which of them each tensor is taken from.
 *
 * The files are those that model.safetensors.index.json names; without one model.safetensors, or the parts
 * NAME-00001-of-0000N.safetensors that are there, or the only other *.safetensors. A tensor that lies in several files
 * is taken from the one that the index names for it; where no index decides, it is refused.
 */
#ifndef TANDEM_MODEL_SHARDS_H
#define TANDEM_MODEL_SHARDS_H

#include "engine/model/schema/notes.h"
#include "engine/model/hf/safetensors.h"

struct json_object;

struct shard_tensor {
    const struct safetensors_tensor *tensor;
    const struct safetensors *file;
};

/* What the index says of a tensor that isn't in the file which it names for it. */
struct shard_missed {
    const char *name, *file;
};

struct shards {
    struct safetensors **files;
    size_t n_files;
    struct shard_tensor *tensors; /* the tensors that are taken, in the files' order */
    size_t n_tensors;
    struct shard_missed *missed;
    size_t n_missed;
    struct json_object *index; /* owns the names of missed tensors; NULL: there is no index */
    char *index_path;
};

/* *out has to be closed, also on failure. */
tdm_status shards_open(struct shards *out, const char *directory, struct notes *notes, tdm_error *err);
void shards_close(struct shards *s);

/* Which file of weights isn't there that belongs to those of a directory, or is a link that leads nowhere: *missing,
 * its name, malloc'ed, or NULL: none is known. *any: there are weights at all. No file but the index is read. False:
 * out of memory. */
bool shards_missing(const char *directory, char **missing, bool *any);

uint64_t shards_bytes(const struct shards *s); /* of all files */
uint64_t shards_stamp(const struct shards *s); /* of struct map, for all files */
tdm_status shards_check(const struct shards *s, tdm_error *err); /* map_check, of all files */
/* map_release, in the file that has them. */
void shards_release(const struct shards *s, const void *data, uint64_t bytes);

#endif
