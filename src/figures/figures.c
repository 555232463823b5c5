#include "src/figures/figures.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/json/write.h"

double figures_ttft_ms(const tdm_turn_stats *t, int64_t glyph_ns)
{
    int64_t end = glyph_ns ? glyph_ns : t->first_id_ns;
    return end > t->enter_ns ? 1e-6 * (double)(end - t->enter_ns) : 0;
}

void figures_number(double value, char out[32])
{
    if (value < 9.95) {
        snprintf(out, 32, "%.*f", value < 0.05 || (value >= 1 && fabs(value - round(value)) < 0.05) ? 0 : 1, value);
        return;
    }
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%.0f", value < 1e15 ? value : 1e15), to = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) out[to++] = ',';
        out[to++] = digits[i];
    }
    out[to] = 0;
}

double figures_per_pass(const tdm_turn_stats *t)
{
    return t->drafted && t->passes ? 1 + (double)t->accepted / t->passes : 0;
}

uint32_t figures_forgotten(const tdm_turn_stats *t)
{
    return t->by_server && t->counted && t->after_enter > t->turn_tokens ? t->after_enter : 0;
}

void figures_turn_line(const tdm_turn_stats *t, int64_t glyph_ns, char *out, size_t room)
{
    char ttft[32], first[100] = "", in[32], read[32], after[32], all[48] = "", replies[32], tps[32], rate[48] = "";
    char passes[32] = "";
    figures_number(figures_ttft_ms(t, glyph_ns), ttft);
    if (t->first_id_ns || glyph_ns)
        snprintf(first, sizeof first, "%s %s ms%s%s | ", tdm_turn_kind_name(t->kind), ttft, t->mark ? ", " : "",
                 tdm_turn_mark_name(t->mark));
    figures_number(t->turn_tokens, in);
    figures_number(t->turn_before_enter, read);
    figures_number(t->after_enter, after);
    figures_number(t->reply_tokens, replies);
    figures_number(t->decode_tps, tps);
    if (t->decode_tps > 0) snprintf(rate, sizeof rate, ", %s tok/s", tps); /* not of a reply that came at once */
    if (figures_per_pass(t) > 0) snprintf(passes, sizeof passes, ", %.1f a pass", figures_per_pass(t));
    double seconds = t->end_ns > t->enter_ns ? 1e-9 * (double)(t->end_ns - t->enter_ns) : 0;
    const char *about = t->by_server && !t->counted ? "~" : ""; /* counted by another tokenizer */
    if (figures_forgotten(t)) snprintf(all, sizeof all, ", %s after it", after);
    snprintf(out, room, "%s%s%s in, %s%s read before Enter%s | %s%s out%s%s%s, %.1f s", first, about, in, about, read,
             all, about, replies, rate, passes, t->paced ? " paced" : "", seconds);
}

bool figures_counts(const tdm_turn_stats *t, tdm_turn_kind kind)
{
    return t->kind == kind && t->mark == TDM_TURN_MARK_NONE && t->first_id_ns;
}

void figures_cold_line(const tdm_cold *c, tdm_turn_kind kind, char *out, size_t room)
{
    char warm[32], engine[32], cold[32];
    figures_number(c->warm_ms, warm);
    figures_number(c->warm_engine_ms, engine);
    figures_number(c->cold_ms, cold);
    snprintf(out, room,
             "%s %s ms (engine %s), %u tokens after Enter | cold, %s: %s ms, %u tokens | same first token: %s",
             tdm_turn_kind_name(kind), warm, engine, c->warm_tokens, tdm_pipeline_name(c->pipeline), cold,
             c->cold_tokens, c->same_first_token ? "yes" : "no");
}

void figures_add(figures_row *row, double value)
{
    if (row->n == row->room) {
        int room = row->room ? 2 * row->room : 64;
        double *larger = realloc(row->values, sizeof *larger * (size_t)room);
        if (!larger) return;
        row->values = larger;
        row->room = room;
    }
    row->values[row->n++] = value;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value between ranks `low` and `high` of the sorted row (from 0). */
static double ranked(const figures_row *row, int low, int high)
{
    double *sorted = malloc(sizeof *sorted * (size_t)row->n);
    if (!sorted) return 0;
    memcpy(sorted, row->values, sizeof *sorted * (size_t)row->n);
    qsort(sorted, (size_t)row->n, sizeof *sorted, ascending);
    double value = 0.5 * (sorted[low] + sorted[high]);
    free(sorted);
    return value;
}

double figures_median(const figures_row *row)
{
    return row->n ? ranked(row, (row->n - 1) / 2, row->n / 2) : 0;
}

double figures_percentile(const figures_row *row, double percent)
{
    if (!row->n) return 0;
    int rank = (int)ceil(percent / 100 * row->n) - 1;
    rank = rank < 0 ? 0 : rank >= row->n ? row->n - 1 : rank;
    return ranked(row, rank, rank);
}

void figures_row_free(figures_row *row)
{
    free(row->values);
    *row = (figures_row){0};
}

void figures_turn(figures *f, const tdm_turn_stats *t, int64_t glyph_ns)
{
    double ms = figures_ttft_ms(t, glyph_ns);
    f->turns++;
    if (figures_counts(t, TDM_TURN_WARM)) figures_add(&f->warm_ms, ms);
    if (figures_counts(t, TDM_TURN_COLD)) figures_add(&f->cold_ms, ms);
    if (!t->paced && t->mark == TDM_TURN_MARK_NONE && t->decode_tps > 0) figures_add(&f->decode_tps, t->decode_tps);
}

void figures_free(figures *f)
{
    figures_row *rows[] = {&f->warm_ms, &f->cold_ms, &f->decode_tps, &f->full_ms, &f->off_ms};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) figures_row_free(rows[i]);
}

/* ---- At the end ------------------------------------------------------------------------------------------------- */

typedef struct {
    double tokens, seconds;
} work;

static void add_work(work *w, const tdm_unit_info *info, tdm_span_kind kind)
{
    w->tokens += (double)info->total[kind].tokens;
    w->seconds += 1e-9 * (double)info->total[kind].ns;
}

static void say(char out[FIGURES_END_ROOM], const char *before, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(char out[FIGURES_END_ROOM], const char *before, const char *format, ...)
{
    va_list args;
    size_t n = strlen(out);
    n += (size_t)snprintf(out + n, FIGURES_END_ROOM - n, "%s", n ? before : "");
    va_start(args, format);
    vsnprintf(out + n, FIGURES_END_ROOM - n, format, args);
    va_end(args);
}

static void say_turns(const figures *f, char out[FIGURES_END_ROOM])
{
    char number[32];
    const struct {
        const figures_row *row;
        const char *before, *name, *unit;
    } rows[] = {{&f->warm_ms, " | ", "warm ", "ms"},
                {&f->cold_ms, f->warm_ms.n ? ", " : " | ", "cold ", "ms"},
                {&f->decode_tps, " | ", "", "tok/s"}};
    say(out, "", "%d turn%s", f->turns, f->turns == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].row->n) continue;
        figures_number(figures_median(rows[i].row), number);
        say(out, rows[i].before, "%s%s %s", rows[i].name, number, rows[i].unit);
    }
}

void figures_end_line(const figures *f, const tdm_machine *m, char out[FIGURES_END_ROOM])
{
    static const tdm_span_kind reading[] = {TDM_SPAN_HISTORY, TDM_SPAN_DRAFT, TDM_SPAN_SUFFIX, TDM_SPAN_PROMPT};
    work read = {0}, wrote = {0};
    char number[2][32];
    out[0] = 0;
    if (f) say_turns(f, out);
    for (int unit = 0; m && unit < TDM_UNITS; unit++) {
        tdm_unit_info info;
        tdm_unit_describe(m, unit, &info);
        for (size_t i = 0; i < sizeof reading / sizeof *reading; i++) add_work(&read, &info, reading[i]);
        add_work(&wrote, &info, TDM_SPAN_DECODE);
    }
    figures_number(read.tokens, number[0]);
    figures_number(wrote.tokens, number[1]);
    if (!f || read.tokens + wrote.tokens > 0)
        say(out, " | ", "read %s tokens in %.1f s, wrote %s in %.1f s", number[0], read.seconds, number[1],
            wrote.seconds);
}

void figures_ttft_json(json_object *o, const char *key, const tdm_turn_stats *s)
{
    json_add_real(o, key, s->first_id_ns ? figures_ttft_ms(s, 0) : NAN);
}

void figures_turn_json(json_object *o, const tdm_turn_stats *s)
{
    json_add_string(o, "kind", tdm_turn_kind_name(s->kind));
    json_add_string(o, "mark", s->mark ? tdm_turn_mark_name(s->mark) : NULL);
    figures_ttft_json(o, "ttft_engine_ms", s);
    json_add_int(o, "prompt_tokens", s->prompt_tokens);
    json_add_int(o, "earlier_tokens", s->earlier);
    json_add_int(o, "evaluated_before_enter", s->before_enter);
    json_add_int(o, "adopted_tokens", s->adopted);
    json_add_int(o, "evaluated_after_enter", s->after_enter);
    json_add_int(o, "turn_tokens", s->turn_tokens);
    json_add_int(o, "turn_before_enter", s->turn_before_enter);
    json_add_int(o, "wasted_tokens", s->wasted);
    json_add_int(o, "reply_tokens", s->reply_tokens);
    json_add_real(o, "decode_tps", s->decode_tps);
    json_add_int(o, "decode_passes", s->passes);
    json_add_int(o, "drafted_tokens", s->drafted);
    json_add_int(o, "accepted_tokens", s->accepted);
    json_add_int(o, "lag_max", s->lag_max);
    json_add_real(o, "handover_ms", s->handover_ms);
    if (!s->by_server) return;
    json_add_real(o, "server_prompt_ms", s->server_prompt_ms);
    json_add_real(o, "server_reply_ms", s->server_reply_ms);
    json_add_string(o, "counts", s->counted ? "server" : "estimated");
}
