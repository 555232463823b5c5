#include "engine/model/config.h"

#include <math.h>

#include "engine/base/error.h"
#include "engine/model/schema/schema.h"

void config_set_name(struct config *c, const char *bytes, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < sizeof c->name; i++) {
        unsigned char b = (unsigned char)bytes[i];
        c->name[n++] = b >= 0x20 && b < 0x7f ? (char)b : '?';
    }
    c->name[n] = 0;
}

bool config_is_stop(const struct config_stops *stops, int32_t id)
{
    for (uint32_t i = 0; i < stops->count; i++)
        if (stops->ids[i] == id) return true;
    return false;
}

void config_add_stop(struct config_stops *stops, int64_t id)
{
    if (id < 0 || id > INT32_MAX || stops->count == CONFIG_MAX_STOPS) return;
    if (config_is_stop(stops, (int32_t)id)) return;
    stops->ids[stops->count++] = (int32_t)id;
}

void config_set_sections(struct config *c)
{
    for (uint32_t i = 0; i < 3; i++) c->rope.sections[i] = (c->rope.dims / 2 + 2 - i) / 3;
}

void config_set_interval(struct config *c, uint64_t interval)
{
    for (uint32_t i = 0; i < c->layers; i++) c->full_attention[i] = (i + 1) % interval == 0;
}

void config_set_windows(struct config *c, uint32_t window, uint32_t pattern)
{
    for (uint32_t i = 0; i < c->layers; i++) c->window[i] = pattern && (i + 1) % pattern == 0 ? 0 : window;
}

uint32_t config_keys_of(const struct config *c, uint32_t layer)
{
    if (!config_shares(c, layer)) return layer;
    for (uint32_t i = c->layers - c->attention.shared_layers; i-- > 0;)
        if (c->full_attention[i] && c->window[i] == c->window[layer]) return i;
    return UINT32_MAX;
}

uint32_t config_interval(const struct config *c)
{
    uint32_t interval = 0;
    while (interval < c->layers && !c->full_attention[interval]) interval++;
    interval++;
    for (uint32_t i = 0; i < c->layers; i++)
        if (c->full_attention[i] != ((i + 1) % interval == 0)) return 0;
    return interval;
}

bool config_is_recurrent(const struct config *c)
{
    for (uint32_t i = 0; i < c->layers; i++)
        if (!c->full_attention[i]) return true;
    return false;
}

bool config_window(const struct config *c, uint32_t *window)
{
    bool some = false, all = true;
    *window = 0;
    for (uint32_t i = 0; i < c->layers; i++) {
        if (!c->full_attention[i]) continue;
        some |= c->window[i] != 0;
        all &= c->window[i] != 0;
        if (c->window[i]) *window = c->window[i];
    }
    return some == all;
}

void config_complete(struct config *c)
{
    struct config_feed *feed = &c->feed;
    struct config_attention *a = &c->attention;
    if (schema_tensor(c->schema, ROLE_POSITIONS)) c->positions = c->context_length;
    if (!feed->intermediate && !c->experts.count) feed->intermediate = 4 * c->hidden;
    if (!a->kv_heads) a->kv_heads = a->heads;
    if (!a->shared_layers || feed->shared_intermediate == feed->intermediate) feed->shared_intermediate = 0;
    if (!a->head_dim && a->heads) a->head_dim = c->hidden / a->heads;
    if (c->schema->root) c->scales.embedding = sqrtf((float)c->hidden);
    if (c->schema->wide_layers && c->layers == c->schema->wide_layers && !a->query_scalar && a->heads)
        a->query_scalar = (float)c->hidden / (float)a->heads;
    if (a->scale == 0 && a->query_scalar > 0) a->scale = 1.0f / sqrtf(a->query_scalar);
    if (a->scale == 0) a->scale = c->schema->scale;
    if (a->scale == 0 && a->head_dim) a->scale = 1.0f / sqrtf((float)a->head_dim);
}

/* ---- Validation -------------------------------------------------------------------------------------------------- */

static bool is_factor(float v)
{
    return v > 0 && v <= 1e12f;
}

/* Numbers that values are multiplied with or divided by: none may be 0, infinite or NaN. */
static tdm_status check_factors(const struct config *c, const char *file, tdm_error *err)
{
    const struct config_scales *scales = &c->scales;
    const struct config_rope *rope = &c->rope;
    const struct config_attention *a = &c->attention;
    const struct config_rope_scaling *r = &rope->scaling;
    const struct {
        const char *what;
        float value;
    } factors[] = {
        {"embedding scale", scales->embedding},
        {"residual scale", scales->residual},
        {"logit divisor", scales->logit_divisor},
        {"attention scale", a->scale},
        {"limit of the feed-forward network", c->feed.kind == CONFIG_FEED_CLAMPED ? c->feed.limit : 1},
        {"attention cap", a->cap == 0 ? 1 : a->cap},
        {"logit cap", scales->logit_cap == 0 ? 1 : scales->logit_cap},
        {"RoPE theta of windows", rope->window_theta == 0 ? 1 : rope->window_theta},
        {"RoPE amplitude", r->amplitude},
        {"RoPE factor", r->kind || r->listed ? r->factor : 1},
    };
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (!is_factor(factors[i].value))
            return error_set(err, TDM_E_FORMAT, "%s: %s: expected more than 0 and at most 1e12, found %g", file,
                             factors[i].what, (double)factors[i].value);
    for (uint32_t i = 0; i < rope->dims; i++)
        if (!is_factor(r->divisors[i % 2][i / 2]) &&
            !(r->kind == CONFIG_SCALING_PROPORTIONAL && i / 2 >= r->turning && isinf(r->divisors[i % 2][i / 2])))
            return error_set(err, TDM_E_FORMAT,
                             "%s: RoPE divisor of pair %u: expected more than 0 and at most 1e12, "
                             "found %g",
                             file, i / 2, (double)r->divisors[i % 2][i / 2]);
    bool needs_original =
        (r->kind > CONFIG_SCALING_LINEAR && r->kind != CONFIG_SCALING_PROPORTIONAL) || r->attention != 0;
    if ((needs_original && !r->original) || r->original > CONFIG_MAX_CONTEXT)
        return error_set(err, TDM_E_FORMAT, "%s: original context: expected 1 to %d, found %u", file,
                         CONFIG_MAX_CONTEXT, r->original);
    if (!(fabsf(r->attention) <= 1e3f))
        return error_set(err, TDM_E_FORMAT, "%s: attention temperature: expected at most 1000, found %g", file,
                         (double)r->attention);
    return TDM_OK;
}

tdm_status config_validate(const struct config *c, const char *file, tdm_error *err)
{
    const struct config_rope *rope = &c->rope;
    const struct config_attention *a = &c->attention;
    const struct config_experts *e = &c->experts;
    const struct config_delta *d = &c->delta;
    uint32_t linear = config_is_recurrent(c); /* without DeltaNets their sizes may be 0 */
    const struct {
        const char *what;
        uint32_t value, low, high;
        bool even;
    } ranges[] = {
        {"layers", c->layers, 1, CONFIG_MAX_LAYERS, false},
        {"hidden size", c->hidden, 1, CONFIG_MAX_WIDTH, false},
        {"intermediate size", c->feed.intermediate, e->count ? 0 : 1, CONFIG_MAX_WIDTH, false},
        {"experts", e->count, 0, CONFIG_MAX_EXPERTS, false},
        {"experts used", e->used, e->count > 0, e->count < CONFIG_MAX_USED ? e->count : CONFIG_MAX_USED, false},
        {"expert size", e->intermediate, e->count > 0, CONFIG_MAX_WIDTH, false},
        {"vocabulary", c->vocab, 1, INT32_MAX, false},
        {"context length", c->context_length, 1, CONFIG_MAX_CONTEXT, false},
        {"attention heads", a->heads, 1, CONFIG_MAX_HEADS, false},
        {"key/value heads", a->kv_heads, 1, CONFIG_MAX_HEADS, false},
        {"head size", a->head_dim, 16, CONFIG_MAX_HEAD, true},
        {"rotated elements", rope->dims, c->positions ? 0 : 2, a->head_dim, true},
        {"key/value heads in windows", a->window_kv_heads, 0, a->heads, false},
        {"head size in windows", a->window_head_dim, a->window_head_dim ? 16 : 0, CONFIG_MAX_HEAD, true},
        {"layers that share keys", a->shared_layers, 0, c->layers - 1, false},
        {"intermediate size of these", c->feed.shared_intermediate, 0, CONFIG_MAX_WIDTH, false},
        {"width of a layer's inputs", c->layer_input, 0, CONFIG_MAX_WIDTH / c->layers, false},
        {"learned positions", c->positions, 0, CONFIG_MAX_CONTEXT, false},
        {"linear key heads", d->key_heads, linear, CONFIG_MAX_HEADS, false},
        {"linear value heads", d->value_heads, linear, CONFIG_MAX_HEADS, false},
        {"linear key head size", d->key_dim, 16 * linear, CONFIG_MAX_LINEAR_HEAD, true},
        {"linear value head size", d->value_dim, 16 * linear, CONFIG_MAX_LINEAR_HEAD, true},
        {"convolution kernel", d->conv_kernel, 2 * linear, 8, false},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].value < ranges[i].low || ranges[i].value > ranges[i].high ||
            (ranges[i].even && ranges[i].value % 2))
            return error_set(err, TDM_E_UNSUPPORTED, "%s: %s: expected %s%u to %u, found %u", file, ranges[i].what,
                             ranges[i].even ? "an even number from " : "", ranges[i].low, ranges[i].high,
                             ranges[i].value);
    uint32_t in_windows = a->window_kv_heads ? a->window_kv_heads : a->kv_heads;
    if (a->heads % a->kv_heads || a->heads % in_windows)
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: attention heads: expected a multiple of the %u key/value heads, found "
                         "%u",
                         file, a->heads % a->kv_heads ? a->kv_heads : in_windows, a->heads);
    for (uint32_t i = 0; i < c->layers; i++)
        if (config_keys_of(c, i) == UINT32_MAX)
            return error_set(err, TDM_E_FORMAT, "%s: layer %u shares keys with none of its kind", file, i);
    if (d->key_heads && d->value_heads % d->key_heads)
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: linear value heads: expected a multiple of the %u key heads, found %u", file,
                         d->key_heads, d->value_heads);
    if (!(c->rms_eps > 0 && c->rms_eps < 1))
        return error_set(err, TDM_E_FORMAT, "%s: RMS norm epsilon: expected a value between 0 and 1, found %g", file,
                         (double)c->rms_eps);
    if (rope->dims && !(rope->theta >= 1 && rope->theta <= 1e12f))
        return error_set(err, TDM_E_FORMAT, "%s: RoPE theta: expected 1 to 1e12, found %g", file, (double)rope->theta);
    tdm_status status = check_factors(c, file, err);
    if (status) return status;
    for (uint32_t i = 0; i < c->stops.count; i++)
        if ((uint32_t)c->stops.ids[i] >= c->vocab)
            return error_set(err, TDM_E_FORMAT, "%s: end token: expected an id below %u, found %d", file, c->vocab,
                             c->stops.ids[i]);
    return TDM_OK;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

struct config_heads config_widest_heads(const struct config *c)
{
    struct config_heads most = {0};
    for (uint32_t i = 0; i < config_blocks(c); i++) {
        uint32_t dim = config_head_dim(c, i), kv = config_kv_heads(c, i);
        most.head_dim = larger(most.head_dim, dim);
        most.keys = larger(most.keys, kv * dim);
        most.group = larger(most.group, c->attention.heads / kv);
    }
    return most;
}
