/* The weight files of a Hugging Face directory, and which of them each tensor is taken from.
 *
 * The files are those that model.safetensors.index.json names; without an index they are model.safetensors, or the
 * existing parts NAME-00001-of-0000N.safetensors, or the only other *.safetensors. A tensor that lies in several files
 * is taken from the one that the index names for it; without an index it is refused.
 */
#ifndef TANDEM_MODEL_SHARDS_H
#define TANDEM_MODEL_SHARDS_H

#include "engine/model/schema/unknown.h"
#include "engine/model/hf/safetensors.h"

struct json_object;

struct shard_tensor {
    const struct safetensors_tensor *tensor;
    const struct safetensors *file;
};

/* A tensor that the index lists, but that is not in the file which the index names for it. */
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

/* Close *out, also on failure. */
tdm_status shards_open(struct shards *out, const char *directory, struct notes *notes, tdm_error *err);
void shards_close(struct shards *s);

/* Finds a file of weights that a directory lacks, or whose link is broken: *missing is its name, malloc'ed; NULL: no
 * file is known to be missing. *any: the directory has weights. No file but the index is read. False: out of memory. */
bool shards_missing(const char *directory, char **missing, bool *any);

uint64_t shards_bytes(const struct shards *s); /* of all files */
uint64_t shards_stamp(const struct shards *s); /* of struct map, for all files */
tdm_status shards_check(const struct shards *s, tdm_error *err); /* map_check, of all files */
/* map_release, in the file that contains them. */
void shards_release(const struct shards *s, const void *data, uint64_t bytes);
void shards_forget(const struct shards *s); /* map_forget, of all files */

#endif
