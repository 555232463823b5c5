#include "engine/text/incremental.h"

enum { APART = 1024 }; /* bytes from anchor to anchor */

struct anchor {
    size_t end;     /* of the text whose ids are there */
    size_t seen;    /* bytes of the text that determine the ids before it */
    size_t count;   /* ids before it */
    unsigned flags; /* of the text that follows */
};

struct incremental {
    const struct tokenizer *tokenizer;
    size_t longest; /* bytes of an added token */
    struct written text;
    size_t cut, limit, kept;
    struct ids ids; /* of the text up to the last anchor, then what was asked for last */
    struct anchor *anchors;
    size_t anchor_count, anchor_room;
};

tdm_status incremental_new(struct incremental **out, const struct tokenizer *t, tdm_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return error_set(err, TDM_E_NOMEM, "no memory for a text");
    (*out)->tokenizer = t;
    (*out)->longest = tokenizer_longest_added(t);
    return TDM_OK;
}

void incremental_free(struct incremental *g)
{
    if (!g) return;
    written_free(&g->text);
    free(g->anchors);
    ids_free(&g->ids);
    free(g);
}

/* The last anchor, or the beginning. */
static struct anchor last_anchor(const struct incremental *g)
{
    return g->anchor_count ? g->anchors[g->anchor_count - 1] : (struct anchor){.flags = TOKENIZE_BEGIN};
}

static void forget_from(struct incremental *g, size_t changed)
{
    while (g->anchor_count && (last_anchor(g).seen > changed || last_anchor(g).end > g->limit)) g->anchor_count--;
    g->ids.count = last_anchor(g).count;
}

/* Appends the ids of the text from the last anchor to `end`. */
static tdm_status encode(struct incremental *g, size_t end, tdm_error *err)
{
    struct anchor from = last_anchor(g);
    return tokenizer_encode_part(g->tokenizer, g->text.text, g->text.ends, g->text.n_ends, from.end, end, from.flags,
                                 &g->ids, err);
}

static tdm_status add_anchor(struct incremental *g, size_t end, size_t seen, unsigned flags, tdm_error *err)
{
    if (g->anchor_count == g->anchor_room) {
        size_t room = g->anchor_room ? 2 * g->anchor_room : 64;
        struct anchor *grown = realloc(g->anchors, room * sizeof *grown);
        if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for a text of %zu bytes", g->text.n);
        g->anchors = grown;
        g->anchor_room = room;
    }
    tdm_status status = encode(g, end, err);
    if (!status) g->anchors[g->anchor_count++] = (struct anchor){end, seen, g->ids.count, flags};
    return status;
}

/* Sets anchors in a stretch without added tokens that goes on at least to `end`. */
static tdm_status extend_within(struct incremental *g, size_t end, tdm_error *err)
{
    size_t apart = APART;
    for (struct anchor from = last_anchor(g); end - from.end > apart + g->longest; from = last_anchor(g)) {
        size_t seen = from.end + apart, limit = g->limit < seen ? g->limit : seen, length = 0;
        tdm_status status = limit <= from.end ? TDM_OK
                                              : tokenizer_stable_prefix(g->tokenizer, g->text.text + from.end, apart,
                                                                        from.flags, limit - from.end, &length, err);
        if (status) return status;
        if (!length) { /* one long pre-token, or nothing but white space to come */
            apart *= 2;
            continue;
        }
        status = add_anchor(g, from.end + length, seen + g->longest, 0, err);
        if (status) return status;
        apart = APART;
    }
    return TDM_OK;
}

static bool cuts(const struct incremental *g, size_t from, size_t end)
{
    return g->cut > from && g->cut <= end && g->cut <= g->limit;
}

/* Sets anchors up to the end of the text. */
static tdm_status extend(struct incremental *g, tdm_error *err)
{
    for (;;) {
        const struct written *w = &g->text;
        size_t from = last_anchor(g).end, begin, end;
        tdm_id id;
        bool found = tokenizer_next_written(g->tokenizer, w->text, w->ends, w->n_ends, from, &id, &begin, &end);
        if (!found) begin = end = w->n;
        bool cut = cuts(g, from, begin) && g->cut < w->n;
        tdm_status status = extend_within(g, cut ? g->cut : begin, err);
        if (!status && cut)
            status = add_anchor(g, g->cut, g->cut + 1, 0, err);
        else if (!status && found && end + g->longest <= w->n && end <= g->limit)
            status = add_anchor(g, end, end + g->longest, TOKENIZE_AFTER, err);
        else
            return status;
        if (status) return status;
    }
}

tdm_status incremental_set(struct incremental *g, const struct written *text, size_t cut, size_t limit, tdm_error *err)
{
    size_t same = written_common(&g->text, text);
    g->cut = cut;
    g->limit = limit;
    forget_from(g, same);
    written_cut(&g->text, same);
    tdm_status status = written_add_part(&g->text, text, same, text->n, err);
    g->kept = last_anchor(g).end;
    if (!status) status = extend(g, err);
    if (status) {
        forget_from(g, 0);
        written_clear(&g->text);
    }
    return status;
}

size_t incremental_kept(const struct incremental *g)
{
    return g->kept;
}

tdm_status incremental_stable(const struct incremental *g, size_t *length, tdm_error *err)
{
    const struct written *w = &g->text;
    struct anchor from = last_anchor(g);
    size_t begin, end;
    tdm_id id;
    while (tokenizer_next_written(g->tokenizer, w->text, w->ends, w->n_ends, from.end, &id, &begin, &end) &&
           end <= g->limit)
        from = (struct anchor){.end = end, .flags = TOKENIZE_AFTER};
    if (cuts(g, from.end, w->n)) from = (struct anchor){.end = g->cut};
    *length = from.end;
    if (w->n == from.end || g->limit <= from.end) return TDM_OK;
    tdm_status status = tokenizer_stable_prefix(g->tokenizer, w->text + from.end, w->n - from.end, from.flags,
                                                g->limit - from.end, length, err);
    *length += from.end;
    return status;
}

tdm_status incremental_encode(struct incremental *g, size_t length, struct ids **ids, tdm_error *err)
{
    assert_always(length >= last_anchor(g).end && length <= g->text.n);
    g->ids.count = last_anchor(g).count;
    *ids = &g->ids;
    return encode(g, length, err);
}
