#include "engine/model/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/model/map.h"
#include "engine/model/safetensors.h"
#include "engine/model/source_private.h"

/* Elements converted at a time: every type's block divides it, and it fits on any stack. */
enum { CHUNK = TYPE_MAX_BLOCK };

tdm_status source_reserve(struct source *s, size_t room, tdm_error *err)
{
    s->items = calloc(room + 1, sizeof *s->items);
    s->list = malloc((room + 1) * sizeof *s->list);
    s->by_role = calloc((size_t)config_blocks(&s->config) * ROLE_COUNT, sizeof *s->by_role);
    s->room = room;
    return s->items && s->list && s->by_role ? TDM_OK : error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
}

static tdm_status check_shape(const struct source *s, const struct tensor *t, enum role role, uint64_t rows,
                              uint64_t cols, tdm_error *err)
{
    if (t->rows == rows && t->cols == cols) return TDM_OK;
    return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s (%s): expected %llu x %llu, found %llu x %llu", s->path,
                     t->name, role_name(role), (unsigned long long)rows, (unsigned long long)cols,
                     (unsigned long long)t->rows, (unsigned long long)t->cols);
}

/* Takes a tensor whose shape is right. */
static tdm_status add_item(struct source *s, struct item item, tdm_error *err)
{
    struct tensor t = item.t;
    const struct item **slot = &s->by_role[(size_t)t.layer * ROLE_COUNT + t.role];
    if (*slot)
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: layer %u has two tensors for %s", s->path, t.name,
                         t.layer, role_name(t.role));
    assert_always(s->count < s->room);
    t.type = item.stored;
    if (s->options.quant != TYPE_F32 && role_is_matrix(t.role) && t.role != ROLE_ROUTER && item.stored <= TYPE_BF16 &&
        type_row_bytes(s->options.quant, t.cols))
        t.type = s->options.quant;
    t.row_bytes = type_row_bytes(t.type, t.cols);
    if (!t.row_bytes)
        return error_set(err, TDM_E_FORMAT,
                         "%s: tensor %.80s: expected rows of a multiple of %u elements (%s), found %llu", s->path,
                         t.name, type_info(t.type)->block, type_info(t.type)->name, (unsigned long long)t.cols);
    t.bytes = t.rows * t.row_bytes;
    t.data = t.type == item.stored && !item.stripe.count ? item.bytes : NULL;
    item.t = t;
    s->items[s->count] = item;
    s->list[s->count] = &s->items[s->count].t;
    *slot = &s->items[s->count++];
    if (t.layer < s->config.layers) s->parameters += t.rows * t.cols;
    return TDM_OK;
}

tdm_status source_add(struct source *s, struct tensor t, enum type stored, const uint8_t *bytes, struct recipe recipe,
                      tdm_error *err)
{
    uint64_t rows, cols;
    role_shape(&s->config, t.role, &rows, &cols);
    tdm_status status = check_shape(s, &t, t.role, rows, cols, err);
    return status ? status
                  : add_item(s, (struct item){.t = t, .stored = stored, .bytes = bytes, .recipe = recipe}, err);
}

tdm_status source_add_fused(struct source *s, struct tensor t, enum type stored, const uint8_t *bytes,
                            struct recipe recipe, tdm_error *err)
{
    static const enum role halves[] = {ROLE_EXPERTS_GATE, ROLE_EXPERTS_UP};
    uint64_t rows, cols, each = s->config.expert_intermediate;
    role_shape(&s->config, ROLE_EXPERTS_GATE_UP, &rows, &cols);
    tdm_status status = check_shape(s, &t, ROLE_EXPERTS_GATE_UP, rows, cols, err);
    for (uint64_t i = 0; !status && i < 2; i++) {
        t.role = halves[i];
        t.rows = rows / 2;
        struct stripe stripe = {.first = i * each, .count = each, .step = 2 * each};
        status = add_item(
            s, (struct item){.t = t, .stored = stored, .bytes = bytes, .stripe = stripe, .recipe = recipe}, err);
    }
    return status;
}

tdm_status source_add_expert(struct source *s, struct tensor t, uint32_t expert, enum type stored, const uint8_t *bytes,
                             tdm_error *err)
{
    uint64_t rows, cols, experts = s->config.experts;
    role_shape(&s->config, t.role, &rows, &cols);
    tdm_status status = check_shape(s, &t, t.role, rows / experts, cols, err);
    if (status) return status;
    const struct item *item = s->by_role[(size_t)t.layer * ROLE_COUNT + t.role];
    if (!item) {
        const uint8_t **pieces = calloc(experts, sizeof *pieces);
        if (!pieces) return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
        struct stripe stripe = {.count = rows / experts, .step = rows / experts};
        t.rows = rows;
        status = add_item(s, (struct item){.t = t, .stored = stored, .stripe = stripe, .pieces = pieces}, err);
        if (status) {
            free(pieces);
            return status;
        }
        item = &s->items[s->count - 1];
    }
    if (!item->pieces || item->pieces[expert])
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: expert %u of layer %u has two tensors for %s", s->path,
                         t.name, expert, t.layer, role_name(t.role));
    if (item->stored != stored)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: tensor %.80s: expected %s as for other experts, found %s",
                         s->path, t.name, type_info(item->stored)->name, type_info(stored)->name);
    item->pieces[expert] = bytes;
    return TDM_OK;
}

void source_skip(struct source *s, enum role_kind kind, uint64_t bytes)
{
    struct source_skipped *k = &s->skipped;
    uint32_t *count = kind == ROLE_MTP ? &k->mtp : kind == ROLE_VISION ? &k->vision : &k->other;
    uint64_t *total = kind == ROLE_MTP ? &k->mtp_bytes : kind == ROLE_VISION ? &k->vision_bytes : &k->other_bytes;
    (*count)++;
    *total += bytes;
}

tdm_status source_check_sampling(const struct source *s, const char *file, tdm_error *err)
{
    const struct source_sampling *d = &s->sampling;
    const struct {
        const char *name;
        float value, low, high;
    } checks[] = {
        {"temperature", d->temperature, 0, 100},
        {"top_p", d->top_p, 0, 1},
        {"min_p", d->min_p, 0, 1},
        {"repetition penalty", d->repeat_penalty, 0, 100},
        {"presence penalty", d->presence_penalty, -100, 100},
        {"frequency penalty", d->frequency_penalty, -100, 100},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!isnan(checks[i].value) && !(checks[i].value >= checks[i].low && checks[i].value <= checks[i].high))
            return error_set(err, TDM_E_FORMAT, "%s: sampling default %s: expected %g to %g, found %g", file,
                             checks[i].name, (double)checks[i].low, (double)checks[i].high, (double)checks[i].value);
    return TDM_OK;
}

static tdm_status check_complete(const struct source *s, tdm_error *err)
{
    char gguf[96], hf[96];
    for (uint32_t layer = 0; layer < config_blocks(&s->config); layer++)
        for (int role = 0; role < ROLE_COUNT; role++) {
            if (!role_exists(&s->config, (enum role)role, layer)) continue;
            const struct item *item = s->by_role[(size_t)layer * ROLE_COUNT + (unsigned)role];
            uint32_t expert = 0;
            while (item && item->pieces && expert < s->config.experts && item->pieces[expert]) expert++;
            if (item && item->pieces && expert < s->config.experts)
                return error_set(err, TDM_E_FORMAT, "%s: expert %u of tensor %.80s is missing", s->path, expert,
                                 item->t.name);
            if (item) continue;
            role_gguf_name(gguf, sizeof gguf, &s->config, (enum role)role, layer);
            role_hf_name(hf, sizeof hf, &s->config, (enum role)role, layer);
            return error_set(err, TDM_E_FORMAT, "%s: tensor %s is missing", s->path,
                             s->format == SOURCE_GGUF ? gguf : hf);
        }
    return TDM_OK;
}

/* ---- Rows as stored ---------------------------------------------------------------------------------------------- */

static bool is_generated(const struct item *item)
{
    return !item->bytes && !item->pieces;
}

/* The number among the stored rows, of one tensor, of a row of the item. */
static uint64_t stored_index(const struct item *item, uint64_t row)
{
    const struct stripe *p = &item->stripe;
    return p->count ? p->first + row / p->count * p->step + row % p->count : row;
}

static const uint8_t *stored_row(const struct item *item, uint64_t row)
{
    uint64_t bytes = type_row_bytes(item->stored, item->t.cols);
    if (item->pieces) return item->pieces[row / item->stripe.count] + row % item->stripe.count * bytes;
    return item->bytes + stored_index(item, row) * bytes;
}

/* How many of the n rows from `row` on follow each other as stored. */
static uint64_t adjacent_rows(const struct item *item, uint64_t row, uint64_t n)
{
    uint64_t count = item->stripe.count, left = count ? count - row % count : n;
    return left < n ? left : n;
}

/* ---- Fingerprint ------------------------------------------------------------------------------------------------- */

static void hash_bytes(uint64_t *h, const void *data, size_t n)
{
    *h = fnv_bytes(*h, data, n);
}

static void hash_number(uint64_t *h, uint64_t v)
{
    hash_bytes(h, &v, sizeof v);
}

static uint64_t fingerprint(const struct source *s)
{
    enum { SAMPLE = 64, SAMPLES = 3 };
    const struct config *c = &s->config;
    uint64_t h = FNV_START;
    const uint32_t shape[] = {
        c->hidden,          c->layers,      c->intermediate,  c->vocab,       c->tied,
        c->heads,           c->kv_heads,    c->head_dim,      c->rope_dims,   c->lin_key_heads,
        c->lin_value_heads, c->lin_key_dim, c->lin_value_dim, c->conv_kernel, c->value_heads_tiled,
    };
    hash_bytes(&h, shape, sizeof shape);
    hash_bytes(&h, &c->rms_eps, sizeof c->rms_eps);
    hash_bytes(&h, &c->rope_theta, sizeof c->rope_theta);
    hash_bytes(&h, c->full_attention, c->layers);
    const uint32_t mixture[] = {c->experts, c->experts_used, c->expert_intermediate};
    if (c->experts) hash_bytes(&h, mixture, sizeof mixture);
    for (size_t i = 0; i < s->count; i++) {
        const struct item *item = &s->items[i];
        hash_bytes(&h, item->t.name, strlen(item->t.name));
        hash_number(&h, item->t.type);
        hash_number(&h, item->stored);
        hash_number(&h, item->t.rows);
        hash_number(&h, item->t.cols);
        if (is_generated(item)) continue;
        if (item->stripe.count) {
            uint64_t row = type_row_bytes(item->stored, item->t.cols), last = item->t.rows - 1;
            for (uint64_t k = 0; k < SAMPLES; k++)
                hash_bytes(&h, stored_row(item, last / (SAMPLES - 1) * k), row < SAMPLE ? row : SAMPLE);
            source_release(s, &item->t);
            continue;
        }
        uint64_t bytes = item->t.rows * type_row_bytes(item->stored, item->t.cols);
        uint64_t n = bytes < SAMPLE ? bytes : SAMPLE;
        for (uint64_t k = 0; k < SAMPLES; k++) hash_bytes(&h, item->bytes + (bytes - n) / (SAMPLES - 1) * k, n);
        source_release(s, &item->t);
    }
    return h;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

tdm_status source_open(struct source **out, const char *path, const struct source_options *options, tdm_error *err)
{
    *out = NULL;
    struct source *s = calloc(1, sizeof *s);
    if (s) s->path = strdup(path);
    if (!s || !s->path) {
        free(s);
        return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    }
    if (options) s->options = *options;
    s->sampling = (struct source_sampling){NAN, NAN, NAN, NAN, NAN, NAN, -1};
    struct stat st;
    tdm_status status;
    if (!type_info(s->options.quant)->narrows)
        status = error_set(err, TDM_E_ARG, "%s is not a type to quantise to", type_info(s->options.quant)->name);
    else if (!strncmp(path, "synthetic:", 10))
        status = source_open_synthetic(s, path, err);
    else if (stat(path, &st))
        status = error_errno(err, TDM_E_NOT_FOUND, "%s", path);
    else
        status = S_ISDIR(st.st_mode) ? source_open_hf(s, path, err) : source_open_gguf(s, path, err);
    if (!status) status = check_complete(s, err);
    if (status) {
        source_close(s);
        return status;
    }
    s->options.builtin = NULL; /* the caller's string */
    s->fingerprint = fingerprint(s);
    *out = s;
    return TDM_OK;
}

void source_close(struct source *s)
{
    if (!s) return;
    gguf_close(s->gguf);
    gguf_close(s->head);
    for (size_t i = 0; i < s->shard_count; i++) safetensors_close(s->shards[i]);
    free(s->shards);
    free(s->tokens);
    free(s->merges);
    free(s->types);
    free(s->names);
    free(s->head_names);
    free(s->tokenizer_json);
    free(s->chat_template);
    for (size_t i = 0; i < s->count; i++) free(s->items[i].pieces);
    free(s->items);
    free(s->list);
    free(s->by_role);
    free(s->path);
    free(s);
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

const struct config *source_config(const struct source *s)
{
    return &s->config;
}

const struct source_text *source_text(const struct source *s)
{
    return &s->text;
}

const struct source_sampling *source_sampling(const struct source *s)
{
    return &s->sampling;
}

const struct source_skipped *source_skipped(const struct source *s)
{
    return &s->skipped;
}

enum source_format source_format(const struct source *s)
{
    return s->format;
}

const char *source_path(const struct source *s)
{
    return s->format == SOURCE_GGUF ? gguf_path(s->gguf) : s->path;
}

uint64_t source_file_bytes(const struct source *s)
{
    return s->file_bytes;
}

uint64_t source_parameter_count(const struct source *s)
{
    return s->parameters;
}

uint64_t source_fingerprint(const struct source *s)
{
    return s->fingerprint;
}

uint64_t source_stamp(const struct source *s)
{
    return s->stamp;
}

const struct gguf *source_gguf(const struct source *s)
{
    return s->format == SOURCE_GGUF ? s->gguf : NULL;
}

size_t source_tensors(const struct source *s, const struct tensor *const **list)
{
    *list = s->list;
    return s->count;
}

const struct tensor *source_tensor(const struct source *s, enum role role, uint32_t layer)
{
    if (role == ROLE_LM_HEAD && s->config.tied) role = ROLE_EMBED;
    if (!role_exists(&s->config, role, layer)) return NULL;
    return &s->by_role[(size_t)layer * ROLE_COUNT + role]->t;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Elements [first, first + n) of a row as float32; first is a multiple of CHUNK. */
static void row_floats(const struct item *item, uint64_t row, uint64_t first, float *out, size_t n)
{
    if (is_generated(item))
        synthetic_fill(&item->recipe, stored_index(item, row) * item->t.cols + first, out, n);
    else
        type_widen(item->stored, stored_row(item, row) + type_row_bytes(item->stored, first), out, n);
}

const void *source_rows(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n, void *scratch)
{
    const struct item *item = (const struct item *)t;
    (void)s;
    assert_always(row <= t->rows && n <= t->rows - row);
    bool as_stored = t->type == item->stored && !is_generated(item);
    if (as_stored && adjacent_rows(item, row, n) == n) return stored_row(item, row);
    uint8_t *p = scratch;
    for (uint64_t r = row; r < row + n; r++, p += t->row_bytes) {
        if (as_stored) {
            memcpy(p, stored_row(item, r), t->row_bytes);
            continue;
        }
        float values[CHUNK];
        for (uint64_t c = 0; c < t->cols; c += CHUNK) {
            size_t count = t->cols - c < CHUNK ? (size_t)(t->cols - c) : CHUNK;
            row_floats(item, r, c, values, count);
            type_narrow(t->type, values, p + type_row_bytes(t->type, c), count);
        }
    }
    return scratch;
}

void source_vector(const struct source *s, enum role role, uint32_t layer, float *out, size_t n)
{
    const struct tensor *t = source_tensor(s, role, layer);
    assert_always(t && n == t->rows * t->cols && !role_is_matrix(role));
    const struct item *item = (const struct item *)t;
    for (uint64_t row = 0; row < t->rows; row++)
        for (uint64_t c = 0; c < t->cols; c += CHUNK)
            row_floats(item, row, c, out + row * t->cols + c, t->cols - c < CHUNK ? (size_t)(t->cols - c) : CHUNK);
    if (s->canonical) return;
    switch (role) {
    case ROLE_FINAL_NORM:
    case ROLE_INPUT_NORM:
    case ROLE_POST_NORM:
    case ROLE_Q_NORM:
    case ROLE_K_NORM:
    case ROLE_MTP_EMBED_NORM:
    case ROLE_MTP_HIDDEN_NORM:
    case ROLE_MTP_NORM:
        for (size_t i = 0; i < n; i++) out[i] = 1 + out[i];
        break;
    case ROLE_LIN_A_LOG:
        for (size_t i = 0; i < n; i++) out[i] = -expf(out[i]);
        break;
    default:
        break;
    }
}

typedef void extent_step(const struct source *s, const void *data, uint64_t bytes);

/* Calls `what` with the bytes of rows [row, row + n), as they lie together in the file. */
static void each_extent(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n, extent_step *what)
{
    const struct item *item = (const struct item *)t;
    if (is_generated(item)) return;
    uint64_t row_bytes = type_row_bytes(item->stored, t->cols);
    for (uint64_t end = row + n, some; row < end; row += some) {
        some = adjacent_rows(item, row, end - row);
        what(s, stored_row(item, row), some * row_bytes);
    }
}

static void will_read(const struct source *s, const void *data, uint64_t bytes)
{
    (void)s;
    map_will_read(data, bytes);
}

void source_will_read(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n)
{
    each_extent(s, t, row, n, will_read);
}

static void release(const struct source *s, const void *data, uint64_t bytes)
{
    if (s->gguf) gguf_release(s->gguf, data, bytes);
    if (s->head) gguf_release(s->head, data, bytes);
    for (size_t i = 0; i < s->shard_count; i++) safetensors_release(s->shards[i], data, bytes);
}

void source_release_rows(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n)
{
    each_extent(s, t, row, n, release);
}

void source_release(const struct source *s, const struct tensor *t)
{
    source_release_rows(s, t, 0, t->rows);
}
