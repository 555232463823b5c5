/* States on a device: pages of keys and values, counted and shared; buffers with the rest. Both are recycled. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/model.h"

enum { SLAB_BYTES = 8 << 20 };

/* ---- Sizes ------------------------------------------------------------------------------------------------ */

size_t gpu_kv_bytes(enum kv_type kv, uint32_t head_dim)
{
    size_t scales = (head_dim + 31) / 32;
    return KV_PAGE * (kv == KV_Q8_0 ? head_dim + 4 * scales : (kv == KV_F16 ? 2 : 4) * (size_t)head_dim);
}

uint64_t model_kv_bytes(const struct gpu_model *m)
{
    return gpu_kv_bytes(m->options.kv, m->config.head_dim);
}

uint64_t model_page_bytes(const struct gpu_model *m, enum page_kind kind)
{
    return 2 * model_kv_bytes(m) * m->config.kv_heads * (kind == PAGE_HEAD ? 1 : m->attention_layers);
}

size_t gpu_page_bytes(const struct gpu_model *m)
{
    return model_page_bytes(m, PAGE_LAYERS);
}

size_t gpu_head_page_bytes(const struct gpu_model *m)
{
    return m->config.mtp ? model_page_bytes(m, PAGE_HEAD) : 0;
}

size_t model_recurrent_floats(const struct config *c)
{
    size_t layers = 0;
    for (uint32_t i = 0; i < c->layers; i++) layers += !c->full_attention[i];
    return layers * c->lin_value_heads * c->lin_key_dim * c->lin_value_dim;
}

size_t model_conv_floats(const struct config *c)
{
    size_t layers = 0;
    for (uint32_t i = 0; i < c->layers; i++) layers += !c->full_attention[i];
    return layers * (c->conv_kernel - 1) * config_conv_channels(c);
}

size_t gpu_recurrent_floats(const struct gpu_model *m)
{
    return model_recurrent_floats(&m->config);
}

size_t gpu_conv_floats(const struct gpu_model *m)
{
    return model_conv_floats(&m->config);
}

uint64_t model_conv_at(const struct gpu_model *m, uint32_t which)
{
    return sizeof(float) * (model_recurrent_floats(&m->config) + which * model_conv_floats(&m->config));
}

uint64_t model_waiting_at(const struct gpu_model *m)
{
    return model_conv_at(m, 2);
}

uint32_t model_waiting_rows(const struct gpu_model *m)
{
    return m->config.mtp ? GPU_WAITING + m->options.tokens : 0;
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

uint64_t model_best_at(const struct gpu_model *m)
{
    return (logits_bytes(m) + 255) & ~(uint64_t)255;
}

/* ---- Pages and buffers ------------------------------------------------------------------------------------- */

static tdm_status add_slab(struct gpu_model *m, enum page_kind kind, tdm_error *err)
{
    struct page_store *store = &m->store[kind];
    uint64_t page = model_page_bytes(m, kind);
    if (!page) page = 1; /* without full attention a page is empty */
    uint32_t n = page < SLAB_BYTES ? (uint32_t)(SLAB_BYTES / page) : 1;
    n = n > 64 ? 64 : n;
    struct slab *slab = calloc(1, sizeof *slab + n * sizeof *slab->pages);
    if (!slab) return error_set(err, TDM_E_NOMEM, "no memory for pages");
    tdm_status status = block_new(&slab->block, m->gpu, BLOCK_DEVICE, n * page, err);
    if (status) {
        free(slab);
        return status;
    }
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

static tdm_status take_page(struct gpu_page **out, struct gpu_model *m, enum page_kind kind, tdm_error *err)
{
    struct page_store *store = &m->store[kind];
    tdm_status status = store->free ? TDM_OK : add_slab(m, kind, err);
    if (status) return status;
    *out = store->free;
    store->free = (*out)->next;
    (*out)->references = 1;
    return TDM_OK;
}

static void drop_page(struct page_store *store, struct gpu_page *p)
{
    if (--p->references) return;
    p->next = store->free;
    store->free = p;
}

static tdm_status take_buffer(struct buffer **out, struct gpu_model *m, tdm_error *err)
{
    if (m->free_buffers) {
        *out = m->free_buffers;
        m->free_buffers = (*out)->next;
        return TDM_OK;
    }
    struct buffer *b = calloc(1, sizeof *b);
    if (!b) return error_set(err, TDM_E_NOMEM, "no memory for a state");
    tdm_status status = block_new(&b->block, m->gpu, BLOCK_DEVICE, model_logits_at(m) + logits_bytes(m), err);
    if (!status) status = block_new(&b->logits, m->gpu, BLOCK_READ, model_best_at(m) + BEST_BYTES, err);
    if (status) {
        block_free(&b->block, m->gpu);
        free(b);
        return status;
    }
    *out = b;
    return TDM_OK;
}

void model_free_states(struct gpu_model *m)
{
    for (int kind = 0; kind < PAGE_KINDS; kind++) {
        for (struct slab *next, *s = m->store[kind].slabs; s; s = next) {
            next = s->next;
            block_free(&s->block, m->gpu);
            free(s);
        }
        m->store[kind] = (struct page_store){0};
    }
    for (struct buffer *next, *b = m->free_buffers; b; b = next) {
        next = b->next;
        block_free(&b->block, m->gpu);
        block_free(&b->logits, m->gpu);
        free(b);
    }
    m->free_buffers = NULL;
}

/* ---- States ------------------------------------------------------------------------------------------------- */

static uint32_t page_count(uint32_t length)
{
    return (length + KV_PAGE - 1) / KV_PAGE;
}

/* The kinds of pages that states of this model have. */
static int kinds_of(const struct gpu_model *m)
{
    return m->config.mtp ? PAGE_KINDS : 1;
}

/* The positions that pages of this kind hold. */
static uint32_t filled(const struct gpu_state *s, enum page_kind kind)
{
    return kind == PAGE_HEAD ? s->entries : s->length;
}

static void drop_pages(struct gpu_state *s, enum page_kind kind, uint32_t from)
{
    struct gpu_page **pages = s->pages[kind];
    for (uint32_t i = from; i < page_count(s->model->options.context) && pages[i]; i++) {
        drop_page(&s->model->store[kind], pages[i]);
        pages[i] = NULL;
    }
}

static void drop_all_pages(struct gpu_state *s)
{
    for (int kind = 0; kind < kinds_of(s->model); kind++)
        if (s->pages[kind]) drop_pages(s, (enum page_kind)kind, 0);
}

/* Without contents. */
static tdm_status make(struct gpu_state **out, struct gpu_model *m, tdm_error *err)
{
    struct gpu_state *s = calloc(1, sizeof *s);
    if (s) {
        s->model = m;
        s->tokens = calloc(m->options.context, sizeof *s->tokens);
        for (int kind = 0; kind < kinds_of(m); kind++)
            s->pages[kind] = calloc(page_count(m->options.context) + 1, sizeof(struct gpu_page *));
        s->headless = !m->config.mtp;
    }
    bool made = s && s->tokens && s->pages[kinds_of(m) - 1] && s->pages[0];
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
    device_lock(m->gpu);
    tdm_status status = make(out, m, err);
    if (!status) {
        status = device_clear(m->gpu, &(*out)->buffer->block, err);
        if (status) {
            gpu_state_free(*out);
            *out = NULL;
        }
    }
    device_unlock(m->gpu);
    return status;
}

void gpu_state_free(struct gpu_state *s)
{
    if (!s) return;
    struct gpu_model *m = s->model;
    device_lock(m->gpu);
    drop_all_pages(s);
    if (s->buffer) {
        s->buffer->next = m->free_buffers;
        m->free_buffers = s->buffer;
    }
    device_unlock(m->gpu);
    free(s->tokens);
    for (int kind = 0; kind < PAGE_KINDS; kind++) free(s->pages[kind]);
    free(s);
}

void gpu_state_clear(struct gpu_state *s)
{
    device_lock(s->model->gpu);
    drop_all_pages(s);
    s->length = s->entries = 0;
    s->headless = !s->model->config.mtp;
    s->logits_valid = false;
    s->broken = device_clear(s->model->gpu, &s->buffer->block, NULL) != TDM_OK;
    device_unlock(s->model->gpu);
}

tdm_status state_make_pages(struct gpu_state *s, uint32_t n, tdm_error *err)
{
    uint32_t context = s->model->options.context;
    if (n > context - s->length)
        return error_set(err, TDM_E_CONTEXT, "the context of %u tokens is full: %u are there, %u more", context,
                         s->length, n);
    for (int kind = 0; kind < (s->headless ? 1 : PAGE_KINDS); kind++)
        for (uint32_t i = 0; i < page_count(s->length + n); i++) {
            if (s->pages[kind][i]) continue;
            tdm_status status = take_page(&s->pages[kind][i], s->model, (enum page_kind)kind, err);
            if (status) return status;
        }
    return TDM_OK;
}

/* The device's part of a copy: the partial pages and the buffer, in one submission. */
static tdm_status copy_contents(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
{
    struct gpu_model *m = src->model;
    const struct block *from = &src->buffer->block, *to = &dst->buffer->block;
    struct copy copies[6];
    uint32_t n = 0;
    uint64_t recurrent = sizeof(float) * model_recurrent_floats(&m->config),
             conv = sizeof(float) * model_conv_floats(&m->config), at = model_waiting_at(m);
    if (recurrent) copies[n++] = (struct copy){from, to, 0, 0, recurrent};
    if (conv) copies[n++] = (struct copy){from, to, model_conv_at(m, src->conv), model_conv_at(m, 0), conv};
    if (!src->headless) copies[n++] = (struct copy){from, to, at, at, waiting_bytes(m)};
    at = model_logits_at(m);
    if (src->logits_valid && src->buffer->away) copies[n++] = (struct copy){from, to, at, at, logits_bytes(m)};
    for (int kind = 0; kind < (src->headless ? 1 : PAGE_KINDS); kind++) {
        uint32_t tokens = filled(src, (enum page_kind)kind), full = tokens / KV_PAGE;
        uint64_t bytes = model_page_bytes(m, (enum page_kind)kind);
        const struct gpu_page *a = src->pages[kind][full], *b = dst->pages[kind][full];
        if (tokens % KV_PAGE && bytes) copies[n++] = (struct copy){a->block, b->block, a->at, b->at, bytes};
    }
    dst->conv = 0;
    return device_copy(m->gpu, copies, n, err);
}

/* Pages of a kind that both have in common among the first `most`. */
static uint32_t same_pages(const struct gpu_state *a, const struct gpu_state *b, enum page_kind kind, uint32_t most)
{
    uint32_t same = 0;
    while (same < most && a->pages[kind][same] == b->pages[kind][same]) same++;
    return same;
}

/* Full pages are shared. */
static void share_pages(struct gpu_state *dst, const struct gpu_state *src, enum page_kind kind)
{
    uint32_t full = filled(src, kind) / KV_PAGE, same = same_pages(dst, src, kind, full);
    drop_pages(dst, kind, same);
    for (uint32_t i = same; i < full; i++) {
        dst->pages[kind][i] = src->pages[kind][i];
        dst->pages[kind][i]->references++;
    }
}

static tdm_status copy_locked(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
{
    struct gpu_model *m = src->model;
    assert_always(dst->model == m && !src->broken);
    dst->broken = true;
    for (int kind = 0; kind < kinds_of(m); kind++) share_pages(dst, src, (enum page_kind)kind);
    dst->headless = src->headless;
    dst->length = src->length;
    dst->entries = src->entries;
    tdm_status status = state_make_pages(dst, 0, err);
    if (!status) status = copy_contents(dst, src, err);
    if (status) return status;
    memcpy(dst->tokens, src->tokens, src->length * sizeof *dst->tokens);
    const struct buffer *from = src->buffer;
    struct buffer *to = dst->buffer;
    uint64_t best = model_best_at(m);
    to->away = from->away;
    to->listed = from->listed;
    if (src->logits_valid && !to->away) memcpy(dst->logits, src->logits, logits_bytes(m));
    if (src->logits_valid && to->listed)
        memcpy((char *)to->logits.mapped + best, (char *)from->logits.mapped + best, BEST_BYTES);
    dst->logits_valid = src->logits_valid;
    dst->broken = false;
    return TDM_OK;
}

tdm_status gpu_state_fork(struct gpu_state **out, const struct gpu_state *s, tdm_error *err)
{
    device_lock(s->model->gpu);
    tdm_status status = make(out, s->model, err);
    if (!status) {
        status = copy_locked(*out, s, err);
        if (status) {
            gpu_state_free(*out);
            *out = NULL;
        }
    }
    device_unlock(s->model->gpu);
    return status;
}

tdm_status gpu_state_copy(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
{
    device_lock(src->model->gpu);
    tdm_status status = device_check(src->model->gpu, err);
    if (!status && dst != src) status = copy_locked(dst, src, err);
    device_unlock(src->model->gpu);
    return status;
}

tdm_status gpu_state_make_room(struct gpu_state *s, uint32_t n, tdm_error *err)
{
    device_lock(s->model->gpu);
    tdm_status status = device_check(s->model->gpu, err);
    if (!status) status = state_make_pages(s, n, err);
    device_unlock(s->model->gpu);
    return status;
}

uint32_t gpu_state_shared_pages(const struct gpu_state *a, const struct gpu_state *b)
{
    return same_pages(a, b, PAGE_LAYERS, (a->length < b->length ? a->length : b->length) / KV_PAGE);
}

const struct gpu_model *gpu_state_model(const struct gpu_state *s)
{
    return s->model;
}

uint32_t gpu_state_length(const struct gpu_state *s)
{
    return s->length;
}

bool gpu_state_broken(const struct gpu_state *s)
{
    return s->broken;
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

/* ---- To and from host memory ------------------------------------------------------------------------------- */

static tdm_status save_pages(const struct gpu_state *s, enum page_kind kind, void *out, uint32_t first, tdm_error *err)
{
    uint64_t page = model_page_bytes(s->model, kind);
    tdm_status status = TDM_OK;
    for (uint32_t i = first; i < page_count(filled(s, kind)) && !status && page; i++)
        status = device_read(s->model->gpu, s->pages[kind][i]->block, s->pages[kind][i]->at,
                             (char *)out + (i - first) * page, page, err);
    return status;
}

/* Rows that wait, to or from the host; they lie in a ring. */
static tdm_status move_waiting(const struct gpu_state *s, float *rows, bool save, tdm_error *err)
{
    struct gpu_model *m = s->model;
    const struct block *b = &s->buffer->block;
    uint64_t bytes = m->config.hidden * sizeof(float);
    tdm_status status = TDM_OK;
    for (uint32_t p = s->entries; p < s->length && !status; p++, rows += m->config.hidden) {
        uint64_t at = state_waiting_row(s, p) - b->address;
        status = save ? device_read(m->gpu, b, at, rows, bytes, err) : device_write(m->gpu, b, at, rows, bytes, err);
    }
    return status;
}

tdm_status gpu_state_save(const struct gpu_state *s, struct gpu_image *image, uint32_t first_page, tdm_error *err)
{
    struct gpu_model *m = s->model;
    const struct block *b = &s->buffer->block;
    device_lock(m->gpu);
    tdm_status status = device_check(m->gpu, err);
    if (!status) status = state_fetch_logits(s, err);
    if (!status && image->pages) status = save_pages(s, PAGE_LAYERS, image->pages, first_page, err);
    if (!status && image->recurrent)
        status = device_read(m->gpu, b, 0, image->recurrent, sizeof(float) * model_recurrent_floats(&m->config), err);
    if (!status && image->conv)
        status = device_read(m->gpu, b, model_conv_at(m, s->conv), image->conv,
                             sizeof(float) * model_conv_floats(&m->config), err);
    if (!status && image->head_pages && !s->headless) status = save_pages(s, PAGE_HEAD, image->head_pages, 0, err);
    if (!status && image->waiting && !s->headless) status = move_waiting(s, image->waiting, true, err);
    device_unlock(m->gpu);
    image->length = s->length;
    image->entries = s->entries;
    image->headless = s->headless;
    image->tokens = s->tokens;
    image->logits = s->logits_valid && !s->buffer->away ? s->logits : NULL;
    return status;
}

static tdm_status load_pages(struct gpu_state *s, enum page_kind kind, const void *from, uint32_t first, tdm_error *err)
{
    uint64_t page = model_page_bytes(s->model, kind);
    tdm_status status = TDM_OK;
    for (uint32_t i = first; i < page_count(filled(s, kind)) && !status && page; i++)
        status = device_write(s->model->gpu, s->pages[kind][i]->block, s->pages[kind][i]->at,
                              (const char *)from + (i - first) * page, page, err);
    return status;
}

static tdm_status load_locked(struct gpu_state *s, const struct gpu_image *image, uint32_t first_page, tdm_error *err)
{
    struct gpu_model *m = s->model;
    tdm_status status = device_check(m->gpu, err);
    s->broken = true;
    s->logits_valid = false;
    drop_pages(s, PAGE_LAYERS, first_page);
    if (m->config.mtp) drop_pages(s, PAGE_HEAD, 0);
    s->headless = image->headless || !m->config.mtp;
    s->length = image->length;
    s->entries = s->headless ? 0 : image->entries;
    if (!status) status = state_make_pages(s, 0, err);
    if (!status) status = load_pages(s, PAGE_LAYERS, image->pages, first_page, err);
    s->conv = 0;
    if (!status)
        status = device_write(m->gpu, &s->buffer->block, 0, image->recurrent,
                              sizeof(float) * model_recurrent_floats(&m->config), err);
    if (!status)
        status = device_write(m->gpu, &s->buffer->block, model_conv_at(m, 0), image->conv,
                              sizeof(float) * model_conv_floats(&m->config), err);
    if (!status && !s->headless) status = load_pages(s, PAGE_HEAD, image->head_pages, 0, err);
    if (!status && !s->headless) status = move_waiting(s, image->waiting, false, err);
    if (status) {
        s->length = first_page * KV_PAGE;
        s->entries = 0;
        return status;
    }
    memcpy(s->tokens, image->tokens, image->length * sizeof *s->tokens);
    if (image->logits) memcpy(s->logits, image->logits, m->config.vocab * sizeof *s->logits);
    s->logits_valid = image->logits != NULL;
    s->buffer->away = s->buffer->listed = false;
    s->broken = false;
    return TDM_OK;
}

tdm_status gpu_state_load(struct gpu_state *s, const struct gpu_image *image, uint32_t first_page, tdm_error *err)
{
    if (image->length > s->model->options.context)
        return error_set(err, TDM_E_CONTEXT, "a state of %u tokens in a context of %u", image->length,
                         s->model->options.context);
    assert_always(first_page * KV_PAGE <= s->length && first_page * KV_PAGE <= image->length);
    assert_always(image->headless || image->length - image->entries <= GPU_WAITING);
    device_lock(s->model->gpu);
    tdm_status status = load_locked(s, image, first_page, err);
    device_unlock(s->model->gpu);
    return status;
}
