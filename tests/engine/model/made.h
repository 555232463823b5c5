/* Models that are the golden ones with something changed: for tests of what other people's files have in them. */
#ifndef TANDEM_TESTS_MODEL_MADE_H
#define TANDEM_TESTS_MODEL_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/model/type.h"

struct gguf_writer;

/* A tensor of a file that is made; the shape is in the file's own order. */
struct made_tensor {
    char name[96];
    uint32_t dims;
    uint64_t shape[8];
    enum type type;
    const uint8_t *data; /* of the golden file, or of `own` */
    void *own;           /* the test's, freed when the file is made; or NULL */
    uint64_t bytes;
};

/* What a test changes: the list, in which there is room for twice as many. */
typedef void made_edit(struct made_tensor *list, size_t *n);

/* A folder in the test's temporary one with links to the files of a golden model ("tiny-a"), which made_put may
 * replace. The path is malloc'ed. */
char *made_folder(const char *name, const char *golden);
/* Writes a file of a folder, whatever stood there. */
void made_put(const char *folder, const char *file, const void *bytes, size_t n);
void made_text(const char *folder, const char *file, const char *text);
void made_remove(const char *folder, const char *file);

/* A safetensors file with tensors of a golden model. */
struct made_shard {
    bool (*takes)(const char *name); /* which; NULL: all */
    const char *spoiled;             /* one whose last byte is another; NULL: none */
    const char *copied, *as;         /* one that is there under a second name too; NULL: none */
};
void made_shard(const char *folder, const char *file, const char *golden, const struct made_shard *what);

/* A copy of a golden GGUF file ("tiny-a-q8_0"), in the test's temporary folder, without the keys whose names are in the
 * NULL-terminated list, and with those that `add` (may be NULL) declares. The path is malloc'ed. */
char *made_gguf(const char *name, const char *golden, const char *const *without, void (*add)(struct gguf_writer *w));
/* The same with other tensors. */
char *made_gguf_edited(const char *name, const char *golden, const char *const *without,
                       void (*add)(struct gguf_writer *w), made_edit *edit);
/* Replaces the weights of a folder (one file) by a changed copy. */
void made_weights(const char *folder, made_edit *edit);
/* The tensor of this name; aborts when there is none. */
struct made_tensor *made_find(struct made_tensor *list, size_t n, const char *name);
void made_drop(struct made_tensor *list, size_t *n, const char *name);

#endif
