/* Names on the Hugging Face hub: repositories as a user writes them, and what the name of a GGUF file says about it.
 * Nothing here looks at a disk or a network. */
#ifndef TANDEM_MODEL_HUB_H
#define TANDEM_MODEL_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HUB_REPOSITORY_ROOM = 196, HUB_TAG_ROOM = 97 };

/* OWNER/NAME[:TAG] */
struct hub_name {
    char repository[HUB_REPOSITORY_ROOM]; /* OWNER/NAME, of the characters that the hub allows: no path leads out of it
                                           */
    char tag[HUB_TAG_ROOM];               /* "": none was given */
};

/* False when the text is no such name. */
bool hub_name_parse(struct hub_name *out, const char *text);
/* The folder of a repository in a cache: models--OWNER--NAME. */
void hub_folder(char out[HUB_REPOSITORY_ROOM + 16], const char *repository);

/* A file NAME-TAG.gguf, or one part of a split one (NAME-TAG-00002-of-00003.gguf). */
struct hub_gguf {
    size_t stem; /* length of the path without ".gguf" and part: what the parts of one model share */
    char
        tag[HUB_TAG_ROOM]; /* its quant as the name ends ("Q4_K_M", "UD-Q4_K_XL", "bf16"), else the whole file's stem */
    uint32_t part, parts;  /* 1 of 1 when it is not split */
};

/* False for what is no GGUF model: other files, vision projectors (mmproj), importance matrices (imatrix), the extra
 * layers that guess ahead (mtp-*), and names too long to name. `path` may have folders. */
bool hub_gguf_parse(struct hub_gguf *out, const char *path);

/* Whether a file with this tag and path is the one that the user's tag names: by quant, or by the file's name without
 * part and ".gguf". Any case. */
bool hub_tag_is(const struct hub_gguf *gguf, const char *path, const char *tag);

/* The tags that a repository's model is taken by when none is given, the best first; NULL-terminated. */
extern const char *const hub_usual_tags[];

#endif
