/* Byte-level BPE tokenizers as tokenizer.json and the metadata of GGUF files define them: NFC, the splitting rules of
 * Qwen2 and Qwen3.5 (split.h), added tokens, merges.
 *
 * Text is UTF-8 of any length; it may contain zero bytes, and invalid bytes are preserved. Decoding the ids of a text
 * gives its NFC form byte for byte. Ends of ids are offsets in the text as given, before NFC; an id that ends inside a
 * character that NFC rewrote has that character's start as its end.
 *
 * Threads: a tokenizer is constant once loaded; any number of threads may use it. Files are untrusted: ids are
 * limited to 2^20, a file to 256 MiB, and a vocabulary lacking one of the 256 bytes is refused. */
#ifndef TANDEM_TEXT_TOKENIZER_H
#define TANDEM_TEXT_TOKENIZER_H

#include "engine/base/error.h"
#include "engine/base/span.h"
#include "engine/text/ids.h"

struct tokenizer;

/* The numbering of tokenizer.ggml.token_type. */
enum tokenizer_type {
    TOKENIZER_NORMAL = 1,       /* result of merges; its text is written in the byte alphabet */
    TOKENIZER_UNKNOWN = 2,      /* not used by byte-level BPE: never produced, decodes to its text */
    TOKENIZER_CONTROL = 3,      /* a special added token; its text is plain UTF-8 */
    TOKENIZER_USER_DEFINED = 4, /* an added token that is not special; plain UTF-8 */
    TOKENIZER_UNUSED = 5,       /* a row of the embeddings without a token: never produced, decodes to nothing */
    TOKENIZER_BYTE = 6,         /* as UNKNOWN */
};

struct tokenizer_parts {
    const char *name;          /* of the file, for error lines */
    const struct span *tokens; /* by id; one without bytes is a hole */
    size_t token_count;
    const int32_t *types;       /* enum tokenizer_type by id; NULL: all normal */
    const uint8_t *added_flags; /* ADDED_* (added.h) by id, of the added ones; NULL: none has any */
    const struct span *merges;  /* "left right" in the byte alphabet, by rank */
    size_t merge_count;
    struct span pre; /* tokenizer.ggml.pre or the regular expression of tokenizer.json */
    bool keep_form;  /* no NFC */
    bool ignore_merges;
};

/* Copies what it needs of parts. *out is freed with tokenizer_free. */
tdm_status tokenizer_load_parts(struct tokenizer **out, const struct tokenizer_parts *parts, tdm_error *err);
/* From a tokenizer.json (tokenizer_json.h). */
tdm_status tokenizer_load_json(struct tokenizer **out, const char *path, tdm_error *err);
void tokenizer_free(struct tokenizer *t);

enum {
    TOKENIZE_ADDED = 1, /* recognise added tokens in the text; without it they are ordinary text */
};

/* Appends the ids of text[0..n). Their ends are `base` plus bytes of text. On failure *out keeps what it had,
 * perhaps with some more. */
tdm_status tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags, size_t base,
                            struct ids *out, tdm_error *err);

/* For a text that may still grow at its end: the length of its stable part, the longest prefix whose ids are certain to
 * stay the same whatever follows (added tokens not recognised). It excludes the last pre-token, the white space next to
 * it, an incomplete character and characters that NFC could still change. Encoding the rest from that length on, with
 * whatever was appended, continues the ids exactly, so a caller may keep the ids of the stable part. If the text may
 * also be cut off at `limit` <= n, the stable part ends there at the latest; otherwise pass n. */
tdm_status tokenizer_stable_prefix(const struct tokenizer *t, const char *text, size_t n, size_t limit, size_t *length,
                                   tdm_error *err);

/* Ids are 0 .. tokenizer_count() - 1, holes included. */
tdm_id tokenizer_count(const struct tokenizer *t);
/* The bytes that an id stands for; empty for holes and ids out of range. */
struct span tokenizer_bytes(const struct tokenizer *t, tdm_id id);
bool tokenizer_is_special(const struct tokenizer *t, tdm_id id);
/* The spelling of the longest added token at the beginning of text[0..n): its length; 0: none. */
size_t tokenizer_spells_added(const struct tokenizer *t, const char *text, size_t n);
/* Whether it is an added token, special or not. */
bool tokenizer_is_added(const struct tokenizer *t, tdm_id id);
/* The id of the added token with this text, or -1. */
tdm_id tokenizer_find(const struct tokenizer *t, const char *text);

#endif
