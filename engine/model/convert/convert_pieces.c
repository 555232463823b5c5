/* Scores for the pieces of SentencePiece, of a tokenizer.json that has merges.
 *
 * GGUF files of the kind llama give each piece a score: neighbours that spell a piece are merged, the one with the
 * highest score first. A list of merges says the same if it has all pairs that spell a piece, and those of one piece
 * stand one after the other: as the list is where it was made of scores. Any other list is refused. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/model/convert/convert.h"

/* The pieces by their text. */
struct index {
    const struct tokenizer_parts *parts;
    uint32_t *ids;
    size_t n;
};

static int compare(struct span a, struct span b)
{
    size_t n = a.length < b.length ? a.length : b.length;
    int order = n ? memcmp(a.bytes, b.bytes, n) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int by_text(const void *a, const void *b, void *ctx)
{
    const struct span *tokens = ctx;
    return compare(tokens[*(const uint32_t *)a], tokens[*(const uint32_t *)b]);
}

static bool is_piece(const struct tokenizer_parts *parts, size_t id)
{
    return parts->tokens[id].length && (!parts->types || parts->types[id] == TOKENIZER_NORMAL);
}

static bool make_index(struct index *x)
{
    x->ids = malloc((x->parts->token_count + 1) * sizeof *x->ids);
    for (size_t id = 0; x->ids && id < x->parts->token_count; id++)
        if (is_piece(x->parts, id)) x->ids[x->n++] = (uint32_t)id;
    if (x->ids) qsort_r(x->ids, x->n, sizeof *x->ids, by_text, (void *)x->parts->tokens);
    return x->ids;
}

/* The piece with this text, -1: there is none. */
static int64_t find(const struct index *x, struct span text)
{
    size_t low = 0, high = x->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(x->parts->tokens[x->ids[middle]], text);
        if (!order) return x->ids[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* Whether merging comes by this text: a piece, or a character, which scores merge even if it is none. */
static bool comes_by(const struct index *x, struct span text)
{
    int32_t code;
    return text.length && (utf8_decode(text.bytes, text.length, &code) == text.length || find(x, text) >= 0);
}

/* How many pairs are merged to this piece where scores say it. */
static uint32_t pairs_of(const struct index *x, struct span piece)
{
    uint32_t n = 0;
    int32_t code;
    for (size_t at = 0; at < piece.length;) {
        at += utf8_decode(piece.bytes + at, piece.length - at, &code);
        struct span left = {piece.bytes, at}, right = {piece.bytes + at, piece.length - at};
        n += comes_by(x, left) && comes_by(x, right);
    }
    return n;
}

static tdm_status refuse(const struct tokenizer_parts *parts, struct span piece, const char *why, tdm_error *err)
{
    return error_set(err, TDM_E_UNSUPPORTED, "%s: no scores say the same as its merges: %s \"%.*s\"", parts->name, why,
                     (int)(piece.length < 60 ? piece.length : 60), piece.bytes);
}

/* merges[id]: how many there are of a piece; scores[id]: the later they begin, the lower. */
static tdm_status take_merges(const struct index *x, float *scores, uint32_t *merges, tdm_error *err)
{
    const struct tokenizer_parts *parts = x->parts;
    int64_t last = -1;
    uint32_t pieces = 0;
    char *joined = NULL;
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < parts->merge_count && !status; i++) {
        struct span merge = parts->merges[i];
        const char *blank = memchr(merge.bytes, ' ', merge.length);
        char *more = blank ? realloc(joined, merge.length) : joined;
        if (blank && !more) {
            status = error_set(err, TDM_E_NOMEM, "%s: no memory for a merge", parts->name);
            break;
        }
        joined = more;
        size_t left = blank ? (size_t)(blank - merge.bytes) : 0;
        if (blank) memcpy(joined, merge.bytes, left), memcpy(joined + left, blank + 1, merge.length - left - 1);
        int64_t id = blank ? find(x, (struct span){joined, merge.length - 1}) : -1;
        if (id < 0) {
            status = refuse(parts, merge, "expected two parts of a piece, found", err);
        } else if (id != last && merges[id]++) {
            status = refuse(parts, parts->tokens[id], "expected one after the other those of", err);
        } else {
            merges[id] += id == last;
            pieces += id != last;
            scores[id] = -(float)pieces;
            last = id;
        }
    }
    free(joined);
    return status;
}

tdm_status convert_scores(const struct tokenizer_parts *parts, float *scores, tdm_error *err)
{
    struct index x = {.parts = parts};
    uint32_t *merges = calloc(parts->token_count + 1, sizeof *merges);
    tdm_status status = merges && make_index(&x)
                            ? take_merges(&x, scores, merges, err)
                            : error_set(err, TDM_E_NOMEM, "%s: no memory for its merges", parts->name);
    for (size_t i = 0; i < x.n && !status; i++) {
        struct span piece = parts->tokens[x.ids[i]];
        if (merges[x.ids[i]] != pairs_of(&x, piece)) status = refuse(parts, piece, "expected all pairs that make", err);
    }
    free(merges);
    free(x.ids);
    return status;
}
