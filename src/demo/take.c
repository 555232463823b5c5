#include "src/demo/take.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

tdm_status demo_take_new(demo_take *out, int n, tdm_error *err)
{
    *out = (demo_take){.turns = calloc((size_t)n + 1, sizeof *out->turns), .n = n};
    return out->turns ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}

void demo_take_free(demo_take *t)
{
    for (int i = 0; t->turns && i < t->n; i++) {
        demo_turn *turn = &t->turns[i];
        buffer_free(&turn->drafts);
        buffer_free(&turn->reply);
        free(turn->keys.all);
        free(turn->reads.all);
        free(turn->texts.all);
    }
    for (int u = 0; u < TDM_UNITS; u++) free(t->units[u].all);
    free(t->turns);
    *t = (demo_take){0};
}

static tdm_status copy_marks(demo_marks *out, const demo_marks *from, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < from->n && !status; i++)
        status = demo_marks_add(out, from->all[i].ns, from->all[i].bytes, err);
    return status;
}

static tdm_status copy_turn(demo_turn *out, const demo_turn *from, tdm_error *err)
{
    out->key_ns = from->key_ns;
    out->enter_ns = from->enter_ns;
    out->first_ns = from->first_ns;
    out->end_ns = from->end_ns;
    tdm_status status = buffer_append(&out->drafts, from->drafts.bytes, from->drafts.n, err);
    if (!status) status = buffer_append(&out->reply, from->reply.bytes, from->reply.n, err);
    if (!status) status = copy_marks(&out->keys, &from->keys, err);
    if (!status) status = copy_marks(&out->reads, &from->reads, err);
    return status ? status : copy_marks(&out->texts, &from->texts, err);
}

tdm_status demo_take_copy(demo_take *out, const demo_take *from, tdm_error *err)
{
    tdm_status status = demo_take_new(out, from->n, err);
    for (int i = 0; i < from->n && !status; i++) status = copy_turn(&out->turns[i], &from->turns[i], err);
    if (status) demo_take_free(out);
    return status;
}

/* Room for one more; NULL: no memory. */
static void *grown(void *all, size_t n, size_t *room, size_t size)
{
    if (n < *room) return all;
    size_t more = *room ? 2 * *room : 64;
    void *larger = realloc(all, more * size);
    if (larger) *room = more;
    return larger;
}

tdm_status demo_marks_add(demo_marks *m, int64_t ns, size_t bytes, tdm_error *err)
{
    demo_mark *larger = grown(m->all, m->n, &m->room, sizeof *larger);
    if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    m->all = larger;
    m->all[m->n++] = (demo_mark){ns, bytes};
    return TDM_OK;
}

tdm_status demo_spans_add(demo_spans *s, const struct view_span *span, tdm_error *err)
{
    struct view_span *larger = grown(s->all, s->n, &s->room, sizeof *larger);
    if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    s->all = larger;
    s->all[s->n++] = *span;
    return TDM_OK;
}

/* How many marks there are up to a time. */
static size_t marks_until(const demo_marks *m, int64_t ns)
{
    size_t low = 0, high = m->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (m->all[middle].ns <= ns) low = middle + 1;
        else high = middle;
    }
    return low;
}

size_t demo_marks_at(const demo_marks *m, int64_t ns)
{
    size_t n = marks_until(m, ns);
    return n ? m->all[n - 1].bytes : 0;
}

const char *demo_turn_draft(const demo_turn *t, int64_t ns, size_t *n)
{
    size_t k = marks_until(&t->keys, ns);
    size_t from = k > 1 ? t->keys.all[k - 2].bytes : 0, to = k ? t->keys.all[k - 1].bytes : 0;
    *n = to - from;
    return t->drafts.bytes ? t->drafts.bytes + from : "";
}
