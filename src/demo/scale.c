#include "src/demo/scale.h"

#include <stdlib.h>

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- Work ------------------------------------------------------------------------------------------------------ */

static bool is_known(const demo_pace *p)
{
    return p->memory > 0 && p->measured.peak > 0 && p->shown.peak > 0;
}

/* The least nanoseconds of a dispatch, or what they are in proportion to. */
static double roof(const demo_pace *p, const demo_cost *c, int n, demo_work work)
{
    if (!is_known(p)) return work == DEMO_WRITES ? c->bytes : n * c->operations;
    return 1e9 * larger(n * c->operations / c->peak, c->bytes / p->memory);
}

static bool is_reading(enum view_kind kind)
{
    return kind <= VIEW_K_PROMPT;
}

static demo_work work_of(const demo_pace *p, const struct view_span *s)
{
    if (!is_reading(s->kind)) return DEMO_WRITES;
    bool bytes = is_known(p) && p->measured.bytes / p->memory > s->tokens * p->measured.operations / p->measured.peak;
    return bytes ? DEMO_READS_BYTES : DEMO_READS_OPERATIONS;
}

/* Weights that stay in the caches may be read faster than memory; those of a larger model can't. */
static double best_share(const demo_pace *p, const demo_spans *all, demo_work work)
{
    double best = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct view_span *s = &all->all[i];
        bool counts = (is_reading(s->kind) || s->kind == VIEW_K_DECODE) && s->end_ns > s->start_ns && s->tokens > 0;
        if (!counts || work_of(p, s) != work) continue;
        best = larger(best, roof(p, &p->measured, s->tokens, work) / (double)(s->end_ns - s->start_ns));
    }
    return is_known(p) && best > 1 ? 1 : best;
}

void demo_pace_learn(demo_pace *p, const demo_take *takes, int n)
{
    for (int w = 0; w < DEMO_WORKS; w++)
        for (int i = 0; i < n; i++)
            for (int u = 0; u < TDM_UNITS; u++)
                p->share[w] = larger(p->share[w], best_share(p, &takes[i].units[u], (demo_work)w));
}

void demo_pace_show(demo_pace *p, const demo_cost *shown)
{
    p->shown = *shown;
    bool quicker = shown->operations * p->measured.peak < p->measured.operations * shown->peak;
    if (quicker) p->shown.peak = p->measured.peak;
}

double demo_scale_longer(const demo_pace *p, int n, demo_work work)
{
    double share = p->share[work];
    if (!(share > 0) && work != DEMO_WRITES) share = p->share[DEMO_READS_BYTES + DEMO_READS_OPERATIONS - work];
    if (!(share > 0)) share = 1;
    return (roof(p, &p->shown, n, work) - roof(p, &p->measured, n, work)) / share;
}

/* ---- Time ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const demo_pace *pace;
    const demo_take *in;
    demo_take *out;
    size_t next;        /* span of the prefill unit */
    int64_t free_ns;    /* the prefill unit has nothing to do, in the new time */
    demo_marks ends;    /* of its spans that were looked at: when they ended, and when they do now */
} scaling;

static int64_t scaled(int64_t ns, double factor)
{
    return (int64_t)((double)ns * factor);
}

/* How much later something of a reply comes: each of its tokens takes longer. */
static int64_t written_later(const scaling *s, const demo_turn *in, int64_t ns)
{
    const demo_spans *all = &s->in->units[TDM_DECODE_UNIT];
    double longer = demo_scale_longer(s->pace, 1, DEMO_WRITES), tokens = 0;
    for (size_t i = 0; i < all->n && all->all[i].start_ns < ns; i++) {
        const struct view_span *one = &all->all[i];
        if (one->kind != VIEW_K_DECODE || one->start_ns < in->enter_ns) continue;
        int64_t length = one->end_ns - one->start_ns, passed = ns - one->start_ns;
        tokens += passed < length ? (double)passed / (double)length : 1;
    }
    return (int64_t)(tokens * longer);
}

/* The new time of something in the run while turn k is the newest whose message has begun (k: it begins), from the
 * end of the reply before it to its own end; times of turn k in `out` are set as far as that. */
static int64_t moved(const scaling *s, int k, int64_t ns)
{
    const demo_turn *in = &s->in->turns[k], *out = &s->out->turns[k];
    if (ns < in->key_ns) {
        int64_t before = k ? s->out->turns[k - 1].end_ns : INT64_MIN;
        int64_t at = out->key_ns - scaled(in->key_ns - ns, s->pace->typing);
        return at > before ? at : before;
    }
    if (ns < in->enter_ns) return out->key_ns + scaled(ns - in->key_ns, s->pace->typing);
    if (ns >= in->first_ns) return out->first_ns + (ns - in->first_ns) + written_later(s, in, ns);
    int64_t at = out->first_ns - (in->first_ns - ns);
    return at > out->enter_ns ? at : out->enter_ns;
}

/* ---- The prefill unit ------------------------------------------------------------------------------------------ */

/* When the span could begin: what comes after Enter and before the reply waits for nothing but the unit. */
static int64_t ready(const scaling *s, int k, const struct view_span *span)
{
    const demo_turn *in = &s->in->turns[k];
    if (span->start_ns >= in->enter_ns && span->start_ns < in->first_ns) return s->out->turns[k].enter_ns;
    return moved(s, k, span->start_ns);
}

/* The span that follows, but for lent cores; NULL: none begins before `until`. */
static const struct view_span *peek(const scaling *s, size_t from, int64_t until, size_t *at)
{
    const demo_spans *all = &s->in->units[TDM_PREFILL_UNIT];
    while (from < all->n && all->all[from].kind == VIEW_K_LENT) from++;
    *at = from;
    return from < all->n && all->all[from].start_ns < until ? &all->all[from] : NULL;
}

static tdm_status remember(scaling *s, const struct view_span *span, tdm_error *err)
{
    if (span->kind == VIEW_K_LENT) return TDM_OK;
    return demo_marks_add(&s->ends, span->end_ns, (size_t)s->free_ns, err);
}

/* One dispatch, with those that wait for it together. */
static tdm_status dispatch(scaling *s, int k, const struct view_span *first, int64_t until, tdm_error *err)
{
    struct view_span one = *first;
    bool reading = is_reading(one.kind);
    int64_t began = ready(s, k, first), took = first->end_ns - first->start_ns;
    if (began < s->free_ns) began = s->free_ns;
    size_t at, last = s->next;
    for (const struct view_span *more; reading && (more = peek(s, last + 1, until, &at)); last = at) {
        if (more->kind != one.kind || one.tokens + more->tokens > s->pace->dispatch || ready(s, k, more) > began) break;
        took += more->end_ns - more->start_ns;
        one.tokens += more->tokens;
        one.bytes += more->bytes;
    }
    one.start_ns = began;
    one.end_ns = began + took + (reading ? (int64_t)demo_scale_longer(s->pace, one.tokens, work_of(s->pace, &one)) : 0);
    s->free_ns = one.end_ns;
    tdm_status status = TDM_OK;
    for (; s->next <= last && !status; s->next++)
        status = remember(s, &s->in->units[TDM_PREFILL_UNIT].all[s->next], err);
    return status ? status : demo_spans_add(&s->out->units[TDM_PREFILL_UNIT], &one, err);
}

/* The draft goes on before the end of the prompt could be read. */
static bool is_overtaken(const scaling *s, int k, const struct view_span *span, int64_t until)
{
    size_t at;
    const struct view_span *after = span->kind == VIEW_K_SUFFIX ? peek(s, s->next + 1, until, &at) : NULL;
    return after && after->kind == VIEW_K_DRAFT && ready(s, k, after) <= s->free_ns;
}

/* The spans of the prefill unit that began before `until`. */
static tdm_status read_until(scaling *s, int k, int64_t until, tdm_error *err)
{
    tdm_status status = TDM_OK;
    const struct view_span *span;
    while (!status && (span = peek(s, s->next, until, &s->next))) {
        if (is_overtaken(s, k, span, until)) s->next++;
        else status = dispatch(s, k, span, until, err);
    }
    return status;
}

/* ---- Turns ----------------------------------------------------------------------------------------------------- */

/* Between the last of the reading and the first characters: the hand-over and the choice of a token. */
static int64_t choosing(const scaling *s, const demo_turn *in)
{
    int64_t last = in->enter_ns;
    const demo_spans *all = &s->in->units[TDM_PREFILL_UNIT];
    for (size_t i = s->next; i-- > 0;) {
        const struct view_span *span = &all->all[i];
        if (span->kind == VIEW_K_LENT) continue;
        if (span->end_ns > last && span->end_ns <= in->first_ns) last = span->end_ns;
        if (span->end_ns < in->enter_ns) break;
    }
    return in->first_ns - last;
}

static void move_marks(const scaling *s, int k, demo_marks *m)
{
    for (size_t i = 0; i < m->n; i++) m->all[i].ns = moved(s, k, m->all[i].ns);
}

/* What was read of the draft is known once the dispatch that read it has ended. */
static void move_reads(const scaling *s, int k, demo_marks *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->n; i++) {
        int64_t at = moved(s, k, m->all[i].ns), ended = (int64_t)demo_marks_at(&s->ends, m->all[i].ns);
        if (at < ended) at = ended;
        if (at <= s->out->turns[k].enter_ns) m->all[kept++] = (demo_mark){at, m->all[i].bytes};
    }
    m->n = kept;
}

static tdm_status move_turn(scaling *s, int k, tdm_error *err)
{
    const demo_turn *in = &s->in->turns[k];
    demo_turn *out = &s->out->turns[k];
    int64_t rest = s->pace->rest_ns, before = 0;
    if (k) {
        before = s->out->turns[k - 1].end_ns;
        int64_t paused = scaled(in->key_ns - s->in->turns[k - 1].end_ns, s->pace->typing);
        if (paused > rest) rest = paused;
    }
    out->key_ns = before + rest;
    out->enter_ns = out->key_ns + scaled(in->enter_ns - in->key_ns, s->pace->typing);
    out->first_ns = INT64_MAX;
    tdm_status status = read_until(s, k, in->first_ns, err);
    if (status) return status;
    out->first_ns = (s->free_ns > out->enter_ns ? s->free_ns : out->enter_ns) + choosing(s, in);
    out->end_ns = moved(s, k, in->end_ns);
    status = read_until(s, k, in->end_ns, err);
    move_marks(s, k, &out->keys);
    move_reads(s, k, &out->reads);
    move_marks(s, k, &out->texts);
    return status;
}

/* The turn that a time of the run belongs to: it lasts from the end of the reply before to the end of its own. */
static int turn_of(const demo_take *t, int64_t ns)
{
    int k = 0;
    while (k + 1 < t->n && ns >= t->turns[k].end_ns) k++;
    return k;
}

static tdm_status move_decoder(scaling *s, tdm_error *err)
{
    const demo_spans *all = &s->in->units[TDM_DECODE_UNIT];
    tdm_status status = TDM_OK;
    int64_t before = INT64_MIN;
    for (size_t i = 0; i < all->n && !status; i++) {
        struct view_span one = all->all[i];
        if (one.kind == VIEW_K_LENT || one.start_ns < s->in->turns[0].key_ns) continue;
        int k = turn_of(s->in, one.start_ns);
        one.start_ns = moved(s, k, one.start_ns);
        one.end_ns = moved(s, k, one.end_ns);
        if (one.start_ns < before) one.start_ns = before;
        if (one.end_ns < one.start_ns) one.end_ns = one.start_ns;
        before = one.end_ns;
        status = demo_spans_add(&s->out->units[TDM_DECODE_UNIT], &one, err);
    }
    return status;
}

/* ---- Lending --------------------------------------------------------------------------------------------------- */

static bool lends(const demo_spans *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].kind == VIEW_K_LENT) return true;
    return false;
}

/* The spans of a unit with its idle time while the other works as lent. */
static tdm_status lend(demo_spans *out, const demo_spans *own, const demo_spans *other, tdm_error *err)
{
    tdm_status status = TDM_OK;
    size_t at = 0;
    int64_t free_ns = INT64_MIN;
    for (size_t i = 0; i <= own->n && !status; i++) {
        int64_t until = i < own->n ? own->all[i].start_ns : INT64_MAX;
        for (; at < other->n && other->all[at].start_ns < until && !status; at++) {
            int64_t from = other->all[at].start_ns, to = other->all[at].end_ns;
            if (from < free_ns) from = free_ns;
            struct view_span lent = {.start_ns = from, .end_ns = to < until ? to : until, .kind = VIEW_K_LENT};
            if (lent.end_ns > lent.start_ns) status = demo_spans_add(out, &lent, err);
            if (to > until) break; /* its rest comes after the own span */
        }
        if (i == own->n || status) break;
        status = demo_spans_add(out, &own->all[i], err);
        free_ns = own->all[i].end_ns;
    }
    return status;
}

static tdm_status add_lent(demo_take *out, const demo_take *in, tdm_error *err)
{
    demo_spans with[TDM_UNITS] = {0};
    tdm_status status = TDM_OK;
    for (int u = 0; u < TDM_UNITS && !status; u++)
        if (lends(&in->units[u])) status = lend(&with[u], &out->units[u], &out->units[!u], err);
    for (int u = 0; u < TDM_UNITS; u++) {
        bool taken = !status && lends(&in->units[u]);
        free(taken ? out->units[u].all : with[u].all);
        if (taken) out->units[u] = with[u];
    }
    return status;
}

tdm_status demo_scale(demo_take *out, const demo_take *in, const demo_pace *pace, tdm_error *err)
{
    scaling s = {.pace = pace, .in = in, .out = out};
    const demo_spans *reading = &in->units[TDM_PREFILL_UNIT];
    while (s.next < reading->n && reading->all[s.next].start_ns < in->turns[0].key_ns) s.next++;
    tdm_status status = demo_take_copy(out, in, err);
    if (status) return status;
    for (int k = 0; k < in->n && !status; k++) status = move_turn(&s, k, err);
    if (!status) status = read_until(&s, in->n - 1, INT64_MAX, err);
    if (!status) status = move_decoder(&s, err);
    if (!status) status = add_lent(out, in, err);
    free(s.ends.all);
    if (status) demo_take_free(out);
    return status;
}
