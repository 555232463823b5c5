/* States on a device: pages of keys and values, counted and shared; buffers with the rest. Both are recycled. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/model.h"

enum { SLAB_BYTES = 8 << 20 };

/* ---- Sizes ------------------------------------------------------------------------------------------------ */

uint64_t model_kv_bytes(const struct gpu_model *m, uint32_t kind)
{
    return kv_plain_bytes(m->options.kv, m->shape.kind[kind].head_dim);
}

uint64_t model_page_bytes(const struct gpu_model *m, uint32_t kind)
{
    const struct state_kind *k = &m->shape.kind[kind];
    return 2 * model_kv_bytes(m, kind) * k->kv_heads * k->layers;
}

uint64_t model_conv_at(const struct gpu_model *m, uint32_t which)
{
    return sizeof(float) * (state_shape_recurrent_floats(&m->shape) + which * state_shape_conv_floats(&m->shape));
}

uint64_t model_waiting_at(const struct gpu_model *m)
{
    return model_conv_at(m, 2);
}

uint32_t model_waiting_rows(const struct gpu_model *m)
{
    return m->config.mtp.there ? GPU_WAITING + m->options.tokens : 0;
}

static uint64_t waiting_bytes(const struct gpu_model *m)
{
    return (uint64_t)model_waiting_rows(m) * m->config.hidden * sizeof(float);
}

uint64_t state_waiting_row(const struct gpu_state *s, uint32_t position)
{
    const struct gpu_model *m = s->model;
    uint32_t row = position % model_waiting_rows(m);
    return s->buffer->block.address + model_waiting_at(m) + (uint64_t)row * m->config.hidden * sizeof(float);
}

uint64_t model_logits_at(const struct gpu_model *m)
{
    return (model_waiting_at(m) + waiting_bytes(m) + 255) & ~(uint64_t)255;
}

static uint64_t logits_bytes(const struct gpu_model *m)
{
    return m->config.vocab * sizeof(float);
}

uint64_t model_topk_at(const struct gpu_model *m)
{
    return (logits_bytes(m) + 255) & ~(uint64_t)255;
}

uint64_t model_state_bytes(const struct gpu_model *m)
{
    return model_logits_at(m) + logits_bytes(m);
}

uint64_t gpu_model_states_used(const struct gpu_model *m)
{
    return m->states.used;
}

/* ---- Pages and buffers ------------------------------------------------------------------------------------- */

static tdm_status add_slab(struct gpu_model *m, uint32_t kind, tdm_error *err)
{
    struct page_store *store = &m->states.pages[kind];
    uint64_t page = model_page_bytes(m, kind);
    uint32_t n = page < SLAB_BYTES ? (uint32_t)(SLAB_BYTES / page) : 1;
    n = n > 64 ? 64 : n;
    struct slab *slab = calloc(1, sizeof *slab + n * sizeof *slab->pages);
    if (!slab) return error_set(err, TDM_E_NOMEM, "no memory for pages");
    tdm_status status = block_new(&slab->block, m->gpu, BLOCK_STATE, n * page, err);
    if (status) {
        free(slab);
        return status;
    }
    m->states.used += n * page;
    slab->next = store->slabs;
    store->slabs = slab;
    for (uint32_t i = n; i-- > 0;) {
        struct gpu_page *p = &slab->pages[i];
        *p = (struct gpu_page){.block = &slab->block, .at = i * page, .next = store->free};
        p->address = slab->block.address + p->at;
        store->free = p;
    }
    return TDM_OK;
}

static tdm_status take_page(struct gpu_page **out, struct gpu_model *m, uint32_t kind, tdm_error *err)
{
    struct page_store *store = &m->states.pages[kind];
    device_lock(m->gpu);
    tdm_status status = store->free ? TDM_OK : add_slab(m, kind, err);
    if (!status) {
        *out = store->free;
        store->free = (*out)->next;
        (*out)->references = 1;
    }
    device_unlock(m->gpu);
    return status;
}

/* With the lock. */
static void drop_page(struct page_store *store, struct gpu_page *p)
{
    if (--p->references) return;
    p->next = store->free;
    store->free = p;
}

/* A state's memory is taken: it is promised no more. */
static void count_buffer(struct gpu_model *m)
{
    m->states.used += model_state_bytes(m);
    device_lock(m->gpu);
    if (m->states.promised) {
        m->states.promised--;
        m->gpu->memory.promised -= model_state_bytes(m);
    }
    device_unlock(m->gpu);
}

static tdm_status take_buffer(struct buffer **out, struct gpu_model *m, tdm_error *err)
{
    device_lock(m->gpu);
    *out = m->states.free_buffers;
    if (*out) m->states.free_buffers = (*out)->next;
    device_unlock(m->gpu);
    if (*out) return TDM_OK;
    struct buffer *b = calloc(1, sizeof *b);
    if (!b) return error_set(err, TDM_E_NOMEM, "no memory for a state");
    tdm_status status = block_new(&b->block, m->gpu, BLOCK_STATE, model_state_bytes(m), err);
    if (!status) status = block_new(&b->logits, m->gpu, BLOCK_READ, model_topk_at(m) + TOPK_BYTES, err);
    if (status) {
        block_free(&b->block, m->gpu);
        free(b);
        return status;
    }
    count_buffer(m);
    *out = b;
    return TDM_OK;
}

void model_free_states(struct gpu_model *m)
{
    for (int kind = 0; kind < STATE_PAGES; kind++) {
        for (struct slab *next, *s = m->states.pages[kind].slabs; s; s = next) {
            next = s->next;
            block_free(&s->block, m->gpu);
            free(s);
        }
        m->states.pages[kind] = (struct page_store){0};
    }
    for (struct buffer *next, *b = m->states.free_buffers; b; b = next) {
        next = b->next;
        block_free(&b->block, m->gpu);
        block_free(&b->logits, m->gpu);
        free(b);
    }
    m->states.free_buffers = NULL;
}

/* ---- States ------------------------------------------------------------------------------------------------- */

static uint32_t page_count(uint32_t length)
{
    return (length + KV_PAGE - 1) / KV_PAGE;
}

/* The kinds of pages that states of this model have. */
static uint32_t kinds_of(const struct gpu_model *m)
{
    return m->shape.kinds + m->config.mtp.there;
}

static bool is_head(const struct gpu_state *s, uint32_t kind)
{
    return kind == s->model->shape.kinds;
}

/* The positions that pages of this kind hold, or would if the first ones were there. */
static uint32_t filled(const struct gpu_state *s, uint32_t kind)
{
    return is_head(s, kind) ? s->entries : s->length;
}

void state_drop_pages(struct gpu_state *s, uint32_t kind, uint32_t from)
{
    struct gpu_page **pages = s->pages[kind];
    device_lock(s->model->gpu);
    for (uint32_t i = from > s->first[kind] ? from : s->first[kind]; pages && pages[i]; i++) {
        drop_page(&s->model->states.pages[kind], pages[i]);
        pages[i] = NULL;
    }
    device_unlock(s->model->gpu);
    if (!from) s->first[kind] = 0;
}

void state_give_back(struct gpu_state *s, uint32_t kind, uint32_t first)
{
    device_lock(s->model->gpu);
    for (; s->first[kind] < first; s->first[kind]++) {
        struct gpu_page **page = &s->pages[kind][s->first[kind]];
        if (*page) drop_page(&s->model->states.pages[kind], *page);
        *page = NULL;
    }
    device_unlock(s->model->gpu);
}

static void drop_all_pages(struct gpu_state *s)
{
    for (uint32_t kind = 0; kind < kinds_of(s->model); kind++) state_drop_pages(s, kind, 0);
}

/* The first page of a kind that a copy of s has. */
static uint32_t first_copied(const struct gpu_state *s, uint32_t kind)
{
    uint32_t kept = state_kind_kept(&s->model->shape.kind[kind], s->length);
    return kept > s->first[kind] ? kept : s->first[kind];
}

/* Without contents. */
static tdm_status make(struct gpu_state **out, struct gpu_model *m, tdm_error *err)
{
    struct gpu_state *s = calloc(1, sizeof *s);
    if (s) {
        s->model = m;
        s->tokens = calloc(m->options.context, sizeof *s->tokens);
        for (uint32_t kind = 0; kind < kinds_of(m); kind++)
            s->pages[kind] = calloc(page_count(m->options.context) + 1, sizeof(struct gpu_page *));
        s->headless = !m->config.mtp.there;
    }
    bool made = s && s->tokens;
    for (uint32_t kind = 0; made && kind < kinds_of(m); kind++) made = s->pages[kind];
    tdm_status status = made ? device_check(m->gpu, err) : error_set(err, TDM_E_NOMEM, "no memory for a state");
    if (!status) status = take_buffer(&s->buffer, m, err);
    if (!status) s->logits = s->buffer->logits.mapped;
    if (status) {
        gpu_state_free(s);
        s = NULL;
    }
    *out = s;
    return status;
}

tdm_status gpu_state_new(struct gpu_state **out, struct gpu_model *m, tdm_error *err)
{
    tdm_status status = make(out, m, err);
    if (!status) {
        status = device_clear(m->gpu, &(*out)->buffer->block, err);
        if (status) {
            gpu_state_free(*out);
            *out = NULL;
        }
    }
    return status;
}

void gpu_state_free(struct gpu_state *s)
{
    if (!s) return;
    struct gpu_model *m = s->model;
    drop_all_pages(s);
    device_lock(m->gpu);
    if (s->buffer) {
        s->buffer->next = m->states.free_buffers;
        m->states.free_buffers = s->buffer;
    }
    device_unlock(m->gpu);
    free(s->tokens);
    for (uint32_t kind = 0; kind < kinds_of(m); kind++) free(s->pages[kind]);
    free(s);
}

void gpu_state_clear(struct gpu_state *s)
{
    drop_all_pages(s);
    s->length = s->entries = 0;
    s->headless = !s->model->config.mtp.there;
    s->logits_valid = false;
    s->broken = device_clear(s->model->gpu, &s->buffer->block, NULL) != TDM_OK;
}

tdm_status state_make_pages(struct gpu_state *s, uint32_t n, tdm_error *err)
{
    uint32_t context = s->model->options.context;
    if (n > context - s->length)
        return error_set(err, TDM_E_CONTEXT, "the context of %u tokens is full: %u are there, %u more", context,
                         s->length, n);
    for (uint32_t kind = 0; kind < kinds_of(s->model); kind++) {
        if (is_head(s, kind) && s->headless) continue;
        state_give_back(s, kind, first_copied(s, kind));
        for (uint32_t i = s->first[kind]; i < page_count(s->length + n); i++) {
            tdm_status status = s->pages[kind][i] ? TDM_OK : take_page(&s->pages[kind][i], s->model, kind, err);
            if (status) return status;
        }
    }
    return TDM_OK;
}

/* The device's part of a copy: the partial pages and the buffer, in one submission. */
static tdm_status copy_contents(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
{
    struct gpu_model *m = src->model;
    const struct block *from = &src->buffer->block, *to = &dst->buffer->block;
    struct copy copies[4 + STATE_PAGES];
    uint32_t n = 0;
    uint64_t recurrent = sizeof(float) * state_shape_recurrent_floats(&m->shape),
             conv = sizeof(float) * state_shape_conv_floats(&m->shape), at = model_waiting_at(m);
    if (recurrent) copies[n++] = (struct copy){from, to, 0, 0, recurrent};
    if (conv) copies[n++] = (struct copy){from, to, model_conv_at(m, src->conv), model_conv_at(m, 0), conv};
    if (!src->headless) copies[n++] = (struct copy){from, to, at, at, waiting_bytes(m)};
    at = model_logits_at(m);
    if (src->logits_valid && src->buffer->away) copies[n++] = (struct copy){from, to, at, at, logits_bytes(m)};
    for (uint32_t kind = 0; kind < kinds_of(m); kind++) {
        uint32_t tokens = filled(src, kind), full = tokens / KV_PAGE;
        uint64_t bytes = model_page_bytes(m, kind);
        if (tokens % KV_PAGE == 0 || !bytes || (is_head(src, kind) && src->headless)) continue;
        const struct gpu_page *a = src->pages[kind][full], *b = dst->pages[kind][full];
        copies[n++] = (struct copy){a->block, b->block, a->at, b->at, bytes};
    }
    dst->conv = 0;
    return device_copy(m->gpu, copies, n, err);
}

/* Shares the pages of a kind from `first` to `full`, which are full; all others that dst had are dropped. */
static void share_pages(struct gpu_state *dst, const struct gpu_state *src, uint32_t kind, uint32_t first,
                        uint32_t full)
{
    struct gpu_page **to = dst->pages[kind], **from = src->pages[kind];
    uint32_t same = first;
    if (dst->first[kind] <= first)
        while (same < full && to[same] == from[same]) same++;
    state_drop_pages(dst, kind, same);
    state_give_back(dst, kind, first);
    dst->first[kind] = first;
    device_lock(src->model->gpu);
    for (uint32_t i = same; i < full; i++) {
        to[i] = from[i];
        to[i]->references++;
    }
    device_unlock(src->model->gpu);
}

static tdm_status copy(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
{
    struct gpu_model *m = src->model;
    assert_always(dst->model == m && !src->broken);
    dst->broken = true;
    for (uint32_t kind = 0; kind < kinds_of(m); kind++)
        share_pages(dst, src, kind, first_copied(src, kind), filled(src, kind) / KV_PAGE);
    dst->headless = src->headless;
    dst->length = src->length;
    dst->entries = src->entries;
    tdm_status status = state_make_pages(dst, 0, err);
    if (!status) status = copy_contents(dst, src, err);
    if (status) return status;
    memcpy(dst->tokens, src->tokens, src->length * sizeof *dst->tokens);
    const struct buffer *from = src->buffer;
    struct buffer *to = dst->buffer;
    uint64_t best = model_topk_at(m);
    to->away = from->away;
    to->listed = from->listed;
    if (src->logits_valid && !to->away) memcpy(dst->logits, src->logits, logits_bytes(m));
    if (src->logits_valid && to->listed)
        memcpy((char *)to->logits.mapped + best, (char *)from->logits.mapped + best, TOPK_BYTES);
    dst->logits_valid = src->logits_valid;
    dst->broken = false;
    return TDM_OK;
}

tdm_status gpu_state_fork(struct gpu_state **out, const struct gpu_state *s, tdm_error *err)
{
    tdm_status status = make(out, s->model, err);
    if (!status) {
        status = copy(*out, s, err);
        if (status) {
            gpu_state_free(*out);
            *out = NULL;
        }
    }
    return status;
}

tdm_status gpu_state_copy(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
{
    tdm_status status = device_check(src->model->gpu, err);
    return status || dst == src ? status : copy(dst, src, err);
}

void gpu_state_share(struct gpu_state *dst, const struct gpu_state *src, uint32_t pages)
{
    assert_always(dst->model == src->model && pages * KV_PAGE <= src->length);
    for (uint32_t kind = 0; kind < kinds_of(dst->model); kind++) {
        if (is_head(dst, kind))
            state_drop_pages(dst, kind, 0);
        else
            share_pages(dst, src, kind, src->first[kind] < pages ? src->first[kind] : pages, pages);
    }
    dst->length = pages * KV_PAGE;
    dst->entries = 0;
    dst->headless = dst->broken = true;
    dst->logits_valid = false;
}

tdm_status gpu_state_make_room(struct gpu_state *s, uint32_t n, tdm_error *err)
{
    tdm_status status = device_check(s->model->gpu, err);
    return status ? status : state_make_pages(s, n, err);
}

uint32_t gpu_state_shared_pages(const struct gpu_state *a, const struct gpu_state *b)
{
    uint32_t full = (a->length < b->length ? a->length : b->length) / KV_PAGE;
    for (uint32_t kind = 0; kind < a->model->shape.kinds; kind++) {
        uint32_t first = a->first[kind] > b->first[kind] ? a->first[kind] : b->first[kind], same = first;
        while (same < full && a->pages[kind][same] == b->pages[kind][same]) same++;
        if (same > first || first == 0) return same;
    }
    return 0;
}

/* The cut is in a shared page of a kind: an own one with the same contents in its place. */
static tdm_status own_pages(struct gpu_state *s, uint32_t index, tdm_error *err)
{
    struct gpu_model *m = s->model;
    struct gpu_page *own[STATE_PAGES] = {NULL};
    struct copy copies[STATE_PAGES];
    uint32_t n = 0;
    tdm_status status = TDM_OK;
    for (uint32_t kind = 0; kind < m->shape.kinds && !status; kind++) {
        const struct gpu_page *a = s->pages[kind][index];
        uint64_t bytes = model_page_bytes(m, kind);
        if (a->references == 1 || !bytes) continue;
        status = take_page(&own[kind], m, kind, err);
        if (!status) copies[n++] = (struct copy){a->block, own[kind]->block, a->at, own[kind]->at, bytes};
    }
    if (!status && n) {
        status = device_copy(m->gpu, copies, n, err);
        s->broken = status != TDM_OK;
    }
    device_lock(m->gpu);
    for (uint32_t kind = 0; kind < m->shape.kinds; kind++) {
        struct gpu_page **page = &s->pages[kind][index];
        if (!own[kind]) continue;
        drop_page(&m->states.pages[kind], status ? own[kind] : *page);
        if (!status) *page = own[kind];
    }
    device_unlock(m->gpu);
    return status;
}

tdm_status gpu_state_cut(struct gpu_state *s, uint32_t length, tdm_error *err)
{
    assert_always(length < s->length && !s->broken && (s->headless || length > s->entries));
    tdm_status status = device_check(s->model->gpu, err);
    if (!status && length % KV_PAGE) status = own_pages(s, length / KV_PAGE, err);
    if (status) return status;
    for (uint32_t kind = 0; kind < s->model->shape.kinds; kind++) state_drop_pages(s, kind, page_count(length));
    s->length = length;
    s->logits_valid = s->buffer->away = s->buffer->listed = false;
    return TDM_OK;
}

const struct gpu_model *gpu_state_model(const struct gpu_state *s)
{
    return s->model;
}

uint32_t gpu_state_length(const struct gpu_state *s)
{
    return s->length;
}

const uint32_t *gpu_state_first(const struct gpu_state *s)
{
    return s->first;
}

bool gpu_state_broken(const struct gpu_state *s)
{
    return s->broken;
}

uint32_t gpu_state_entries(const struct gpu_state *s)
{
    return s->entries;
}

bool gpu_state_headless(const struct gpu_state *s)
{
    return s->headless;
}

const tdm_id *gpu_state_tokens(const struct gpu_state *s)
{
    return s->tokens;
}

bool gpu_state_has_logits(const struct gpu_state *s)
{
    return s->logits_valid;
}

const float *gpu_state_logits(const struct gpu_state *s)
{
    return s->logits_valid && !s->buffer->away ? s->logits : NULL;
}
