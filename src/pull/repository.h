/* A repository on the hub: its commit and its files, read from the answers to
 *
 *     /api/models/OWNER/NAME/revision/REVISION          an object: sha, gguf.architecture, config.model_type
 *     /api/models/OWNER/NAME/tree/COMMIT?recursive=true  an array of files: path, size, oid, lfs.oid, lfs.size
 *     /OWNER/NAME/resolve/COMMIT/model.safetensors.index.json  an object: weight_map
 *
 * the second in pages, linked by a Link header. The answers are untrusted: sizes and numbers are limited, and a file
 * whose name leads out of the folder, or could harm a terminal, is left out. */
#ifndef TANDEM_SRC_PULL_REPOSITORY_H
#define TANDEM_SRC_PULL_REPOSITORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tandem.h"

enum {
    REPOSITORY_DIGEST_ROOM = 65, /* 64 hexadecimal digits of SHA-256, or 40 of SHA-1 */
    REPOSITORY_MAX_FILES = 20000,
    REPOSITORY_MAX_WEIGHTS = 1000, /* files that an index may name */
    REPOSITORY_LONGEST_PATH = 1024,
    REPOSITORY_URL_ROOM = 4096,
};

typedef struct {
    char *path; /* safe: see repository_path_is_safe */
    uint64_t size;
    bool large; /* kept by LFS: the digest is the SHA-256 of its bytes; else it is that of a git blob (SHA-1) */
    char digest[REPOSITORY_DIGEST_ROOM];
} repository_file;

/* The files of weights that an index names. */
typedef struct {
    char **paths;
    size_t n;
} repository_index;

typedef struct {
    char commit[41];
    char architecture[41]; /* as GGUF or config.json name it; "": not said */
    repository_file *files;
    size_t n, room;
    size_t left_out; /* files whose names are unsafe */
    repository_index index; /* n 0: none was taken */
} repository;

/* Each takes one answer; `what` is named in error lines. A repository begins zeroed; on failure it is as before, or has
 * more files. */
tdm_status repository_take_revision(repository *r, const void *json, size_t n, const char *what, tdm_error *err);
tdm_status repository_take_files(repository *r, const void *json, size_t n, const char *what, tdm_error *err);
/* model.safetensors.index.json: which file each tensor is in. */
tdm_status repository_take_index(repository *r, const void *json, size_t n, const char *what, tdm_error *err);
void repository_free(repository *r);

const repository_file *repository_find(const repository *r, const char *path);

/* A relative path of plain components: no "..", no leading slash, no backslash, no control character, valid UTF-8
 * without characters that turn the direction of writing. */
bool repository_path_is_safe(const char *path, size_t n);

/* The target of rel="next" in the value of a Link header (RFC 8288), as it stands there (it may be relative). False
 * when there is none, or it doesn't fit. */
bool repository_next_page(const char *link, size_t n, char out[REPOSITORY_URL_ROOM]);

#endif
