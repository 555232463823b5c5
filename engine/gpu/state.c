/* States on a device: pages of keys and values, counted and shared; buffers with the rest. Both are recycled. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/model.h"

enum { SLAB_BYTES = 8 << 20 };

/* ---- Sizes ------------------------------------------------------------------------------------------------ */

uint64_t model_kv_bytes(const struct gpu_model *m)
{
    return (uint64_t)KV_PAGE * m->config.head_dim * (m->options.kv == KV_F16 ? 2 : 4);
}

size_t gpu_page_bytes(const struct gpu_model *m)
{
    return 2 * model_kv_bytes(m) * m->config.kv_heads * m->attention_layers;
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

static uint64_t buffer_bytes(const struct gpu_model *m)
{
    return model_conv_at(m, 2) + 256; /* models without such layers have an empty one */
}

/* ---- Pages and buffers ------------------------------------------------------------------------------------- */

static tdm_status add_slab(struct gpu_model *m, tdm_error *err)
{
    uint64_t page = gpu_page_bytes(m) ? gpu_page_bytes(m) : 1; /* without full attention a page is empty */
    uint32_t n = page < SLAB_BYTES ? (uint32_t)(SLAB_BYTES / page) : 1;
    n = n > 64 ? 64 : n;
    struct slab *slab = calloc(1, sizeof *slab + n * sizeof *slab->pages);
    if (!slab) return error_set(err, TDM_E_NOMEM, "no memory for pages");
    tdm_status status = block_new(&slab->block, m->gpu, BLOCK_DEVICE, n * page, err);
    if (status) {
        free(slab);
        return status;
    }
    slab->next = m->slabs;
    m->slabs = slab;
    for (uint32_t i = n; i-- > 0;) {
        struct gpu_page *p = &slab->pages[i];
        *p = (struct gpu_page){.block = &slab->block, .at = i * page, .next = m->free_pages};
        p->address = slab->block.address + p->at;
        m->free_pages = p;
    }
    return TDM_OK;
}

static tdm_status take_page(struct gpu_page **out, struct gpu_model *m, tdm_error *err)
{
    tdm_status status = m->free_pages ? TDM_OK : add_slab(m, err);
    if (status) return status;
    *out = m->free_pages;
    m->free_pages = (*out)->next;
    (*out)->references = 1;
    return TDM_OK;
}

static void drop_page(struct gpu_model *m, struct gpu_page *p)
{
    if (--p->references) return;
    p->next = m->free_pages;
    m->free_pages = p;
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
    tdm_status status = block_new(&b->block, m->gpu, BLOCK_DEVICE, buffer_bytes(m), err);
    if (status) {
        free(b);
        return status;
    }
    *out = b;
    return TDM_OK;
}

void model_free_states(struct gpu_model *m)
{
    for (struct slab *next, *s = m->slabs; s; s = next) {
        next = s->next;
        block_free(&s->block, m->gpu);
        free(s);
    }
    for (struct buffer *next, *b = m->free_buffers; b; b = next) {
        next = b->next;
        block_free(&b->block, m->gpu);
        free(b);
    }
    m->slabs = NULL;
    m->free_buffers = NULL;
}

/* ---- States ------------------------------------------------------------------------------------------------- */

static uint32_t page_count(uint32_t length)
{
    return (length + KV_PAGE - 1) / KV_PAGE;
}

static void drop_pages(struct gpu_state *s, uint32_t from)
{
    for (uint32_t i = from; i < page_count(s->model->options.context) && s->pages[i]; i++) {
        drop_page(s->model, s->pages[i]);
        s->pages[i] = NULL;
    }
}

/* Without contents. */
static tdm_status make(struct gpu_state **out, struct gpu_model *m, tdm_error *err)
{
    struct gpu_state *s = calloc(1, sizeof *s);
    if (s) {
        s->model = m;
        s->tokens = calloc(m->options.context, sizeof *s->tokens);
        s->pages = calloc(page_count(m->options.context) + 1, sizeof(struct gpu_page *));
        s->logits = malloc(m->config.vocab * sizeof *s->logits);
    }
    tdm_status status = s && s->tokens && s->pages && s->logits ? device_check(m->gpu, err)
                                                                : error_set(err, TDM_E_NOMEM, "no memory for a state");
    if (!status) status = take_buffer(&s->buffer, m, err);
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
    if (s->pages) drop_pages(s, 0);
    if (s->buffer) {
        s->buffer->next = m->free_buffers;
        m->free_buffers = s->buffer;
    }
    device_unlock(m->gpu);
    free(s->tokens);
    free(s->pages);
    free(s->logits);
    free(s);
}

void gpu_state_clear(struct gpu_state *s)
{
    device_lock(s->model->gpu);
    drop_pages(s, 0);
    s->length = 0;
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
    for (uint32_t i = 0; i < page_count(s->length + n); i++) {
        if (s->pages[i]) continue;
        tdm_status status = take_page(&s->pages[i], s->model, err);
        if (status) return status;
    }
    return TDM_OK;
}

/* The device's part of a copy: the partial page and the buffer, in one submission. */
static tdm_status copy_contents(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
{
    struct gpu_model *m = src->model;
    struct copy copies[3];
    uint32_t n = 0, full = src->length / KV_PAGE;
    uint64_t recurrent = sizeof(float) * model_recurrent_floats(&m->config),
             conv = sizeof(float) * model_conv_floats(&m->config);
    if (recurrent) copies[n++] = (struct copy){&src->buffer->block, &dst->buffer->block, 0, 0, recurrent};
    if (conv)
        copies[n++] = (struct copy){&src->buffer->block, &dst->buffer->block, model_conv_at(m, src->conv),
                                    model_conv_at(m, 0), conv};
    if (src->length % KV_PAGE && gpu_page_bytes(m))
        copies[n++] = (struct copy){src->pages[full]->block, dst->pages[full]->block, src->pages[full]->at,
                                    dst->pages[full]->at, gpu_page_bytes(m)};
    dst->conv = 0;
    return device_copy(m->gpu, copies, n, err);
}

/* Pages that both have in common among the first `most`. */
static uint32_t same_pages(const struct gpu_state *a, const struct gpu_state *b, uint32_t most)
{
    uint32_t same = 0;
    while (same < most && a->pages[same] == b->pages[same]) same++;
    return same;
}

static tdm_status copy_locked(struct gpu_state *dst, const struct gpu_state *src, tdm_error *err)
{
    struct gpu_model *m = src->model;
    uint32_t full = src->length / KV_PAGE;
    assert_always(dst->model == m && !src->broken);
    dst->broken = true;
    uint32_t same = same_pages(dst, src, full);
    drop_pages(dst, same);
    for (uint32_t i = same; i < full; i++) {
        dst->pages[i] = src->pages[i];
        dst->pages[i]->references++;
    }
    dst->length = full * KV_PAGE;
    tdm_status status = state_make_pages(dst, src->length % KV_PAGE, err);
    if (!status) status = copy_contents(dst, src, err);
    if (status) return status;
    memcpy(dst->tokens, src->tokens, src->length * sizeof *dst->tokens);
    if (src->logits_valid) memcpy(dst->logits, src->logits, m->config.vocab * sizeof *dst->logits);
    dst->length = src->length;
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
    return same_pages(a, b, (a->length < b->length ? a->length : b->length) / KV_PAGE);
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

const tdm_id *gpu_state_tokens(const struct gpu_state *s)
{
    return s->tokens;
}

const float *gpu_state_logits(const struct gpu_state *s)
{
    return s->logits_valid ? s->logits : NULL;
}

/* ---- To and from host memory ------------------------------------------------------------------------------- */

tdm_status gpu_state_save(const struct gpu_state *s, struct gpu_image *image, uint32_t first_page, tdm_error *err)
{
    struct gpu_model *m = s->model;
    const struct block *b = &s->buffer->block;
    uint64_t page = gpu_page_bytes(m);
    device_lock(m->gpu);
    tdm_status status = device_check(m->gpu, err);
    for (uint32_t i = first_page; i < page_count(s->length) && !status && image->pages && page; i++)
        status = device_read(m->gpu, s->pages[i]->block, s->pages[i]->at,
                             (char *)image->pages + (i - first_page) * page, page, err);
    if (!status && image->recurrent)
        status = device_read(m->gpu, b, 0, image->recurrent, sizeof(float) * model_recurrent_floats(&m->config), err);
    if (!status && image->conv)
        status = device_read(m->gpu, b, model_conv_at(m, s->conv), image->conv,
                             sizeof(float) * model_conv_floats(&m->config), err);
    device_unlock(m->gpu);
    image->length = s->length;
    image->tokens = s->tokens;
    image->logits = s->logits_valid ? s->logits : NULL;
    return status;
}

static tdm_status load_locked(struct gpu_state *s, const struct gpu_image *image, uint32_t first_page, tdm_error *err)
{
    struct gpu_model *m = s->model;
    uint64_t page = gpu_page_bytes(m);
    tdm_status status = device_check(m->gpu, err);
    s->broken = true;
    s->logits_valid = false;
    drop_pages(s, first_page);
    s->length = first_page * KV_PAGE;
    if (!status) status = state_make_pages(s, image->length - s->length, err);
    for (uint32_t i = first_page; i < page_count(image->length) && !status && page; i++)
        status = device_write(m->gpu, s->pages[i]->block, s->pages[i]->at,
                              (const char *)image->pages + (i - first_page) * page, page, err);
    s->conv = 0;
    if (!status)
        status = device_write(m->gpu, &s->buffer->block, 0, image->recurrent,
                              sizeof(float) * model_recurrent_floats(&m->config), err);
    if (!status)
        status = device_write(m->gpu, &s->buffer->block, model_conv_at(m, 0), image->conv,
                              sizeof(float) * model_conv_floats(&m->config), err);
    if (status) return status;
    memcpy(s->tokens, image->tokens, image->length * sizeof *s->tokens);
    if (image->logits) memcpy(s->logits, image->logits, m->config.vocab * sizeof *s->logits);
    s->length = image->length;
    s->logits_valid = image->logits != NULL;
    s->broken = false;
    return TDM_OK;
}

tdm_status gpu_state_load(struct gpu_state *s, const struct gpu_image *image, uint32_t first_page, tdm_error *err)
{
    if (image->length > s->model->options.context)
        return error_set(err, TDM_E_CONTEXT, "a state of %u tokens in a context of %u", image->length,
                         s->model->options.context);
    assert_always(first_page * KV_PAGE <= s->length && first_page * KV_PAGE <= image->length);
    device_lock(s->model->gpu);
    tdm_status status = load_locked(s, image, first_page, err);
    device_unlock(s->model->gpu);
    return status;
}
