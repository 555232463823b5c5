#include "engine/text/growing.h"

#include <string.h>

enum { APART = 1024 }; /* bytes from mark to mark */

struct mark {
    size_t end;   /* of the stable part */
    size_t seen;  /* bytes of the text that say so */
    size_t count; /* ids before it */
};

struct growing {
    const struct tokenizer *tokenizer;
    char *text;
    size_t n, room, limit, kept;
    struct ids ids; /* of text[0, end of the last mark) */
    struct mark *marks;
    size_t mark_count, mark_room;
};

tdm_status growing_new(struct growing **out, const struct tokenizer *t, tdm_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return error_set(err, TDM_E_NOMEM, "no memory for a text");
    (*out)->tokenizer = t;
    return TDM_OK;
}

void growing_free(struct growing *g)
{
    if (!g) return;
    free(g->text);
    free(g->marks);
    ids_free(&g->ids);
    free(g);
}

static size_t common_prefix(const char *a, const char *b, size_t n)
{
    enum { STEP = 4096 };
    size_t i = 0;
    while (i + STEP <= n && !memcmp(a + i, b + i, STEP)) i += STEP;
    while (i < n && a[i] == b[i]) i++;
    return i;
}

static size_t marked(const struct growing *g)
{
    return g->mark_count ? g->marks[g->mark_count - 1].end : 0;
}

static void forget_from(struct growing *g, size_t changed)
{
    while (g->mark_count && (g->marks[g->mark_count - 1].seen > changed || marked(g) > g->limit)) g->mark_count--;
    g->ids.count = g->mark_count ? g->marks[g->mark_count - 1].count : 0;
}

static tdm_status add_mark(struct growing *g, size_t end, size_t seen, tdm_error *err)
{
    if (g->mark_count == g->mark_room) {
        size_t room = g->mark_room ? 2 * g->mark_room : 64;
        struct mark *grown = realloc(g->marks, room * sizeof *grown);
        if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for a text of %zu bytes", g->n);
        g->marks = grown;
        g->mark_room = room;
    }
    size_t from = marked(g);
    tdm_status status = tokenizer_encode(g->tokenizer, g->text + from, end - from, 0, from, &g->ids, err);
    if (status == TDM_OK) g->marks[g->mark_count++] = (struct mark){end, seen, g->ids.count};
    return status;
}

/* Sets marks up to the end of the text. */
static tdm_status extend(struct growing *g, tdm_error *err)
{
    size_t apart = APART;
    for (size_t from = marked(g); g->n - from > apart; from = marked(g)) {
        size_t length, seen = from + apart, limit = g->limit < seen ? g->limit : seen;
        tdm_status status = limit < from ? TDM_OK
                                         : tokenizer_stable_prefix(g->tokenizer, g->text + from, apart, limit - from,
                                                                   &length, err);
        if (status) return status;
        if (limit < from || length == 0) { /* one long pre-token, or nothing but white space to come */
            apart *= 2;
            continue;
        }
        status = add_mark(g, from + length, seen, err);
        if (status) return status;
        apart = APART;
    }
    return TDM_OK;
}

tdm_status growing_set(struct growing *g, const char *text, size_t n, size_t limit, tdm_error *err)
{
    if (n > g->room) {
        char *grown = realloc(g->text, 2 * n);
        if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for a text of %zu bytes", n);
        g->text = grown;
        g->room = 2 * n;
    }
    size_t same = n ? common_prefix(g->text, text, n < g->n ? n : g->n) : 0;
    if (n > same) memcpy(g->text + same, text + same, n - same);
    g->n = n;
    g->limit = limit;
    forget_from(g, same);
    g->kept = marked(g);
    tdm_status status = extend(g, err);
    if (status) {
        g->n = 0;
        forget_from(g, 0);
    }
    return status;
}

size_t growing_kept(const struct growing *g)
{
    return g->kept;
}

tdm_status growing_stable(const struct growing *g, size_t *length, tdm_error *err)
{
    size_t from = marked(g);
    *length = from;
    if (g->n == from || g->limit <= from) return TDM_OK;
    tdm_status status = tokenizer_stable_prefix(g->tokenizer, g->text + from, g->n - from, g->limit - from, length,
                                                err);
    *length += from;
    return status;
}

tdm_status growing_encode(const struct growing *g, size_t length, size_t base, struct ids *out, tdm_error *err)
{
    size_t from = marked(g);
    assert_always(length >= from && length <= g->n);
    tdm_status status = ids_reserve(out, g->ids.count, err);
    if (status) return status;
    if (g->ids.count) memcpy(out->id + out->count, g->ids.id, g->ids.count * sizeof *out->id);
    for (size_t i = 0; i < g->ids.count; i++) out->end[out->count + i] = base + g->ids.end[i];
    out->count += g->ids.count;
    return tokenizer_encode(g->tokenizer, g->text + from, length - from, 0, base + from, out, err);
}
