#include "engine/model/schema/rotary.h"

#include <math.h>
#include <string.h>

static const char *const names[CONFIG_SCALINGS] = {"none", "linear", "llama3", "yarn", "longrope", "proportional"};

const char *rotary_name(enum config_scaling kind)
{
    return names[kind];
}

bool rotary_kind(const char *name, enum config_scaling *out)
{
    for (int i = 0; i < CONFIG_SCALINGS; i++)
        if (!strcmp(name, names[i])) {
            *out = (enum config_scaling)i;
            return true;
        }
    return false;
}

static double frequency(const struct config_rope *rope, uint32_t pair)
{
    return pow(rope->theta, -2.0 * pair / rope->dims);
}

/* Waves longer than original / slow positions are divided by the factor, those shorter than original / fast stay. */
static double llama3_divisor(const struct config_rope *rope, uint32_t pair)
{
    const struct config_rope_scaling *s = &rope->scaling;
    double turns = s->original * frequency(rope, pair) / (2 * M_PI);
    if (turns < s->slow) return s->factor;
    if (turns > s->fast) return 1;
    double smooth = (turns - s->slow) / (s->fast - s->slow);
    return 1 / ((1 - smooth) / s->factor + smooth);
}

/* The pair that turns this many times within the original positions; between pairs. */
static double yarn_pair(const struct config_rope *rope, double turns)
{
    return rope->dims * log(rope->scaling.original / (turns * 2 * M_PI)) / (2 * log(rope->theta));
}

static double yarn_divisor(const struct config_rope *rope, uint32_t pair)
{
    const struct config_rope_scaling *s = &rope->scaling;
    double low = yarn_pair(rope, s->fast), high = yarn_pair(rope, s->slow), most = rope->dims - 1.0;
    if (s->whole) low = floor(low), high = ceil(high);
    low = low > 0 ? low : 0;
    high = high < most ? high : most;
    if (low == high) high += 0.001;
    double ramp = (pair - low) / (high - low);
    ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    return 1 / (ramp / s->factor + (1 - ramp));
}

static double yarn_logarithm(double factor, double multiplier)
{
    return factor > 1 ? 0.1 * multiplier * log(factor) + 1 : 1;
}

static double proportional_divisor(const struct config_rope *rope, uint32_t pair)
{
    return pair < rope->scaling.turning ? rope->scaling.factor : INFINITY;
}

float rotary_yarn_amplitude(double factor, double above, double below)
{
    if (above != 0 && below != 0) return (float)(yarn_logarithm(factor, above) / yarn_logarithm(factor, below));
    return (float)yarn_logarithm(factor, 1);
}

void rotary_set(struct config_rope *rope)
{
    struct config_rope_scaling *s = &rope->scaling;
    for (uint32_t i = 0; i < rope->dims / 2 && i < CONFIG_MAX_HEAD / 2 && !s->listed; i++)
        s->divisors[0][i] = s->divisors[1][i] =
            (float)(s->kind == CONFIG_SCALING_LINEAR         ? s->factor
                    : s->kind == CONFIG_SCALING_LLAMA3       ? llama3_divisor(rope, i)
                    : s->kind == CONFIG_SCALING_YARN         ? yarn_divisor(rope, i)
                    : s->kind == CONFIG_SCALING_PROPORTIONAL ? proportional_divisor(rope, i)
                                                             : 1);
}

void rotary_frequencies(const struct config_rope *rope, uint32_t context, double *out)
{
    bool beyond = context > rope->scaling.original;
    for (uint32_t i = 0; i < rope->dims / 2; i++) out[i] = frequency(rope, i) / rope->scaling.divisors[beyond][i];
}

uint32_t rotary_window_pairs(const struct config *c)
{
    return (c->attention.window_head_dim ? c->attention.window_head_dim : c->rope.dims) / 2;
}

void rotary_window_frequencies(const struct config *c, double *out)
{
    uint32_t pairs = rotary_window_pairs(c);
    for (uint32_t i = 0; i < pairs; i++) out[i] = pow(c->rope.window_theta, -1.0 * i / pairs);
}

float rotary_query_scale(const struct config_rope *rope, uint32_t position)
{
    const struct config_rope_scaling *s = &rope->scaling;
    if (s->attention == 0) return 1;
    return 1 + s->attention * logf(1 + (float)(position / s->original));
}
