/* The figures of turns: the line after each, its record as JSON, and medians over a session. Paced turns stay out of
 * the decode medians; queued, cut and head-start turns out of all others, and first and resumed ones out of the warm
 * and cold. */
#ifndef TANDEM_SRC_FIGURES_H
#define TANDEM_SRC_FIGURES_H

#include "engine/json/json.h"
#include "engine/tandem.h"

/* Enter to the first visible character, when the front end has measured it; else the engine's share. */
double figures_ttft_ms(const tdm_turn_stats *t, int64_t glyph_ns);

/* "1,870", "9", "0.4": three digits or so, thousands separated. */
void figures_number(double value, char out[32]);

/* Whether a turn enters the medians of that kind of turns. A marked one (queued, cut, head start) never does: its clock
 * measures something else. One that was stopped before its first token never does either. */
bool figures_counts(const tdm_turn_stats *t, tdm_turn_kind kind);

/* Tokens per pass of the reply; 0: nothing was drafted. */
double figures_per_pass(const tdm_turn_stats *t);
/* Tokens that a server evaluated after Enter, if they are more than the message's: it had dropped earlier turns from
 * its cache. Else 0. */
uint32_t figures_forgotten(const tdm_turn_stats *t);
/* "warm 9 ms | 18 in, 18 read before Enter | 220 out, 31 tok/s, 7.1 s"; "cold 261 ms, queued | ...". glyph_ns 0: not
 * measured. Tokens per pass follow the rate if some were drafted. A turn that was stopped before its first token has no
 * such time: "18 in, 0 read before Enter | 0 out, 0.3 s". */
void figures_turn_line(const tdm_turn_stats *t, int64_t glyph_ns, char *out, size_t room);
/* "warm 9 ms (engine 7), 3 tokens after Enter | cold, single: 1,870 ms, 188 tokens | same first token: yes" */
void figures_cold_line(const tdm_cold *c, tdm_turn_kind kind, char *out, size_t room); /* kind: the turn's */

/* ---- The record of a turn as JSON, the same in `run --json`, scripts and traces ------------------------------ */

/* Adds kind ("first", "resumed", "warm", "cold"), mark ("queued", "cut", "head start", null), ttft_engine_ms,
 * prompt_tokens and their parts (earlier_tokens; evaluated_before_enter and, of these, adopted_tokens, which the
 * decoder evaluated; evaluated_after_enter), turn_tokens and of these turn_before_enter, wasted_tokens, reply_tokens,
 * decode_tps, lag_max and handover_ms. */
void figures_turn_json(json_object *o, const tdm_turn_stats *s);
/* The engine's share of the time to the first token; null if the turn was stopped before it. */
void figures_ttft_json(json_object *o, const char *key, const tdm_turn_stats *s);

/* ---- Medians ------------------------------------------------------------------------------------------------- */

typedef struct {
    double *values;
    int n, room;
} figures_row;

void figures_add(figures_row *row, double value);                  /* dropped when memory is out */
double figures_median(const figures_row *row);                     /* 0 when empty */
double figures_percentile(const figures_row *row, double percent); /* nearest rank */
void figures_row_free(figures_row *row);

typedef struct {
    figures_row warm_ms, cold_ms, decode_tps;
    figures_row full_ms, off_ms; /* /ab: speculation full and off */
    int turns;
} figures;

enum { FIGURES_END_ROOM = 300 };
/* The line of -v at the end: "3 turns | warm 9 ms, cold 261 ms | 31 tok/s | read 1,870 tokens in 6.1 s, wrote 220 in
 * 7.1 s": medians, and the units' totals since the machine was opened. f NULL: only the totals. */
void figures_end_line(const figures *f, const tdm_machine *m, char out[FIGURES_END_ROOM]);

void figures_turn(figures *f, const tdm_turn_stats *t, int64_t glyph_ns);
void figures_free(figures *f);

#endif
