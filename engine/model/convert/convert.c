#include "engine/model/convert/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/model/schema/rotary.h"
#include "engine/model/schema/schema.h"
#include "engine/os/atomic_file.h"

/* Bytes written between two calls of progress, and rows converted at a time. */
enum { PANEL_BYTES = 1 << 20, KEY_ROOM = 96 };

struct conversion {
    const struct source *s;
    const struct config *c;
    const struct convert_options *options;
    struct gguf_writer *w;
    uint64_t done, total;
    bool reorder; /* value heads */
};

/* ---- Metadata ---------------------------------------------------------------------------------------------------- */

static uint32_t file_type(enum type type)
{
    switch (type) { /* the numbers of general.file_type: what most of the tensors are */
    case TYPE_F16:
        return 1;
    case TYPE_Q4_0:
        return 2;
    case TYPE_Q8_0:
        return 7;
    case TYPE_Q4_K:
        return 15; /* with the rest in Q6_K ("Q4_K_M") */
    case TYPE_Q6_K:
        return 18;
    case TYPE_MXFP4:
        return 38; /* with the rest in BF16 ("MXFP4_MOE") */
    default:
        return 32; /* BF16 */
    }
}

static void add_sampling(struct conversion *v)
{
    const struct sampling *d = source_sampling(v->s);
    if (d->top_k >= 0) gguf_add_i32(v->w, "general.sampling.top_k", d->top_k);
    if (!isnan(d->top_p)) gguf_add_f32(v->w, "general.sampling.top_p", d->top_p);
    if (!isnan(d->min_p)) gguf_add_f32(v->w, "general.sampling.min_p", d->min_p);
    if (!isnan(d->temperature)) gguf_add_f32(v->w, "general.sampling.temp", d->temperature);
    if (!isnan(d->repeat_penalty)) gguf_add_f32(v->w, "general.sampling.penalty_repeat", d->repeat_penalty);
}

/* A key that begins with the architecture's name. */
static const char *key_name(const struct conversion *v, const char *key, char room[KEY_ROOM])
{
    snprintf(room, KEY_ROOM, "%s%.*s", v->c->architecture, (int)schema_first_name(key).length, key);
    return room;
}

static void add_number(struct conversion *v, const char *key, uint32_t value)
{
    char room[KEY_ROOM];
    gguf_add_u32(v->w, key_name(v, key, room), value);
}

/* A number for each layer, by a row and the next one, or the one number that all have. */
static void add_numbers(struct conversion *v, const struct schema_key *row)
{
    const struct config *c = v->c;
    const uint32_t values[] = {*(const uint32_t *)((const char *)c + row[0].field),
                               *(const uint32_t *)((const char *)c + row[1].field)};
    int32_t each[CONFIG_MAX_LAYERS];
    char room[KEY_ROOM];
    bool same = true;
    for (uint32_t i = 0; i < c->layers; i++) {
        bool second = row->layers == SCHEMA_OPEN ? c->window[i] != 0 : config_shares(c, i);
        each[i] = (int32_t)(second && values[1] ? values[1] : values[0]);
        same &= each[i] == each[0];
    }
    if (same)
        add_number(v, row->gguf, (uint32_t)each[0]);
    else
        gguf_add_i32s(v->w, key_name(v, row->gguf, room), each, c->layers);
}

static void add_row(struct conversion *v, const struct schema_key *row)
{
    char room[KEY_ROOM];
    if (row->layers == SCHEMA_OPEN || row->layers == SCHEMA_OWN) add_numbers(v, row);
    if (row->layers > SCHEMA_FULL) return;
    const void *field = (const char *)v->c + row->field;
    if (row->use == SCHEMA_REAL)
        gguf_add_f32(v->w, key_name(v, row->gguf, room), *(const float *)field);
    else if (row->use == SCHEMA_FLAG && *(const bool *)field != (row->otherwise != 0))
        gguf_add_bool(v->w, key_name(v, row->gguf, room), *(const bool *)field);
    else if (row->use == SCHEMA_NUMBER || (row->use == SCHEMA_EQUAL && !row->optional))
        add_number(v, row->gguf, *(const uint32_t *)field);
}

/* Which layers are full attention: every n-th, or, where that is irregular, a flag for each block that is not. */
static void add_kinds(struct conversion *v)
{
    char room[KEY_ROOM];
    bool recurrent[CONFIG_MAX_LAYERS + 1];
    uint32_t interval = config_interval(v->c), blocks = config_blocks(v->c);
    for (uint32_t i = 0; i < blocks; i++) recurrent[i] = !v->c->full_attention[i];
    if (interval)
        add_number(v, ".full_attention_interval", interval);
    else
        gguf_add_bools(v->w, key_name(v, ".attention.recurrent_layers", room), recurrent, blocks);
}

/* How rotated positions are scaled, but for divisors, which are tensors. */
static void add_scaling(struct conversion *v)
{
    const struct config_rope_scaling *s = &v->c->rope.scaling;
    char room[KEY_ROOM];
    float amplitude = s->amplitude;
    bool yarn = s->kind == CONFIG_SCALING_YARN, list = s->kind == CONFIG_SCALING_LONG;
    if (s->kind == CONFIG_SCALING_LINEAR || yarn) {
        gguf_add_string(v->w, key_name(v, ".rope.scaling.type", room), span_text(rotary_name(s->kind)));
        gguf_add_f32(v->w, key_name(v, ".rope.scaling.factor", room), s->factor);
    }
    if (yarn) {
        gguf_add_f32(v->w, key_name(v, ".rope.scaling.yarn_beta_fast", room), s->fast);
        gguf_add_f32(v->w, key_name(v, ".rope.scaling.yarn_beta_slow", room), s->slow);
        amplitude /= rotary_yarn_amplitude(s->factor, 0, 0);
    }
    if (yarn || list || s->attention != 0) add_number(v, ".rope.scaling.original_context_length", s->original);
    if (amplitude != 1) gguf_add_f32(v->w, key_name(v, ".rope.scaling.attn_factor", room), amplitude);
    if (s->attention != 0) gguf_add_f32(v->w, key_name(v, ".attention.temperature_scale", room), s->attention);
}

/* What the rows of the schema say, and the keys that are read by code of their own. */
static void add_shape(struct conversion *v)
{
    const struct config *c = v->c;
    const struct config_rope *rope = &c->rope;
    char room[KEY_ROOM];
    int32_t sections[4];
    uint32_t window;
    for (int i = 0; i < 4; i++) sections[i] = (int32_t)rope->sections[i];
    for (int i = 0; i < SCHEMA_LISTS && c->schema->keys[i]; i++)
        for (const struct schema_key *row = c->schema->keys[i]; row->gguf || row->json; row++)
            if (row->gguf) add_row(v, row);
    add_number(v, ".block_count", config_blocks(c));
    if (c->mtp.there) add_number(v, ".nextn_predict_layers", 1);
    if (config_is_recurrent(c)) add_number(v, ".ssm.inner_size", c->delta.value_heads * c->delta.value_dim);
    if (rope->dims) add_number(v, ".rope.dimension_count", rope->dims);
    if (c->schema->sections) gguf_add_i32s(v->w, key_name(v, ".rope.dimension_sections", room), sections, 4);
    if (rope->dims) gguf_add_f32(v->w, key_name(v, ".rope.freq_base", room), rope->theta);
    add_scaling(v);
    config_window(c, &window);
    if (window) add_number(v, ".attention.sliding_window", window);
    if (c->schema->shapes) {
        bool windowed[CONFIG_MAX_LAYERS];
        for (uint32_t i = 0; i < c->layers; i++) windowed[i] = c->window[i];
        gguf_add_bools(v->w, key_name(v, ".attention.sliding_window_pattern", room), windowed, c->layers);
    }
    if (rope->window_theta != 0) gguf_add_f32(v->w, key_name(v, ".rope.freq_base_swa", room), rope->window_theta);
    if (config_is_recurrent(c)) add_kinds(v);
}

/* Refuses a property that this architecture has no key for in GGUF. */
static tdm_status check_words(const struct conversion *v, tdm_error *err)
{
    const struct config *c = v->c;
    uint32_t window, step = c->schema->unrotated, pattern = c->schema->pattern;
    const struct schema_key *row = schema_key(c->schema, SCHEMA_GGUF, span_text(".attention.sliding_window"));
    config_window(c, &window);
    bool usual = true;
    for (uint32_t i = 0; i < c->layers && !c->schema->shapes; i++)
        usual &= c->window[i] == (pattern && (i + 1) % pattern == 0 ? 0 : window);
    if (!usual || (window && !row))
        return error_set(err, TDM_E_UNSUPPORTED, "convert: windows of attention have no key in GGUF files of %s",
                         c->architecture);
    for (uint32_t i = 0; i < c->layers; i++)
        if (c->unrotated[i] != (step && (i + 1) % step == 0))
            return error_set(err, TDM_E_UNSUPPORTED,
                             "convert: which layers have no positions has no key in GGUF files of %s", c->architecture);
    if (c->rope.scaling.kind == CONFIG_SCALING_YARN && c->rope.scaling.whole == c->schema->between)
        return error_set(err, TDM_E_UNSUPPORTED, "convert: whether YaRN is truncated has no key in GGUF files of %s",
                         c->architecture);
    return TDM_OK;
}

/* Is it a key that add_shape writes? */
static bool is_of_shape(const struct conversion *v, struct span key)
{
    size_t prefix = strlen(v->c->architecture);
    if (!span_begins(key, v->c->architecture) || key.length == prefix || key.bytes[prefix] != '.') return false;
    const struct schema_key *row =
        schema_key(v->c->schema, SCHEMA_GGUF, (struct span){key.bytes + prefix, key.length - prefix});
    return row && (row->use == SCHEMA_NUMBER || row->use == SCHEMA_REAL || row->use == SCHEMA_FLAG ||
                   row->use == SCHEMA_SPECIAL || (row->use == SCHEMA_EQUAL && !row->optional));
}

/* Copies a GGUF file's other metadata unchanged. */
static void copy_keys(struct conversion *v, const struct gguf *g)
{
    static const char *const changed[] = {"general.file_type", "general.quantization_version", "general.alignment"};
    const struct gguf_key *keys;
    size_t n = gguf_keys(g, &keys);
    for (size_t i = 0; i < n; i++) {
        bool keep = !span_begins(keys[i].name, "split.") && !is_of_shape(v, keys[i].name);
        for (size_t k = 0; k < sizeof changed / sizeof *changed; k++)
            if (span_is(keys[i].name, changed[k])) keep = false;
        if (keep) gguf_add_key(v->w, &keys[i]);
    }
}

static tdm_status add_metadata(struct conversion *v, tdm_error *err)
{
    const struct gguf *g = source_gguf(v->s);
    tdm_status status = check_words(v, err);
    if (status) return status;
    if (g) {
        copy_keys(v, g);
        add_shape(v);
    } else {
        const struct source_text *t = source_text(v->s);
        gguf_add_string(v->w, "general.architecture", span_text(v->c->architecture));
        gguf_add_string(v->w, "general.type", span_text("model"));
        gguf_add_string(v->w, "general.name", span_text(v->c->name));
        add_sampling(v);
        add_shape(v);
        status = convert_tokenizer(v->w, v->s, err);
        if (t->chat_template.length) gguf_add_string(v->w, "tokenizer.chat_template", t->chat_template);
    }
    gguf_add_u32(v->w, "general.file_type", file_type(v->options->type));
    gguf_add_u32(v->w, "general.quantization_version", 2);
    return status;
}

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

static enum type target_type(const struct conversion *v, const struct tensor *t)
{
    if (!role_is_matrix(t->role)) return TYPE_F32;
    enum type type = matrix_type(t->role, v->options->type);
    return type_row_bytes(type, t->cols) ? type : TYPE_F16;
}

/* Which value head of the source goes to place g of the file. */
static uint64_t head_at(const struct config_delta *d, uint64_t g)
{
    return g % d->key_heads * (d->value_heads / d->key_heads) + g / d->key_heads;
}

/* Which index of the source goes to index i, where value heads of `dim` elements follow `before` others. */
static uint64_t index_at(const struct conversion *v, uint64_t i, uint64_t before, uint64_t dim)
{
    if (!v->reorder || i < before) return i;
    i -= before;
    return before + head_at(&v->c->delta, i / dim) * dim + i % dim;
}

static enum schema_order order_of(const struct conversion *v, enum role role)
{
    return schema_tensor(v->c->schema, role)->order;
}

/* Which row of a head goes to a place where its halves alternate. */
static uint64_t pair_at(const struct config *c, uint64_t row)
{
    uint64_t at = row % c->attention.head_dim;
    return row - at + at % 2 * (c->attention.head_dim / 2) + at / 2;
}

static uint64_t row_at(const struct conversion *v, enum role role, uint64_t row)
{
    switch (order_of(v, role)) {
    case ORDER_ROWS:
        return index_at(v, row, 0, v->c->delta.value_dim);
    case ORDER_ROWS_AFTER:
        return index_at(v, row, 2 * schema_size(v->c, SIZE_LINEAR_KEY, 0), v->c->delta.value_dim);
    case ORDER_ROW_EACH:
        return index_at(v, row, 0, 1);
    case ORDER_PAIRS:
        return pair_at(v->c, row);
    default:
        return row;
    }
}

static uint64_t col_at(const struct conversion *v, enum role role, uint64_t col)
{
    switch (order_of(v, role)) {
    case ORDER_COLS:
        return index_at(v, col, 0, v->c->delta.value_dim);
    case ORDER_COL_EACH:
        return index_at(v, col, 0, 1);
    default:
        return col;
    }
}

/* The tensor of the file that it lies in with others, NULL: its own; and whether it is the first of these. */
static const struct schema_pieces *joined(const struct conversion *v, const struct tensor *t, bool *first)
{
    const struct schema_pieces *p = role_joined(v->c, t->role);
    *first = !p || p->parts[0] == t->role;
    return p;
}

static void declare_tensor(struct conversion *v, const struct tensor *t)
{
    char name[96];
    bool first;
    const struct schema_pieces *p = joined(v, t, &first);
    if (!first) return;
    uint64_t experts = role_is_experts(t->role) ? v->c->experts.count : 1, rows = t->rows;
    for (int i = 1; p && i < p->n_parts; i++) rows += source_tensor(v->s, p->parts[i], t->layer)->rows;
    bool column = t->cols == 1 && !role_is_matrix(t->role);
    bool vector = column || (rows == 1 && !role_is_matrix(t->role) && !schema_tensor(v->c->schema, t->role)->flat);
    enum schema_size height = schema_tensor(v->c->schema, t->role)->rows;
    if (column && (height == SIZE_EXPERTS_EXPERT || height == SIZE_EXPERTS_HIDDEN)) { /* biases: a row an expert */
        const uint64_t each[2] = {rows / v->c->experts.count, v->c->experts.count};
        role_file_name(name, sizeof name, v->c, SCHEMA_GGUF, t->role, t->layer);
        gguf_add_tensor(v->w, span_text(name), 2, each, TYPE_F32);
        return;
    }
    uint32_t dims = experts > 1 ? 3 : vector ? 1 : 2;
    role_file_name(name, sizeof name, v->c, SCHEMA_GGUF, t->role, t->layer);
    const uint64_t shape[3] = {column ? rows : t->cols, rows / experts, experts};
    gguf_add_tensor(v->w, span_text(name), dims, shape, target_type(v, t));
}

/* The lists of divisors, by the names that they have where there are one or two. */
static const char *divisor_names(const struct config_rope_scaling *s, int i)
{
    static const char *const names[] = {"rope_factors_short.weight", "rope_factors_long.weight"};
    if (s->kind == CONFIG_SCALING_LONG) return names[i];
    bool several = s->kind == CONFIG_SCALING_LLAMA3 || s->kind == CONFIG_SCALING_PROPORTIONAL || s->listed;
    return !i && several ? "rope_freqs.weight" : NULL;
}

static void declare_divisors(struct conversion *v)
{
    const uint64_t pairs = v->c->rope.dims / 2;
    for (int i = 0; i < 2; i++)
        if (divisor_names(&v->c->rope.scaling, i))
            gguf_add_tensor(v->w, span_text(divisor_names(&v->c->rope.scaling, i)), 1, &pairs, TYPE_F32);
}

/* Pairs that don't turn have 1e30, as the public converters write it. */
static tdm_status write_divisors(struct conversion *v, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int i = 0; i < 2 && !status; i++) {
        float values[CONFIG_MAX_HEAD / 2];
        uint32_t n = v->c->rope.dims / 2;
        if (!divisor_names(&v->c->rope.scaling, i)) continue;
        for (uint32_t k = 0; k < n; k++)
            values[k] = isinf(v->c->rope.scaling.divisors[i][k]) ? 1e30f : v->c->rope.scaling.divisors[i][k];
        status = gguf_write_data(v->w, values, n * sizeof *values, err);
    }
    return status;
}

static tdm_status advance(struct conversion *v, uint64_t bytes, tdm_error *err)
{
    v->done += bytes;
    if (v->options->progress && v->options->progress(v->options->context, v->done, v->total))
        return error_set(err, TDM_E_CANCELLED, "cancelled");
    return TDM_OK;
}

static tdm_status write_vector(struct conversion *v, const struct tensor *t, tdm_error *err)
{
    size_t n = (size_t)(t->rows * t->cols);
    float *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out);
    tdm_status status = in && out ? TDM_OK : error_set(err, TDM_E_NOMEM, "convert: out of memory");
    if (!status) {
        source_vector(v->s, t->role, t->layer, in, n);
        for (uint64_t r = 0; r < t->rows; r++)
            for (uint64_t c = 0; c < t->cols; c++)
                out[r * t->cols + c] = in[row_at(v, t->role, r) * t->cols + col_at(v, t->role, c)];
        status = gguf_write_data(v->w, out, n * sizeof *out, err);
    }
    free(in);
    free(out);
    return status ? status : advance(v, n * sizeof(float), err);
}

/* One row in the target type, at out. */
static void convert_row(struct conversion *v, const struct tensor *t, enum type target, uint64_t row, void *scratch,
                        float *values, float *moved, uint8_t *out)
{
    const void *in = source_rows(v->s, t, row_at(v, t->role, row), 1, scratch);
    bool columns_move = v->reorder && order_of(v, t->role) == ORDER_COLS;
    if (t->type == target && !columns_move) {
        memcpy(out, in, (size_t)t->row_bytes);
        return;
    }
    type_widen(t->type, in, values, (size_t)t->cols);
    if (columns_move) {
        for (uint64_t c = 0; c < t->cols; c++) moved[c] = values[col_at(v, t->role, c)];
        values = moved;
    }
    type_narrow(target, values, out, (size_t)t->cols);
}

/* Rows [begin, end). */
static tdm_status write_rows(struct conversion *v, const struct tensor *t, uint64_t begin, uint64_t end, tdm_error *err)
{
    enum type target = target_type(v, t);
    uint64_t row_bytes = type_row_bytes(target, t->cols);
    uint64_t panel = row_bytes < PANEL_BYTES ? PANEL_BYTES / row_bytes : 1;
    uint8_t *scratch = malloc((size_t)t->row_bytes), *out = malloc((size_t)(panel * row_bytes));
    float *values = malloc((size_t)t->cols * 2 * sizeof *values);
    tdm_status status = scratch && out && values ? TDM_OK : error_set(err, TDM_E_NOMEM, "convert: out of memory");
    for (uint64_t row = begin; !status && row < end; row += panel) {
        uint64_t n = end - row < panel ? end - row : panel;
        for (uint64_t r = 0; r < n; r++)
            convert_row(v, t, target, row + r, scratch, values, values + t->cols, out + r * row_bytes);
        status = gguf_write_data(v->w, out, n * row_bytes, err);
        if (!status) status = advance(v, n * row_bytes, err);
    }
    free(scratch);
    free(out);
    free(values);
    return status;
}

static tdm_status write_matrix(struct conversion *v, const struct tensor *t, tdm_error *err)
{
    tdm_status status = write_rows(v, t, 0, t->rows, err);
    source_release(v->s, t);
    return status;
}

/* Writes a tensor whose parts lie together: of each group the rows of every part. */
static tdm_status write_joined(struct conversion *v, const struct schema_pieces *p, uint32_t layer, tdm_error *err)
{
    uint64_t groups = schema_size(v->c, p->groups, layer);
    tdm_status status = TDM_OK;
    for (uint64_t g = 0; g < groups && !status; g++)
        for (int i = 0; i < p->n_parts && !status; i++) {
            const struct tensor *t = source_tensor(v->s, p->parts[i], layer);
            uint64_t each = t->rows / groups;
            status = role_is_matrix(t->role) ? write_rows(v, t, g * each, (g + 1) * each, err)
                                             : write_vector(v, t, err); /* in one group */
        }
    return status;
}

static tdm_status write_tensor(struct conversion *v, const struct tensor *t, tdm_error *err)
{
    bool first;
    const struct schema_pieces *p = joined(v, t, &first);
    if (!first) return TDM_OK;
    if (p) return write_joined(v, p, t->layer, err);
    return role_is_matrix(t->role) ? write_matrix(v, t, err) : write_vector(v, t, err);
}

static tdm_status write_model(struct conversion *v, const char *path, tdm_error *err)
{
    const struct tensor *const *list;
    size_t n = source_tensors(v->s, &list);
    struct atomic_file *file;
    tdm_status status = add_metadata(v, err);
    if (status) return status;
    declare_divisors(v);
    for (size_t i = 0; i < n; i++) {
        declare_tensor(v, list[i]);
        v->total += list[i]->rows * type_row_bytes(target_type(v, list[i]), list[i]->cols);
    }
    status = atomic_file_new_named(&file, path, err);
    if (status) return status;
    status = gguf_write_start(v->w, file, err);
    if (!status) status = write_divisors(v, err);
    for (size_t i = 0; !status && i < n; i++) status = write_tensor(v, list[i], err);
    if (!status) status = source_check(v->s, err);
    if (status) {
        atomic_file_abort(file);
        return status;
    }
    assert_always(gguf_write_done(v->w));
    return atomic_file_commit(file, err);
}

bool convert_makes(enum type type)
{
    return type < TYPE_COUNT && type != TYPE_F32 && type_info(type)->narrows;
}

tdm_status convert_to_gguf(const struct source *s, const char *path, const struct convert_options *options,
                           tdm_error *err)
{
    if (!convert_makes(options->type))
        return error_set(err, TDM_E_ARG,
                         "convert: expected the type q8_0, q6_k, q4_k, q4_0, mxfp4, bf16 or f16, found %s",
                         options->type < TYPE_COUNT ? type_info(options->type)->name : "none");
    const struct config *c = source_config(s);
    const struct config_delta *d = &c->delta;
    if (options->type == TYPE_MXFP4 && !c->experts.count)
        return error_set(err, TDM_E_ARG, "convert: mxfp4 is a type of experts, and the model has none");
    struct conversion v = {.s = s,
                           .c = c,
                           .options = options,
                           .w = gguf_writer_new(),
                           .reorder = c->schema->tiled && !d->value_heads_tiled && d->value_heads > d->key_heads};
    if (!v.w) return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    tdm_status status = write_model(&v, path, err);
    gguf_writer_free(v.w);
    return status;
}
