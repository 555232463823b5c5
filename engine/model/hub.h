/* Names on the Hugging Face hub: repositories as a user writes them, and what the name of a GGUF file says about it. No
 * function here accesses disk or network. */
#ifndef TANDEM_MODEL_HUB_H
#define TANDEM_MODEL_HUB_H

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
/* The folder of a repository in a cache: models--OWNER--NAME. */
void hub_folder(char out[HUB_REPOSITORY_ROOM + 16], const char *repository);

/* A file NAME-TAG.gguf, or one part of a split one (NAME-TAG-00002-of-00003.gguf). */
struct hub_gguf {
    size_t stem;            /* length of the path without ".gguf" and part, which the parts of one model share */
    char
        tag[HUB_TAG_ROOM]; /* the quant at the end of the name ("Q4_K_M", "UD-Q4_K_XL", "bf16"), else all of its stem */
    uint32_t part, parts;   /* 1 of 1 if it is not split */
};

/* False for files that are not GGUF models: other types, vision projectors (mmproj), importance matrices (imatrix),
 * layers for multi-token prediction (mtp-*), and names that are too long. `path` may have folders. */
bool hub_gguf_parse(struct hub_gguf *out, const char *path);

/* Whether the user's tag names this file: by its quant, or by its name without part and ".gguf". Case is ignored. */
bool hub_tag_is(const struct hub_gguf *gguf, const char *path, const char *tag);

/* The tags that are tried if the user gives none, the best first; NULL-terminated. */
extern const char *const hub_usual_tags[];

#endif
