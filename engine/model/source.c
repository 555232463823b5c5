#include "engine/model/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/model/map.h"
#include "engine/model/source_private.h"

/* Elements converted at a time: every type's block divides it, and it fits on any stack. */
enum { CHUNK = TYPE_MAX_BLOCK };

tdm_status source_reserve(struct source *s, size_t room, tdm_error *err)
{
    struct source_tensors *t = &s->tensors;
    t->items = calloc(room + 1, sizeof *t->items);
    t->list = malloc((room + 1) * sizeof *t->list);
    t->by_role = calloc((size_t)config_blocks(&s->config) * ROLE_COUNT, sizeof *t->by_role);
    t->room = room;
    return t->items && t->list && t->by_role ? TDM_OK : error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
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
    struct source_tensors *all = &s->tensors;
    struct tensor t = item.t;
    const struct item **slot = &all->by_role[(size_t)t.layer * ROLE_COUNT + t.role];
    if (*slot)
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: layer %u has two tensors for %s", s->path, t.name,
                         t.layer, role_name(t.role));
    assert_always(all->count < all->room);
    t.type = item.stored;
    if (s->options.quant != TYPE_F32 && role_is_matrix(t.role) && t.role != ROLE_ROUTER && !role_stays(t.role) &&
        item.stored <= TYPE_BF16 && type_row_bytes(s->options.quant, t.cols))
        t.type = s->options.quant;
    t.row_bytes = type_row_bytes(t.type, t.cols);
    if (!t.row_bytes)
        return error_set(err, TDM_E_FORMAT,
                         "%s: tensor %.80s: expected rows of a multiple of %u elements (%s), found %llu", s->path,
                         t.name, type_info(t.type)->block, type_info(t.type)->name, (unsigned long long)t.cols);
    t.bytes = t.rows * t.row_bytes;
    bool apart = item.runs || item.whole.count || item.whole.paired || item.whole.turned || item.whole.scales;
    t.data = t.type == item.stored && !apart ? item.whole.bytes : NULL;
    item.t = t;
    all->items[all->count] = item;
    all->list[all->count] = &all->items[all->count].t;
    *slot = &all->items[all->count++];
    if (t.layer < s->config.layers) s->parameters += t.rows * t.cols;
    return TDM_OK;
}

/* The rows of a head where a GGUF file has its halves alternately. */
static uint64_t paired_rows(const struct source *s, enum role role)
{
    const struct schema_tensor *t = schema_tensor(s->config.schema, role);
    return s->format == SOURCE_GGUF && t->order == ORDER_PAIRS ? s->config.attention.head_dim : 0;
}

/* Matrices that lie in a tensor one after the other. */
static uint64_t matrices_of(const struct source *s, enum role role)
{
    return role_is_experts(role) ? s->config.experts.count : 1;
}

tdm_status source_add(struct source *s, struct tensor t, const struct origin *from, tdm_error *err)
{
    uint64_t rows, cols;
    role_shape(&s->config, t.role, t.layer, &rows, &cols);
    tdm_status status = check_shape(s, &t, t.role, rows, cols, err);
    if (status) return status;
    bool turned = s->format == SOURCE_HF && schema_tensor(s->config.schema, t.role)->turned && !from->scales;
    const struct run whole = {.bytes = from->bytes,
                              .scales = from->scales,
                              .rows = rows,
                              .paired = paired_rows(s, t.role),
                              .turned = turned ? rows / matrices_of(s, t.role) : 0};
    return add_item(
        s,
        (struct item){
            .t = t, .stored = from->stored, .whole = whole, .generated = !from->bytes, .recipe = from->recipe},
        err);
}

/* Where the rows of the i-th part lie in the groups of a tensor; *at: of a group, the rows before it. */
static struct run part_run(const struct source *s, const struct schema_pieces *pieces, int i, uint32_t layer,
                           uint64_t all, const struct origin *from, uint64_t *at)
{
    const struct config *c = &s->config;
    uint64_t groups = schema_size(c, pieces->groups, layer), rows = schema_size(c, pieces->sizes[i], layer), cols;
    if (!rows) role_shape(c, pieces->parts[i], layer, &rows, &cols);
    bool turned = s->format == SOURCE_HF && pieces->turned && !from->scales;
    struct run run = {.bytes = from->bytes,
                      .scales = from->scales,
                      .rows = rows,
                      .first = *at,
                      .count = rows / groups,
                      .step = all / groups,
                      .paired = paired_rows(s, pieces->parts[i]),
                      .turned = turned ? all / matrices_of(s, pieces->parts[i]) : 0};
    *at += run.count;
    return run;
}

/* One tensor of those that lie in one: `parts` of them from part i on are its runs. */
static tdm_status add_runs(struct source *s, struct item item, const struct run *runs, uint32_t parts, tdm_error *err)
{
    if (parts == 1) {
        item.whole = runs[0];
        return add_item(s, item, err);
    }
    item.runs = malloc(parts * sizeof *item.runs);
    if (!item.runs) return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
    item.run_count = parts;
    for (uint32_t i = 0, begin = 0; i < parts; begin += runs[i++].rows) {
        item.runs[i] = runs[i];
        item.runs[i].begin = begin;
    }
    tdm_status status = add_item(s, item, err);
    if (status) free(item.runs);
    return status;
}

tdm_status source_add_several(struct source *s, struct tensor t, const struct schema_pieces *pieces,
                              const struct origin *from, tdm_error *err)
{
    struct run runs[SCHEMA_PARTS];
    uint64_t rows[SCHEMA_PARTS], cols = 0, all = 0, at = 0;
    uint32_t n = (uint32_t)pieces->n_parts;
    for (uint32_t i = 0; i < n; i++) {
        if (i && pieces->parts[i] == pieces->parts[i - 1]) continue;
        role_shape(&s->config, pieces->parts[i], t.layer, &rows[i], &cols);
        all += rows[i];
    }
    tdm_status status = check_shape(s, &t, pieces->parts[0], all, cols, err);
    for (uint32_t i = 0; i < n; i++) runs[i] = part_run(s, pieces, (int)i, t.layer, all, from, &at);
    for (uint32_t i = 0, end; !status && i < n; i = end) {
        for (end = i + 1; end < n && pieces->parts[end] == pieces->parts[i];) end++;
        t.role = pieces->parts[i];
        t.rows = rows[i];
        const struct item item = {.t = t, .stored = from->stored, .generated = !from->bytes, .recipe = from->recipe};
        status = add_runs(s, item, runs + i, end - i, err);
    }
    return status;
}

static bool is_numbered(const struct schema_pieces *pieces)
{
    return pieces->groups != SIZE_ONE;
}

/* The item of a tensor that comes in parts, with a run for each: numbered ones, or those that the schema lists. */
static tdm_status begin_parts(struct source *s, struct tensor t, const struct schema_pieces *pieces, enum type stored,
                              tdm_error *err)
{
    const struct config *c = &s->config;
    uint64_t cols, room = is_numbered(pieces) ? schema_size(c, pieces->groups, t.layer) : ROLE_COUNT;
    struct run *runs = calloc(room, sizeof *runs);
    uint32_t n = 0;
    if (!runs) return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
    role_shape(c, t.role, t.layer, &t.rows, &cols);
    if (is_numbered(pieces)) {
        uint64_t each = schema_size(c, pieces->rows, t.layer);
        for (; n < room; n++) runs[n] = (struct run){.begin = n * each, .rows = each};
    } else {
        for (const struct schema_pieces *p = c->schema->pieces; p->n_parts && n < room; p++)
            if (p->rows != SIZE_NONE && !is_numbered(p) && p->parts[0] == t.role)
                runs[n++] = (struct run){.begin = p->before_times * schema_size(c, p->before, t.layer),
                                         .rows = schema_size(c, p->rows, t.layer)};
    }
    tdm_status status = add_item(s, (struct item){.t = t, .stored = stored, .runs = runs, .run_count = n}, err);
    if (status) free(runs);
    return status;
}

tdm_status source_add_part(struct source *s, struct tensor t, const struct schema_pieces *pieces, uint32_t number,
                           enum type stored, const uint8_t *bytes, tdm_error *err)
{
    uint64_t rows, cols, each = schema_size(&s->config, pieces->rows, t.layer);
    uint64_t before = pieces->before_times * schema_size(&s->config, pieces->before, t.layer);
    uint64_t begin = is_numbered(pieces) ? number * each : before;
    t.role = pieces->parts[0];
    role_shape(&s->config, t.role, t.layer, &rows, &cols);
    tdm_status status = check_shape(s, &t, t.role, each, cols, err);
    const struct item **slot = &s->tensors.by_role[(size_t)t.layer * ROLE_COUNT + t.role];
    if (!status && !*slot) status = begin_parts(s, t, pieces, stored, err);
    if (status) return status;
    const struct item *item = *slot;
    struct run *run = NULL;
    for (uint32_t i = 0; i < item->run_count && !run; i++)
        if (item->runs[i].begin == begin && item->runs[i].rows == each) run = &item->runs[i];
    if (!run || run->bytes)
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: layer %u has two tensors for this part of %s", s->path,
                         t.name, t.layer, role_name(t.role));
    if (item->stored != stored)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: tensor %.80s: expected %s as for the other parts, found %s",
                         s->path, t.name, type_info(item->stored)->name, type_info(stored)->name);
    run->bytes = bytes;
    return TDM_OK;
}

tdm_status source_refuse(struct source *s, const char *file, const char *name, const char *said, uint64_t bytes,
                         tdm_error *err)
{
    tdm_status status = unknowns_refuse(&s->unknowns, file, "tensor", span_text(name), "", said, err);
    if (!status) source_skip(s, ROLE_HARMLESS, bytes);
    return status;
}

void source_skip(struct source *s, enum role_kind kind, uint64_t bytes)
{
    struct source_skipped *k = &s->skipped;
    struct source_count *n = kind == ROLE_MTP      ? &k->mtp
                             : kind == ROLE_VISION ? &k->vision
                             : kind == ROLE_AUDIO  ? &k->audio
                                                   : &k->other;
    n->tensors++;
    n->bytes += bytes;
}

/* Of a tensor in parts the first that is missing; run_count: none is. */
static uint32_t missing_part(const struct item *item)
{
    uint32_t i = 0;
    while (i < item->run_count && (item->runs[i].bytes || item->generated)) i++;
    return i;
}

static tdm_status check_complete(const struct source *s, tdm_error *err)
{
    char name[96];
    for (uint32_t layer = 0; layer < config_blocks(&s->config); layer++)
        for (int role = 0; role < ROLE_COUNT; role++) {
            if (!role_exists(&s->config, (enum role)role, layer)) continue;
            const struct item *item = s->tensors.by_role[(size_t)layer * ROLE_COUNT + (unsigned)role];
            uint32_t part = item ? missing_part(item) : 0;
            if (item && part < item->run_count)
                return error_set(err, TDM_E_FORMAT, "%s: %s %u of tensor %.80s is missing", s->path,
                                 role_is_experts((enum role)role) ? "expert" : "part", part, item->t.name);
            if (item) continue;
            role_file_name(name, sizeof name, &s->config, s->format == SOURCE_GGUF ? SCHEMA_GGUF : SCHEMA_HF,
                           (enum role)role, layer);
            return error_set(err, TDM_E_FORMAT, "%s: tensor %s is missing", s->path, name);
        }
    return TDM_OK;
}

/* ---- Rows as stored ---------------------------------------------------------------------------------------------- */

/* The run that a row is in. */
static const struct run *run_of(const struct item *item, uint64_t row)
{
    if (!item->runs) return &item->whole;
    uint64_t guess = row / item->runs[0].rows; /* right where all have as many */
    const struct run *run = &item->runs[guess < item->run_count ? guess : item->run_count - 1];
    if (row >= run->begin && row - run->begin < run->rows) return run;
    for (run = item->runs; row - run->begin >= run->rows; run++) continue;
    return run;
}

/* The number among the stored rows, of one tensor, of a row of the run. */
static uint64_t stored_index(const struct run *run, uint64_t row)
{
    row -= run->begin;
    uint64_t half = run->paired / 2, in_head = half ? row % run->paired : 0;
    if (half) row += 2 * (in_head % half) + in_head / half - in_head;
    return run->count ? run->first + row / run->count * run->step + row % run->count : row;
}

/* Of a row without its scales, where these lie apart. */
static uint64_t stored_bytes(const struct item *item)
{
    return item->whole.scales ? item->t.cols / 2 : type_row_bytes(item->stored, item->t.cols);
}

static const uint8_t *stored_row(const struct item *item, uint64_t row)
{
    const struct run *run = run_of(item, row);
    return run->bytes + stored_index(run, row) * stored_bytes(item);
}

/* How many of the n rows from `row` on follow each other as stored. */
static uint64_t adjacent_rows(const struct item *item, uint64_t row, uint64_t n)
{
    const struct run *run = run_of(item, row);
    uint64_t at = row - run->begin, left = run->rows - at;
    if (run->paired) left = 1;
    if (run->count && run->count - at % run->count < left) left = run->count - at % run->count;
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

/* Fields that had one value in all models of earlier releases are hashed only if they have another one. So the hashes
 * of those models, and the files that are kept under them, stay valid. */
static void hash_more(uint64_t *h, const struct config *c)
{
    const struct config_scales *scales = &c->scales;
    const struct config_attention *a = &c->attention;
    const struct config_rope_scaling *r = &c->rope.scaling;
    const float facts[] = {(float)c->norm,
                           (float)c->feed.kind,
                           (float)!a->gated,
                           scales->embedding - 1,
                           scales->residual - 1,
                           scales->logit_divisor - 1,
                           (float)c->positions,
                           (float)r->kind,
                           r->amplitude - 1,
                           r->attention,
                           (float)r->listed,
                           a->scale - 1.0f / sqrtf((float)a->head_dim),
                           a->cap,
                           scales->logit_cap,
                           c->rope.window_theta};
    const uint64_t more[] = {r->original, c->optional};
    const uint32_t shapes[] = {a->window_kv_heads, a->window_head_dim, a->shared_layers,
                               c->layer_input,     a->value_norm,      a->values_are_keys};
    enum { PAIRS = 128 }; /* that models of earlier releases had at most */
    bool usual = true;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) usual &= facts[i] == 0;
    for (uint32_t i = 0; i < c->layers; i++) usual &= !c->window[i] && !c->unrotated[i];
    if (usual) return;
    hash_bytes(h, facts, sizeof facts);
    hash_bytes(h, more, sizeof more);
    for (int i = 0; i < 2; i++) hash_bytes(h, r->divisors[i], PAIRS * sizeof *r->divisors[i]);
    if (a->window_head_dim) hash_bytes(h, shapes, sizeof shapes);
    hash_bytes(h, c->window, c->layers * sizeof *c->window);
    hash_bytes(h, c->unrotated, c->layers);
}

static uint64_t fingerprint(const struct source *s)
{
    enum { SAMPLE = 64, SAMPLES = 3 };
    const struct config *c = &s->config;
    const struct config_experts *e = &c->experts;
    const struct config_attention *a = &c->attention;
    const struct config_delta *d = &c->delta;
    uint64_t h = FNV_START;
    const uint32_t shape[] = {
        c->hidden,      c->layers,   c->feed.intermediate, c->vocab,       c->tied,
        a->heads,       a->kv_heads, a->head_dim,          c->rope.dims,   d->key_heads,
        d->value_heads, d->key_dim,  d->value_dim,         d->conv_kernel, d->value_heads_tiled,
    };
    hash_bytes(&h, shape, sizeof shape);
    hash_bytes(&h, &c->rms_eps, sizeof c->rms_eps);
    hash_bytes(&h, &c->rope.theta, sizeof c->rope.theta);
    hash_bytes(&h, c->full_attention, c->layers);
    const uint32_t mixture[] = {e->count, e->used, e->intermediate};
    if (e->count) hash_bytes(&h, mixture, sizeof mixture);
    if (!e->norm_topk) hash_number(&h, e->norm_topk);
    hash_more(&h, c);
    /* The usual forms aren't hashed, so files that earlier releases kept for models stay valid. */
    if (s->format == SOURCE_HF && !s->forms[FORM_ADD_ONE]) hash_number(&h, FORM_ADD_ONE);
    for (size_t i = 0; i < s->tensors.count; i++) {
        const struct item *item = &s->tensors.items[i];
        hash_bytes(&h, item->t.name, strlen(item->t.name));
        hash_number(&h, item->t.type);
        hash_number(&h, item->stored);
        hash_number(&h, item->t.rows);
        hash_number(&h, item->t.cols);
        if (item->generated) continue;
        if (item->runs || item->whole.scales || (item->whole.count && !item->whole.turned)) {
            uint64_t row = stored_bytes(item), last = item->t.rows - 1;
            for (uint64_t k = 0; k < SAMPLES; k++)
                hash_bytes(&h, stored_row(item, last / (SAMPLES - 1) * k), row < SAMPLE ? row : SAMPLE);
            source_release(s, &item->t);
            continue;
        }
        uint64_t bytes = item->t.rows * type_row_bytes(item->stored, item->t.cols);
        uint64_t n = bytes < SAMPLE ? bytes : SAMPLE;
        for (uint64_t k = 0; k < SAMPLES; k++) hash_bytes(&h, item->whole.bytes + (bytes - n) / (SAMPLES - 1) * k, n);
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
    s->unknowns.accept = s->options.accept_unknown;
    s->sampling = (struct sampling){NAN, NAN, NAN, NAN, NAN, NAN, -1};
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
    s->options.builtin = NULL; /* the caller's strings */
    s->options.accept_unknown = s->unknowns.accept = NULL;
    s->fingerprint = fingerprint(s);
    *out = s;
    return TDM_OK;
}

static void free_tensors(struct source_tensors *t)
{
    for (size_t i = 0; i < t->count; i++) free(t->items[i].runs);
    free(t->items);
    free(t->list);
    free(t->by_role);
}

static void close_files(struct source_files *f)
{
    gguf_close(f->gguf);
    gguf_close(f->head);
    shards_close(&f->shards);
    free(f->names);
    free(f->head_names);
}

static void free_text(struct source_text_memory *m)
{
    free(m->tokens);
    free(m->merges);
    free(m->types);
    free(m->scores);
    free(m->bos);
    free(m->eos);
    free(m->tokenizer_json);
    free(m->chat_template);
}

void source_close(struct source *s)
{
    if (!s) return;
    close_files(&s->files);
    free_text(&s->text_memory);
    free_tensors(&s->tensors);
    unknowns_free(&s->unknowns);
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

const struct sampling *source_sampling(const struct source *s)
{
    return &s->sampling;
}

const struct ends *source_ends(const struct source *s)
{
    return &s->ends;
}

struct notes *source_notes(struct source *s)
{
    return &s->notes;
}

void source_add_stop(struct source *s, int64_t id)
{
    if (id < s->config.vocab) config_add_stop(&s->config.stops, id);
}

size_t source_left_out(const struct source *s, const struct unknown_item **list)
{
    *list = s->unknowns.items;
    return s->unknowns.count;
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
    return s->format == SOURCE_GGUF ? gguf_path(s->files.gguf) : s->path;
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
    return s->format == SOURCE_GGUF ? s->files.gguf : NULL;
}

size_t source_tensors(const struct source *s, const struct tensor *const **list)
{
    *list = s->tensors.list;
    return s->tensors.count;
}

const struct tensor *source_tensor(const struct source *s, enum role role, uint32_t layer)
{
    if (role == ROLE_LM_HEAD && s->config.tied) role = ROLE_EMBED;
    if (!role_exists(&s->config, role, layer)) return NULL;
    return &s->tensors.by_role[(size_t)layer * ROLE_COUNT + role]->t;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* The same of a tensor that is stored column by column. */
static void column_floats(const struct item *item, uint64_t row, uint64_t first, float *out, size_t n)
{
    const struct run *run = run_of(item, row);
    uint64_t element = type_row_bytes(item->stored, 1), step = run->turned * element, index = stored_index(run, row);
    const uint8_t *at =
        run->bytes + (index / run->turned * item->t.cols + first) * step + index % run->turned * element;
    for (size_t i = 0; i < n; i++, at += step) type_widen(item->stored, at, out + i, 1);
}

/* Elements [first, first + n) of a row as float32; first is a multiple of CHUNK. */
static void row_floats(const struct item *item, uint64_t row, uint64_t first, float *out, size_t n)
{
    if (item->whole.turned && !item->generated)
        column_floats(item, row, first, out, n);
    else if (item->generated)
        synthetic_fill(&item->recipe, stored_index(&item->whole, row) * item->t.cols + first, out, n);
    else
        type_widen(item->stored, stored_row(item, row) + type_row_bytes(item->stored, first), out, n);
}

static bool is_as_stored(const struct item *item)
{
    return item->t.type == item->stored && !item->generated && !item->whole.turned && !item->whole.scales;
}

static void narrow_row(const struct item *item, uint64_t row, uint8_t *to)
{
    float values[CHUNK];
    for (uint64_t c = 0; c < item->t.cols; c += CHUNK) {
        size_t count = item->t.cols - c < CHUNK ? (size_t)(item->t.cols - c) : CHUNK;
        row_floats(item, row, c, values, count);
        type_narrow(item->t.type, values, to + type_row_bytes(item->t.type, c), count);
    }
}

/* Blocks of MXFP4 from n quants of a checkpoint, whose bytes have neighbours and not elements 16 apart, and scales. */
static void join_blocks(const uint8_t *quants, const uint8_t *scales, uint64_t n, uint8_t *to)
{
    for (uint64_t b = 0; b < n; b++, quants += 16, to += 17) {
        to[0] = scales[b];
        for (int i = 0; i < 16; i++) {
            int low = quants[i / 2] >> 4 * (i % 2) & 15, high = quants[8 + i / 2] >> 4 * (i % 2) & 15;
            to[1 + i] = (uint8_t)(low | high << 4);
        }
    }
}

static const uint8_t *scales_of(const struct item *item, uint64_t row)
{
    return item->whole.scales + stored_index(&item->whole, row) * (item->t.cols / 32);
}

static tdm_status copy_blocks(const struct item *item, uint64_t row, uint8_t *to, tdm_error *err)
{
    enum { SOME = 64 };
    uint8_t quants[16 * SOME], scales[SOME];
    for (uint64_t b = 0, n = item->t.cols / 32, some; b < n; b += some) {
        some = n - b < SOME ? n - b : SOME;
        tdm_status status = map_copy(stored_row(item, row) + 16 * b, 16 * some, quants, err);
        if (!status) status = map_copy(scales_of(item, row) + b, some, scales, err);
        if (status) return status;
        join_blocks(quants, scales, some, to + 17 * b);
    }
    return TDM_OK;
}

const void *source_rows(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n, void *scratch)
{
    const struct item *item = (const struct item *)t;
    (void)s;
    assert_always(row <= t->rows && n <= t->rows - row);
    bool as_stored = is_as_stored(item);
    if (as_stored && adjacent_rows(item, row, n) == n) return stored_row(item, row);
    uint8_t *p = scratch;
    for (uint64_t r = row; r < row + n; r++, p += t->row_bytes) {
        if (as_stored)
            memcpy(p, stored_row(item, r), t->row_bytes);
        else if (item->whole.scales)
            join_blocks(stored_row(item, r), scales_of(item, r), t->cols / 32, p);
        else
            narrow_row(item, r, p);
    }
    return scratch;
}

/* The stored elements of some chunks are read at once. */
static tdm_status copy_narrowed(const struct item *item, uint64_t row, uint8_t *to, tdm_error *err)
{
    enum { SOME = 8 * CHUNK };
    uint8_t stored[SOME * sizeof(float)]; /* no type that is narrowed is wider */
    float values[CHUNK];
    for (uint64_t c = 0; c < item->t.cols; c += SOME) {
        size_t count = item->t.cols - c < SOME ? (size_t)(item->t.cols - c) : SOME;
        tdm_status status = map_copy(stored_row(item, row) + type_row_bytes(item->stored, c),
                                     type_row_bytes(item->stored, count), stored, err);
        if (status) return status;
        for (size_t i = 0; i < count; i += CHUNK) {
            size_t n = count - i < CHUNK ? count - i : CHUNK;
            type_widen(item->stored, stored + type_row_bytes(item->stored, i), values, n);
            type_narrow(item->t.type, values, to + type_row_bytes(item->t.type, c + i), n);
        }
    }
    return TDM_OK;
}

tdm_status source_copy_rows(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n, void *scratch,
                            tdm_error *err)
{
    const struct item *item = (const struct item *)t;
    uint8_t *p = scratch;
    tdm_status status = TDM_OK;
    (void)s;
    assert_always(row <= t->rows && n <= t->rows - row);
    for (uint64_t end = row + n, some; row < end && !status; row += some, p += some * t->row_bytes) {
        some = is_as_stored(item) ? adjacent_rows(item, row, end - row) : 1;
        if (item->generated || item->whole.turned)
            narrow_row(item, row, p);
        else if (is_as_stored(item))
            status = map_copy(stored_row(item, row), some * t->row_bytes, p, err);
        else if (item->whole.scales)
            status = copy_blocks(item, row, p, err);
        else
            status = copy_narrowed(item, row, p, err);
    }
    return status;
}

tdm_status source_check(const struct source *s, tdm_error *err)
{
    const struct source_files *f = &s->files;
    tdm_status status = f->gguf ? gguf_check(f->gguf, err) : TDM_OK;
    if (!status && f->head) status = gguf_check(f->head, err);
    return status ? status : shards_check(&f->shards, err);
}

void source_vector(const struct source *s, enum role role, uint32_t layer, float *out, size_t n)
{
    const struct tensor *t = source_tensor(s, role, layer);
    assert_always(t && n == t->rows * t->cols && !role_is_matrix(role));
    const struct item *item = (const struct item *)t;
    for (uint64_t row = 0; row < t->rows; row++)
        for (uint64_t c = 0; c < t->cols; c += CHUNK)
            row_floats(item, row, c, out + row * t->cols + c, t->cols - c < CHUNK ? (size_t)(t->cols - c) : CHUNK);
    enum schema_form form = schema_tensor(s->config.schema, role)->form;
    if (!s->forms[form]) return;
    for (size_t i = 0; i < n; i++) out[i] = form == FORM_ADD_ONE ? 1 + out[i] : -expf(out[i]);
}

typedef void extent_step(const struct source *s, const void *data, uint64_t bytes);

/* Calls `what` with the bytes of rows [row, row + n), as they lie together in the file. */
static void each_extent(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n, extent_step *what)
{
    const struct item *item = (const struct item *)t;
    if (item->generated) return;
    uint64_t row_bytes = stored_bytes(item), turned = item->whole.turned;
    if (item->whole.scales && n) { /* with the rows between them: if rows alternate, all are read */
        uint64_t begin = stored_index(&item->whole, row), end = stored_index(&item->whole, row + n - 1) + 1;
        what(s, item->whole.bytes + begin * row_bytes, (end - begin) * row_bytes);
        return what(s, scales_of(item, row), (end - begin) * (t->cols / 32));
    }
    if (turned && n) { /* whole matrices */
        uint64_t begin = stored_index(&item->whole, row) / turned,
                 end = stored_index(&item->whole, row + n - 1) / turned + 1,
                 each = turned * t->cols * type_row_bytes(item->stored, 1);
        return what(s, item->whole.bytes + begin * each, (end - begin) * each);
    }
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
    const struct source_files *f = &s->files;
    if (f->gguf) gguf_release(f->gguf, data, bytes);
    if (f->head) gguf_release(f->head, data, bytes);
    shards_release(&f->shards, data, bytes);
}

void source_release_rows(const struct source *s, const struct tensor *t, uint64_t row, uint64_t n)
{
    each_extent(s, t, row, n, release);
}

void source_release(const struct source *s, const struct tensor *t)
{
    source_release_rows(s, t, 0, t->rows);
}

void source_forget(const struct source *s)
{
    const struct source_files *f = &s->files;
    if (f->gguf) gguf_forget(f->gguf);
    if (f->head) gguf_forget(f->head);
    shards_forget(&f->shards);
}
