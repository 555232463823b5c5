#include "engine/chat/policy/guard.h"

#include <string.h>
#include <strings.h>

#include "engine/text/unicode.h"

enum {
    NOTHING = INT32_MIN, /* no unit */
    WORDS = 3,           /* different ones, of prose */
    NO_BLANKS = 0x0E00,  /* from here on scripts write words without blanks between them, or each letter tells much: */
    SHORT_WORD = 9,      /* this many bytes of them, three letters, are a word */
    PERIOD_BYTES = 4096, /* of a period's text; of a longer one its end is enough to know its sort */
};

void guard_begin(struct guard *g, const struct tokenizer *tokenizer)
{
    uint32_t scale = tokenizer ? 1 : GUARD_CHARACTERS, all = 2 * GUARD_MAX;
    if (g->scale && g->n == 0 && g->tokenizer == tokenizer) return;
    g->tokenizer = tokenizer;
    g->scale = scale;
    g->n = 0;
    g->at = all - scale * GUARD_PERIOD;
    for (uint32_t i = 0; i < all; i++) g->units[i] = NOTHING;
    memset(g->run, 0, sizeof g->run);
}

/* ---- What is repeated -------------------------------------------------------------------------------------------- */

static bool is_letter(uint8_t class)
{
    return class & (UNICODE_LETTER | UNICODE_MARK);
}

/* Where the text of a period, a ring, is best cut: before a character that is no letter, else before any. */
static size_t seam(const char *text, size_t n)
{
    const uint8_t *classes = unicode_classes();
    size_t whole = 0, length;
    while (whole < n && utf8_continues(text[whole])) whole++;
    for (size_t at = whole; at < n; at += length)
        if (!is_letter(unicode_class(classes, text + at, n - at, &length))) return at;
    return whole;
}

/* The text of the last p units, turned so that no word runs past its end. */
static size_t period_text(const struct guard *g, uint32_t p, char out[PERIOD_BYTES])
{
    size_t n = 0;
    char bytes[PERIOD_BYTES];
    for (uint32_t i = 0; i < p && n < PERIOD_BYTES; i++) { /* from the newest on, written from the end */
        char character[4];
        int32_t unit = g->units[g->at + i];
        struct span text = {character, 0};
        if (g->tokenizer) text = tokenizer_bytes(g->tokenizer, unit);
        else if (unit >= 0) text.length = utf8_encode((uint32_t)unit, character);
        size_t fits = text.length < PERIOD_BYTES - n ? text.length : PERIOD_BYTES - n;
        n += fits;
        memcpy(bytes + PERIOD_BYTES - n, text.bytes + text.length - fits, fits);
    }
    const char *first = bytes + PERIOD_BYTES - n;
    size_t cut = seam(first, n);
    memcpy(out, first + cut, n - cut);
    memcpy(out + n - cut, first, cut);
    return n;
}

/* Different words, as many as prose has to have. */
struct words {
    struct span word[WORDS];
    uint32_t n;
};

static void add_word(struct words *w, struct span word)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->word[i].length == word.length && !strncasecmp(w->word[i].bytes, word.bytes, word.length)) return;
    if (word.length && w->n < WORDS) w->word[w->n++] = word;
}

/* How often, and for how many tokens, something may come before it is too much. */
struct most {
    uint32_t times, tokens;
};

static const struct most prose = {GUARD_TIMES, GUARD_PROSE}, punctuation = {GUARD_TIMES, GUARD_PUNCTUATION},
                         list = {GUARD_LIST_TIMES, GUARD_LIST}, words_or_code = {GUARD_TIMES, GUARD_WORDS},
                         data = {GUARD_TIMES, GUARD_DATA};

static struct most most_of(const char *text, size_t n)
{
    const uint8_t *classes = unicode_classes();
    uint32_t letters = 0, digits = 0, others = 0;
    bool parted = false; /* words are told apart by white space, or need none */
    struct words words = {0};
    struct span word = {text, 0};
    size_t length;
    for (size_t at = 0; at < n; at += length) {
        int32_t code;
        length = utf8_decode(text + at, n - at, &code);
        uint8_t class = code < 0 ? 0 : classes[code];
        if (!is_letter(class) || (code >= NO_BLANKS && word.length >= SHORT_WORD)) {
            add_word(&words, word);
            word.length = 0;
        }
        if (!word.length) word.bytes = text + at;
        parted |= class & UNICODE_SPACE || code >= NO_BLANKS;
        if (is_letter(class)) word.length += length, letters++;
        else if (class & UNICODE_NUMBER) digits++;
        else if (!(class & UNICODE_SPACE))
            others++;
    }
    add_word(&words, word);
    if (!letters) return digits ? data : punctuation;
    if (memchr(text, '\n', n)) return list;
    bool one = words.n == 1 && parted && !digits && !others;
    return one || (words.n == WORDS && letters >= 3 * (digits + others)) ? prose : words_or_code;
}

/* Letters and digits alone, those of ASCII in lower case: what two texts have in common that say the same. */
static size_t bare(const char *text, size_t n, char *out)
{
    const uint8_t *classes = unicode_classes();
    size_t written = 0, length;
    for (size_t at = 0; at < n; at += length) {
        uint8_t class = unicode_class(classes, text + at, n - at, &length);
        if (!(class & (UNICODE_LETTER | UNICODE_MARK | UNICODE_NUMBER))) continue;
        for (size_t i = 0; i < length; i++) {
            char c = text[at + i];
            out[written++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
    }
    return written;
}

/* Does the message have this text, whatever part of it the period begins with? */
static bool was_asked(struct span message, const char *text, size_t n)
{
    char ring[2 * PERIOD_BYTES], said[GUARD_MESSAGE];
    if (message.length > GUARD_MESSAGE) return false;
    size_t words = bare(text, n, ring), length = bare(message.bytes, message.length, said);
    if (words == 0 || words > length) return false;
    memcpy(ring + words, ring, words);
    for (size_t at = 0; at + words <= length; at++)
        if (memmem(ring, 2 * words - 1, said + at, words)) return true;
    return false;
}

/* ---- The rule ---------------------------------------------------------------------------------------------------- */

/* How many units with a period of p are too many. */
static uint32_t bound(const struct guard *g, uint32_t p, struct most most)
{
    uint32_t times = most.times * p, least = most.tokens * g->scale;
    return times > least ? times : least;
}

/* The last n units have a period of p, and no shorter one. Is n just the number that is too many, or the one at which
 * it can't be anything else? */
static bool is_too_many(const struct guard *g, uint32_t p, uint32_t n, struct span message)
{
    static const struct most *const all[] = {&prose, &punctuation, &list, &words_or_code, &data};
    char text[PERIOD_BYTES];
    bool may_be = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) may_be |= n == bound(g, p, *all[i]);
    if (!may_be) return false;
    size_t length = period_text(g, p, text);
    uint32_t most = bound(g, p, most_of(text, length)), last = bound(g, p, data);
    if (most < last && n == last) return true;
    return n == (most < last && was_asked(message, text, length) ? last : most);
}

/* Counts for each period how long it has held; returns the longest of these runs. */
static uint32_t count(struct guard *g, uint32_t periods)
{
    const int32_t *before = g->units + g->at + 1;
    int32_t unit = before[-1];
    uint32_t longest = 0;
    for (uint32_t i = 0; i < periods; i++) {
        uint32_t run = before[i] == unit ? g->run[i] + 1 : 0;
        g->run[i] = run;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static bool push(struct guard *g, int32_t unit, struct span message)
{
    uint32_t periods = g->scale * GUARD_PERIOD, least = g->scale * GUARD_PROSE, covered = 0;
    if (g->at == 0) {
        g->at = 2 * GUARD_MAX - periods;
        memmove(g->units + g->at, g->units, periods * sizeof *g->units);
    }
    g->units[--g->at] = unit;
    g->n++;
    if (count(g, periods) < least - least / GUARD_TIMES) return false;
    for (uint32_t p = 1; p <= periods; p++) {
        uint32_t n = g->run[p - 1] + p;
        /* Where the same units have a shorter period as well, this one is a multiple of it. */
        if (n < least || n < GUARD_TIMES * p || n <= covered) continue;
        if (is_too_many(g, p, n, message)) return true;
        covered = n;
    }
    return false;
}

bool guard_push(struct guard *g, tdm_id id, struct span message)
{
    return push(g, id, message);
}

bool guard_push_text(struct guard *g, struct span *text, struct span message)
{
    size_t length;
    for (size_t at = 0; at < text->length; at += length) {
        int32_t code;
        length = utf8_decode(text->bytes + at, text->length - at, &code);
        if (!push(g, code, message)) continue;
        text->length = at + length;
        return true;
    }
    return false;
}
