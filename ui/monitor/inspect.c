#include "ui/monitor/inspect.h"

#include <stdio.h>
#include <string.h>

#include "ui/draw/width.h"
#include "ui/text/format.h"

static const char *const names[VIEW_KINDS] = {
    [VIEW_K_HISTORY] = "h reply and history",
    [VIEW_K_DRAFT] = "d draft",
    [VIEW_K_SUFFIX] = "s end of prompt",
    [VIEW_K_PROMPT] = "p prompt",
    [VIEW_K_DECODE] = "= writes",
    [VIEW_K_HANDOVER] = "> to DECODE",
    [VIEW_K_CHECKPOINT] = "checkpoint kept",
    [VIEW_K_RESTORE] = "checkpoint taken up",
    [VIEW_K_LENT] = "~ helps",
    [VIEW_K_CARRY] = "> to DECODE's memory",
};

int inspect_column(const struct view_monitor *m, const struct lanes *lanes)
{
    int back = m->inspect_back < 0 ? 0 : m->inspect_back < lanes->cols ? m->inspect_back : lanes->cols - 1;
    return lanes->cols - 1 - back;
}

/* Own work wins against helping; of equals the one with most of the stretch. */
static const struct view_span *most_of(const struct view_unit *unit, int64_t from, int64_t to, int *others)
{
    const struct view_span *best = NULL;
    int64_t most = 0;
    *others = -1;
    for (size_t i = 0; i < unit->n_spans; i++) {
        const struct view_span *s = &unit->spans[i];
        int64_t start = s->start_ns > from ? s->start_ns : from, end = s->end_ns < to ? s->end_ns : to;
        if (end < start || s->start_ns >= to || s->kind >= VIEW_KINDS) continue;
        bool own = s->kind != VIEW_K_LENT, better = !best || (own && best->kind == VIEW_K_LENT) ||
                                                    (own == (best->kind != VIEW_K_LENT) && end - start > most);
        ++*others;
        if (!better) continue;
        best = s;
        most = end - start;
    }
    return best;
}

/* Did a turn wait when it crossed? */
static bool is_awaited(const struct view_monitor *m, const struct view_span *s)
{
    for (size_t i = 0; i < m->n_enters; i++) {
        const struct view_enter *e = &m->enters[i];
        bool answered = e->ttft_ms >= 0 && e->time_ns + (int64_t)(1e6 * e->ttft_ms) <= s->start_ns;
        if (e->time_ns < s->end_ns && !answered) return true;
    }
    return false;
}

static void add(char out[INSPECT_SIZE], int cols, const char *text)
{
    size_t n = strlen(out);
    if (n + strlen(text) + 2 < (size_t)cols && n + strlen(text) + 3 < INSPECT_SIZE)
        snprintf(out + n, INSPECT_SIZE - n, "%s%s", n ? ", " : "", text);
}

/* "'is called Bruno'" in what is left of the columns, and at most in a third of them. */
static void add_words(char out[INSPECT_SIZE], const struct view_monitor *m, int unit, const struct view_span *s,
                      int cols)
{
    enum { LEAST = 8, AROUND = 4 }; /* a comma, a blank and the quotes */
    char words[INSPECT_SIZE / 2] = "", quoted[INSPECT_SIZE];
    int left = cols - (int)strlen(out) - AROUND - 1, most = left < cols / 3 ? left : cols / 3;
    if (!m->words || s->tokens <= 0 || most < LEAST) return;
    m->words(m->words_ctx, unit, s, words, sizeof words);
    size_t n = strlen(words), cut = width_fit(words, n, most);
    if (!n) return;
    if (cut < n) cut = width_fit(words, n, most - 3);
    snprintf(quoted, sizeof quoted, "'%.*s%s'", (int)cut, words, cut < n ? "..." : "");
    add(out, INSPECT_SIZE, quoted);
}

void inspect_text(char out[INSPECT_SIZE], const struct view_monitor *monitor, int unit, const struct lanes *lanes,
                  int column, int cols)
{
    int64_t each = (lanes->to_ns - lanes->from_ns) / lanes->cols, from = lanes->from_ns + each * column;
    int others;
    const struct view_span *s = most_of(unit ? &monitor->decode : &monitor->prefill, from, from + each, &others);
    char text[80], a[FORMAT_SIZE];
    out[0] = 0;
    snprintf(out, INSPECT_SIZE, "%.2f s: %s", (double)(from - lanes->to_ns) / 1e9, s ? names[s->kind] : ". idle");
    if (!s) return;
    double seconds = (double)(s->end_ns - s->start_ns) / 1e9;
    if (s->kind == VIEW_K_CARRY) add(out, cols, is_awaited(monitor, s) ? "after Enter" : "ahead of Enter");
    if (s->tokens > 0) {
        snprintf(text, sizeof text, "%s token%s", format_count(a, s->tokens), s->tokens == 1 ? "" : "s");
        add(out, cols, text);
    }
    if (s->tokens > 0 && seconds > 0) add(out, cols, format_rate(a, s->tokens / seconds));
    snprintf(text, sizeof text, seconds < 0.01 ? "%.2f ms" : "%.0f ms", 1000 * seconds);
    add(out, cols, text);
    if (s->bytes) add(out, cols, format_bytes(a, s->bytes));
    add_words(out, monitor, unit, s, cols);
    if (s->bytes && seconds > 0) {
        snprintf(text, sizeof text, "%.1f GB/s", 1e-9 * (double)s->bytes / seconds);
        add(out, cols, text);
    }
    if (others > 0) {
        snprintf(text, sizeof text, "%d more here", others);
        add(out, cols, text);
    }
}
