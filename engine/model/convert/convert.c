#include "engine/model/convert/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/atomic_file.h"

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
    default:
        return 32; /* BF16 */
    }
}

static struct span text(const char *s)
{
    return (struct span){s, strlen(s)};
}

static void add_sampling(struct conversion *v)
{
    const struct source_sampling *d = source_sampling(v->s);
    if (d->top_k >= 0) gguf_add_i32(v->w, "general.sampling.top_k", d->top_k);
    if (!isnan(d->top_p)) gguf_add_f32(v->w, "general.sampling.top_p", d->top_p);
    if (!isnan(d->min_p)) gguf_add_f32(v->w, "general.sampling.min_p", d->min_p);
    if (!isnan(d->temperature)) gguf_add_f32(v->w, "general.sampling.temp", d->temperature);
    if (!isnan(d->repeat_penalty)) gguf_add_f32(v->w, "general.sampling.penalty_repeat", d->repeat_penalty);
}

/* A key that begins with the architecture's name. */
static const char *key_name(const struct conversion *v, const char *key, char room[KEY_ROOM])
{
    snprintf(room, KEY_ROOM, "%s%s", v->c->architecture, key);
    return room;
}

static void add_number(struct conversion *v, const char *key, uint32_t value)
{
    char room[KEY_ROOM];
    gguf_add_u32(v->w, key_name(v, key, room), value);
}

/* The interval of full attention: GGUF has no list of layer kinds. */
static tdm_status add_interval(struct conversion *v, tdm_error *err)
{
    uint32_t interval = 0;
    while (interval < v->c->layers && !v->c->full_attention[interval]) interval++;
    interval++;
    for (uint32_t i = 0; i < v->c->layers; i++)
        if (v->c->full_attention[i] != ((i + 1) % interval == 0))
            return error_set(err, TDM_E_UNSUPPORTED,
                             "%s: layer %u breaks the regular interval of full attention, which "
                             "GGUF cannot express",
                             source_path(v->s), i);
    add_number(v, ".full_attention_interval", interval);
    return TDM_OK;
}

static tdm_status add_shape(struct conversion *v, tdm_error *err)
{
    const struct config *c = v->c;
    const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {
        {".block_count", config_blocks(c)},
        {".context_length", c->context_length},
        {".embedding_length", c->hidden},
        {".attention.head_count", c->heads},
        {".attention.head_count_kv", c->kv_heads},
        {".attention.key_length", c->head_dim},
        {".attention.value_length", c->head_dim},
        {".ssm.conv_kernel", c->conv_kernel},
        {".ssm.state_size", c->lin_key_dim},
        {".ssm.group_count", c->lin_key_heads},
        {".ssm.time_step_rank", c->lin_value_heads},
        {".ssm.inner_size", c->lin_value_heads * c->lin_value_dim},
        {".rope.dimension_count", c->rope_dims},
    };
    char room[KEY_ROOM];
    int32_t sections[4];
    for (int i = 0; i < 4; i++) sections[i] = (int32_t)c->rope_sections[i];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add_number(v, numbers[i].key, numbers[i].value);
    if (c->experts) {
        add_number(v, ".expert_count", c->experts);
        add_number(v, ".expert_used_count", c->experts_used);
        add_number(v, ".expert_feed_forward_length", c->expert_intermediate);
    }
    if (c->mtp) add_number(v, ".nextn_predict_layers", 1);
    add_number(v, c->experts ? ".expert_shared_feed_forward_length" : ".feed_forward_length", c->intermediate);
    gguf_add_i32s(v->w, key_name(v, ".rope.dimension_sections", room), sections, 4);
    gguf_add_f32(v->w, key_name(v, ".rope.freq_base", room), c->rope_theta);
    gguf_add_f32(v->w, key_name(v, ".attention.layer_norm_rms_epsilon", room), c->rms_eps);
    return add_interval(v, err);
}

static bool starts_with(struct span s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.length >= n && !memcmp(s.bytes, prefix, n);
}

/* A GGUF file's metadata goes over as it is, but for what the conversion changes. */
static void copy_keys(struct conversion *v, const struct gguf *g)
{
    char blocks[KEY_ROOM], heads[KEY_ROOM];
    const char *const changed[] = {"general.file_type", "general.quantization_version", "general.alignment",
                                   key_name(v, ".block_count", blocks), key_name(v, ".nextn_predict_layers", heads)};
    const struct gguf_key *keys;
    size_t n = gguf_keys(g, &keys);
    for (size_t i = 0; i < n; i++) {
        bool keep = !starts_with(keys[i].name, "split.");
        for (size_t k = 0; k < sizeof changed / sizeof *changed; k++)
            if (span_is(keys[i].name, changed[k])) keep = false;
        if (keep) gguf_add_key(v->w, &keys[i]);
    }
    add_number(v, ".block_count", config_blocks(v->c));
    if (v->c->mtp) add_number(v, ".nextn_predict_layers", 1);
}

static tdm_status add_metadata(struct conversion *v, tdm_error *err)
{
    const struct gguf *g = source_gguf(v->s);
    tdm_status status = TDM_OK;
    if (g) {
        copy_keys(v, g);
    } else {
        const struct source_text *t = source_text(v->s);
        gguf_add_string(v->w, "general.architecture", text(v->c->architecture));
        gguf_add_string(v->w, "general.type", text("model"));
        gguf_add_string(v->w, "general.name", text(v->c->name));
        add_sampling(v);
        status = add_shape(v, err);
        if (!status) status = convert_tokenizer(v->w, v->s, err);
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
static uint64_t head_at(const struct config *c, uint64_t g)
{
    return g % c->lin_key_heads * (c->lin_value_heads / c->lin_key_heads) + g / c->lin_key_heads;
}

/* Which index of the source goes to index i, where value heads of `dim` elements follow `before` others. */
static uint64_t index_at(const struct conversion *v, uint64_t i, uint64_t before, uint64_t dim)
{
    if (!v->reorder || i < before) return i;
    i -= before;
    return before + head_at(v->c, i / dim) * dim + i % dim;
}

static uint64_t row_at(const struct conversion *v, enum role role, uint64_t row)
{
    switch (role) {
    case ROLE_LIN_QKV:
    case ROLE_LIN_CONV:
        return index_at(v, row, 2 * (uint64_t)v->c->lin_key_heads * v->c->lin_key_dim, v->c->lin_value_dim);
    case ROLE_LIN_Z:
        return index_at(v, row, 0, v->c->lin_value_dim);
    case ROLE_LIN_A:
    case ROLE_LIN_B:
        return index_at(v, row, 0, 1);
    default:
        return row;
    }
}

static uint64_t col_at(const struct conversion *v, enum role role, uint64_t col)
{
    switch (role) {
    case ROLE_LIN_A_LOG:
    case ROLE_LIN_DT_BIAS:
        return index_at(v, col, 0, 1);
    case ROLE_LIN_OUT:
        return index_at(v, col, 0, v->c->lin_value_dim);
    default:
        return col;
    }
}

static void declare_tensor(struct conversion *v, const struct tensor *t)
{
    char name[96];
    uint64_t experts = role_is_experts(t->role) ? v->c->experts : 1;
    /* Other engines expect the shared gate as [hidden, 1]. */
    bool vector = t->rows == 1 && !role_is_matrix(t->role) && t->role != ROLE_SHARED_GATE;
    uint32_t dims = experts > 1 ? 3 : vector ? 1 : 2;
    role_gguf_name(name, sizeof name, v->c, t->role, t->layer);
    const uint64_t shape[3] = {t->cols, t->rows / experts, experts};
    gguf_add_tensor(v->w, text(name), dims, shape, target_type(v, t));
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
    bool columns_move = v->reorder && t->role == ROLE_LIN_OUT;
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

static tdm_status write_matrix(struct conversion *v, const struct tensor *t, tdm_error *err)
{
    enum type target = target_type(v, t);
    uint64_t row_bytes = type_row_bytes(target, t->cols);
    uint64_t panel = row_bytes < PANEL_BYTES ? PANEL_BYTES / row_bytes : 1;
    uint8_t *scratch = malloc((size_t)t->row_bytes), *out = malloc((size_t)(panel * row_bytes));
    float *values = malloc((size_t)t->cols * 2 * sizeof *values);
    tdm_status status = scratch && out && values ? TDM_OK : error_set(err, TDM_E_NOMEM, "convert: out of memory");
    for (uint64_t row = 0; !status && row < t->rows; row += panel) {
        uint64_t n = t->rows - row < panel ? t->rows - row : panel;
        for (uint64_t r = 0; r < n; r++)
            convert_row(v, t, target, row + r, scratch, values, values + t->cols, out + r * row_bytes);
        status = gguf_write_data(v->w, out, n * row_bytes, err);
        if (!status) status = advance(v, n * row_bytes, err);
    }
    free(scratch);
    free(out);
    free(values);
    source_release(v->s, t);
    return status;
}

static tdm_status write_model(struct conversion *v, const char *path, tdm_error *err)
{
    const struct tensor *const *list;
    size_t n = source_tensors(v->s, &list);
    struct atomic_file *file;
    tdm_status status = add_metadata(v, err);
    if (status) return status;
    for (size_t i = 0; i < n; i++) {
        declare_tensor(v, list[i]);
        v->total += list[i]->rows * type_row_bytes(target_type(v, list[i]), list[i]->cols);
    }
    status = atomic_file_new_shared(&file, path, err);
    if (status) return status;
    status = gguf_write_start(v->w, file, err);
    for (size_t i = 0; !status && i < n; i++)
        status = role_is_matrix(list[i]->role) ? write_matrix(v, list[i], err) : write_vector(v, list[i], err);
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
        return error_set(err, TDM_E_ARG, "convert: expected the type q8_0, q6_k, q4_k, q4_0, bf16 or f16, found %s",
                         options->type < TYPE_COUNT ? type_info(options->type)->name : "none");
    const struct config *c = source_config(s);
    struct conversion v = {.s = s,
                           .c = c,
                           .options = options,
                           .w = gguf_writer_new(),
                           .reorder = !c->value_heads_tiled && c->lin_value_heads > c->lin_key_heads};
    if (!v.w) return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    tdm_status status = write_model(&v, path, err);
    gguf_writer_free(v.w);
    return status;
}
