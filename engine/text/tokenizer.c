#include "engine/text/tokenizer.h"

#include <string.h>

#include "engine/base/size.h"
#include "engine/base/utf8.h"
#include "engine/text/added.h"
#include "engine/text/blanks.h"
#include "engine/text/bpe.h"
#include "engine/text/nfc.h"
#include "engine/text/split/split.h"
#include "engine/text/unicode.h"

#define IDS_MAX   (1 << 20)
#define BYTES_MAX (1u << 30) /* of all tokens together: their offsets have 32 bits */

struct tokenizer {
    char *bytes; /* of all tokens, one after the other */
    struct bpe_token *tokens;
    uint8_t *special;
    tdm_id count;
    struct bpe bpe;
    struct added raw;        /* looked for in the text as given */
    struct added normalized; /* in its NFC form */
    struct split split;
    bool nfc, pieces;
    enum tokenizer_before before;
    tdm_id bos;
    uint32_t *ranks; /* of pieces that have scores */
    const uint8_t *classes;
};

/* ---- Loading ------------------------------------------------------------------------------------------------- */

/* The byte alphabet: printable Latin-1 characters stand for themselves, the others, in order, for U+0100 and up. */
#define ALPHABET_END 324

static void fill_alphabet(int16_t byte_of[ALPHABET_END])
{
    int next = 256;
    memset(byte_of, 0xFF, ALPHABET_END * sizeof *byte_of);
    for (int b = 0; b < 256; b++) {
        bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        byte_of[printable ? b : next++] = (int16_t)b;
    }
}

/* Decodes text written in the alphabet; out has room for n bytes. False: it holds another character. */
static bool from_alphabet(const int16_t byte_of[ALPHABET_END], struct span text, char *out, size_t *out_n)
{
    size_t n = 0;
    for (size_t at = 0; at < text.length;) {
        int32_t code = (unsigned char)text.bytes[at];
        at += code < 0x80 ? 1 : utf8_decode(text.bytes + at, text.length - at, &code);
        if (code < 0 || code >= ALPHABET_END || byte_of[code] < 0) return false;
        out[n++] = (char)byte_of[code];
    }
    *out_n = n;
    return true;
}

/* The byte that a piece such as <0x0A> stands for, or -1. */
static int byte_of_piece(struct span piece)
{
    static const char digits[] = "0123456789ABCDEF";
    if (piece.length != 6 || memcmp(piece.bytes, "<0x", 3) || piece.bytes[5] != '>') return -1;
    const char *high = memchr(digits, piece.bytes[3], 16), *low = memchr(digits, piece.bytes[4], 16);
    return high && low ? (int)(16 * (high - digits) + low - digits) : -1;
}

static int32_t type_of(const struct tokenizer_parts *parts, size_t id)
{
    return parts->types ? parts->types[id] : TOKENIZER_NORMAL;
}

static bool is_added(int32_t type)
{
    return type == TOKENIZER_CONTROL || type == TOKENIZER_USER_DEFINED;
}

/* The part that a token of the vocabulary has in tokenizing. */
enum kind {
    KIND_NONE,
    KIND_WORD, /* written in the alphabet: it can come out of merging */
    KIND_ADDED,
};

/* Finds the marks that are added tokens already: another token with the same text is no mark. */
static void find_marks(const struct tokenizer_parts *parts, bool known[MARKS_MAX])
{
    for (size_t i = 0; parts->marks && i < parts->token_count; i++) {
        size_t k = is_added(type_of(parts, i)) ? marks_find(parts->marks, parts->tokens[i]) : parts->marks->n;
        if (k < parts->marks->n) known[k] = true;
    }
}

/* Whether a token with this text is a mark although its type doesn't say so; *control: one that isn't shown. Without
 * types every text <|...|> is. */
static bool is_mark(const struct tokenizer_parts *parts, size_t id, struct span text, bool known[MARKS_MAX],
                    bool *control)
{
    const struct marks *m = parts->marks;
    if (!m || !text.length) return false;
    size_t k = marks_find(m, text);
    bool stop = marks_stop(m, (tdm_id)id, text), word = !parts->types && marks_is_word(text);
    *control = stop || word || (k < m->n && m->control[k]);
    if (is_added(type_of(parts, id)) || k == m->n) return stop || word || k < m->n;
    bool first = !known[k];
    known[k] = true;
    return first;
}

/* Copies the tokens' bytes, and says what each is. */
static tdm_status load_tokens(struct tokenizer *t, const struct tokenizer_parts *parts, const int16_t *alphabet,
                              uint8_t *kinds, tdm_error *err)
{
    bool known[MARKS_MAX] = {false};
    uint64_t total = 0;
    for (size_t i = 0; i < parts->token_count; i++)
        if (!size_add(total, parts->tokens[i].length, &total) || total > BYTES_MAX)
            return error_set(err, TDM_E_FORMAT, "%s: the tokens are longer than %u bytes together", parts->name,
                             BYTES_MAX);
    t->bytes = malloc(total + 1);
    t->tokens = calloc(parts->token_count + 1, sizeof *t->tokens);
    t->special = calloc(parts->token_count + 1, 1);
    if (!t->bytes || !t->tokens || !t->special)
        return error_set(err, TDM_E_NOMEM, "%s: no memory for %zu tokens", parts->name, parts->token_count);
    t->count = (tdm_id)parts->token_count;
    find_marks(parts, known);
    size_t used = 0;
    for (size_t i = 0; i < parts->token_count; i++) {
        struct span text = parts->tokens[i];
        int32_t type = type_of(parts, i);
        size_t n = text.length;
        bool control = false;
        kinds[i] = is_added(type) ? KIND_ADDED : KIND_NONE;
        int byte = t->pieces && !is_added(type) ? byte_of_piece(text) : -1;
        if (byte >= 0) {
            t->bytes[used] = (char)byte;
            n = 1;
        } else if (t->pieces && type == TOKENIZER_NORMAL && n) {
            n = blanks_write(text, t->bytes + used);
            kinds[i] = KIND_WORD;
        } else if (type == TOKENIZER_NORMAL && n && from_alphabet(alphabet, text, t->bytes + used, &n))
            kinds[i] = KIND_WORD;
        else if (n)
            memcpy(t->bytes + used, text.bytes, n);
        if (is_mark(parts, i, (struct span){t->bytes + used, n}, known, &control))
            kinds[i] = KIND_ADDED;
        else if (type == TOKENIZER_UNUSED)
            n = 0;
        t->tokens[i] = (struct bpe_token){(uint32_t)used, (uint32_t)n};
        t->special[i] = type == TOKENIZER_CONTROL || (control && kinds[i] == KIND_ADDED);
        used += n;
    }
    return TDM_OK;
}

static tdm_status load_added(struct tokenizer *t, const struct tokenizer_parts *parts, const uint8_t *kinds,
                             tdm_error *err)
{
    size_t count = 0, n[2] = {0, 0};
    for (size_t i = 0; i < parts->token_count; i++) count += kinds[i] == KIND_ADDED;
    struct added_token *lists[2];
    for (int k = 0; k < 2; k++) lists[k] = malloc((count + 1) * sizeof **lists);
    if (lists[0] && lists[1]) {
        for (size_t i = 0; i < parts->token_count; i++) {
            struct span text = tokenizer_bytes(t, (tdm_id)i);
            if (kinds[i] != KIND_ADDED || !text.length) continue;
            unsigned flags = parts->added_flags ? parts->added_flags[i] : 0;
            if (t->pieces) flags &= ~(unsigned)ADDED_NORMALIZED; /* blanks are all that changes */
            int k = !!(flags & ADDED_NORMALIZED);
            lists[k][n[k]++] = (struct added_token){text, (tdm_id)i, flags};
        }
        added_init(&t->raw, lists[0], n[0]);
        added_init(&t->normalized, lists[1], n[1]);
        return TDM_OK;
    }
    free(lists[0]);
    free(lists[1]);
    return error_set(err, TDM_E_NOMEM, "%s: no memory for %zu added tokens", parts->name, count);
}

static tdm_id find_added(const struct tokenizer *t, const char *text, size_t n)
{
    tdm_id id = added_find(&t->raw, text, n);
    return id >= 0 ? id : added_find(&t->normalized, text, n);
}

/* Whether a merge is about an added token, which no text without added tokens becomes. */
static bool is_about_added(const struct tokenizer *t, const char *joined, size_t left, size_t right)
{
    return find_added(t, joined, left) >= 0 || find_added(t, joined + left, right) >= 0 ||
           find_added(t, joined, left + right) >= 0;
}

static tdm_status load_merges(struct tokenizer *t, const struct tokenizer_parts *parts, const int16_t *alphabet,
                              tdm_error *err)
{
    char *joined = NULL;
    size_t room = 0;
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < parts->merge_count && !status; i++) {
        struct span merge = parts->merges[i], left, right;
        const char *blank = merge.length ? memchr(merge.bytes, ' ', merge.length) : NULL;
        if (merge.length > room) {
            room = merge.length * 2 + 64;
            free(joined);
            if (!(joined = malloc(room))) {
                status = error_set(err, TDM_E_NOMEM, "%s: no memory for merge %zu", parts->name, i);
                break;
            }
        }
        if (!blank) {
            status = error_set(err, TDM_E_FORMAT, "%s: merge %zu: expected two parts, found \"%.*s\"", parts->name, i,
                               (int)(merge.length < 60 ? merge.length : 60), merge.bytes);
            break;
        }
        left = (struct span){merge.bytes, (size_t)(blank - merge.bytes)};
        right = (struct span){blank + 1, merge.length - left.length - 1};
        size_t left_n, right_n;
        tdm_id ids[3] = {-1, -1, -1};
        bool spelled = t->pieces || (from_alphabet(alphabet, left, joined, &left_n) &&
                                     from_alphabet(alphabet, right, joined + left_n, &right_n));
        if (t->pieces) {
            left_n = blanks_write(left, joined);
            right_n = blanks_write(right, joined + left_n);
        }
        spelled = spelled && left_n && right_n;
        if (spelled) {
            ids[0] = bpe_find(&t->bpe, joined, left_n);
            ids[1] = bpe_find(&t->bpe, joined + left_n, right_n);
            ids[2] = bpe_find(&t->bpe, joined, left_n + right_n);
        }
        bool all = ids[0] >= 0 && ids[1] >= 0 && ids[2] >= 0;
        if (!all && spelled && is_about_added(t, joined, left_n, right_n)) continue;
        if (!all)
            status = error_set(err, TDM_E_FORMAT, "%s: merge %zu: expected tokens of the vocabulary, found \"%.*s\"",
                               parts->name, i, (int)(merge.length < 60 ? merge.length : 60), merge.bytes);
        else
            bpe_add_merge(&t->bpe, ids[0], ids[1], ids[2], (uint32_t)i);
    }
    free(joined);
    return status;
}

/* Words of several bytes come out of merging alone: without merges every text would be spelled byte for byte. */
static tdm_status expect_merges(const struct tokenizer *t, const struct tokenizer_parts *parts, const uint8_t *kinds,
                                tdm_error *err)
{
    tdm_id id = 0;
    while (id < t->count && (kinds[id] != KIND_WORD || t->tokens[id].length < 2)) id++;
    if (parts->merge_count || parts->scores || id == t->count) return TDM_OK;
    return error_set(err, TDM_E_FORMAT,
                     "%s: the tokenizer's merges are missing: expected those that make its words, such as token %d",
                     parts->name, (int)id);
}

/* Loads what only pieces have: the tokens of bytes, scores, and the places where a text can be cut. */
static tdm_status load_pieces(struct tokenizer *t, const struct tokenizer_parts *parts, const uint8_t *kinds,
                              tdm_error *err)
{
    size_t bytes = 0;
    t->bpe.characters = true;
    for (tdm_id id = 0; id < t->count; id++) {
        int byte = kinds[id] == KIND_NONE ? byte_of_piece(parts->tokens[id]) : -1;
        if (byte >= 0) t->bpe.byte[byte] = id;
        if (kinds[id] == KIND_WORD) bytes += t->tokens[id].length;
    }
    tdm_status status = split_init_pieces(&t->split, parts->name, bytes, parts->words, err);
    for (tdm_id id = 0; !status && id < t->count; id++)
        if (kinds[id] == KIND_WORD) split_add_piece(&t->split, t->bytes + t->tokens[id].offset, t->tokens[id].length);
    if (status || !parts->scores) return status;
    t->ranks = malloc(((size_t)t->count + 1) * sizeof *t->ranks);
    if (!t->ranks) return error_set(err, TDM_E_NOMEM, "%s: no memory for its scores", parts->name);
    for (tdm_id id = 0; id < t->count; id++) {
        uint32_t bits;
        float score = parts->scores[id] + 0.0f; /* both zeros are the same */
        if (score != score)
            return error_set(err, TDM_E_FORMAT, "%s: the score of token %d is no number", parts->name, id);
        memcpy(&bits, &score, sizeof bits);
        /* A float's bits as a number that ascends as the float descends. */
        t->ranks[id] = bits >> 31 ? bits : ~(bits | 1u << 31);
    }
    t->bpe.ranks = t->ranks;
    return TDM_OK;
}

static tdm_status load(struct tokenizer *t, const struct tokenizer_parts *parts, uint8_t *kinds, tdm_error *err)
{
    int16_t alphabet[ALPHABET_END];
    fill_alphabet(alphabet);
    size_t merges = parts->scores ? 0 : parts->merge_count;
    tdm_status status = load_tokens(t, parts, alphabet, kinds, err);
    if (!status) status = expect_merges(t, parts, kinds, err);
    if (!status) status = load_added(t, parts, kinds, err);
    t->bos = -1;
    if (!status) tokenizer_add_bos(t, parts->bos);
    if (!status) status = bpe_init(&t->bpe, t->bytes, t->tokens, t->count, merges, err);
    if (!status && t->pieces) status = load_pieces(t, parts, kinds, err);
    if (status) return status;
    t->bpe.ignore_merges = parts->ignore_merges || (!parts->expressions && split_ignores_merges(&t->split));
    for (tdm_id id = 0; id < t->count; id++)
        if (kinds[id] == KIND_WORD && !bpe_add_word(&t->bpe, id))
            return error_set(err, TDM_E_FORMAT, "%s: token %d: another token has the same text", parts->name, (int)id);
    for (int b = 0; b < 256; b++)
        if (t->bpe.byte[b] < 0)
            return error_set(err, TDM_E_FORMAT, "%s: expected a token for each byte, found none for 0x%02x",
                             parts->name, (unsigned)b);
    return merges ? load_merges(t, parts, alphabet, err) : TDM_OK;
}

static tdm_status load_split(struct tokenizer *t, const struct tokenizer_parts *parts, tdm_error *err)
{
    t->classes = unicode_classes();
    t->pieces = parts->pieces;
    t->before = parts->before;
    if (t->pieces) return TDM_OK; /* load_pieces finds out where a text of pieces is split */
    tdm_status status = parts->expressions ? split_init_expressions(&t->split, parts->name, parts->expressions,
                                                                    parts->expression_count, err)
                                           : split_init_name(&t->split, parts->name, parts->pre, err);
    t->nfc = !parts->keep_form && (parts->expressions || split_is_normalized(&t->split));
    return status;
}

tdm_status tokenizer_load_parts(struct tokenizer **out, const struct tokenizer_parts *parts, tdm_error *err)
{
    *out = NULL;
    if (parts->token_count > IDS_MAX)
        return error_set(err, TDM_E_FORMAT, "%s: expected at most %d tokens, found %zu", parts->name, IDS_MAX,
                         parts->token_count);
    struct tokenizer *t = calloc(1, sizeof *t);
    uint8_t *kinds = calloc(parts->token_count + 1, 1);
    tdm_status status = TDM_E_NOMEM;
    if (t && kinds) {
        status = load_split(t, parts, err);
        if (!status) status = load(t, parts, kinds, err);
    } else {
        error_set(err, status, "%s: no memory for a tokenizer", parts->name);
    }
    free(kinds);
    if (status)
        tokenizer_free(t);
    else
        *out = t;
    return status;
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t) return;
    split_free(&t->split);
    bpe_free(&t->bpe);
    added_free(&t->raw);
    added_free(&t->normalized);
    free(t->ranks);
    free(t->special);
    free(t->tokens);
    free(t->bytes);
    free(t);
}

/* ---- Looking up ---------------------------------------------------------------------------------------------- */

tdm_id tokenizer_count(const struct tokenizer *t)
{
    return t->count;
}

struct span tokenizer_bytes(const struct tokenizer *t, tdm_id id)
{
    if (id < 0 || id >= t->count) return (struct span){"", 0};
    return (struct span){t->bytes + t->tokens[id].offset, t->tokens[id].length};
}

bool tokenizer_is_special(const struct tokenizer *t, tdm_id id)
{
    return id >= 0 && id < t->count && t->special[id];
}

tdm_id tokenizer_find(const struct tokenizer *t, const char *text)
{
    return find_added(t, text, strlen(text));
}

size_t tokenizer_longest_added(const struct tokenizer *t)
{
    size_t raw = added_longest(&t->raw), normalized = added_longest(&t->normalized);
    return raw > normalized ? raw : normalized;
}

bool tokenizer_is_added(const struct tokenizer *t, tdm_id id)
{
    struct span text = tokenizer_bytes(t, id);
    return find_added(t, text.bytes, text.length) == id;
}

size_t tokenizer_spells_added(const struct tokenizer *t, const char *text, size_t n)
{
    size_t raw = added_begins(&t->raw, text, n), normalized = added_begins(&t->normalized, text, n);
    return raw > normalized ? raw : normalized;
}

/* ---- Encoding ------------------------------------------------------------------------------------------------ */

/* Everything that one call of tokenizer_encode carries along. */
struct encoding {
    const struct tokenizer *t;
    struct bpe_work work;
    struct split_progress progress;
    struct ids *out;
    tdm_error *err;
};

tdm_id tokenizer_bos(const struct tokenizer *t)
{
    return t->bos;
}

void tokenizer_add_bos(struct tokenizer *t, struct span text)
{
    tdm_id id = text.length ? find_added(t, text.bytes, text.length) : -1;
    if (id >= 0) t->bos = id;
}

bool tokenizer_begins_blank(const struct tokenizer *t)
{
    return t->before != TOKENIZER_NOTHING;
}

/* The text that is split: normalised, or with blanks. */
static tdm_status rewrite(const struct tokenizer *t, struct nfc *out, const char *text, size_t n, bool before,
                          tdm_error *err)
{
    *out = (struct nfc){.text = text, .length = n};
    if (t->pieces) return blanks_make(out, text, n, before, err);
    return t->nfc ? nfc_make(out, text, n, err) : TDM_OK;
}

/* Whether a blank stands before a stretch that the text doesn't have. */
static bool has_before(const struct tokenizer *t, const char *text, size_t n, unsigned flags)
{
    if (!n || !(flags & (TOKENIZE_BEGIN | TOKENIZE_AFTER))) return false;
    if (t->before == TOKENIZER_MISSING_ONCE && !(flags & TOKENIZE_BEGIN)) return false;
    bool blank = text[0] == ' ' || (n > 2 && !memcmp(text, "\xE2\x96\x81", 3));
    return t->before == TOKENIZER_BLANK || (t->before != TOKENIZER_NOTHING && !blank);
}

/* Normalised text without added tokens. Ends are places in that text plus `base`. */
static tdm_status encode_plain(struct encoding *e, const char *text, size_t begin, size_t end)
{
    tdm_status status = TDM_OK;
    split_begin(&e->progress);
    while (begin < end && !status) {
        size_t next;
        status = split_next(&e->t->split, &e->progress, text, end, begin, &next, e->err);
        if (!status) status = bpe_encode(&e->t->bpe, &e->work, text + begin, next - begin, begin, e->out, e->err);
        begin = next;
    }
    return status;
}

/* A stretch between added tokens: normalises it, then moves the ends of its ids back to the text as given. */
static tdm_status encode_stretch(struct encoding *e, const char *text, size_t n, unsigned flags, size_t base)
{
    bool added = flags & TOKENIZE_ADDED;
    struct nfc nfc;
    tdm_status status = rewrite(e->t, &nfc, text, n, has_before(e->t, text, n, flags), e->err);
    if (status) return status;
    size_t first = e->out->count, at = 0, begin, end;
    tdm_id id;
    while (!status && added && added_next(&e->t->normalized, nfc.text, nfc.length, at, &id, &begin, &end)) {
        status = encode_plain(e, nfc.text, at, begin);
        if (!status) status = ids_push(e->out, id, end, e->err);
        at = end;
    }
    if (!status) status = encode_plain(e, nfc.text, at, nfc.length);
    size_t cursor = 0;
    for (size_t i = first; i < e->out->count; i++)
        e->out->end[i] = base + nfc_source(&nfc, e->out->end[i], &cursor, NULL);
    nfc_free(&nfc);
    return status;
}

tdm_status tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, unsigned flags, size_t base,
                            struct ids *out, tdm_error *err)
{
    struct encoding e = {.t = t, .out = out, .err = err};
    bool added = flags & TOKENIZE_ADDED;
    tdm_status status = TDM_OK;
    size_t at = 0, begin, end;
    tdm_id id;
    while (!status && added && added_next(&t->raw, text, n, at, &id, &begin, &end)) {
        status = encode_stretch(&e, text + at, begin - at, flags, base + at);
        flags = TOKENIZE_ADDED | TOKENIZE_AFTER;
        if (!status) status = ids_push(out, id, base + end, err);
        at = end;
    }
    if (!status && at < n) status = encode_stretch(&e, text + at, n - at, flags, base + at);
    bpe_work_free(&e.work);
    split_end(&e.progress);
    return status;
}

/* The first added token at or after `from`: one that is looked for in the text as given before the others. */
static bool next_added(const struct tokenizer *t, const char *text, size_t n, size_t from, tdm_id *id, size_t *begin,
                       size_t *end)
{
    tdm_id other;
    size_t first, last;
    bool raw = added_next(&t->raw, text, n, from, id, begin, end);
    if (!added_next(&t->normalized, text, n, from, &other, &first, &last) || (raw && last > *begin)) return raw;
    *id = other;
    *begin = first;
    *end = last;
    return true;
}

bool tokenizer_next_written(const struct tokenizer *t, const char *text, const size_t *ends, size_t n, size_t from,
                            tdm_id *id, size_t *begin, size_t *end)
{
    size_t low = 0, high = n; /* the first stretch that ends behind `from` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ends[middle] <= from)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low + low % 2; i < n; i += 2) {
        size_t at = i && ends[i - 1] > from ? ends[i - 1] : from;
        if (next_added(t, text, ends[i], at, id, begin, end)) return true;
    }
    return false;
}

/* The token before a prompt, unless it begins with it. */
static tdm_status push_bos(const struct tokenizer *t, const char *text, const size_t *ends, size_t n, struct ids *out,
                           tdm_error *err)
{
    size_t begin, end;
    tdm_id id;
    bool there = n && next_added(t, text, ends[0], 0, &id, &begin, &end) && !begin && id == t->bos;
    return n && t->bos >= 0 && !there ? ids_push(out, t->bos, 0, err) : TDM_OK;
}

tdm_status tokenizer_encode_part(const struct tokenizer *t, const char *text, const size_t *ends, size_t n, size_t from,
                                 size_t to, unsigned flags, struct ids *out, tdm_error *err)
{
    struct encoding e = {.t = t, .out = out, .err = err};
    size_t done = from, begin, end; /* text[0..done) has its ids */
    tdm_id id;
    tdm_status status = flags & TOKENIZE_BEGIN ? push_bos(t, text, ends, n, out, err) : TDM_OK;
    while (!status && tokenizer_next_written(t, text, ends, n, done, &id, &begin, &end) && end <= to) {
        status = encode_stretch(&e, text + done, begin - done, flags, done);
        if (!status) status = ids_push(out, id, end, err);
        flags = TOKENIZE_AFTER;
        done = end;
    }
    if (!status && done < to) status = encode_stretch(&e, text + done, to - done, flags, done);
    bpe_work_free(&e.work);
    split_end(&e.progress);
    return status;
}

tdm_status tokenizer_encode_written(const struct tokenizer *t, const char *text, const size_t *ends, size_t n,
                                    struct ids *out, tdm_error *err)
{
    return tokenizer_encode_part(t, text, ends, n, 0, n ? ends[n - 1] : 0, TOKENIZE_BEGIN, out, err);
}

/* ---- The stable part of a growing text ----------------------------------------------------------------------- */

static bool all_space(const struct tokenizer *t, const char *text, size_t begin, size_t end)
{
    size_t length;
    while (begin < end && unicode_class(t->classes, text + begin, end - begin, &length) & UNICODE_SPACE)
        begin += length;
    return begin == end;
}

tdm_status tokenizer_stable_prefix(const struct tokenizer *t, const char *text, size_t n, unsigned flags, size_t limit,
                                   size_t *length, tdm_error *err)
{
    *length = 0;
    n -= utf8_incomplete(text, n);
    size_t open = t->nfc ? nfc_open_tail(text, n) : n;
    struct nfc nfc;
    tdm_status status = rewrite(t, &nfc, text, n, has_before(t, text, n, flags), err);
    if (status) return status;

    /* Settled is what ends before the first pre-token that more text could change, and with a pre-token that is
     * not white space alone. A pre-token that ends inside a rewritten character has no end in the original. */
    struct split_progress progress = {0};
    size_t settled = 0, cursor = 0;
    for (size_t begin = 0, end; begin < nfc.length && !status; begin = end) {
        status = split_next(&t->split, &progress, nfc.text, nfc.length, begin, &end, err);
        bool exact;
        size_t source_end = nfc_source(&nfc, end, &cursor, &exact);
        if (status || progress.open || source_end > open || source_end > limit) break;
        if (exact && progress.apart && !all_space(t, nfc.text, begin, end)) settled = source_end;
    }
    *length = settled;
    split_end(&progress);
    nfc_free(&nfc);
    return status;
}
