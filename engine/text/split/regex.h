/* A matcher for the regular expressions by which tokenizer.json files split text.
 *
 * It supports the part of Oniguruma's dialect that such expressions use: literals, ., \r \n \t \f \v, \s \S \d \D \w
 * \W, \p{X} and \P{X} of general categories, sets [...] of these, groups (...), (?:...) and (?i:...), alternatives, the
 * greedy ? * + {n,m}, the possessive ?+ *+ ++ of one character, and (?=X), (?!X) of one. Everything else is an error
 * that names the construct, since a guess could change ids.
 *
 * Of several matches at a place it finds the one that backtracking would find first. It keeps a list of the states
 * that are possible, in that order, and reads each character once, so a search takes time in proportion to the
 * characters that it reads, whatever the expression. Invalid bytes are characters of no category, as in unicode.h.
 *
 * Threads: constant once compiled. */
#ifndef TANDEM_TEXT_REGEX_H
#define TANDEM_TEXT_REGEX_H

#include "engine/base/error.h"
#include "engine/base/span.h"

enum { REGEX_STATES = 256 };

struct regex;

/* The working memory of a search; zero-initialise it before the first one. */
struct regex_work {
    uint32_t seen[REGEX_STATES], round;
    bool ended; /* the end of the text was looked at */
    struct regex_list {
        struct {
            size_t begin;
            uint16_t state;
        } threads[REGEX_STATES];
        size_t count;
    } lists[2];
};

struct regex_match {
    size_t begin, end;
    size_t read; /* how far the search read; n + 1: it met the end of the text, so more text could change the match */
};

/* name: of the file, for error lines. *out is freed with regex_free. */
tdm_status regex_compile(struct regex **out, const char *name, struct span expression, tdm_error *err);
void regex_free(struct regex *r); /* NULL is allowed */

/* The first match in text[0..n) that begins at `from` or later, never empty. False: none; match->read is set. */
bool regex_search(const struct regex *r, struct regex_work *work, const char *text, size_t n, size_t from,
                  struct regex_match *match);

#endif
