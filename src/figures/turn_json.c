#include "src/figures/turn_json.h"

#include <math.h>

#include "engine/json/write.h"
#include "src/figures/figures.h"

void turn_json_add_ttft(json_object *o, const char *key, const tdm_turn_stats *s)
{
    json_add_real(o, key, s->first_id_ns ? figures_ttft_ms(s, 0) : NAN);
}

void turn_json_add(json_object *o, const tdm_turn_stats *s)
{
    json_add_string(o, "kind", tdm_turn_kind_name(s->kind));
    json_add_string(o, "mark", s->mark ? tdm_turn_mark_name(s->mark) : NULL);
    turn_json_add_ttft(o, "ttft_engine_ms", s);
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
