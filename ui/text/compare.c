#include "ui/text/compare.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/draw/width.h"

struct word {
    const char *at;
    size_t n;
    int breaks; /* line ends before it, at most two */
    bool own;   /* the other text lacks it */
};

struct words {
    struct word *word;
    size_t n;
};

static bool split(const char *text, struct words *out)
{
    size_t room = strlen(text) / 2 + 1;
    *out = (struct words){calloc(room, sizeof *out->word), 0};
    if (!out->word) return false;
    for (const char *at = text;;) {
        int breaks = 0;
        for (; *at && strchr(" \t\r\n", *at); at++) breaks += *at == '\n' && breaks < 2;
        size_t n = strcspn(at, " \t\r\n");
        if (!n) return true;
        out->word[out->n++] = (struct word){at, n, breaks, false};
        at += n;
    }
}

static bool same(const struct word *a, const struct word *b)
{
    return a->n == b->n && !memcmp(a->at, b->at, a->n);
}

/* Marks what only one of a[0, n) and b[0, m) has; false without memory. length[i][j]: of the longest common sequence of
 * what begins at i and at j. */
static bool mark(struct word *a, size_t n, struct word *b, size_t m)
{
    bool too_long = n && m > COMPARE_CELLS / (n + 1);
    uint16_t *length = n && m && !too_long ? calloc((n + 1) * (m + 1), sizeof *length) : NULL;
    if (n && m && !too_long && !length) return false;
    size_t i = 0, j = 0, row = m + 1;
    for (size_t r = n; length && r-- > 0;)
        for (size_t c = m; c-- > 0;) {
            uint16_t down = length[(r + 1) * row + c], right = length[r * row + c + 1];
            length[r * row + c] = same(&a[r], &b[c]) ? (uint16_t)(length[(r + 1) * row + c + 1] + 1)
                                                     : down > right ? down : right;
        }
    while (length && i < n && j < m) {
        if (same(&a[i], &b[j])) i++, j++;
        else if (length[(i + 1) * row + j] >= length[i * row + j + 1]) a[i++].own = true;
        else b[j++].own = true;
    }
    while (i < n) a[i++].own = true;
    while (j < m) b[j++].own = true;
    free(length);
    return true;
}

static bool compare(struct words *a, struct words *b)
{
    size_t begin = 0, end = 0, least = a->n < b->n ? a->n : b->n;
    while (begin < least && same(&a->word[begin], &b->word[begin])) begin++;
    while (end < least - begin && same(&a->word[a->n - 1 - end], &b->word[b->n - 1 - end])) end++;
    return mark(a->word + begin, a->n - begin - end, b->word + begin, b->n - begin - end);
}

/* ---- Lines ---- */

struct text {
    char *bytes;
    size_t n, room;
    bool failed;
};

static void put(struct text *t, const char *bytes, size_t n)
{
    if (t->n + n + 1 > t->room) {
        size_t room = 2 * (t->n + n + 64);
        char *larger = realloc(t->bytes, room);
        t->failed |= !larger;
        if (!larger) return;
        t->bytes = larger;
        t->room = room;
    }
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = 0;
}

static void put_text(struct text *t, const char *text) { put(t, text, strlen(text)); }

/* One side with its marks, in lines of at most `cols` columns where words allow it. */
static void put_side(struct text *t, const struct words *w, const char *open, const char *close, int cols)
{
    int col = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct word *word = &w->word[i];
        bool opens = word->own && (i == 0 || !w->word[i - 1].own || word->breaks);
        bool closes = word->own && (i + 1 == w->n || !w->word[i + 1].own || w->word[i + 1].breaks);
        int width = width_text(word->at, word->n) + 2 * opens + 2 * closes;
        bool wraps = col && col + 1 + width > cols;
        if (i)
            for (int k = 0; k < (word->breaks ? word->breaks : wraps); k++) put_text(t, "\n");
        if (!i || word->breaks || wraps) col = 0;
        if (col) put_text(t, " ");
        if (opens) put_text(t, open);
        put(t, word->at, word->n);
        if (closes) put_text(t, close);
        col += (col > 0) + width;
    }
    put_text(t, "\n");
}

static void put_columns(struct text *out, const char *const name[2], const char *const side[2], int each)
{
    const char *at[2] = {side[0], side[1]};
    bool heads = true;
    while (heads || *at[0] || *at[1]) {
        for (int k = 0; k < 2; k++) {
            const char *line = heads ? name[k] : at[k];
            size_t n = strcspn(line, "\n");
            put(out, line, n);
            for (int col = width_text(line, n); k == 0 && col < each; col++) put_text(out, " ");
            if (k == 0) put_text(out, " | ");
            if (!heads) at[k] += n + (at[k][n] == '\n');
        }
        put_text(out, "\n");
        heads = false;
    }
}

/* Both texts in one: what is common once, in the lines of the right one. */
static void put_merged(struct text *out, const struct words *a, const struct words *b)
{
    for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
        bool left = i < a->n && a->word[i].own, right = !left && j < b->n && b->word[j].own;
        const struct word *word = left ? &a->word[i] : &b->word[j];
        if (out->n) put_text(out, word->breaks > 1 ? "\n\n" : word->breaks ? "\n" : " ");
        if (left || right) put_text(out, left ? "[-" : "{+");
        put(out, word->at, word->n);
        if (left) {
            while (++i < a->n && a->word[i].own && !a->word[i].breaks) {
                put_text(out, " ");
                put(out, a->word[i].at, a->word[i].n);
            }
        } else if (right) {
            while (++j < b->n && b->word[j].own && !b->word[j].breaks) {
                put_text(out, " ");
                put(out, b->word[j].at, b->word[j].n);
            }
        } else {
            i++;
            j++;
        }
        if (left || right) put_text(out, left ? "-]" : "+}");
    }
    put_text(out, "\n");
}

char *compare_texts(const char *left_name, const char *left, const char *right_name, const char *right, int cols)
{
    struct words a = {0}, b = {0};
    struct text out = {0}, side[2] = {{0}, {0}};
    int each = (cols - 3) / 2;
    bool good = split(left, &a) && split(right, &b) && compare(&a, &b);
    if (good && each >= COMPARE_COLS) {
        put_side(&side[0], &a, "[-", "-]", each);
        put_side(&side[1], &b, "{+", "+}", each);
        good = !side[0].failed && !side[1].failed;
        if (good)
            put_columns(&out, (const char *const[]){left_name, right_name},
                        (const char *const[]){side[0].bytes, side[1].bytes}, each);
    } else if (good) {
        put_text(&out, "[-");
        put_text(&out, left_name);
        put_text(&out, "-]  {+");
        put_text(&out, right_name);
        put_text(&out, "+}\n\n");
        struct text merged = {0};
        put_merged(&merged, &a, &b);
        good = !merged.failed;
        if (good) put(&out, merged.bytes, merged.n);
        free(merged.bytes);
    }
    free(a.word);
    free(b.word);
    free(side[0].bytes);
    free(side[1].bytes);
    if (good && !out.failed) return out.bytes;
    free(out.bytes);
    return NULL;
}
