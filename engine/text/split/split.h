/* Pre-tokenizers of byte-level BPE: how a text is cut into pre-tokens before merging.
 *
 * They are given by regular expressions (tokenizer.json), each of which splits the pieces that the one before it left,
 * or by a name (tokenizer.ggml.pre). One table has the names with their expressions. The expressions of most files are
 * implemented by C functions, all others are run by regex.h. An expression that is not understood is refused.
 *
 * The functions' expressions are variants of this list of alternatives, of which the first that matches is taken:
 *
 *   1  an apostrophe with s, t, re, ve, m, ll or d, in any case
 *   2  letters, with at most one character before them that is no letter, digit or line break
 *   3  one digit (llama-bpe: up to three)
 *   4  other characters, with at most one blank before them and line breaks after them
 *   5  white space up to its last line break
 *   6  white space, less its last character where something follows
 *   7  white space
 *
 * qwen2 treats combining marks as other characters, qwen35 as letters (in 2 and 4). gpt-2 has 1 in lower case alone,
 * blanks alone before letters and digits, any number of these, and no line breaks in 4 and 5; smollm cuts single digits
 * out first. */
#ifndef TANDEM_TEXT_SPLIT_H
#define TANDEM_TEXT_SPLIT_H

#include "engine/text/split/regex.h"

enum { SPLIT_STAGES = 8 };

/* The expression of ByteLevel with use_regex. */
#define SPLIT_BYTE_LEVEL "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* Pieces of SentencePiece are made from a whole text. If two characters are neighbours in no piece, no piece can span
 * them, so the text may be cut between them without changing its ids: the parts are its pre-tokens. */
struct joints {
    uint64_t *bits; /* a bit for each pair of neighbours, by hash; a collision costs time, never a wrong result */
    uint64_t mask;
    bool words; /* the text is also cut before every blank, whatever the pieces are */
};

struct split {
    struct joints joints;          /* bits NULL: not of pieces */
    const struct split_rule *rule; /* NULL: not one of the table's */
    struct regex *stages[SPLIT_STAGES];
    int stage_count; /* 0: the rule's function */
};

/* How far the splitting of one text has come; zero-initialised at its begin. */
struct split_progress {
    bool open;     /* more text could change the last pre-token, or the piece of an earlier stage that contains it */
    bool apart;    /* splitting can restart at its end */
    uint64_t read; /* characters, by expressions */
    struct regex_match stages[SPLIT_STAGES];
    struct regex_work *work; /* made when it is needed */
};

/* file: for error lines. On success freed with split_free. */
tdm_status split_init_name(struct split *s, const char *file, struct span name, tdm_error *err);
tdm_status split_init_expressions(struct split *s, const char *file, const struct span *expressions, size_t n,
                                  tdm_error *err);
/* For pieces of `bytes` bytes in all, which split_add_piece adds afterwards. words: no piece is made of two words. */
tdm_status split_init_pieces(struct split *s, const char *file, size_t bytes, bool words, tdm_error *err);
void split_add_piece(struct split *s, const char *text, size_t n);
void split_free(struct split *s);

/* Its name for tokenizer.ggml.pre, in a file whose tokenizer ignores merges or doesn't; bytes NULL: there is none. */
struct span split_name(const struct split *s, bool ignores_merges);
/* Properties that a named rule implies: text is normalised to NFC; a pre-token of the vocabulary isn't merged. */
bool split_is_normalized(const struct split *s);
bool split_ignores_merges(const struct split *s);

/* The end of the pre-token that begins at text[at], at < n. Fails without memory, or when the expressions read the
 * text over and over, which the expressions of real tokenizers don't do. */
tdm_status split_next(const struct split *s, struct split_progress *progress, const char *text, size_t n, size_t at,
                      size_t *end, tdm_error *err);
/* Begins another text; ends the last one, and frees its memory. */
void split_begin(struct split_progress *progress);
void split_end(struct split_progress *progress);

#endif
