#include "ui/keys/torn.h"

#include <string.h>

#include "ui/keys/answer_form.h"
#include "ui/keys/paste_mark.h"

enum { LOOKED_AT = 4096 };

void torn_keep(struct torn *t, const char *sequence, size_t n, int64_t now_ns)
{
    enum { KIND = 2 }; /* Esc and what introduces a string */
    t->n = n <= sizeof t->bytes ? n : KIND;
    memcpy(t->bytes, sequence, t->n);
    t->since_ns = now_ns;
}

/* Joins the sequence and the text; returns the length. */
static size_t join(const struct torn *t, const char *text, size_t n, char out[LOOKED_AT])
{
    size_t take = n < LOOKED_AT - t->n ? n : LOOKED_AT - t->n;
    memcpy(out, t->bytes, t->n);
    memcpy(out + t->n, text, take);
    return t->n + take;
}

enum torn_verdict torn_look(struct torn *t, const char *text, size_t n, int64_t now_ns, size_t *took, bool *patient)
{
    char joined[LOOKED_AT];
    size_t at, length;
    *patient = false;
    if (!t->n) return TORN_NOTHING;
    if (now_ns - t->since_ns >= TORN_NS) {
        t->n = 0;
        return TORN_NOTHING;
    }
    const size_t before = t->n, all = join(t, text, n, joined);
    const size_t most = all < PASTE_MARK_MAX ? all : PASTE_MARK_MAX;
    if (paste_mark_find(joined, most, 0, &at, &length) == PASTE_MARK_BEGIN && !at && length > before) {
        *took = length - before;
        t->n = 0;
        return TORN_PASTE;
    }
    const enum answer_form form = answer_form(joined, all, &length);
    if (form == ANSWER_FORM_WHOLE && length > before) {
        *took = length - before;
        t->n = 0;
        return TORN_REST;
    }
    *patient = form == ANSWER_FORM_PART;
    if (form == ANSWER_FORM_PART || form == ANSWER_FORM_LOOSE || paste_mark_partial(joined, most) == all)
        return TORN_WAIT;
    t->n = 0;
    return TORN_NOTHING;
}

size_t torn_settle(struct torn *t, const char *text, size_t n, int64_t now_ns)
{
    char joined[LOOKED_AT];
    size_t length;
    const size_t all = join(t, text, n, joined);
    if (n < 2 || answer_form(joined, all, &length) != ANSWER_FORM_PART) {
        t->n = 0;
        return 0;
    }
    torn_keep(t, joined, all, now_ns);
    return n;
}
