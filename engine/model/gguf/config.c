/* The configuration of a GGUF file, by the rows of its architecture's schema. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/signature.h"
#include "engine/model/gguf/gguf.h"
#include "engine/model/schema/rotary.h"
#include "engine/model/schema/schema.h"
#include "engine/model/schema/unknown.h"

enum { KEY_ROOM = 128 };

struct reader {
    struct config *c;
    const struct gguf *g;
    struct unknowns *u;
    tdm_error *err;
};

/* ---- Single keys ------------------------------------------------------------------------------------------------- */

/* The key under the first of these names that the file has, and its full name in room; NULL: none, and the first. */
static const struct gguf_key *find_key(const struct reader *r, const char *names, char room[KEY_ROOM])
{
    const struct gguf_key *k = NULL;
    for (const char *at = names; !k && *at;) {
        struct span one = schema_first_name(at);
        snprintf(room, KEY_ROOM, "%s%.*s", r->c->architecture, (int)one.length, one.bytes);
        k = gguf_find(r->g, room);
        at += one.length + (at[one.length] == '|');
    }
    struct span first = schema_first_name(names);
    if (!k) snprintf(room, KEY_ROOM, "%s%.*s", r->c->architecture, (int)first.length, first.bytes);
    return k;
}

static tdm_status missing(const struct reader *r, const char *key)
{
    return error_set(r->err, TDM_E_FORMAT, "%s: key %s is missing", gguf_path(r->g), key);
}

/* A whole number; *found (may be NULL): otherwise a missing one is an error. */
static tdm_status get_number(const struct reader *r, const char *names, double low, double high, uint32_t *out,
                             bool *found)
{
    char key[KEY_ROOM];
    uint64_t v = *out;
    bool there = find_key(r, names, key);
    if (found) *found = there;
    if (!there) return found ? TDM_OK : missing(r, key);
    tdm_status status = gguf_get_u64(r->g, key, (uint64_t)low, (uint64_t)high, &v, NULL, r->err);
    *out = (uint32_t)v;
    return status;
}

/* ---- One number, or one for each layer --------------------------------------------------------------------------- */

/* Is the row of a key about this layer, too? */
static bool is_among(const struct config *c, enum schema_layers which, uint32_t layer)
{
    switch (which) {
    case SCHEMA_OPEN:
        return !c->window[layer];
    case SCHEMA_WINDOW:
        return c->window[layer];
    case SCHEMA_OWN:
        return !config_shares(c, layer);
    case SCHEMA_SHARED:
        return config_shares(c, layer);
    default:
        return true;
    }
}

/* The value that those layers share which have one. An array stands for the layers, with or without the block of an MTP
 * head. */
static tdm_status common_value(const struct reader *r, const char *key, const struct gguf_key *k,
                               enum schema_layers which, double *out)
{
    const struct config *c = r->c;
    bool found = false;
    if (k->count != c->layers && k->count != c->layers + c->mtp.layers)
        return error_set(r->err, TDM_E_FORMAT,
                         "%s: key %s: expected a number, or one for each of %u layers, found %llu", gguf_path(r->g),
                         key, c->layers, (unsigned long long)k->count);
    for (uint32_t i = 0; i < c->layers; i++) {
        double v = 0;
        if (!gguf_key_number(k, i, &v))
            return error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected numbers, found another type",
                             gguf_path(r->g), key);
        if (!is_among(c, which, i) || (which == SCHEMA_FULL && !c->full_attention[i] && v == 0)) continue;
        if (found && v != *out)
            return error_set(r->err, TDM_E_UNSUPPORTED,
                             "%s: key %s: expected the same number in all layers, found %g, and %g in layer %u",
                             gguf_path(r->g), key, *out, v, i);
        *out = v;
        found = true;
    }
    if (found || which > SCHEMA_FULL) return TDM_OK; /* there may be none of a kind */
    return error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected a number for layers of full attention, found none",
                     gguf_path(r->g), key);
}

static tdm_status read_number(const struct reader *r, const struct schema_key *row)
{
    uint32_t *out = (uint32_t *)((char *)r->c + row->field);
    char key[KEY_ROOM];
    const struct gguf_key *k = find_key(r, row->gguf, key);
    double v = 0;
    *out = (uint32_t)row->otherwise;
    if (!k) return row->optional ? TDM_OK : missing(r, key);
    if (!k->array) return get_number(r, row->gguf, row->low, row->high, out, NULL);
    tdm_status status = common_value(r, key, k, row->layers, &v);
    if (!status && !(v >= row->low && v <= row->high && v == (double)(uint64_t)v))
        status = error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected whole numbers from %.0f to %.0f, found %g",
                           gguf_path(r->g), key, row->low, row->high, v);
    if (!status) *out = (uint32_t)v;
    return status;
}

static tdm_status read_real(const struct reader *r, const struct schema_key *row)
{
    float *out = (float *)((char *)r->c + row->field);
    char key[KEY_ROOM];
    const struct gguf_key *k = find_key(r, row->gguf, key);
    double v = 0;
    *out = (float)row->otherwise;
    if (!k) return row->optional ? TDM_OK : missing(r, key);
    if (!k->array) return gguf_get_float(r->g, key, out, NULL, r->err);
    tdm_status status = common_value(r, key, k, row->layers, &v);
    *out = (float)v;
    return status;
}

static tdm_status read_flag(const struct reader *r, const struct schema_key *row)
{
    char key[KEY_ROOM];
    const struct gguf_key *k = find_key(r, row->gguf, key);
    double v = row->otherwise;
    if (k && (k->array || !gguf_key_number(k, 0, &v) || (v != 0 && v != 1)))
        return error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected true or false, found another value",
                         gguf_path(r->g), key);
    *(bool *)((char *)r->c + row->field) = v != 0;
    return TDM_OK;
}

static tdm_status read_rows(const struct reader *r)
{
    tdm_status status = TDM_OK;
    for (int i = 0; i < SCHEMA_LISTS && r->c->schema->keys[i]; i++)
        for (const struct schema_key *row = r->c->schema->keys[i]; !status && (row->gguf || row->json); row++) {
            if (!row->gguf) continue;
            if (row->use == SCHEMA_NUMBER) status = read_number(r, row);
            if (row->use == SCHEMA_REAL) status = read_real(r, row);
            if (row->use == SCHEMA_FLAG) status = read_flag(r, row);
        }
    return status;
}

/* ---- Every key of the architecture ------------------------------------------------------------------------------- */

/* Is an element one of the values, which are separated by "|"? */
static bool is_one_of(const char *values, const struct gguf_key *k, uint64_t index)
{
    struct span text;
    double v = 0;
    bool is_text = gguf_key_text(k, &text), is_number = gguf_key_number(k, index, &v);
    if (is_text && !text.length) return true;
    for (const char *at = values; *at;) {
        struct span one = schema_first_name(at);
        double wanted = span_is(one, "true") ? 1 : span_is(one, "false") ? 0 : strtod(one.bytes, NULL);
        if (is_text && text.length == one.length && !memcmp(text.bytes, one.bytes, one.length)) return true;
        if (is_number && v == wanted && strchr("0123456789tf", one.bytes[0])) return true;
        at += one.length + (at[one.length] == '|');
    }
    return false;
}

/* A property that the engine computes in one way only: the key must have that value. */
static tdm_status check_value(const struct reader *r, const struct gguf_key *k, const char *values)
{
    char value[UNKNOWN_VALUE_ROOM], said[2 * UNKNOWN_VALUE_ROOM];
    bool good = true;
    for (uint64_t i = 0; good && i < k->count; i++) good = is_one_of(values, k, i);
    if (good) return TDM_OK;
    unknown_key_text(k, value);
    struct span wanted = schema_first_name(values);
    snprintf(said, sizeof said, ": expected %.*s, found %s", (int)wanted.length, wanted.bytes, value);
    return unknowns_refuse(r->u, gguf_path(r->g), "key", k->name, value, said, r->err);
}

static tdm_status check_key(const struct reader *r, const struct gguf_key *k, struct span name)
{
    const struct schema_key *row = schema_key(r->c->schema, SCHEMA_GGUF, name);
    char value[UNKNOWN_VALUE_ROOM], text[UNKNOWN_VALUE_ROOM + 64];
    if (row && row->use == SCHEMA_ONLY) return check_value(r, k, row->text);
    if (row && row->use == SCHEMA_EQUAL) {
        snprintf(text, sizeof text, "%u", *(const uint32_t *)((const char *)r->c + row->field));
        return check_value(r, k, text);
    }
    if ((row && row->use != SCHEMA_HARMLESS) || unknown_key_is_neutral(k)) return TDM_OK;
    unknown_key_text(k, value);
    if (row) return unknowns_note(r->u, k->name, value, row->text, r->err);
    snprintf(text, sizeof text, ": %s is not known, and may change replies", value);
    return unknowns_refuse(r->u, gguf_path(r->g), "key", k->name, value, text, r->err);
}

static tdm_status check_keys(const struct reader *r)
{
    const struct gguf_key *keys;
    size_t n = gguf_keys(r->g, &keys), prefix = strlen(r->c->architecture);
    tdm_status status = TDM_OK;
    for (size_t i = 0; !status && i < n; i++) {
        struct span name = keys[i].name;
        if (name.length <= prefix || memcmp(name.bytes, r->c->architecture, prefix) || name.bytes[prefix] != '.')
            continue;
        status = check_key(r, &keys[i], (struct span){name.bytes + prefix, name.length - prefix});
    }
    return status;
}

/* ---- Kinds of layers --------------------------------------------------------------------------------------------- */

static tdm_status not_layers(const struct reader *r, const char *key)
{
    return error_set(r->err, TDM_E_FORMAT,
                     "%s: key %s: expected a flag for each of %u layers, or the numbers of layers below that",
                     gguf_path(r->g), key, r->c->layers);
}

/* The recurrent layers: a flag for each, or their numbers. */
static tdm_status recurrent_layers(const struct reader *r, const char *key, const struct gguf_key *k)
{
    struct config *c = r->c;
    uint32_t blocks = c->layers + c->mtp.layers;
    bool flags = !k->array || ((k->count == c->layers || k->count == blocks));
    double v = 0;
    for (uint64_t i = 0; flags && i < k->count; i++) flags = gguf_key_number(k, i, &v) && (v == 0 || v == 1);
    if (!flags && (k->type == GGUF_BOOL || !k->array || k->count > blocks)) return not_layers(r, key);
    for (uint32_t i = 0; i < c->layers; i++) {
        if (flags) gguf_key_number(k, k->array ? i : 0, &v);
        c->full_attention[i] = !flags || v == 0;
    }
    for (uint64_t i = 0; !flags && i < k->count; i++) {
        if (!gguf_key_number(k, i, &v) || !(v >= 0 && v < blocks) || v != (double)(uint32_t)v)
            return not_layers(r, key);
        if (v < c->layers) c->full_attention[(uint32_t)v] = false;
    }
    return TDM_OK;
}

/* Layers whose number of heads is 0 are no attention. */
static bool kinds_by_heads(const struct reader *r)
{
    char key[KEY_ROOM];
    const struct gguf_key *k = find_key(r, ".attention.head_count_kv", key);
    double v = 0;
    bool some = false;
    if (!k || !k->array || k->count < r->c->layers) return false;
    for (uint32_t i = 0; i < r->c->layers; i++) some |= gguf_key_number(k, i, &v) && v == 0;
    for (uint32_t i = 0; some && i < r->c->layers; i++)
        r->c->full_attention[i] = !gguf_key_number(k, i, &v) || v != 0;
    return some;
}

static tdm_status read_kinds(const struct reader *r)
{
    char key[KEY_ROOM];
    struct config *c = r->c;
    uint32_t interval = c->schema->interval;
    bool found;
    for (uint32_t i = 0; i < c->layers && c->schema->unrotated; i++)
        c->unrotated[i] = (i + 1) % c->schema->unrotated == 0;
    config_set_interval(c, interval);
    if (interval == 1) return TDM_OK;
    const struct gguf_key *k = find_key(r, ".attention.recurrent_layers", key);
    if (k) return recurrent_layers(r, key, k);
    tdm_status status = get_number(r, ".full_attention_interval", 1, 2 * CONFIG_MAX_LAYERS, &interval, &found);
    if (!status && !kinds_by_heads(r)) config_set_interval(c, interval);
    return status;
}

/* A window that all layers have, all but every n-th, or those that a list flags. */
static tdm_status read_window(const struct reader *r)
{
    struct config *c = r->c;
    char key[KEY_ROOM];
    uint32_t window = 0, pattern = c->schema->pattern;
    bool found;
    if (!c->schema->windows) return TDM_OK;
    tdm_status status = get_number(r, ".attention.sliding_window", 0, INT32_MAX, &window, &found);
    const struct gguf_key *k = find_key(r, ".attention.sliding_window_pattern", key);
    if (!status && (!k || !k->array))
        status = get_number(r, ".attention.sliding_window_pattern", 0, INT32_MAX, &pattern, &found);
    if (status) return status;
    config_set_windows(c, window, pattern);
    if (!k || !k->array) return TDM_OK;
    if (k->count != c->layers)
        return error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected a flag for each of %u layers, found %llu",
                         gguf_path(r->g), key, c->layers, (unsigned long long)k->count);
    for (uint32_t i = 0; i < c->layers; i++) {
        double v = 0;
        if (!gguf_key_number(k, i, &v))
            return error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected flags, found another type", gguf_path(r->g),
                             key);
        c->window[i] = v != 0 ? window : 0;
    }
    return TDM_OK;
}

/* Drops windows that are as long as the context, unless layers with windows differ in another way. */
static void drop_long_windows(struct config *c)
{
    for (uint32_t i = 0; i < c->layers && !c->schema->window_base; i++)
        if (c->window[i] >= c->context_length) c->window[i] = 0;
}

/* ---- The rest ---------------------------------------------------------------------------------------------------- */

static tdm_status read_blocks(const struct reader *r)
{
    struct config *c = r->c;
    uint32_t blocks = 0;
    bool found;
    tdm_status status = get_number(r, ".block_count", 1, 2 * CONFIG_MAX_LAYERS, &blocks, NULL);
    if (!status) status = get_number(r, ".nextn_predict_layers", 0, CONFIG_MAX_LAYERS, &c->mtp.layers, &found);
    if (status) return status;
    if (c->mtp.layers >= blocks)
        return error_set(r->err, TDM_E_FORMAT,
                         "%s: key %s.nextn_predict_layers: expected fewer than the %u blocks, found %u",
                         gguf_path(r->g), c->architecture, blocks, c->mtp.layers);
    c->layers = c->whole_layers = blocks - c->mtp.layers;
    if (c->layers > CONFIG_MAX_LAYERS)
        return error_set(r->err, TDM_E_UNSUPPORTED, "%s: key %s.block_count: expected at most %d layers, found %u",
                         gguf_path(r->g), c->architecture, CONFIG_MAX_LAYERS, c->layers);
    return TDM_OK;
}

/* How rotated positions are scaled. */
static tdm_status read_scaling(const struct reader *r)
{
    struct config_rope_scaling *s = &r->c->rope.scaling;
    char key[KEY_ROOM], kind[16] = "none";
    struct span text = {"", 0};
    float attention = 1, logarithm = 0;
    bool found;
    if (!r->c->schema->scaled) return TDM_OK;
    find_key(r, ".rope.scaling.type", key);
    tdm_status status = gguf_get_string(r->g, key, &text, NULL, r->err);
    if (text.length && text.length < sizeof kind) snprintf(kind, sizeof kind, "%.*s", (int)text.length, text.bytes);
    if (!status && (text.length >= sizeof kind || (!rotary_kind(kind, &s->kind) && strcmp(kind, "default"))))
        return error_set(r->err, TDM_E_UNSUPPORTED, "%s: key %s: expected none, linear, yarn or longrope, found %.*s",
                         gguf_path(r->g), key, (int)(text.length < 40 ? text.length : 40), text.bytes);
    const struct {
        const char *names;
        float *out;
    } reals[] = {{".rope.scaling.factor|.rope.scale_linear", &s->factor},
                 {".rope.scaling.yarn_beta_slow", &s->slow},
                 {".rope.scaling.yarn_beta_fast", &s->fast},
                 {".rope.scaling.attn_factor|.rope.scaling.yarn_attn_factor", &attention},
                 {".rope.scaling.yarn_log_multiplier", &logarithm},
                 {".attention.temperature_scale", &s->attention}};
    for (size_t i = 0; !status && i < sizeof reals / sizeof *reals; i++)
        if (find_key(r, reals[i].names, key)) status = gguf_get_float(r->g, key, reals[i].out, NULL, r->err);
    if (!status)
        status = get_number(r, ".rope.scaling.original_context_length", 0, CONFIG_MAX_CONTEXT, &s->original, &found);
    if (!status && !found) s->original = r->c->context_length;
    /* An old file may have the factor alone. */
    if (s->kind == CONFIG_SCALING_NONE && !text.length && s->factor > 0 && s->factor != 1)
        s->kind = CONFIG_SCALING_LINEAR;
    if (s->kind == CONFIG_SCALING_YARN) s->amplitude = rotary_yarn_amplitude(s->factor, 1, logarithm);
    s->amplitude *= attention;
    return status;
}

/* The sizes of the DeltaNet that other keys yield, and how its value heads lie. */
static tdm_status read_delta(const struct reader *r)
{
    struct config *c = r->c;
    struct config_delta *d = &c->delta;
    char key[KEY_ROOM];
    uint32_t inner = 0;
    double tiled = c->schema->tiled;
    if (!config_is_recurrent(c)) return TDM_OK;
    tdm_status status = get_number(r, ".ssm.inner_size", 1, CONFIG_MAX_WIDTH, &inner, NULL);
    if (status) return status;
    if (inner % d->value_heads)
        return error_set(r->err, TDM_E_FORMAT,
                         "%s: key %s.ssm.inner_size: expected a multiple of time_step_rank (%u), found %u",
                         gguf_path(r->g), c->architecture, d->value_heads, inner);
    const struct gguf_key *k = find_key(r, ".ssm.v_head_reordered", key);
    if (k && (k->array || !gguf_key_number(k, 0, &tiled)))
        return error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected true or false", gguf_path(r->g), key);
    d->value_dim = inner / d->value_heads;
    d->value_heads_tiled = tiled != 0 && d->value_heads > d->key_heads;
    return TDM_OK;
}

static tdm_status read_positions(const struct reader *r)
{
    struct config *c = r->c;
    struct config_rope *rope = &c->rope;
    char key[KEY_ROOM];
    int32_t *sections = NULL;
    uint64_t count = 0;
    bool found;
    tdm_status status = TDM_OK;
    if (c->positions) return TDM_OK;
    rope->dims = c->attention.head_dim;
    if (find_key(r, ".rope.freq_base", key))
        status = gguf_get_float(r->g, key, &rope->theta, NULL, r->err);
    else if (c->schema->scaled)
        rope->theta = 10000;
    else
        return missing(r, key);
    if (c->schema->window_base) rope->window_theta = 10000;
    if (!status && c->schema->window_base && find_key(r, ".rope.freq_base_swa", key))
        status = gguf_get_float(r->g, key, &rope->window_theta, NULL, r->err);
    if (!status) status = get_number(r, ".rope.dimension_count", 0, CONFIG_MAX_WIDTH, &rope->dims, &found);
    config_set_sections(c);
    find_key(r, ".rope.dimension_sections", key);
    if (!status) status = gguf_get_i32s(r->g, key, &sections, &count, NULL, r->err);
    for (uint64_t i = 0; !status && i < count; i++) {
        if (i >= 4 || sections[i] < 0)
            status = error_set(r->err, TDM_E_FORMAT, "%s: key %s: expected up to 4 sizes", gguf_path(r->g), key);
        else
            rope->sections[i] = (uint32_t)sections[i];
    }
    free(sections);
    return status;
}

/* The kind of model in the file, if it is no language model; NULL: it may be one. */
static const char *other_kind(const struct gguf *g, struct span architecture)
{
    struct span type = {"", 0};
    char key[KEY_ROOM];
    double pooling = 0;
    gguf_get_string(g, "general.type", &type, NULL, NULL); /* a value of another type is ignored */
    snprintf(key, sizeof key, "%.*s.pooling_type", (int)(architecture.length < 60 ? architecture.length : 60),
             architecture.bytes);
    if (!gguf_get_number(g, key, &pooling, NULL, NULL) && pooling > 0) type = (struct span){"embedding", 9};
    return signature_of_gguf(type, architecture);
}

static tdm_status read_architecture(const struct reader *r)
{
    struct config *c = r->c;
    struct span s = {"", 0};
    bool found;
    char known[SCHEMA_NAMES_ROOM];
    tdm_status status = gguf_get_string(r->g, "general.architecture", &s, &found, r->err);
    if (status) return status;
    const char *other = other_kind(r->g, s);
    if (other)
        return error_set(r->err, TDM_E_UNSUPPORTED, "%s: expected a language model, found %s", gguf_path(r->g), other);
    if (!found) return missing(r, "general.architecture");
    c->schema = schema_find(SCHEMA_GGUF, s);
    schema_names(SCHEMA_GGUF, known, sizeof known);
    if (!c->schema)
        return error_set(r->err, TDM_E_UNSUPPORTED, "%s: unsupported architecture %.*s (this engine runs %s)",
                         gguf_path(r->g), (int)(s.length < 40 ? s.length : 40), s.bytes, known);
    schema_begin(c);
    s.length = 0;
    gguf_get_string(r->g, "general.name", &s, NULL, NULL); /* a value of another type is ignored */
    config_set_name(c, s.bytes, s.length);
    return TDM_OK;
}

tdm_status config_from_gguf(struct config *c, const struct gguf *g, struct unknowns *u, tdm_error *err)
{
    const struct reader r = {c, g, u, err};
    *c = (struct config){0};
    tdm_status status = read_architecture(&r);
    if (!status) status = read_blocks(&r);
    if (!status) status = read_kinds(&r);
    if (!status) status = read_window(&r);
    if (!status) status = read_rows(&r);
    if (!status) config_complete(c);
    if (!status) drop_long_windows(c);
    if (!status) status = read_delta(&r);
    if (!status) status = read_positions(&r);
    if (!status) status = read_scaling(&r);
    if (!status) rotary_set(&c->rope);
    return status ? status : check_keys(&r);
}
