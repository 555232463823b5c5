/* BPE tokenizers as tokenizer.json and the metadata of GGUF files define them: of bytes, with NFC, pre-tokenizers
 * (split.h), added tokens, merges; or of the pieces of SentencePiece, with merges or scores.
 *
 * Text is UTF-8 of any length; it may contain zero bytes, and invalid bytes are preserved. Decoding the ids of a text
 * gives its NFC form byte for byte (of pieces: the text, but U+2581 is a blank). Ends of ids are offsets in the text as
 * given, before NFC; an id that ends inside a character that NFC rewrote has that character's start as its end.
 *
 * Threads: a tokenizer is constant once loaded; any number of threads may use it. Files are untrusted: ids are
 * limited to 2^20, a file to 256 MiB, and a vocabulary lacking one of the 256 bytes, or all merges, is refused. */
#ifndef TANDEM_TEXT_TOKENIZER_H
#define TANDEM_TEXT_TOKENIZER_H

#include "engine/base/error.h"
#include "engine/base/span.h"
#include "engine/text/ids.h"
#include "engine/text/marks.h"

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

/* When a tokenizer of pieces adds a blank before a stretch of text. A stretch begins at the beginning of a prompt or
 * after an added token. */
enum tokenizer_before {
    TOKENIZER_NOTHING,
    TOKENIZER_BLANK,       /* everywhere */
    TOKENIZER_MISSING,     /* where the stretch doesn't begin with one */
    TOKENIZER_MISSING_ONCE /* the same, but only at the beginning of a prompt */
};

struct tokenizer_parts {
    const char *name;          /* of the file, for error lines */
    const struct span *tokens; /* by id; one without bytes is a hole */
    size_t token_count;
    const int32_t *types;       /* enum tokenizer_type by id; NULL: all normal */
    const uint8_t *added_flags; /* ADDED_* (added.h) by id, of added tokens; NULL: all 0 */
    struct span bos;            /* the added token before a prompt, if the file asks for one; or empty */
    bool pieces;                /* pieces of SentencePiece, not byte-level BPE: no pre-tokenizer, no NFC */
    bool words;                 /* each blank begins a word, and no piece spans two words */
    enum tokenizer_before before;
    const float *scores;        /* of pieces, by id: of possible merges the highest score comes first; NULL: `merges`
                                   has the order */
    const struct span *merges;  /* "left right" in the byte alphabet, by rank */
    size_t merge_count;
    struct span pre;                /* tokenizer.ggml.pre; used if there are no expressions */
    const struct span *expressions; /* to split by, one after the other */
    size_t expression_count;
    const struct marks *marks; /* texts whose tokens are control tokens whatever their types say; NULL: none */
    bool keep_form;            /* no NFC; the rule of `pre` may imply it too */
    bool ignore_merges;        /* a pre-token of the vocabulary isn't merged; the rule of `pre` may imply it too */
};

/* Copies what it needs of parts. *out is freed with tokenizer_free. */
tdm_status tokenizer_load_parts(struct tokenizer **out, const struct tokenizer_parts *parts, tdm_error *err);
/* From a tokenizer.json (tokenizer_json.h). marks may be NULL. */
tdm_status tokenizer_load_json(struct tokenizer **out, const char *path, const struct marks *marks, tdm_error *err);
/* A tokenizer for counting alone, of no model (tokenizer_counting.c): it makes more tokens of a text than most models
 * do. */
tdm_status tokenizer_counting(struct tokenizer **out, tdm_error *err);
void tokenizer_free(struct tokenizer *t);

enum {
    TOKENIZE_ADDED = 1, /* recognise added tokens in the text; without it they are ordinary text */
    TOKENIZE_BEGIN = 2, /* the text is the beginning of a prompt */
    TOKENIZE_AFTER = 4, /* an added token stands before it */
};

/* Appends the ids of text[0..n). Their ends are `base` plus bytes of text. On failure *out keeps what it had,
 * perhaps with some more. */
tdm_status tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags, size_t base,
                            struct ids *out, tdm_error *err);

/* The same for a text of which only some stretches may spell added tokens: those from the beginning to ends[0], from
 * ends[1] to ends[2], and so on; the others are ordinary text, and ends[n - 1] is the text's end. An added token needs
 * all of its bytes in one stretch; the text between two added tokens is encoded as one, whatever its stretches. The
 * text is a whole prompt: the id of tokenizer_bos is put before it, unless it begins with that token. */
tdm_status tokenizer_encode_written(const struct tokenizer *t, const char *text, const size_t *ends, size_t n,
                                    struct ids *out, tdm_error *err);
/* The same for text[from..to) of such a text, to continue the ids before `from`. flags: TOKENIZE_BEGIN if `from` is the
 * prompt's beginning; TOKENIZE_AFTER. An added token that ends after `to` is ordinary text. */
tdm_status tokenizer_encode_part(const struct tokenizer *t, const char *text, const size_t *ends, size_t n, size_t from,
                                 size_t to, unsigned flags, struct ids *out, tdm_error *err);
/* The first added token in such a text at or after `from`, which lies in no added token. False: there is none. */
bool tokenizer_next_written(const struct tokenizer *t, const char *text, const size_t *ends, size_t n, size_t from,
                            tdm_id *id, size_t *begin, size_t *end);

/* For a text that may still grow at its end: the length of its stable part, the longest prefix whose ids are certain to
 * stay the same whatever follows (added tokens not recognised). It excludes the last pre-token, the white space next to
 * it, an incomplete character and characters that NFC could still change. Encoding the rest from that length on, with
 * any text appended, continues the ids exactly, so a caller may keep the ids of the stable part. If the text may also
 * be cut off at `limit` <= n, the stable part ends there at the latest; otherwise pass n. flags: TOKENIZE_BEGIN or
 * TOKENIZE_AFTER, for the text's beginning. */
tdm_status tokenizer_stable_prefix(const struct tokenizer *t, const char *text, size_t n, unsigned flags, size_t limit,
                                   size_t *length, tdm_error *err);

/* The token to put before a prompt that doesn't begin with it, or -1. tokenizer_encode doesn't add it: the code that
 * makes a prompt asks for it. */
tdm_id tokenizer_bos(const struct tokenizer *t);
/* Makes the added token with this text that token, if there is one. Call it before the tokenizer is used. */
void tokenizer_add_bos(struct tokenizer *t, struct span text);
/* Whether the text of a prompt's ids begins with a blank that the tokenizer added. */
bool tokenizer_begins_blank(const struct tokenizer *t);
/* Ids are 0 .. tokenizer_count() - 1, holes included. */
tdm_id tokenizer_count(const struct tokenizer *t);
/* The bytes that an id stands for; empty for holes and ids out of range. */
struct span tokenizer_bytes(const struct tokenizer *t, tdm_id id);
bool tokenizer_is_special(const struct tokenizer *t, tdm_id id);
/* The spelling of the longest added token at the beginning of text[0..n): its length; 0: none. */
size_t tokenizer_spells_added(const struct tokenizer *t, const char *text, size_t n);
/* The bytes of the longest added token. */
size_t tokenizer_longest_added(const struct tokenizer *t);
/* Whether it is an added token, special or not. */
bool tokenizer_is_added(const struct tokenizer *t, tdm_id id);
/* The id of the added token with this text, or -1. */
tdm_id tokenizer_find(const struct tokenizer *t, const char *text);

#endif
