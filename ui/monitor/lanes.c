#include "ui/monitor/lanes.h"

#include <string.h>

enum { WORK_WEIGHT = 3 };

static const int64_t second = 1000000000;
static const char letters[VIEW_KINDS] = {
    [VIEW_K_HISTORY] = 'h', [VIEW_K_DRAFT] = 'd',    [VIEW_K_SUFFIX] = 's',     [VIEW_K_PROMPT] = 'p',
    [VIEW_K_DECODE] = '=',  [VIEW_K_HANDOVER] = '>', [VIEW_K_CHECKPOINT] = 'h', [VIEW_K_RESTORE] = 'h',
    [VIEW_K_PICTURE] = 'd',   [VIEW_K_LENT] = '~',     [VIEW_K_CARRY] = '>',
};

static int64_t last_work(const struct view_unit *unit)
{
    int64_t last = 0;
    for (size_t i = 0; i < unit->n_spans; i++)
        if (unit->spans[i].kind != VIEW_K_LENT && unit->spans[i].end_ns > last) last = unit->spans[i].end_ns;
    return last;
}

void lanes_window(const struct view_monitor *m, int64_t now_ns, int cols, int64_t *from_ns, int64_t *to_ns)
{
    if (m->turn_view && m->turn_start_ns > 0) {
        *from_ns = m->turn_start_ns;
        *to_ns = m->turn_end_ns > m->turn_start_ns ? m->turn_end_ns : now_ns;
        if (*to_ns <= *from_ns) *to_ns = *from_ns + 1;
        return;
    }
    int64_t length = (int64_t)((m->live_s > 0 ? m->live_s : LANES_LIVE_S) * 1e9);
    int64_t column = length / (cols > 0 ? cols : 1);
    int64_t a = last_work(&m->prefill), b = last_work(&m->decode), stop;
    if (column < 1) column = 1;
    stop = (a > b ? a : b) + 2 * second + column;
    if (now_ns > stop) now_ns = stop;
    *to_ns = (now_ns + column - 1) / column * column;
    *from_ns = *to_ns - column * cols;
}

struct lanes_share lanes_share(const struct view_unit *unit, int64_t from_ns, int64_t to_ns)
{
    double whole = to_ns > from_ns ? (double)(to_ns - from_ns) : 1, work = 0, away = 0;
    for (size_t i = 0; i < unit->n_spans; i++) {
        const struct view_span *s = &unit->spans[i];
        int64_t start = s->start_ns > from_ns ? s->start_ns : from_ns, end = s->end_ns < to_ns ? s->end_ns : to_ns;
        if (end > start) *(s->kind == VIEW_K_LENT ? &away : &work) += (double)(end - start);
    }
    double busy = work < whole ? 100 * work / whole : 100, lent = 100 * away / whole;
    if (lent > 100 - busy) lent = 100 - busy;
    return (struct lanes_share){busy, lent, 100 - busy - lent};
}

static void fill(char *lane, const struct view_unit *unit, int64_t from, int64_t to, int cols)
{
    size_t first = 0;
    for (int c = 0; c < cols; c++) {
        int64_t a = from + (to - from) / cols * c, b = c + 1 == cols ? to : from + (to - from) / cols * (c + 1);
        int64_t time[VIEW_KINDS] = {0}, idle = b - a;
        bool handover = false, begins = false;
        while (first < unit->n_spans && unit->spans[first].end_ns <= a) first++;
        for (size_t i = first; i < unit->n_spans && unit->spans[i].start_ns < b; i++) {
            const struct view_span *s = &unit->spans[i];
            int64_t start = s->start_ns > a ? s->start_ns : a, end = s->end_ns < b ? s->end_ns : b;
            enum view_kind kind = s->kind;
            if (kind >= VIEW_KINDS) continue;
            if (kind == VIEW_K_HANDOVER && s->start_ns >= a) handover = true;
            for (size_t k = i + 1; (kind == VIEW_K_CHECKPOINT || kind == VIEW_K_RESTORE) && k < unit->n_spans; k++)
                if (unit->spans[k].kind != VIEW_K_LENT) kind = unit->spans[k].kind;
            if (end <= start || kind >= VIEW_KINDS) continue;
            begins |= kind != VIEW_K_LENT && s->start_ns >= a;
            time[kind] += end - start;
            idle -= end - start;
        }
        int best = -1;
        int64_t work = 0;
        for (int k = 0; k < VIEW_KINDS; k++) {
            if (k == VIEW_K_LENT || time[k] == 0) continue;
            work += time[k];
            if (best < 0 || time[k] > time[best]) best = k;
        }
        int64_t ground = idle > time[VIEW_K_LENT] ? idle : time[VIEW_K_LENT];
        if (unit->gpu.lost_ns && unit->gpu.lost_ns >= a && unit->gpu.lost_ns < b)
            lane[c] = LANES_LOST;
        else if (handover)
            lane[c] = '>';
        else if (best >= 0 && (begins || work * WORK_WEIGHT >= ground))
            lane[c] = letters[best];
        else
            lane[c] = time[VIEW_K_LENT] > idle ? '~' : '.';
    }
}

void lanes_compute(struct lanes *lanes, const struct view_monitor *m, int64_t from_ns, int64_t to_ns, int cols)
{
    if (cols > LANES_MAX) cols = LANES_MAX;
    if (cols < 1) cols = 1;
    lanes->cols = cols;
    lanes->from_ns = from_ns;
    lanes->to_ns = to_ns;
    fill(lanes->prefill, &m->prefill, from_ns, to_ns, cols);
    fill(lanes->decode, &m->decode, from_ns, to_ns, cols);
    lanes->n_enters = 0;
    int64_t column = (to_ns - from_ns) / cols;
    if (column < 1) column = 1;
    for (size_t i = 0; i < m->n_enters; i++) {
        const struct view_enter *e = &m->enters[i];
        if (e->time_ns < from_ns || e->time_ns >= to_ns) continue;
        if (lanes->n_enters == LANES_ENTERS) /* the newest stay */
            memmove(lanes->enters, lanes->enters + 1, (size_t)--lanes->n_enters * sizeof *lanes->enters);
        int col = (int)((e->time_ns - from_ns) / column);
        lanes->enters[lanes->n_enters++] = (struct lanes_enter){col < cols ? col : cols - 1, e->ttft_ms};
    }
}

style_t lanes_style(char letter)
{
    switch (letter) {
    case 'h': return STYLE_HISTORY;
    case 'd': return STYLE_DRAFT;
    case 's': return STYLE_SUFFIX;
    case 'p': return STYLE_PROMPT;
    case '=': return STYLE_DECODE;
    case '>': return STYLE_HANDOVER;
    case '~': return STYLE_LENT;
    case LANES_LOST: return STYLE_ERROR;
    default: return STYLE_IDLE;
    }
}
