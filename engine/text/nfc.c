#include "engine/text/nfc.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "engine/base/size.h"
#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

/* Canonical decomposition never yields more than four code points for one. */
#define PARTS_MAX 4

struct work {
    struct nfc *out;
    size_t room; /* of out->buffer */
    size_t change_room;
    int32_t *codes; /* of one stretch, with as much again for sorting */
    size_t code_room;
};

/* The first position from `from` on with an unsafe character, or n. *safe: the start of the character before it
 * (equal to it when there is none). */
static size_t find_unsafe(const uint8_t *classes, const char *text, size_t from, size_t n, size_t *safe)
{
    size_t at = from, before = from;
    while (at < n) {
        uint64_t eight;
        if (n - at >= 8 && (memcpy(&eight, text + at, 8), !(eight & 0x8080808080808080u))) {
            at += 8;
            before = at - 1;
            continue;
        }
        size_t length;
        if (unicode_class(classes, text + at, n - at, &length) & UNICODE_UNSAFE) break;
        before = at;
        at += length;
    }
    *safe = before;
    return at;
}

static tdm_status reserve(void **array, size_t *room, size_t need, size_t item, tdm_error *err)
{
    if (need <= *room) return TDM_OK;
    uint64_t bytes, grown = *room + *room / 2 > need ? *room + *room / 2 : need;
    void *larger = size_mul(grown, item, &bytes) ? realloc(*array, bytes) : NULL;
    if (!larger) return error_set(err, TDM_E_NOMEM, "no memory to normalise text");
    *array = larger;
    *room = grown;
    return TDM_OK;
}

/* Sorts each run of non-starters by combining class, keeping the order of equals. Insertion for the short runs
 * of real text; counting for long ones, which a hostile text could make quadratic otherwise. */
static void sort_marks(int32_t *codes, size_t n, int32_t *spare)
{
    for (size_t begin = 0; begin < n;) {
        if (!utf8proc_get_property(codes[begin])->combining_class) {
            begin++;
            continue;
        }
        size_t end = begin;
        while (end < n && utf8proc_get_property(codes[end])->combining_class) end++;
        if (end - begin <= 32) {
            for (size_t i = begin + 1; i < end; i++) {
                int32_t code = codes[i];
                int class = utf8proc_get_property(code)->combining_class;
                size_t j = i;
                for (; j > begin && utf8proc_get_property(codes[j - 1])->combining_class > class; j--)
                    codes[j] = codes[j - 1];
                codes[j] = code;
            }
        } else {
            size_t place[257] = {0};
            for (size_t i = begin; i < end; i++) place[(utf8proc_get_property(codes[i])->combining_class & 255) + 1]++;
            for (int c = 0; c < 256; c++) place[c + 1] += place[c];
            for (size_t i = begin; i < end; i++)
                spare[place[utf8proc_get_property(codes[i])->combining_class & 255]++] = codes[i];
            memcpy(codes + begin, spare, (end - begin) * sizeof *codes);
        }
        begin = end;
    }
}

static tdm_status append(struct work *w, const char *bytes, size_t n, tdm_error *err)
{
    struct nfc *out = w->out;
    tdm_status status = reserve((void **)&out->buffer, &w->room, out->length + n, 1, err);
    if (status) return status;
    memcpy(out->buffer + out->length, bytes, n);
    out->length += n;
    return TDM_OK;
}

/* Rewrites text[begin..end), which holds no invalid byte after its first character. */
static tdm_status rewrite(struct work *w, const char *text, size_t begin, size_t end, tdm_error *err)
{
    uint64_t need;
    if (!size_mul(end - begin, 2 * PARTS_MAX, &need)) return error_set(err, TDM_E_NOMEM, "text too long to normalise");
    tdm_status status = reserve((void **)&w->codes, &w->code_room, need, sizeof *w->codes, err);
    if (status) return status;
    size_t at = begin, start = w->out->length;
    int32_t code;
    size_t length = utf8_decode(text + at, end - at, &code);
    if (code < 0) { /* an invalid byte takes part in nothing */
        status = append(w, text + at, 1, err);
        if (status) return status;
        at += length;
    }
    size_t n = 0, half = w->code_room / 2;
    for (; at < end; at += length) {
        length = utf8_decode(text + at, end - at, &code);
        int boundary = 0;
        utf8proc_ssize_t parts =
            utf8proc_decompose_char(code, w->codes + n, PARTS_MAX, UTF8PROC_STABLE | UTF8PROC_COMPOSE, &boundary);
        assert_always(parts > 0 && parts <= PARTS_MAX);
        n += (size_t)parts;
    }
    sort_marks(w->codes, n, w->codes + half);
    utf8proc_ssize_t composed =
        n ? utf8proc_normalize_utf32(w->codes, (utf8proc_ssize_t)n, UTF8PROC_STABLE | UTF8PROC_COMPOSE) : 0;
    assert_always(composed >= 0);
    for (utf8proc_ssize_t i = 0; i < composed; i++) {
        char bytes[4];
        status = append(w, bytes, utf8_encode((uint32_t)w->codes[i], bytes), err);
        if (status) return status;
    }
    struct nfc *out = w->out;
    if (out->length - start == end - begin && !memcmp(out->buffer + start, text + begin, end - begin)) return TDM_OK;
    status = reserve((void **)&out->changes, &w->change_room, out->change_count + 1, sizeof *out->changes, err);
    if (status) return status;
    out->changes[out->change_count++] = (struct nfc_change){start, out->length, begin, end};
    return TDM_OK;
}

tdm_status nfc_make(struct nfc *out, const char *text, size_t n, tdm_error *err)
{
    *out = (struct nfc){.text = text, .length = n};
    const uint8_t *classes = unicode_classes();
    size_t safe, at = find_unsafe(classes, text, 0, n, &safe);
    if (at == n) return TDM_OK;

    struct work w = {.out = out};
    out->length = 0;
    tdm_status status = reserve((void **)&out->buffer, &w.room, n, 1, err);
    size_t copied = 0;
    while (!status && at < n) {
        size_t end = at, length;
        while (end < n && unicode_class(classes, text + end, n - end, &length) & UNICODE_UNSAFE) end += length;
        status = append(&w, text + copied, safe - copied, err);
        if (!status) status = rewrite(&w, text, safe, end, err);
        copied = end;
        at = find_unsafe(classes, text, end, n, &safe);
    }
    if (!status) status = append(&w, text + copied, n - copied, err);
    free(w.codes);
    if (status) {
        nfc_free(out);
        return status;
    }
    out->text = out->buffer;
    return TDM_OK;
}

void nfc_free(struct nfc *nfc)
{
    free(nfc->buffer);
    free(nfc->changes);
    *nfc = (struct nfc){0};
}

size_t nfc_source(const struct nfc *nfc, size_t position, size_t *cursor, bool *exact)
{
    if (exact) *exact = true;
    while (*cursor < nfc->change_count && nfc->changes[*cursor].end <= position) ++*cursor;
    size_t end = 0, source_end = 0;
    if (*cursor > 0) end = nfc->changes[*cursor - 1].end, source_end = nfc->changes[*cursor - 1].source_end;
    if (*cursor < nfc->change_count && nfc->changes[*cursor].begin < position) {
        if (exact) *exact = false;
        return nfc->changes[*cursor].source_begin;
    }
    return source_end + (position - end);
}

size_t nfc_open_tail(const char *text, size_t n)
{
    const uint8_t *classes = unicode_classes();
    size_t at = n, length;
    while (at > 0) {
        at = utf8_before(text, at);
        if (!(unicode_class(classes, text + at, n - at, &length) & UNICODE_UNSAFE)) break;
    }
    return at;
}
