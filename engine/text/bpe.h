/* Byte-pair encoding of one pre-token: the tables of a vocabulary and its merges, and the merging.
 *
 * Merging starts from one token per byte (for pieces: per character, and a character without a token is split into its
 * bytes' tokens). It merges the neighbouring pair with the lowest rank, the leftmost of equals, until no pair has a
 * merge. Most words are a single token, and for these merging is skipped: a token that is known to result from merging
 * its own bytes is looked up by its bytes. This knowledge is cached in one byte per token, which any thread may set
 * (always to the same value); everything else is constant once built. Both hash tables are keyed with a random number,
 * so that a file cannot choose colliding entries. */
#ifndef TANDEM_TEXT_BPE_H
#define TANDEM_TEXT_BPE_H

#include <stdatomic.h>

#include "engine/text/ids.h"

struct bpe_token {
    uint32_t offset, length; /* of its bytes in `bytes` */
};

struct bpe {
    const char *bytes;              /* the caller's, kept alive by it */
    const struct bpe_token *tokens; /* by id; the caller's */
    tdm_id count;
    bool characters;       /* merging starts from characters, not from bytes */
    const uint32_t *ranks; /* by id, the caller's: neighbours merge to the token that they spell, by its rank; NULL: by
                              merges */
    bool ignore_merges;    /* a pre-token that is in the vocabulary is that token, whatever the merges say */
    uint64_t seed;
    uint32_t longest; /* bytes of the longest token in the word table */
    struct bpe_word *words;
    struct bpe_pair *pairs;
    uint64_t word_mask, pair_mask;
    _Atomic unsigned char *whole; /* by id: the cache of whether its bytes merge to it */
    tdm_id byte[256];             /* the token of each byte; set by the caller if `characters` */
};

/* Working space of one thread's encoding; zero-initialised it is empty. */
struct bpe_work {
    struct bpe_symbol *symbols;
    uint64_t *heap;
    size_t room;
};

/* Prepares tables for `count` tokens and at most `merges` merges. */
tdm_status bpe_init(struct bpe *bpe, const char *bytes, const struct bpe_token *tokens, tdm_id count, size_t merges,
                    tdm_error *err);
void bpe_free(struct bpe *bpe);

/* Puts a token in the word table, so that merging may produce it. False: another token has the same bytes. */
bool bpe_add_word(struct bpe *bpe, tdm_id id);
/* The token with these bytes in the word table, or -1. */
tdm_id bpe_find(const struct bpe *bpe, const char *bytes, size_t n);
/* A merge; ranks begin at 0. A second merge of the same pair replaces the first. */
void bpe_add_merge(struct bpe *bpe, tdm_id left, tdm_id right, tdm_id merged, uint32_t rank);

/* Appends the tokens of one pre-token, n > 0; the ends are `base` plus the bytes up to each. */
tdm_status bpe_encode(const struct bpe *bpe, struct bpe_work *work, const char *bytes, size_t n, size_t base,
                      struct ids *out, tdm_error *err);
void bpe_work_free(struct bpe_work *work);

#endif
