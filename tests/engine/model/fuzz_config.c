/* Any bytes as config.json, and as the generation_config.json beside it. What passes validation must hold its promises.
 */
#include <math.h>

#include "engine/json/json.h"
#include "engine/model/config.h"
#include "engine/model/hf/generation.h"
#include "engine/model/schema/unknown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_object *json;
    struct config c;
    tdm_error err;
    if (json_parse_object(&json, "fuzz", data, size, &err)) return 0;
    struct unknowns u = {0};
    tdm_status status = config_from_json(&c, json, "fuzz", &u, &err);
    unknowns_free(&u);
    struct sampling sampling = {NAN, NAN, NAN, NAN, NAN, NAN, -1};
    struct ends ends = {.n = 0};
    struct notes notes = {.n = 0};
    if (!status) {
        generation_sampling_from_json(&sampling, json, "fuzz", &notes);
        generation_stops_from_json(&c, &ends, json, "fuzz", &notes);
        generation_ends_from_json(&ends, json);
    }
    if (sampling.top_k < -1 || sampling.temperature < 0 || sampling.top_p <= 0 || sampling.top_p > 1 ||
        sampling.min_p < 0 || sampling.min_p > 1 || sampling.repeat_penalty <= 0 || ends.n > GENERATION_ENDS ||
        notes.n > NOTES_MAX)
        __builtin_trap();
    if (!status) status = config_validate(&c, "fuzz", &err);
    if (!status &&
        (c.layers > CONFIG_MAX_LAYERS || c.attention.head_dim > CONFIG_MAX_HEAD || c.rope.dims > c.attention.head_dim ||
         c.attention.heads % c.attention.kv_heads || (c.delta.key_heads && c.delta.value_heads % c.delta.key_heads) ||
         c.delta.conv_kernel > 8 || c.delta.value_dim > CONFIG_MAX_HEAD || c.stops.count > CONFIG_MAX_STOPS ||
         c.experts.count > CONFIG_MAX_EXPERTS || c.experts.used > c.experts.count || c.experts.used > CONFIG_MAX_USED ||
         (c.experts.count && !c.experts.used)))
        __builtin_trap();
    json_free(json);
    return 0;
}
