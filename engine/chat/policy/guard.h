/* The loop guard: is a reply only repeating itself by now?
 *
 * It is, when its end has a period: when each of its last n tokens equals the one p before it. p is at most
 * GUARD_PERIOD, n at least GUARD_TIMES p, and at least as many tokens as what is repeated asks for, since much that is
 * wanted is repetitive too:
 *
 *   prose           three different words, three quarters of it letters,    GUARD_PROSE
 *                   within a line; or one word over and over, with white
 *                   space between, in scripts that have it
 *   lists           letters and a line break: rows of a table, items,       GUARD_LIST, and at least
 *                   code, a chorus                                          GUARD_LIST_TIMES p
 *   punctuation     white space and punctuation alone (a rule, an empty     GUARD_PUNCTUATION
 *                   table)
 *   words           within a line: two words; or more punctuation than in   GUARD_WORDS
 *                   prose: arrays, code
 *   data            digits, but no letter: an array of zeros                GUARD_DATA
 *   what was asked  the message that is answered contains it, in this       GUARD_DATA
 *                   order ('write hello 100 times'), and is no longer than
 *                   GUARD_MESSAGE: a longer one is no request, but material
 *
 * A list that goes on for ever is told late, but one that is wanted costs nothing; where the guard was wrong, the reply
 * is continued.
 *
 * Numbered lines never have a period. What is repeated is the shortest period; in scripts that write words without
 * blanks (from U+0E00 on) three letters count as a word.
 *
 * The answer depends on the reply's tokens and the message alone, and is given with a token: so it is the same however
 * the tokens were made. A reply that comes as text is looked at by characters, of which GUARD_CHARACTERS count as a
 * token, so the pieces in which it comes don't matter. A continued reply begins anew: what it had before doesn't count.
 *
 * For each period the guard keeps how many tokens in a row had it: GUARD_PERIOD comparisons a token, and nothing is
 * allocated. One thread at a time. */
#ifndef TANDEM_CHAT_GUARD_H
#define TANDEM_CHAT_GUARD_H

#include "engine/base/span.h"
#include "engine/text/tokenizer.h"

enum {
    GUARD_PERIOD = 200,
    GUARD_TIMES = 4,
    GUARD_PROSE = 120,
    GUARD_PUNCTUATION = 400,
    GUARD_LIST = 600,
    GUARD_LIST_TIMES = 24,
    GUARD_WORDS = 1000,
    GUARD_DATA = 2000,
    GUARD_MESSAGE = 2000, /* bytes */
    GUARD_CHARACTERS = 4,
    GUARD_MAX = GUARD_PERIOD * GUARD_CHARACTERS, /* the longest period of either sort */
};

struct guard {
    const struct tokenizer *tokenizer; /* NULL: the reply's units are characters */
    uint32_t scale;                    /* units that count as a token; 0: never begun */
    uint32_t n;                        /* units so far */
    uint32_t at;                       /* the newest in `units`; those before it stand behind it */
    int32_t units[2 * GUARD_MAX];
    uint32_t run[GUARD_MAX]; /* [p - 1]: this many units in a row equal the one p before */
};

/* A reply begins, or goes on after its end. tokenizer: of its ids, which must outlive it; NULL: it comes as text. */
void guard_begin(struct guard *g, const struct tokenizer *tokenizer);

/* The reply's next token; message: what it answers. True: with this one it only repeats itself. True is returned
 * once; if the reply goes on, it is returned again when the repetition is so long that it can't be anything else. */
bool guard_push(struct guard *g, tdm_id id, struct span message);

/* The same for whole characters of text: true with the last one of *text, which is shortened to end with the one that
 * is it. */
bool guard_push_text(struct guard *g, struct span *text, struct span message);

#endif
