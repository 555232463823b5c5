#include "engine/json/json.h"
/* The record of a turn as JSON, the same in `run --json`, scripts and traces. */
#ifndef TANDEM_SRC_TURN_JSON_H
#define TANDEM_SRC_TURN_JSON_H

/* Adds kind ("first", "resumed", "warm", "cold"), mark ("queued", "cut", "head start", null), ttft_engine_ms,
 * prompt_tokens and their parts (earlier_tokens; evaluated_before_enter and, of these, adopted_tokens, which the
 * decoder evaluated; evaluated_after_enter), turn_tokens and of these turn_before_enter, wasted_tokens, reply_tokens,
 * decode_tps, lag_max and handover_ms. */
void turn_json_add(json_object *o, const tdm_turn_stats *s);
/* The engine's share of the time to the first token; null if the turn was stopped before it. */
void turn_json_add_ttft(json_object *o, const char *key, const tdm_turn_stats *s);

#endif
