/* GGUF files, versions 2 and 3, little-endian: reading (memory-mapped, single or split) and writing.
 *
 * Layout (the public specification, ggml-org/ggml docs/gguf.md): magic, version, tensor count, metadata count; the
 * metadata (key, type, value); per tensor its name, dimensions (fastest first), type and offset; padding to
 * `general.alignment` (32 unless given); tensor data. Parts of a split file (NAME-00001-of-0000N.gguf) are GGUF files
 * of their own; the first has the metadata.
 *
 * Everything in a file is untrusted. After gguf_open every key, string, array and tensor lies within its map, no key
 * and no tensor name occurs twice, every tensor's offset is aligned, and no two share bytes. Memory use is a small
 * multiple of the header's size. All pointers live until gguf_close. Threads: reading is safe from any number of
 * threads.
 */
#ifndef TANDEM_MODEL_GGUF_H
#define TANDEM_MODEL_GGUF_H

#include "engine/base/span.h"
#include "engine/model/type.h"
#include "engine/tandem.h"

enum gguf_value {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_VALUES
};

struct gguf_key {
    struct span name;
    enum gguf_value type; /* of the value; of the elements when it is an array */
    bool array;
    uint64_t count;      /* elements; 1 when it is no array */
    const uint8_t *data; /* the values as in the file; strings: u64 length, bytes, one after the other */
    uint64_t bytes;      /* of data */
};

enum { GGUF_MAX_DIMS = 4 };

struct gguf_tensor {
    struct span name;
    uint32_t dims;
    uint64_t shape[GGUF_MAX_DIMS]; /* fastest first; 1 beyond dims */
    enum type type;
    const uint8_t *data;
    uint64_t bytes;
};

struct gguf;

/* Opens a file; if it is a part of a split file, all parts. */
tdm_status gguf_open(struct gguf **out, const char *path, tdm_error *err);
/* The same for bytes in memory (not copied), for tests and fuzz targets; `name` is for error lines. No split files. */
tdm_status gguf_open_memory(struct gguf **out, const void *data, uint64_t size, const char *name, tdm_error *err);
void gguf_close(struct gguf *g);

const char *gguf_path(const struct gguf *g); /* of the first part */
uint64_t gguf_file_bytes(const struct gguf *g);
uint64_t gguf_stamp(const struct gguf *g); /* the stamp of struct map, of all parts; 0 for bytes in memory */
tdm_status gguf_check(const struct gguf *g, tdm_error *err); /* map_check, of all parts */
void gguf_release(const struct gguf *g, const void *data, uint64_t bytes); /* map_release, in the part that contains
                                                                              them */
void gguf_forget(const struct gguf *g); /* map_forget, of all parts */
size_t gguf_keys(const struct gguf *g, const struct gguf_key **list);       /* in file order */
size_t gguf_tensors(const struct gguf *g, const struct gguf_tensor **list); /* in file order */

/* The key of this name, or NULL. */
const struct gguf_key *gguf_find(const struct gguf *g, const char *key);
/* An element of a key's value as a number (0 or 1 of a bool); false: it is a string, or out of the range of doubles. */
bool gguf_key_number(const struct gguf_key *k, uint64_t index, double *out);
/* The value of a key that is a string; false: it is none. */
bool gguf_key_text(const struct gguf_key *k, struct span *out);

/* Typed look-ups. An absent key is TDM_OK, leaves *out unchanged and sets *found (may be NULL) to false; a value of
 * another type or out of range is TDM_E_FORMAT. Integers may have any width; floats may be F32 or F64. */
tdm_status gguf_get_u64(const struct gguf *g, const char *key, uint64_t low, uint64_t high, uint64_t *out, bool *found,
                        tdm_error *err);
tdm_status gguf_get_float(const struct gguf *g, const char *key, float *out, bool *found, tdm_error *err);
/* The same for any number, also one that isn't finite. */
tdm_status gguf_get_number(const struct gguf *g, const char *key, double *out, bool *found, tdm_error *err);
tdm_status gguf_get_string(const struct gguf *g, const char *key, struct span *out, bool *found, tdm_error *err);
/* Array of strings: *out is malloc'ed (NULL when there are none), the bytes lie in the map. */
tdm_status gguf_get_strings(const struct gguf *g, const char *key, struct span **out, uint64_t *count, bool *found,
                            tdm_error *err);
/* Array of integers of at most 32 bits; *out is malloc'ed. */
tdm_status gguf_get_i32s(const struct gguf *g, const char *key, int32_t **out, uint64_t *count, bool *found,
                         tdm_error *err);
/* Array of floats, the same. */
tdm_status gguf_get_floats(const struct gguf *g, const char *key, float **out, uint64_t *count, bool *found,
                           tdm_error *err);

/* ---- Writing --------------------------------------------------------------------------------------------------
 * First declare all keys and tensors, then call gguf_write_start, which writes the header, then write the tensors' data
 * in the order declared. Version 3, alignment 32. Out of memory while declaring is reported by gguf_write_start.
 */
struct atomic_file; /* engine/os/atomic_file.h */
struct gguf_writer;

struct gguf_writer *gguf_writer_new(void); /* NULL: no memory */
void gguf_writer_free(struct gguf_writer *w);
void gguf_add_u32(struct gguf_writer *w, const char *key, uint32_t value);
void gguf_add_i32(struct gguf_writer *w, const char *key, int32_t value);
void gguf_add_f32(struct gguf_writer *w, const char *key, float value);
void gguf_add_bool(struct gguf_writer *w, const char *key, bool value);
void gguf_add_string(struct gguf_writer *w, const char *key, struct span value);
void gguf_add_strings(struct gguf_writer *w, const char *key, const struct span *values, uint64_t count);
void gguf_add_i32s(struct gguf_writer *w, const char *key, const int32_t *values, uint64_t count);
void gguf_add_f32s(struct gguf_writer *w, const char *key, const float *values, uint64_t count);
void gguf_add_bools(struct gguf_writer *w, const char *key, const bool *values, uint64_t count);
void gguf_add_key(struct gguf_writer *w, const struct gguf_key *key); /* a copy of one that was read */
void gguf_add_tensor(struct gguf_writer *w, struct span name, uint32_t dims, const uint64_t *shape, enum type type);
tdm_status gguf_write_start(struct gguf_writer *w, struct atomic_file *file, tdm_error *err);
/* The next bytes of tensor data, in pieces of any size; the writer adds the padding between tensors. */
tdm_status gguf_write_data(struct gguf_writer *w, const void *data, uint64_t bytes, tdm_error *err);
/* Has all declared data been written? The caller commits the file. */
bool gguf_write_done(const struct gguf_writer *w);

#endif
