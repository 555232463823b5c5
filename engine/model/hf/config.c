/* The configuration of a Hugging Face checkpoint (config.json), by the rows of its architecture's schema. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/json/json.h"
#include "engine/model/schema/rotary.h"
#include "engine/model/schema/schema.h"
#include "engine/model/schema/unknown.h"

enum { FIELD_ROOM = 128 };

/* What the file's positions are, put together from all the places that may say it. */
struct positions {
    double theta, part; /* base of the angles; share of each head that is rotated */
    double window_theta; /* base in layers with windows */
    bool has_theta, has_part;
    struct json_object *sections;
};

struct reader {
    struct config *c;
    struct json_object *top, *text; /* the model's own part: text_config, or the same */
    const char *file;
    struct unknowns *u;
    tdm_error *err;
};

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* The field under the first of these names that the object has, else the first name. */
static const char *find_field(struct json_object *o, const char *names, char room[FIELD_ROOM])
{
    struct json_object *v = NULL;
    for (const char *at = names; *at && !v;) {
        struct span one = schema_first_name(at);
        snprintf(room, FIELD_ROOM, "%.*s", (int)one.length, one.bytes);
        v = json_get(o, room);
        at += one.length + (at[one.length] == '|');
    }
    struct span first = schema_first_name(names);
    if (!v) snprintf(room, FIELD_ROOM, "%.*s", (int)first.length, first.bytes);
    return room;
}

static tdm_status get_number(const struct reader *r, const char *names, double low, double high, uint32_t *out,
                             bool *found)
{
    char key[FIELD_ROOM];
    uint64_t v = *out;
    bool there = false;
    tdm_status status = json_get_u64(r->text, find_field(r->text, names, key), (uint64_t)low, (uint64_t)high, &v,
                                     &there, r->file, r->err);
    if (!status && !there && !found)
        status = error_set(r->err, TDM_E_FORMAT, "%s: field %s is missing", r->file, key);
    if (found) *found = there;
    *out = (uint32_t)v;
    return status;
}

static tdm_status read_row(const struct reader *r, const struct schema_key *row)
{
    char key[FIELD_ROOM];
    void *field = (char *)r->c + row->field;
    double v = row->otherwise;
    bool found = false;
    if (row->use == SCHEMA_NUMBER) {
        uint32_t *out = field;
        *out = (uint32_t)row->otherwise;
        return get_number(r, row->json, row->low, row->high, out, row->optional ? &found : NULL);
    }
    if (row->use == SCHEMA_FLAG) {
        *(bool *)field = row->otherwise != 0;
        return json_get_bool(r->text, find_field(r->text, row->json, key), field, NULL, r->file, r->err);
    }
    if (row->use != SCHEMA_REAL) return TDM_OK;
    tdm_status status =
        json_get_double(r->text, find_field(r->text, row->json, key), &v, &found, r->file, r->err);
    if (!status && !found && !row->optional)
        return error_set(r->err, TDM_E_FORMAT, "%s: field %s is missing", r->file, key);
    *(float *)field = (float)v;
    return status;
}

static tdm_status read_rows(const struct reader *r)
{
    tdm_status status = TDM_OK;
    for (int i = 0; i < SCHEMA_LISTS && r->c->schema->keys[i]; i++)
        for (const struct schema_key *row = r->c->schema->keys[i]; !status && (row->gguf || row->json); row++)
            if (row->json) status = read_row(r, row);
    return status;
}

/* ---- Every field ------------------------------------------------------------------------------------------------- */

/* Is it one of the values, which are separated by "|"? */
static bool is_one_of(const char *values, struct json_object *v)
{
    const char *text = json_shown(v);
    for (const char *at = values;; at += strcspn(at, "|") + 1) {
        struct span one = schema_first_name(at);
        if (span_is(one, text) || (json_is_number(v) && one.length && strtod(one.bytes, NULL) == json_real_of(v)))
            return true;
        if (!at[one.length]) return false;
    }
}

static tdm_status refuse(const struct reader *r, const char *name, struct json_object *v, const char *expected)
{
    char value[UNKNOWN_VALUE_ROOM], said[2 * UNKNOWN_VALUE_ROOM + 64];
    unknown_json_text(v, value);
    if (expected)
        snprintf(said, sizeof said, ": expected %.*s, found %s", (int)strcspn(expected, "|"), expected, value);
    else
        snprintf(said, sizeof said, ": %s is not known, and may change replies", value);
    return unknowns_refuse(r->u, r->file, "field", span_text(name), value, said, r->err);
}

static tdm_status check_field(const struct reader *r, const char *name, struct json_object *v)
{
    const struct schema_key *row = schema_key(r->c->schema, SCHEMA_HF, span_text(name));
    char value[UNKNOWN_VALUE_ROOM];
    if (!v) return TDM_OK; /* null */
    if (row && row->use == SCHEMA_ONLY) return is_one_of(row->text, v) ? TDM_OK : refuse(r, name, v, row->text);
    if ((row && row->use != SCHEMA_HARMLESS) || unknown_json_is_neutral(span_text(name), v)) return TDM_OK;
    if (!row) return refuse(r, name, v, NULL);
    unknown_json_text(v, value);
    return unknowns_note(r->u, span_text(name), value, row->text, r->err);
}

static tdm_status check_fields(const struct reader *r, struct json_object *o)
{
    tdm_status status = TDM_OK;
    for (struct json_walk m = json_walk(o); !status && json_next(&m);) status = check_field(r, m.key, m.value);
    return status;
}

/* A window that is switched on, or not switched off and shorter than the context; 0: none. */
static tdm_status get_window(const struct reader *r, uint32_t *out)
{
    bool on = true, found = false;
    uint64_t window = 0;
    *out = 0;
    tdm_status status = json_get_bool(r->text, "use_sliding_window", &on, &found, r->file, r->err);
    if (status || !on) return status;
    if (found && !r->c->schema->windows)
        return refuse(r, "use_sliding_window", json_get(r->text, "use_sliding_window"), "false");
    status = json_get_u64(r->text, "sliding_window", 0, INT64_MAX, &window, &found, r->file, r->err);
    if (status || !found || !window) return status;
    /* If layers with windows are of another kind, the window says which layers these are, however long it is. */
    if (window >= (r->c->schema->window_base ? INT32_MAX : r->c->context_length)) return status;
    if (!r->c->schema->windows) return refuse(r, "sliding_window", json_get(r->text, "sliding_window"), "null");
    *out = (uint32_t)window;
    return TDM_OK;
}

/* ---- Kinds of layers --------------------------------------------------------------------------------------------- */

/* The layers without positions: a flag for each that has them, or every n-th. */
static tdm_status read_unrotated(const struct reader *r)
{
    struct config *c = r->c;
    struct json_object *flags = NULL;
    uint32_t interval = c->schema->unrotated;
    bool found;
    if (!interval) return TDM_OK;
    tdm_status status = get_number(r, "no_rope_layer_interval", 1, 2 * CONFIG_MAX_LAYERS, &interval, &found);
    if (!status) status = json_get_array(r->text, "no_rope_layers", &flags, NULL, r->file, r->err);
    if (status) return status;
    if (flags && json_length(flags) != c->layers)
        return error_set(r->err, TDM_E_FORMAT, "%s: field no_rope_layers: expected %u entries, found %zu", r->file,
                         c->layers, json_length(flags));
    for (uint32_t i = 0; i < c->layers; i++)
        c->unrotated[i] = flags ? !json_truth_of(json_at(flags, i)) : (i + 1) % interval == 0;
    return TDM_OK;
}

static tdm_status read_kinds(const struct reader *r)
{
    struct config *c = r->c;
    struct json_object *types = NULL;
    uint32_t interval = c->schema->interval, window = 0, first = 0, pattern = c->schema->pattern;
    bool found;
    tdm_status status =
        get_number(r, "full_attention_interval", 1, 2 * CONFIG_MAX_LAYERS, &interval, &found);
    if (!status) status = json_get_array(r->text, "layer_types", &types, NULL, r->file, r->err);
    if (!status) status = read_unrotated(r);
    if (!status) status = get_window(r, &window);
    if (!status && pattern)
        status = get_number(r, "sliding_window_pattern|_sliding_window_pattern", 0, INT32_MAX, &pattern, &found);
    if (!status && window) status = get_number(r, "max_window_layers", 0, INT32_MAX, &first, &found);
    if (status) return status;
    config_set_interval(c, interval);
    if (!types) config_set_windows(c, window, pattern);
    for (uint32_t i = 0; i < first && i < c->layers; i++) c->window[i] = 0;
    if (!types) return TDM_OK;
    if (json_length(types) != c->layers)
        return error_set(r->err, TDM_E_FORMAT,
                         "%s: field layer_types: expected %u entries (num_hidden_layers), found %zu", r->file,
                         c->layers, json_length(types));
    for (uint32_t i = 0; i < c->layers; i++) {
        struct json_object *v = json_at(types, i);
        const char *kind = json_is(v, JSON_STRING) ? json_text_of(v) : "another type";
        bool linear = c->schema->interval > 1 && !strcmp(kind, "linear_attention");
        bool windowed = c->schema->windows && !strcmp(kind, "sliding_attention");
        c->full_attention[i] = !linear;
        c->window[i] = windowed ? window : 0;
        if (!linear && !windowed && strcmp(kind, "full_attention"))
            return error_set(r->err, TDM_E_UNSUPPORTED,
                             "%s: field layer_types: expected full_attention or %s, found "
                             "%.40s",
                             r->file, c->schema->interval > 1 ? "linear_attention" : "sliding_attention", kind);
    }
    return TDM_OK;
}

/* ---- Shapes of heads --------------------------------------------------------------------------------------------- */

/* What per_layer_config says of a layer, by its number or by its kind; the rest stays. */
static tdm_status read_shape(const struct reader *r, struct json_object *list, uint32_t layer, uint32_t *kv_heads,
                             uint32_t *head_dim)
{
    char number[FIELD_ROOM];
    struct json_object *o = NULL;
    snprintf(number, sizeof number, "%u", layer);
    tdm_status status = json_get_object(list, number, &o, NULL, r->file, r->err);
    if (!status && !o)
        status = json_get_object(list, r->c->window[layer] ? "sliding_attention" : "full_attention", &o, NULL, r->file,
                                 r->err);
    if (status || !o) return status;
    uint64_t kv = *kv_heads, dim = *head_dim;
    for (struct json_walk m = json_walk(o); json_next(&m);) {
        if (!m.value || !strcmp(m.key, "head_dim") || !strcmp(m.key, "num_key_value_heads")) continue;
        char full[FIELD_ROOM];
        snprintf(full, sizeof full, "per_layer_config.%u.%.80s", layer, m.key);
        status = refuse(r, full, m.value, NULL);
        if (status) return status;
    }
    status = json_get_u64(o, "num_key_value_heads", 1, CONFIG_MAX_HEADS, &kv, NULL, r->file, r->err);
    if (!status) status = json_get_u64(o, "head_dim", 1, CONFIG_MAX_WIDTH, &dim, NULL, r->file, r->err);
    *kv_heads = (uint32_t)kv;
    *head_dim = (uint32_t)dim;
    return status;
}

/* The shapes of both kinds of layers, layer by layer; of one kind all must agree. */
static tdm_status read_layer_shapes(const struct reader *r, struct json_object *list)
{
    struct config *c = r->c;
    struct config_attention *a = &c->attention;
    const uint32_t kv = a->window_kv_heads, dim = a->window_head_dim;
    bool seen[2] = {false};
    for (uint32_t i = 0; i < c->layers; i++) {
        bool windowed = c->window[i];
        uint32_t kv_heads = kv, head_dim = dim;
        uint32_t *own_kv = windowed ? &a->window_kv_heads : &a->kv_heads,
                 *own_dim = windowed ? &a->window_head_dim : &a->head_dim;
        tdm_status status = read_shape(r, list, i, &kv_heads, &head_dim);
        if (status) return status;
        if (seen[windowed] && (kv_heads != *own_kv || head_dim != *own_dim))
            return error_set(
                r->err, TDM_E_UNSUPPORTED,
                "%s: field per_layer_config: expected %u key/value heads of %u in layer %u as in others of "
                "its kind, found %u of %u",
                r->file, *own_kv, *own_dim, i, kv_heads, head_dim);
        *own_kv = kv_heads;
        *own_dim = head_dim;
        seen[windowed] = true;
    }
    return TDM_OK;
}

/* Where a checkpoint names the shapes of layers with windows, those of the others, and what else differs. */
static tdm_status read_shapes(const struct reader *r)
{
    struct config *c = r->c;
    struct config_experts *e = &c->experts;
    struct config_attention *a = &c->attention;
    struct json_object *list = NULL;
    bool same = false, wide = false, experts = false, found;
    uint32_t kv_heads = a->kv_heads, head_dim = 512;
    if (!c->schema->shapes) return TDM_OK;
    a->window_kv_heads = a->kv_heads;
    a->window_head_dim = a->head_dim;
    tdm_status status = json_get_bool(r->text, "attention_k_eq_v", &same, NULL, r->file, r->err);
    if (!status) status = json_get_bool(r->text, "use_double_wide_mlp", &wide, NULL, r->file, r->err);
    if (!status) status = json_get_bool(r->text, "enable_moe_block", &experts, NULL, r->file, r->err);
    if (!status) status = get_number(r, "global_head_dim", 1, CONFIG_MAX_WIDTH, &head_dim, &found);
    if (!status) status = get_number(r, "num_global_key_value_heads", 1, CONFIG_MAX_HEADS, &kv_heads, &found);
    if (!status) status = json_get_object(r->text, "per_layer_config", &list, NULL, r->file, r->err);
    if (status) return status;
    a->head_dim = head_dim;
    if (same) a->kv_heads = kv_heads;
    a->values_are_keys = same;
    if (wide && a->shared_layers) c->feed.shared_intermediate = 2 * c->feed.intermediate;
    if (!experts) e->count = e->used = e->intermediate = 0;
    return list ? read_layer_shapes(r, list) : TDM_OK;
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

/* A value that may stand in several places, and must be the same there. */
static tdm_status same_real(const struct reader *r, struct json_object *o, const char *in, const char *key, double *out,
                            bool *has)
{
    double v = *out;
    bool found = false;
    tdm_status status = json_get_double(o, key, &v, &found, r->file, r->err);
    if (!status && found && *has && v != *out)
        return error_set(r->err, TDM_E_UNSUPPORTED, "%s: field %s.%s: expected %g as elsewhere in the file, found %g",
                         r->file, in, key, *out, v);
    *out = v;
    *has |= found;
    return status;
}

/* The kind that such a text means; "default" where positions are not scaled. */
static const char *kind_meant(const char *text)
{
    return !strcmp(text, "mrope") ? "default" : !strcmp(text, "su") ? "longrope" : text;
}

/* How positions are scaled, or one of the spellings of "not at all": by the newer name where there are both, which must
 * mean the same. */
static tdm_status read_kind(const struct reader *r, struct json_object *o, const char *in, bool *scaled)
{
    static const char *const names[] = {"rope_type", "type"};
    const char *before = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *kind = NULL, *expected = before;
        char name[FIELD_ROOM];
        tdm_status status = json_get_string(o, names[i], &kind, NULL, NULL, r->file, r->err);
        if (status) return status;
        if (!kind) continue;
        kind = kind_meant(kind);
        if (before && !strcmp(kind, before)) continue;
        if (!before) {
            before = kind;
            if (!strcmp(kind, "default")) continue;
            *scaled = r->c->schema->scaled && rotary_kind(kind, &r->c->rope.scaling.kind);
            if (*scaled) continue;
            expected = "default";
        }
        snprintf(name, sizeof name, "%s.%s", in, names[i]);
        status = refuse(r, name, json_get(o, names[i]), expected);
        if (status) return status;
    }
    return TDM_OK;
}

/* The divisors of each pair, of which there are two lists. */
static tdm_status read_divisors(const struct reader *r, struct json_object *o)
{
    static const char *const names[] = {"short_factor", "long_factor"};
    struct config_rope_scaling *s = &r->c->rope.scaling;
    for (int i = 0; i < 2; i++) {
        struct json_object *list = NULL;
        tdm_status status = json_get_array(o, names[i], &list, NULL, r->file, r->err);
        if (status) return status;
        for (size_t k = 0; k < json_length(list) && k < CONFIG_MAX_HEAD / 2; k++)
            s->divisors[i][k] = (float)json_real_of(json_at(list, k));
        s->listed |= list != NULL;
    }
    return TDM_OK;
}

/* The numbers that the kind of scaling goes by. */
static tdm_status read_scaling(const struct reader *r, struct json_object *o, const char *in)
{
    struct config_rope_scaling *s = &r->c->rope.scaling;
    bool llama = s->kind == CONFIG_SCALING_LLAMA3, found = false, has_amplitude = false;
    double factor = s->factor, slow = s->slow, fast = s->fast, amplitude = 1, above = 0, below = 0, attention = 0;
    uint64_t original = 0;
    bool divides = llama || s->kind == CONFIG_SCALING_LINEAR || s->kind == CONFIG_SCALING_YARN;
    const struct {
        const char *name;
        double *out;
        bool needed;
    } reals[] = {{"factor", &factor, divides},
                 {llama ? "low_freq_factor" : "beta_slow", &slow, llama},
                 {llama ? "high_freq_factor" : "beta_fast", &fast, llama},
                 {"mscale", &above, false},
                 {"mscale_all_dim", &below, false},
                 {"llama_4_scaling_beta", &attention, false}};
    tdm_status status = json_get_double(o, "attention_factor", &amplitude, &has_amplitude, r->file, r->err);
    for (size_t i = 0; !status && i < sizeof reals / sizeof *reals; i++) {
        bool there = false;
        status = json_get_double(o, reals[i].name, reals[i].out, &there, r->file, r->err);
        if (!status && reals[i].needed && !there)
            status = error_set(r->err, TDM_E_FORMAT, "%s: field %s.%s is missing", r->file, in, reals[i].name);
    }
    if (!status) status = json_get_bool(o, "truncate", &s->whole, NULL, r->file, r->err);
    for (int i = 0; !status && i < 2 && !found; i++)
        status = json_get_u64(i ? r->text : o, "original_max_position_embeddings", 1, CONFIG_MAX_CONTEXT, &original,
                              &found, r->file, r->err);
    if (!status && s->kind == CONFIG_SCALING_LONG) status = read_divisors(r, o);
    if (status) return status;
    s->original = found ? (uint32_t)original : r->c->context_length;
    if (s->kind == CONFIG_SCALING_LONG) {
        factor = (double)r->c->context_length / s->original;
        if (!has_amplitude && factor > 1) amplitude = sqrt(1 + log(factor) / log(s->original));
    }
    if (s->kind == CONFIG_SCALING_YARN && !has_amplitude) amplitude = rotary_yarn_amplitude(factor, above, below);
    s->factor = (float)factor;
    s->slow = (float)slow;
    s->fast = (float)fast;
    s->amplitude = (float)amplitude;
    s->attention = (float)attention;
    return TDM_OK;
}

static tdm_status check_position_field(const struct reader *r, const char *in, const char *name, struct json_object *v)
{
    static const char *const read[] = {"rope_type", "type", "rope_theta", "partial_rotary_factor", "mrope_section"};
    static const char *const scaled[] = {"factor",      "low_freq_factor", "high_freq_factor", "mscale",
                                         "truncate",    "mscale_all_dim",  "attention_factor", "llama_4_scaling_beta",
                                         "long_factor", "short_factor"};
    static const char *const harmless[] = {"mrope_interleaved", "original_max_position_embeddings", "beta_fast",
                                           "beta_slow"};
    char full[FIELD_ROOM];
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (!strcmp(name, read[i])) return TDM_OK;
    for (size_t i = 0; r->c->rope.scaling.kind && i < sizeof scaled / sizeof *scaled; i++)
        if (!strcmp(name, scaled[i])) return TDM_OK;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (!strcmp(name, harmless[i])) return TDM_OK;
    if (unknown_json_is_neutral(span_text(name), v)) return TDM_OK;
    snprintf(full, sizeof full, "%s.%.80s", in, name);
    return refuse(r, full, v, NULL);
}

/* One object that says how positions are encoded: of all layers, or with an object for each kind of layer, of which
 * that of full attention counts. */
static tdm_status read_rope(const struct reader *r, struct json_object *o, const char *in, bool counts,
                            struct positions *p)
{
    bool scaled = false;
    tdm_status status = counts ? read_kind(r, o, in, &scaled) : TDM_OK;
    for (struct json_walk m = json_walk(o); !status && json_next(&m);) {
        if (json_is(m.value, JSON_OBJECT)) {
            char inner[FIELD_ROOM];
            snprintf(inner, sizeof inner, "%.60s.%.60s", in, m.key);
            status = read_rope(r, m.value, inner, counts && !strcmp(m.key, "full_attention"), p);
            if (!status && counts && r->c->schema->window_base && !strcmp(m.key, "sliding_attention"))
                status = json_get_double(m.value, "rope_theta", &p->window_theta, NULL, r->file, r->err);
        } else {
            status = check_position_field(r, in, m.key, m.value);
        }
    }
    if (status || !counts) return status;
    status = same_real(r, o, in, "rope_theta", &p->theta, &p->has_theta);
    if (!status) status = same_real(r, o, in, "partial_rotary_factor", &p->part, &p->has_part);
    if (!status && scaled) status = read_scaling(r, o, in);
    if (!status) status = json_get_array(o, "mrope_section", &p->sections, NULL, r->file, r->err);
    return status;
}

/* Does the object say by itself that positions are not scaled? */
static bool says_unscaled(struct json_object *o)
{
    const char *kind = json_text_of(json_get(o, json_has(o, "rope_type") ? "rope_type" : "type"));
    return kind && !strcmp(kind, "default");
}

static tdm_status read_positions(const struct reader *r)
{
    static const char *const names[] = {"rope_parameters", "rope_scaling"};
    struct config *c = r->c;
    struct config_rope *rope = &c->rope;
    struct config_rope_scaling *scaling = &rope->scaling;
    struct positions p = {
        .theta = c->schema->window_base ? 1e6 : 10000, .part = c->schema->rotated, .window_theta = 10000};
    const struct config_rope_scaling unscaled = rope->scaling;
    tdm_status status = TDM_OK;
    bool said = false;
    if (c->positions) return TDM_OK;
    for (size_t i = 0; !status && i < 4; i++) {
        struct json_object *from = i < 2 ? r->text : r->top, *o = NULL;
        if (i >= 2 && r->top == r->text) break;
        status = json_get_object(from, names[i % 2], &o, NULL, r->file, r->err);
        if (status || !o) continue;
        struct config_rope_scaling before = rope->scaling;
        rope->scaling = unscaled;
        status = read_rope(r, o, names[i % 2], true, &p);
        bool other = scaling->kind ? memcmp(&before, &rope->scaling, sizeof before) != 0 : i % 2 && says_unscaled(o);
        if (!status && before.kind && other)
            status = error_set(r->err, TDM_E_UNSUPPORTED,
                               "%s: field %s: expected positions scaled as elsewhere in the file, found another way",
                               r->file, names[i % 2]);
        if (!scaling->kind) rope->scaling = before;
        said = true;
    }
    if (!said && c->schema->shapes) scaling->kind = CONFIG_SCALING_PROPORTIONAL, p.part = 0.25;
    if (!status && !p.has_theta) status = json_get_double(r->text, "rope_theta", &p.theta, NULL, r->file, r->err);
    if (!status) status = json_get_double(r->text, "rope_local_base_freq", &p.window_theta, NULL, r->file, r->err);
    if (!status && !p.has_part)
        status = json_get_double(r->text, "partial_rotary_factor", &p.part, NULL, r->file, r->err);
    if (status) return status;
    if (!(p.part > 0 && p.part <= 1))
        return error_set(r->err, TDM_E_FORMAT,
                         "%s: field partial_rotary_factor: expected more than 0 and at most 1, found %g", r->file,
                         p.part);
    if (c->schema->window_base) rope->window_theta = (float)p.window_theta;
    rope->theta = (float)p.theta;
    bool whole = scaling->kind == CONFIG_SCALING_PROPORTIONAL; /* heads are, but not all of their pairs turn */
    rope->dims = (uint32_t)(c->attention.head_dim * (whole ? 1 : p.part));
    if (whole) scaling->turning = (uint32_t)(c->attention.head_dim * p.part / 2);
    config_set_sections(c);
    for (size_t i = 0; i < json_length(p.sections); i++) {
        struct json_object *v = json_at(p.sections, i);
        int64_t size = json_is(v, JSON_INT) ? json_int_of(v) : -1;
        if (i >= 4 || size < 0)
            return error_set(r->err, TDM_E_FORMAT, "%s: field mrope_section: expected up to 4 sizes", r->file);
        rope->sections[i] = (uint32_t)(size < INT32_MAX ? size : INT32_MAX);
    }
    return TDM_OK;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static tdm_status read_architecture(struct reader *r)
{
    struct config *c = r->c;
    const char *model_type = NULL, *inner = NULL;
    struct json_object *text = NULL;
    char known[SCHEMA_NAMES_ROOM];
    tdm_status status = json_get_string(r->top, "model_type", &model_type, NULL, NULL, r->file, r->err);
    if (!status) status = json_get_object(r->top, "text_config", &text, NULL, r->file, r->err);
    if (!status && text) status = json_get_string(text, "model_type", &inner, NULL, NULL, r->file, r->err);
    if (status) return status;
    if (!model_type) return error_set(r->err, TDM_E_FORMAT, "%s: field model_type is missing", r->file);
    const struct schema *outer = schema_find(SCHEMA_HF, span_text(model_type));
    c->schema = inner ? schema_find(SCHEMA_HF, span_text(inner)) : outer;
    if (c->schema && c->schema != outer && !schema_is_named(c->schema->outer, span_text(model_type), NULL))
        c->schema = NULL;
    if (!c->schema && inner && outer) model_type = inner;
    schema_names(SCHEMA_HF, known, sizeof known);
    if (!c->schema)
        return error_set(r->err, TDM_E_UNSUPPORTED, "%s: unsupported architecture %.40s (this engine runs %s)", r->file,
                         model_type, known);
    schema_begin(c);
    if (text) r->text = text;
    return TDM_OK;
}

static tdm_status check_all_fields(const struct reader *r)
{
    tdm_status status = check_fields(r, r->text);
    if (!status && r->text != r->top) status = check_fields(r, r->top);
    return status;
}

tdm_status config_from_json(struct config *c, struct json_object *json, const char *file, struct unknowns *u,
                            tdm_error *err)
{
    struct reader r = {c, json, json, file, u, err};
    bool found;
    *c = (struct config){0};
    tdm_status status = read_architecture(&r);
    if (!status) status = json_get_bool(r.top, "tie_word_embeddings", &c->tied, NULL, file, err);
    if (!status) status = json_get_bool(r.text, "tie_word_embeddings", &c->tied, NULL, file, err);
    if (!status) status = get_number(&r, "num_hidden_layers|n_layer", 1, CONFIG_MAX_LAYERS, &c->layers, NULL);
    c->whole_layers = c->layers;
    if (!status)
        status = get_number(&r, "mtp_num_hidden_layers|num_nextn_predict_layers", 0, CONFIG_MAX_LAYERS, &c->mtp.layers,
                            &found);
    if (!status) status = read_rows(&r);
    if (!status) config_complete(c);
    if (!status) status = read_kinds(&r);
    if (!status) status = read_shapes(&r);
    if (!status) status = read_positions(&r);
    if (!status) rotary_set(&c->rope);
    return status ? status : check_all_fields(&r);
}
