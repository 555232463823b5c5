#include "engine/text/tokenizer.h"

#include <string.h>

#include "engine/base/size.h"
#include "engine/base/utf8.h"
#include "engine/text/added.h"
#include "engine/text/bpe.h"
#include "engine/text/nfc.h"
#include "engine/text/split.h"
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
    enum split_rule rule;
    bool nfc;
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

static int32_t type_of(const struct tokenizer_parts *parts, size_t id)
{
    return parts->types ? parts->types[id] : TOKENIZER_NORMAL;
}

static bool is_added(int32_t type)
{
    return type == TOKENIZER_CONTROL || type == TOKENIZER_USER_DEFINED;
}

/* Copies the tokens' bytes; in_alphabet[id]: it was written in the alphabet and can come out of merging. */
static tdm_status load_tokens(struct tokenizer *t, const struct tokenizer_parts *parts, const int16_t *alphabet,
                              uint8_t *in_alphabet, tdm_error *err)
{
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
    size_t used = 0;
    for (size_t i = 0; i < parts->token_count; i++) {
        struct span text = parts->tokens[i];
        int32_t type = type_of(parts, i);
        size_t n = text.length;
        if (type == TOKENIZER_UNUSED) {
            n = 0;
        } else if (type == TOKENIZER_NORMAL && n && from_alphabet(alphabet, text, t->bytes + used, &n)) {
            in_alphabet[i] = 1;
        } else if (n) {
            memcpy(t->bytes + used, text.bytes, n);
        }
        t->tokens[i] = (struct bpe_token){(uint32_t)used, (uint32_t)n};
        t->special[i] = type == TOKENIZER_CONTROL;
        used += n;
    }
    return TDM_OK;
}

static tdm_status load_added(struct tokenizer *t, const struct tokenizer_parts *parts, tdm_error *err)
{
    size_t count = 0, n[2] = {0, 0};
    for (size_t i = 0; i < parts->token_count; i++) count += is_added(type_of(parts, i));
    struct added_token *lists[2];
    for (int k = 0; k < 2; k++) lists[k] = malloc((count + 1) * sizeof **lists);
    if (lists[0] && lists[1]) {
        for (size_t i = 0; i < parts->token_count; i++) {
            struct span text = tokenizer_bytes(t, (tdm_id)i);
            if (!is_added(type_of(parts, i)) || !text.length) continue;
            unsigned flags = parts->added_flags ? parts->added_flags[i] : 0;
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
        if (from_alphabet(alphabet, left, joined, &left_n) &&
            from_alphabet(alphabet, right, joined + left_n, &right_n) && left_n && right_n) {
            ids[0] = bpe_find(&t->bpe, joined, left_n);
            ids[1] = bpe_find(&t->bpe, joined + left_n, right_n);
            ids[2] = bpe_find(&t->bpe, joined, left_n + right_n);
        }
        if (ids[0] < 0 || ids[1] < 0 || ids[2] < 0)
            status = error_set(err, TDM_E_FORMAT, "%s: merge %zu: expected tokens of the vocabulary, found \"%.*s\"",
                               parts->name, i, (int)(merge.length < 60 ? merge.length : 60), merge.bytes);
        else
            bpe_add_merge(&t->bpe, ids[0], ids[1], ids[2], (uint32_t)i);
    }
    free(joined);
    return status;
}

static tdm_status load(struct tokenizer *t, const struct tokenizer_parts *parts, uint8_t *in_alphabet, tdm_error *err)
{
    int16_t alphabet[ALPHABET_END];
    fill_alphabet(alphabet);
    tdm_status status = load_tokens(t, parts, alphabet, in_alphabet, err);
    if (!status) status = load_added(t, parts, err);
    if (!status) status = bpe_init(&t->bpe, t->bytes, t->tokens, t->count, parts->merge_count, err);
    if (status) return status;
    t->bpe.ignore_merges = parts->ignore_merges;
    for (tdm_id id = 0; id < t->count; id++)
        if (in_alphabet[id] && !bpe_add_word(&t->bpe, id))
            return error_set(err, TDM_E_FORMAT, "%s: token %d: another token has the same text", parts->name, (int)id);
    for (int b = 0; b < 256; b++)
        if (t->bpe.byte[b] < 0)
            return error_set(err, TDM_E_FORMAT, "%s: expected a token for each byte, found none for 0x%02x",
                             parts->name, (unsigned)b);
    return load_merges(t, parts, alphabet, err);
}

tdm_status tokenizer_load_parts(struct tokenizer **out, const struct tokenizer_parts *parts, tdm_error *err)
{
    *out = NULL;
    enum split_rule rule;
    if (!split_rule_of_regex(parts->pre.bytes, parts->pre.length, &rule) &&
        !split_rule_of_name(parts->pre.bytes, parts->pre.length, &rule))
        return error_set(err, TDM_E_UNSUPPORTED, "%s: expected the splitting rule of qwen2 or qwen35, found \"%.*s\"",
                         parts->name, (int)(parts->pre.length < 200 ? parts->pre.length : 200), parts->pre.bytes);
    if (parts->token_count > IDS_MAX)
        return error_set(err, TDM_E_FORMAT, "%s: expected at most %d tokens, found %zu", parts->name, IDS_MAX,
                         parts->token_count);
    struct tokenizer *t = calloc(1, sizeof *t);
    uint8_t *in_alphabet = calloc(parts->token_count + 1, 1);
    tdm_status status = TDM_E_NOMEM;
    if (t && in_alphabet) {
        t->rule = rule;
        t->nfc = !parts->keep_form;
        t->classes = unicode_classes();
        status = load(t, parts, in_alphabet, err);
    } else {
        error_set(err, status, "%s: no memory for a tokenizer", parts->name);
    }
    free(in_alphabet);
    if (status)
        tokenizer_free(t);
    else
        *out = t;
    return status;
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t) return;
    bpe_free(&t->bpe);
    added_free(&t->raw);
    added_free(&t->normalized);
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

static tdm_id find_added(const struct tokenizer *t, const char *text, size_t n)
{
    tdm_id id = added_find(&t->raw, text, n);
    return id >= 0 ? id : added_find(&t->normalized, text, n);
}

tdm_id tokenizer_find(const struct tokenizer *t, const char *text)
{
    return find_added(t, text, strlen(text));
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
    struct ids *out;
    tdm_error *err;
};

/* Normalised text without added tokens. Ends are places in that text plus `base`. */
static tdm_status encode_plain(struct encoding *e, const char *text, size_t begin, size_t end)
{
    tdm_status status = TDM_OK;
    while (begin < end && !status) {
        size_t next = split_next(e->t->rule, e->t->classes, text, end, begin);
        status = bpe_encode(&e->t->bpe, &e->work, text + begin, next - begin, begin, e->out, e->err);
        begin = next;
    }
    return status;
}

/* A stretch between added tokens: normalises it, then moves the ends of its ids back to the text as given. */
static tdm_status encode_stretch(struct encoding *e, const char *text, size_t n, bool added, size_t base)
{
    struct nfc nfc = {.text = text, .length = n};
    tdm_status status = e->t->nfc ? nfc_make(&nfc, text, n, e->err) : TDM_OK;
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
        status = encode_stretch(&e, text + at, begin - at, added, base + at);
        if (!status) status = ids_push(out, id, base + end, err);
        at = end;
    }
    if (!status && at < n) status = encode_stretch(&e, text + at, n - at, added, base + at);
    bpe_work_free(&e.work);
    return status;
}

/* ---- The stable part of a growing text ----------------------------------------------------------------------- */

static bool all_space(const struct tokenizer *t, const char *text, size_t begin, size_t end)
{
    size_t length;
    while (begin < end && unicode_class(t->classes, text + begin, end - begin, &length) & UNICODE_SPACE)
        begin += length;
    return begin == end;
}

tdm_status tokenizer_stable_prefix(const struct tokenizer *t, const char *text, size_t n, size_t limit, size_t *length,
                                   tdm_error *err)
{
    *length = 0;
    n -= utf8_incomplete(text, n);
    size_t open = t->nfc ? nfc_open_tail(text, n) : n;
    struct nfc nfc = {.text = text, .length = n};
    tdm_status status = t->nfc ? nfc_make(&nfc, text, n, err) : TDM_OK;
    if (status) return status;

    /* Settled is what ends before the first pre-token that more text could change, and with a pre-token that is
     * not white space alone. A pre-token that ends inside a rewritten character has no end in the original. */
    size_t settled = 0, cursor = 0;
    for (size_t begin = 0, end; begin < nfc.length; begin = end) {
        end = split_next(t->rule, t->classes, nfc.text, nfc.length, begin);
        bool exact;
        size_t source_end = nfc_source(&nfc, end, &cursor, &exact);
        if (end == nfc.length || source_end > open || source_end > limit) break;
        if (exact && !all_space(t, nfc.text, begin, end)) settled = source_end;
    }
    *length = settled;
    nfc_free(&nfc);
    return TDM_OK;
}
