#include "engine/model/schema/describe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/model/schema/rotary.h"
#include "engine/model/schema/role.h"

/* Appends, after a comma where there is something already. */
__attribute__((format(printf, 3, 4))) static void add(char *out, size_t room, const char *format, ...)
{
    size_t at = strlen(out);
    va_list list;
    if (at && at + 2 < room) at += (size_t)snprintf(out + at, room - at, ", ");
    va_start(list, format);
    if (at < room) vsnprintf(out + at, room - at, format, list);
    va_end(list);
}

void describe_positions(const struct config *c, char *out, size_t room)
{
    const struct config_rope *rope = &c->rope;
    const struct config_rope_scaling *s = &rope->scaling;
    uint32_t without = 0;
    out[0] = 0;
    if (c->positions) add(out, room, "%u learned", c->positions);
    if (!rope->dims) return;
    add(out, room, "rotated, base %g", (double)rope->theta);
    if (rope->dims < c->attention.head_dim)
        add(out, room, "%u of %u elements of a head", rope->dims, c->attention.head_dim);
    if (s->kind == CONFIG_SCALING_LINEAR)
        add(out, room, "scaled %g times", (double)s->factor);
    else if (s->kind == CONFIG_SCALING_LLAMA3 || s->kind == CONFIG_SCALING_YARN)
        add(out, room, "scaled by %s %g times from %u", rotary_name(s->kind), (double)s->factor, s->original);
    else if (s->kind == CONFIG_SCALING_LONG)
        add(out, room, "scaled by longrope from %u", s->original);
    else if (s->kind == CONFIG_SCALING_PROPORTIONAL)
        add(out, room, "%u of %u pairs turn", s->turning, rope->dims / 2);
    else if (s->listed)
        add(out, room, "scaled by a list of divisors");
    for (uint32_t i = 0; i < c->layers; i++) without += c->unrotated[i];
    if (without) add(out, room, "none in %u of %u layers", without, c->layers);
    if (rope->window_theta != 0) add(out, room, "base %g in windows", (double)rope->window_theta);
    if (s->attention != 0) add(out, room, "attention sharpened beyond %u", s->original);
}

void describe_layers(const struct config *c, char *out, size_t room)
{
    const struct config_scales *scales = &c->scales;
    const struct config_attention *attention = &c->attention;
    uint32_t window;
    out[0] = 0;
    if (config_window(c, &window)) {
        if (window) add(out, room, "a window of %u", window);
    } else {
        for (uint32_t i = window = 0; i < c->layers; i++) window += c->window[i] != 0;
        add(out, room, "windows in %u of %u layers", window, c->layers);
    }
    if (role_exists(c, ROLE_Q_NORM, 0)) add(out, room, "norms of queries and keys");
    if (attention->value_norm) add(out, room, "norms of values");
    if (attention->values_are_keys) add(out, room, "values made of keys in layers without a window");
    if (attention->shared_layers) add(out, room, "keys of earlier layers in %u", attention->shared_layers);
    if (c->layer_input) add(out, room, "%u values of a token for each layer, read from the file", c->layer_input);
    if (role_exists(c, ROLE_DENSE_NORM, 0)) add(out, room, "experts beside a dense network");
    if (!c->experts.norm_topk) add(out, room, "experts weighed by their probabilities among all");
    if (role_exists(c, ROLE_Q_BIAS, 0) || role_exists(c, ROLE_DOWN_BIAS, 0)) add(out, room, "biases");
    if (c->norm == CONFIG_NORM_LAYER) add(out, room, "LayerNorms");
    if (c->feed.kind == CONFIG_FEED_CLAMPED)
        add(out, room, "a clamped SwiGLU");
    else if (c->feed.kind != CONFIG_FEED_SILU)
        add(out, room, "GELU");
    if (role_exists(c, ROLE_SINKS, 0)) add(out, room, "sinks");
    if (role_exists(c, ROLE_ATTENTION_NORM, 0)) add(out, room, "norms of what is added");
    if (attention->cap != 0 || scales->logit_cap != 0) add(out, room, "soft caps");
    if (scales->embedding != 1) add(out, room, "embeddings times %g", (double)scales->embedding);
    if (scales->residual != 1) add(out, room, "layers times %g", (double)scales->residual);
    if (scales->logit_divisor != 1) add(out, room, "logits divided by %g", (double)scales->logit_divisor);
}
