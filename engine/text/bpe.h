/* Byte-pair encoding of one pre-token: the tables that a vocabulary and its merges make, and the merging.
 *
 * Starting from one token per byte, the neighbouring pair whose merge comes first in the list is joined, the
 * leftmost of equals, until no pair has a merge. Most words are one token; for those the merging is skipped: a
 * token known to be what its own bytes merge to is found by its bytes. That knowledge is gathered on the way, in
 * one byte per token that any thread may set (always to the same value); all else is constant once built.
 * Both hash tables are keyed with a random number, since a file must not be able to pick colliding entries. */
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
    bool ignore_merges; /* a pre-token that is in the vocabulary is that token, whatever the merges say */
    uint64_t seed;
    uint32_t longest; /* bytes of the longest token in the word table */
    struct bpe_word *words;
    struct bpe_pair *pairs;
    uint64_t word_mask, pair_mask;
    _Atomic unsigned char *whole; /* by id: do its bytes merge to it? */
    tdm_id byte[256];
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

/* Puts a token in the word table: it can now come out of merging. False: another token has the same bytes. */
bool bpe_add_word(struct bpe *bpe, tdm_id id);
/* The token with these bytes in the word table, or -1. */
tdm_id bpe_find(const struct bpe *bpe, const char *bytes, size_t n);
/* A merge: rank counts from 0; of two merges of one pair the later counts. */
void bpe_add_merge(struct bpe *bpe, tdm_id left, tdm_id right, tdm_id merged, uint32_t rank);

/* Appends the tokens of one pre-token, n > 0; the ends are `base` plus the bytes up to each. */
tdm_status bpe_encode(const struct bpe *bpe, struct bpe_work *work, const char *bytes, size_t n, size_t base,
                      struct ids *out, tdm_error *err);
void bpe_work_free(struct bpe_work *work);

#endif
