#include "engine/text/split/split.h"

#include <stdlib.h>
#include <string.h>

#include "engine/text/unicode.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SMALL        "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define LARGE        "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE       "[^\\r\\n\\p{L}\\p{N}]?"
#define OTHERS       "| ?[^\\s\\p{L}\\p{N}]+"
#define WHITE_SPACE  "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LLAMA        CONTRACTIONS "|" BEFORE "\\p{L}+|\\p{N}{1,3}" OTHERS "[\\r\\n]*" WHITE_SPACE

/* How a rule's function differs from that of qwen2. */
enum {
    MARKS = 1,       /* they are letters */
    THREE = 2,       /* up to three digits */
    BYTES = 4,       /* the expression of ByteLevel */
    DIGITS = 8,      /* with BYTES: single digits are cut out first */
    EXPRESSION = 16, /* no function */
};

static const struct split_rule {
    const char *names; /* of which the first is the one to write; the others are the same rule's */
    const char *expressions[2];
    int how;
    bool normalized, ignores_merges;
} rules[] = {
    {"qwen2|deepseek-r1-qwen",
     {CONTRACTIONS "|" BEFORE "\\p{L}+|\\p{N}" OTHERS "[\\r\\n]*" WHITE_SPACE},
     0,
     true,
     false},
    {"qwen35",
     {CONTRACTIONS "|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" WHITE_SPACE},
     MARKS,
     true,
     false},
    {"llama-bpe|llama3|llama-v3|falcon3|pixtral", {LLAMA}, THREE, false, true},
    {"smaug-bpe|dbrx", {LLAMA}, THREE, false, false},
    {"gpt-2|mpt", {SPLIT_BYTE_LEVEL}, BYTES, false, false},
    {"smollm|starcoder|refact|codeshell", {"\\p{N}", SPLIT_BYTE_LEVEL}, BYTES | DIGITS, false, false},
    {"tekken",
     {BEFORE LARGE "*" SMALL "+|" BEFORE LARGE "+" SMALL "*|\\p{N}" OTHERS "[\\r\\n/]*" WHITE_SPACE},
     EXPRESSION,
     false,
     true},
    {"gpt-4o|llama4",
     {BEFORE LARGE "*" SMALL "+" CONTRACTIONS "?|" BEFORE LARGE "+" SMALL "*" CONTRACTIONS "?|\\p{N}{1,3}" OTHERS
                   "[\\r\\n/]*" WHITE_SPACE},
     EXPRESSION,
     false,
     false},
};

static bool has_name(const struct split_rule *rule, struct span name)
{
    for (const char *at = rule->names; at; at = strchr(at, '|')) {
        at += *at == '|';
        size_t n = strcspn(at, "|");
        if (n == name.length && !memcmp(at, name.bytes, n)) return true;
    }
    return false;
}

static bool has_expressions(const struct split_rule *rule, const struct span *expressions, size_t n)
{
    size_t has = rule->expressions[1] ? 2 : 1, same = 0;
    while (same < n && same < has && span_is(expressions[same], rule->expressions[same])) same++;
    return n == has && same == n;
}

static tdm_status compile(struct split *s, const char *file, const struct span *expressions, size_t n, tdm_error *err)
{
    if (n > SPLIT_STAGES)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: expected at most %d expressions to split by, found %zu", file,
                         SPLIT_STAGES, n);
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < n && !status; i++) {
        status = regex_compile(&s->stages[i], file, expressions[i], err);
        if (!status) s->stage_count++;
    }
    if (status) split_free(s);
    return status;
}

static tdm_status take_rule(struct split *s, const struct split_rule *rule, const char *file, tdm_error *err)
{
    s->rule = rule;
    if (!(rule->how & EXPRESSION)) return TDM_OK;
    return compile(s, file, &(struct span){rule->expressions[0], strlen(rule->expressions[0])}, 1, err);
}

tdm_status split_init_name(struct split *s, const char *file, struct span name, tdm_error *err)
{
    *s = (struct split){0};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (has_name(&rules[i], name)) return take_rule(s, &rules[i], file, err);
    return error_set(err, TDM_E_UNSUPPORTED,
                     "%s: expected a splitting rule that is known, such as qwen2, found \"%.*s\"", file,
                     (int)(name.length < 200 ? name.length : 200), name.bytes);
}

tdm_status split_init_expressions(struct split *s, const char *file, const struct span *expressions, size_t n,
                                  tdm_error *err)
{
    *s = (struct split){0};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (has_expressions(&rules[i], expressions, n)) return take_rule(s, &rules[i], file, err);
    return compile(s, file, expressions, n, err);
}

void split_free(struct split *s)
{
    for (int i = 0; i < s->stage_count; i++) regex_free(s->stages[i]);
    free(s->joints.bits);
    *s = (struct split){0};
}

struct span split_name(const struct split *s, bool ignores_merges)
{
    for (size_t i = 0; s->rule && i < sizeof rules / sizeof *rules; i++) {
        bool same = rules[i].how == s->rule->how && !strcmp(rules[i].expressions[0], s->rule->expressions[0]);
        if (same && rules[i].ignores_merges == ignores_merges)
            return (struct span){rules[i].names, strcspn(rules[i].names, "|")};
    }
    return (struct span){0};
}

bool split_is_normalized(const struct split *s)
{
    return s->rule && s->rule->normalized;
}

bool split_ignores_merges(const struct split *s)
{
    return s->rule && s->rule->ignores_merges;
}

/* ---- Pieces -------------------------------------------------------------------------------------------------- */

tdm_status split_init_pieces(struct split *s, const char *file, size_t bytes, bool words, tdm_error *err)
{
    enum { LEAST = 1 << 10, LIMIT = 1 << 24 };
    uint64_t size = LEAST;
    while (size < LIMIT && size / 8 < bytes) size *= 2;
    *s = (struct split){.joints = {.mask = size - 1, .words = words}};
    s->joints.bits = calloc(size / 64, sizeof *s->joints.bits);
    return s->joints.bits ? TDM_OK : error_set(err, TDM_E_NOMEM, "%s: no memory for its pieces", file);
}

/* A character as a number: its code, or, of an invalid byte, one beyond all codes. */
static uint64_t number_of(const char *text, size_t n, size_t *length)
{
    int32_t code;
    *length = utf8_decode(text, n, &code);
    return code >= 0 ? (uint64_t)code : 0x110000u + (unsigned char)text[0];
}

static uint64_t joint_of(const struct split *s, uint64_t left, uint64_t right)
{
    return ((left << 21 | right) * 0x9E3779B97F4A7C15u >> 32) & s->joints.mask;
}

void split_add_piece(struct split *s, const char *text, size_t n)
{
    size_t length, next;
    uint64_t left = number_of(text, n, &length);
    for (size_t at = length; at < n; at += next) {
        uint64_t right = number_of(text + at, n - at, &next), joint = joint_of(s, left, right);
        s->joints.bits[joint / 64] |= (uint64_t)1 << joint % 64;
        left = right;
    }
}

static size_t next_of_pieces(const struct split *s, const char *text, size_t n, size_t at)
{
    size_t length;
    uint64_t left = number_of(text + at, n - at, &length);
    for (at += length; at < n; at += length) {
        uint64_t right = number_of(text + at, n - at, &length), joint = joint_of(s, left, right);
        if (!(s->joints.bits[joint / 64] >> joint % 64 & 1) || (s->joints.words && right == ' ')) break;
        left = right;
    }
    return at;
}

/* ---- By functions -------------------------------------------------------------------------------------------- */

/* A text and the classes of its characters. */
struct characters {
    const uint8_t *classes;
    const char *text;
    size_t n;
};

/* The length of a contraction at text, which begins with an apostrophe; 0: none. Letters match in any case; the
 * long s (U+017F) is a case of s too. */
static size_t contraction(const char *text, size_t n)
{
    if (n < 2) return 0;
    char first = text[1] | 0x20;
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if (n < 3) return 0;
    char second = text[2] | 0x20;
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) return 3;
    if (text[1] == '\xC5' && text[2] == '\xBF') return 3;
    return 0;
}

/* The class of the character at `at`, 0 at the end, and its length. */
static uint8_t class_at(const struct characters *c, size_t at, size_t *length)
{
    *length = 0;
    return at < c->n ? unicode_class(c->classes, c->text + at, c->n - at, length) : 0;
}

/* The end of the run of characters from `at` on that have one of the flags `with` (with) or none of them. */
static size_t run_of(const struct characters *c, size_t at, uint8_t flags)
{
    size_t length;
    while (at < c->n && class_at(c, at, &length) & flags) at += length;
    return at;
}

static size_t run_without(const struct characters *c, size_t at, uint8_t flags)
{
    size_t length;
    while (at < c->n && !(class_at(c, at, &length) & flags)) at += length;
    return at;
}

/* breaks: line breaks end it; where: a class before which it is whole, as at the end. */
static size_t white_space(const struct characters *c, size_t at, bool breaks, uint8_t where)
{
    size_t end = at, last = at, after_break = at, length;
    uint8_t class = 0;
    while (end < c->n) {
        class = class_at(c, end, &length);
        if (!(class & UNICODE_SPACE)) break;
        last = end;
        end += length;
        if (class & UNICODE_BREAK) after_break = end;
    }
    if (breaks && after_break > at) return after_break;
    return end < c->n && !(class & where) && last > at ? last : end;
}

static size_t next_of_qwen(int how, const struct characters *c, size_t at)
{
    const uint8_t letters = how & MARKS ? UNICODE_LETTER | UNICODE_MARK : UNICODE_LETTER;
    const uint8_t not_other = letters | UNICODE_SPACE | UNICODE_NUMBER;
    const char *text = c->text;
    size_t length, next_length;
    uint8_t class = class_at(c, at, &length);

    if (text[at] == '\'') {
        size_t end = contraction(text + at, c->n - at);
        if (end) return at + end;
    }
    if (class & letters) return run_of(c, at + length, letters);
    if (class & UNICODE_NUMBER) {
        for (int i = 1; how & THREE && i < 3 && class_at(c, at + length, &next_length) & UNICODE_NUMBER; i++)
            length += next_length;
        return at + length;
    }
    size_t next = at + length;
    uint8_t next_class = next < c->n ? class_at(c, next, &next_length) : UNICODE_SPACE;
    if (!(class & UNICODE_BREAK) && next_class & letters) return run_of(c, next, letters);
    if (!(class & UNICODE_SPACE) || (text[at] == ' ' && !(next_class & not_other)))
        return run_of(c, run_without(c, next, not_other), UNICODE_BREAK);
    return white_space(c, at, true, 0);
}

static bool is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

static size_t next_of_bytes(int how, const struct characters *c, size_t at, bool *open)
{
    const uint8_t not_other = UNICODE_LETTER | UNICODE_SPACE | UNICODE_NUMBER;
    const char *text = c->text;
    size_t length;
    if (text[at] == '\'') {
        /* Contractions in lower case alone; a text that could become one is open. */
        size_t end = contraction(text + at, c->n - at);
        if (end && is_small(text[at + 1]) && is_small(text[at + end - 1])) return at + end;
        *open = c->n == at + 2 && strchr("rvl", text[at + 1]);
    }
    uint8_t class = class_at(c, at, &length);
    if (text[at] == ' ' && at + 1 < c->n) {
        size_t next_length;
        uint8_t next = class_at(c, at + 1, &next_length);
        if (!(next & UNICODE_SPACE) && !(how & DIGITS && next & UNICODE_NUMBER)) {
            class = next;
            length = 1 + next_length;
        }
    }
    if (class & UNICODE_LETTER) return run_of(c, at + length, UNICODE_LETTER);
    if (class & UNICODE_NUMBER) return how & DIGITS ? at + length : run_of(c, at + length, UNICODE_NUMBER);
    if (!(class & UNICODE_SPACE)) return run_without(c, at + length, not_other);
    return white_space(c, at, false, how & DIGITS ? UNICODE_NUMBER : 0);
}

/* ---- By expressions ------------------------------------------------------------------------------------------ */

/* The next piece of a stage: a match, or what lies before it. */
static void next_of_stage(const struct split *s, struct split_progress *progress, int stage, const char *text, size_t n,
                          size_t at)
{
    struct regex_match *match = &progress->stages[stage];
    bool found = regex_search(s->stages[stage], progress->work, text, n, at, match);
    progress->read += match->read - at;
    if (!found)
        match->end = n;
    else if (match->begin > at)
        match->end = match->begin;
}

static tdm_status next_of_stages(const struct split *s, struct split_progress *progress, const char *text, size_t n,
                                 size_t at, size_t *end, tdm_error *err)
{
    enum { TIMES = 16, AT_LEAST = 1 << 13 }; /* how often each character may be read */
    if (!progress->work && !(progress->work = calloc(1, sizeof *progress->work)))
        return error_set(err, TDM_E_NOMEM, "no memory to split a text");
    size_t limit = n;
    for (int i = 0; i < s->stage_count; i++) {
        if (at >= progress->stages[i].end) next_of_stage(s, progress, i, text, limit, at);
        limit = progress->stages[i].end;
    }
    *end = limit;
    progress->open = progress->stages[0].read > n;
    progress->apart = limit == progress->stages[0].end;
    if (progress->read / TIMES > n && progress->read > AT_LEAST)
        return error_set(err, TDM_E_REFUSED, "the tokenizer's expressions take too long for this text");
    return TDM_OK;
}

tdm_status split_next(const struct split *s, struct split_progress *progress, const char *text, size_t n, size_t at,
                      size_t *end, tdm_error *err)
{
    if (s->stage_count) return next_of_stages(s, progress, text, n, at, end, err);
    const struct characters c = {unicode_classes(), text, n};
    bool open = false;
    if (s->joints.bits)
        *end = next_of_pieces(s, text, n, at);
    else
        *end = s->rule->how & BYTES ? next_of_bytes(s->rule->how, &c, at, &open) : next_of_qwen(s->rule->how, &c, at);
    progress->open = open || *end == n;
    progress->apart = true;
    return TDM_OK;
}

void split_begin(struct split_progress *progress)
{
    *progress = (struct split_progress){.work = progress->work};
}

void split_end(struct split_progress *progress)
{
    free(progress->work);
    *progress = (struct split_progress){0};
}
