#include "src/demo/show.h"

#include <string.h>

static const int64_t second = 1000000000;

/* ---- Putting side by side --------------------------------------------------------------------------------------- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Where a turn of a take stands in the show: everything from its first key on is as far from its Enter as in the take,
 * so the time that is missing to the other side's is a rest before the first key. */
static void shift_turn(demo_turn *t, int64_t by)
{
    demo_marks *const marks[] = {&t->keys, &t->reads, &t->texts};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++)
        for (size_t i = 0; i < marks[m]->n; i++) marks[m]->all[i].ns += by;
    t->key_ns += by;
    t->enter_ns += by;
    t->first_ns += by;
    t->end_ns += by;
}

static tdm_status shift_spans(demo_take *out, const demo_take *in, const int64_t *by, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int u = 0; u < TDM_UNITS; u++) {
        const demo_spans *all = &in->units[u];
        for (size_t i = 0; i < all->n && !status; i++) {
            struct view_span one = all->all[i];
            int k = 0;
            while (k + 1 < in->n && one.start_ns >= in->turns[k + 1].key_ns) k++;
            one.start_ns += by[k];
            one.end_ns += by[k];
            status = demo_spans_add(&out->units[u], &one, err);
        }
    }
    return status;
}

static tdm_status place(demo_take *out, const demo_take *in, const int64_t *enters, tdm_error *err)
{
    int64_t by[DEMO_TURNS];
    tdm_status status = demo_take_copy(out, in, err);
    if (status) return status;
    for (int k = 0; k < in->n; k++) {
        by[k] = enters[k] - in->turns[k].enter_ns;
        shift_turn(&out->turns[k], by[k]);
    }
    return shift_spans(out, in, by, err);
}

tdm_status demo_show_make(demo_show *out, const demo_take *after, const demo_take *ahead, int64_t rest_ns,
                          tdm_error *err)
{
    const demo_take *const takes[DEMO_SIDES] = {[DEMO_AFTER] = after, [DEMO_AHEAD] = ahead};
    int64_t enters[DEMO_TURNS], at = 0;
    *out = (demo_show){.n = after->n, .in_ms = true};
    for (int k = 0; k < after->n; k++) {
        const demo_turn *a = &after->turns[k], *b = &ahead->turns[k];
        enters[k] = at + rest_ns + later(a->enter_ns - a->key_ns, b->enter_ns - b->key_ns);
        at = enters[k] + later(a->end_ns - a->enter_ns, b->end_ns - b->enter_ns);
        out->in_ms &= a->first_ns - a->enter_ns < second && b->first_ns - b->enter_ns < second;
    }
    out->end_ns = at + rest_ns;
    tdm_status status = TDM_OK;
    for (int i = 0; i < DEMO_SIDES && !status; i++) status = place(&out->sides[i], takes[i], enters, err);
    if (status) demo_show_free(out);
    return status;
}

void demo_show_free(demo_show *s)
{
    for (int i = 0; i < DEMO_SIDES; i++) demo_take_free(&s->sides[i]);
    *s = (demo_show){0};
}

/* ---- Moving ---------------------------------------------------------------------------------------------------- */

/* A turn's picture begins with its first key on either side. */
static int64_t begins(const demo_show *s, int k)
{
    int64_t a = s->sides[DEMO_AFTER].turns[k].key_ns, b = s->sides[DEMO_AHEAD].turns[k].key_ns;
    return k ? a < b ? a : b : 0;
}

static int64_t ends(const demo_show *s, int k)
{
    return k + 1 < s->n ? begins(s, k + 1) : s->end_ns;
}

int demo_show_turn(const demo_show *s, int64_t ns)
{
    int k = 0;
    while (k + 1 < s->n && ns >= begins(s, k + 1)) k++;
    return k;
}

int64_t demo_show_next(const demo_show *s, int64_t ns)
{
    return ends(s, demo_show_turn(s, ns));
}

int64_t demo_show_same(const demo_show *s, int64_t ns, const demo_show *other)
{
    if (ns >= s->end_ns) return other->end_ns;
    int k = demo_show_turn(s, ns);
    int64_t at = other->sides[0].turns[k].enter_ns + (ns - s->sides[0].turns[k].enter_ns);
    int64_t low = begins(other, k), high = ends(other, k);
    return at < low ? low : at > high ? high : at;
}

/* ---- A moment -------------------------------------------------------------------------------------------------- */

/* Tokens that were read between two moments. */
static int read_between(const demo_take *t, int64_t from, int64_t to)
{
    const demo_spans *all = &t->units[TDM_PREFILL_UNIT];
    double tokens = 0;
    for (size_t i = 0; i < all->n && all->all[i].start_ns < to; i++) {
        const struct view_span *one = &all->all[i];
        int64_t a = one->start_ns > from ? one->start_ns : from, b = one->end_ns < to ? one->end_ns : to;
        if (one->kind <= VIEW_K_PROMPT && b > a)
            tokens += one->tokens * ((double)(b - a) / (double)(one->end_ns - one->start_ns));
    }
    return (int)(tokens + 0.5);
}

static void add_text(struct demo_side *side, const char *text, size_t n, bool user)
{
    side->texts[side->n_texts++] = (struct demo_text){.text = text, .len = n, .user = user};
}

static void fill_side(const demo_take *t, int turn, int64_t ns, struct demo_side *side)
{
    side->n_texts = 0;
    for (int k = 0; k <= turn; k++) {
        const demo_turn *one = &t->turns[k];
        size_t n, replied = demo_marks_at(&one->texts, ns);
        const char *draft = demo_turn_draft(one, ns, &n);
        if (n || k < turn) add_text(side, draft, n, true);
        if (k == turn && ns < one->enter_ns && side->n_texts) {
            side->texts[side->n_texts - 1].draft = true;
            side->texts[side->n_texts - 1].read_bytes = demo_marks_at(&one->reads, ns);
        }
        if (replied) add_text(side, one->reply.bytes, replied, false);
    }
    const demo_turn *now = &t->turns[turn];
    side->state = ns < now->enter_ns ? DEMO_TYPING : ns < now->first_ns ? DEMO_READING : DEMO_ANSWERED;
    int64_t until = side->state == DEMO_ANSWERED ? now->first_ns : ns;
    side->watch_s = side->state == DEMO_TYPING ? 0 : 1e-9 * (double)(until - now->enter_ns);
    side->total = read_between(t, now->enter_ns, now->first_ns);
    side->done = side->state == DEMO_READING ? read_between(t, now->enter_ns, ns) : 0;
    const demo_spans *prefill = &t->units[TDM_PREFILL_UNIT], *decode = &t->units[TDM_DECODE_UNIT];
    side->prefill = (struct view_unit){.spans = prefill->all, .n_spans = prefill->n};
    side->decode = (struct view_unit){.spans = decode->all, .n_spans = decode->n};
}

void demo_show_at(const demo_show *s, int64_t ns, struct demo_view *view)
{
    int turn = demo_show_turn(s, ns);
    view->turn = turn + 1;
    view->turns = s->n;
    view->over = ns >= s->end_ns;
    view->in_ms = s->in_ms;
    for (int k = 0; k < s->n; k++) {
        for (int i = 0; i < DEMO_SIDES; i++) {
            const demo_turn *t = &s->sides[i].turns[k];
            view->waits[k][i] = ns < t->first_ns ? -1 : 1e-9 * (double)(t->first_ns - t->enter_ns);
        }
    }
    for (int i = 0; i < DEMO_SIDES; i++) fill_side(&s->sides[i], turn, ns, &view->sides[i]);
    view->from_ns = begins(s, turn);
    view->to_ns = ends(s, turn);
    view->enter_ns = s->sides[0].turns[turn].enter_ns;
    view->now_ns = ns < view->to_ns ? ns : view->to_ns;
}
