/* The loop guard: is a reply only repeating itself by now?
 *
 * It is, when its end has a period: when each of its last n tokens equals the one p before it. p is at most
 * GUARD_PERIOD, n at least GUARD_TIMES p, and at least a limit for the kind of text, since wanted text can be
 * repetitive too:
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
 *                   GUARD_MESSAGE: a longer one is quoted text, no request
 *
 * So an endless list is found late, but a wanted list is not cut. If the guard was wrong, the user can continue the
 * reply.
 *
 * Numbered lines never have a period. The text that is judged is the shortest period; in scripts that write words
 * without blanks (from U+0E00 on) three letters count as a word.
 *
 * The result depends on the reply's tokens and the message alone, so it is the same however passes made the tokens. A
 * reply that comes as text is judged by characters, of which GUARD_CHARACTERS count as a token, so the pieces in which
 * it comes don't matter. A continued reply starts anew: its earlier tokens don't count.
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
    uint32_t at;                       /* index of the newest in `units`; older ones follow it */
    int32_t units[2 * GUARD_MAX];
    uint32_t run[GUARD_MAX]; /* [p - 1]: this many units in a row equal the one p before */
};

/* A reply begins, or goes on after its end. tokenizer: of its ids, which must outlive it; NULL: it comes as text. */
void guard_begin(struct guard *g, const struct tokenizer *tokenizer);

/* Takes the reply's next token; message: the message that it answers. True, once: with this token the reply only
 * repeats itself. If the reply goes on, true is returned again when the repetition reaches the highest limit. */
bool guard_push(struct guard *g, tdm_id id, struct span message);

/* The same for whole characters of text: if a character completes a repetition, *text is shortened to end with it, and
 * true is returned. */
bool guard_push_text(struct guard *g, struct span *text, struct span message);

#endif
