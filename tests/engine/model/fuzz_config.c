/* Any bytes as config.json, and as the generation_config.json beside it. What passes validation must hold its promises.
 */
#include "engine/model/config.h"
#include "engine/model/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_object *json;
    struct config c;
    tdm_error err;
    if (json_parse(&json, data, size, "fuzz", &err)) return 0;
    tdm_status status = config_from_json(&c, json, "fuzz", &err);
    if (!status) status = config_stops_from_json(&c, json, "fuzz", &err);
    if (!status) status = config_validate(&c, "fuzz", &err);
    if (!status && (c.layers > CONFIG_MAX_LAYERS || c.head_dim > CONFIG_MAX_HEAD || c.rope_dims > c.head_dim ||
                    c.heads % c.kv_heads || c.lin_value_heads % c.lin_key_heads || c.conv_kernel > 8 ||
                    c.lin_value_dim > CONFIG_MAX_HEAD || c.stop_count > CONFIG_MAX_STOPS ||
                    c.experts > CONFIG_MAX_EXPERTS || c.experts_used > c.experts || c.experts_used > CONFIG_MAX_USED ||
                    (c.experts && !c.experts_used)))
        __builtin_trap();
    json_object_put(json);
    return 0;
}
