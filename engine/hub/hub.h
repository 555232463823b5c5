/* The Hugging Face hub: names of repositories, the layout of its cache, and the meaning of a GGUF file's name. No
 * function here accesses disk or network. */
#ifndef TANDEM_HUB_HUB_H
#define TANDEM_HUB_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HUB_REPOSITORY_ROOM = 196, HUB_TAG_ROOM = 97 };

/* OWNER/NAME[:TAG] */
struct hub_name {
    char repository[HUB_REPOSITORY_ROOM]; /* OWNER/NAME, only characters that the hub allows: safe as a path */
    char tag[HUB_TAG_ROOM];               /* "": none was given */
};

/* False: not such a name. */
bool hub_name_parse(struct hub_name *out, const char *text);

/* ---- The cache's layout, which other programs share ----------------------------------------------------------------
 *
 * No other room spells a name of it (tests/test_rooms.sh).
 *
 *     CACHE/models--OWNER--NAME/blobs/DIGEST              contents; the hub calls DIGEST their ETag
 *     CACHE/models--OWNER--NAME/blobs/DIGEST.incomplete   the part of a blob that was fetched so far
 *     CACHE/models--OWNER--NAME/snapshots/REVISION/FILE   relative links to blobs; FILE may have folders
 *     CACHE/models--OWNER--NAME/refs/main                 the revision that was fetched last
 *     CACHE/.locks/models--OWNER--NAME/DIGEST.lock        held (flock) by the program that fetches a blob */

enum {
    HUB_FOLDER_ROOM = HUB_REPOSITORY_ROOM + 16,
    HUB_REVISION_ROOM = 65,
    HUB_DIGEST_ROOM = 129,
    HUB_BLOB_ROOM = HUB_DIGEST_ROOM + 24,
    HUB_LOCK_ROOM = HUB_FOLDER_ROOM + HUB_DIGEST_ROOM + 16
};

/* Below the folder of a repository. */
#define HUB_SNAPSHOTS "snapshots"
#define HUB_MAIN      "refs/main"
/* The folders in it, in the order in which they are removed when a repository is deleted; NULL-terminated. */
enum { HUB_PARTS = 3 };
extern const char *const hub_parts[HUB_PARTS + 1];

/* The folder of a repository: models--OWNER--NAME. */
void hub_folder(char out[HUB_FOLDER_ROOM], const char *repository);
/* OWNER/NAME of such a folder, which is not checked further and cut to the room. False: it is none. */
bool hub_repository(char out[HUB_REPOSITORY_ROOM], const char *folder);
/* The same of the first such folder in a path. False: there is none. */
bool hub_repository_of(char out[HUB_REPOSITORY_ROOM], const char *path);
/* The blob's path below the folder of its repository; `incomplete`: of the part that was fetched. */
void hub_blob(char out[HUB_BLOB_ROOM], const char *digest, bool incomplete);
/* The path of a blob's lock below the cache, or with digest NULL that of the folder of its repository's locks. */
void hub_lock(char out[HUB_LOCK_ROOM], const char *folder, const char *digest);

/* A snapshot, or a file in it. */
struct hub_place {
    char folder[HUB_FOLDER_ROOM];
    char revision[HUB_REVISION_ROOM];
    const char *file; /* the end of the path, below the snapshot; "": the snapshot itself */
};
/* path: below the cache. False: it is neither. */
bool hub_place_parse(struct hub_place *out, const char *path);
/* How much of a path, in whatever cache, is that of a snapshot; 0: it leads into none. */
size_t hub_snapshot_length(const char *path);

/* The revision that the n bytes of refs/main name: a word of letters and digits, perhaps after a byte order mark and
 * before white space. False: they name none. */
bool hub_revision_parse(char out[HUB_REVISION_ROOM], const char *text, size_t n);

/* The target of a link in a snapshot: "../../blobs/DIGEST", with one more "../" for each of `depth` folders of FILE.
 * malloc'ed; NULL: out of memory. */
char *hub_link(const char *digest, int depth);
/* The digest of such a link. False: it leads elsewhere. */
bool hub_link_parse(char out[HUB_DIGEST_ROOM], const char *target, int depth);

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Parses the number of a part of a split file at the end of a name of n characters, without suffix:
 * NAME-00002-of-00003. Returns the length of NAME; 0: there is no such number. */
size_t hub_part_parse(const char *name, size_t n, uint32_t *part, uint32_t *parts);

/* A file NAME-TAG.gguf, or one part of a split one (NAME-TAG-00002-of-00003.gguf). */
struct hub_gguf {
    size_t stem;            /* length of the path without ".gguf" and the number of the part: the parts of one model
                               have the same */
    /* The quant at the end of the name ("Q4_K_M", "UD-Q4_K_XL", "bf16"), else the whole stem. */
    char tag[HUB_TAG_ROOM];
    uint32_t part, parts;   /* 1 of 1 if it is not split */
};

/* False for files that are not GGUF models: other types, vision projectors (mmproj), importance matrices (imatrix),
 * layers for multi-token prediction (mtp-*), and names that are too long. `path` may have folders. */
bool hub_gguf_parse(struct hub_gguf *out, const char *path);

/* Whether a file's name, mmproj*.gguf, is that of a projector: the vision encoder of the models in its folder. */
bool hub_is_projector(const char *path);

/* Whether the user's tag names this file: by its quant, or by its name without part and ".gguf". Case is ignored. */
bool hub_tag_is(const struct hub_gguf *gguf, const char *path, const char *tag);

/* The tags that are tried if the user gives none, the best first; NULL-terminated. */
extern const char *const hub_usual_tags[];

#endif
