#include "engine/state/pool.h"

#include "engine/base/error.h"
#include "engine/base/size.h"
#include "engine/state/layout.h"

#include <stdlib.h>
#include <string.h>

/* Reserves count elements at the next multiple of 64; false when a size overflows. */
static bool reserve(uint64_t *end, size_t *offset, uint64_t count, uint64_t element)
{
    uint64_t bytes, sum;
    if (!size_mul(count, element, &bytes) || !size_add(*end, bytes, &sum) || !size_add(sum, 63, &sum)) return false;
    *offset = *end;
    *end = sum & ~(uint64_t)63;
    return true;
}

static tdm_status new_pool(struct pool **out, const struct pool *with, tdm_error *err)
{
    *out = NULL;
    if (with->context < 1 || with->context > INT32_MAX - KV_PAGE)
        return error_set(err, TDM_E_ARG, "context %u: expected 1 to %d tokens", with->context, INT32_MAX - KV_PAGE);
    struct pool *p = *out = calloc(1, sizeof *p);
    if (!p) return error_set(err, TDM_E_NOMEM, "no memory for the pool of states");
    *p = *with;
    return TDM_OK;
}

tdm_status pool_new_device(struct pool **out, const struct state_memory *memory, void *device,
                           const struct pool_form *form, tdm_error *err)
{
    struct pool with = {.memory = memory,
                        .device = device,
                        .shape = *form->shape,
                        .kv = form->kv,
                        .context = form->context,
                        .kinds = form->shape->kinds + (form->shape->head_width > 0),
                        .buffer_bytes = form->buffer_bytes};
    with.shape.head_width = 0;
    memcpy(with.page_bytes, form->page_bytes, sizeof with.page_bytes);
    return new_pool(out, &with, err);
}

/* Finds the places in a buffer; its size, or 0 where it is too large. */
static uint64_t lay_out(struct pool *p)
{
    const struct state_shape *shape = &p->shape;
    uint64_t end = 0;
    size_t head;
    p->places = (p->context + KV_PAGE - 1) / KV_PAGE;
    bool fits = reserve(&end, &head, 1, LAYOUT_STATE_BYTES) && reserve(&end, &p->tokens, p->context, sizeof(tdm_id)) &&
                reserve(&end, &p->pages, (uint64_t)p->kinds * p->places, sizeof(struct page *)) &&
                reserve(&end, &p->recurrent, state_shape_recurrent_floats(shape), sizeof(float)) &&
                reserve(&end, &p->conv, state_shape_conv_floats(shape), sizeof(float)) &&
                reserve(&end, &p->logits, shape->vocab, sizeof(float)) &&
                reserve(&end, &p->waiting, (uint64_t)STATE_WAITING * shape->head_width, sizeof(float));
    return fits && end < (uint64_t)1 << 40 ? end : 0;
}

tdm_status pool_new(struct pool **out, const struct state_shape *shape, const struct kernels *kernels, enum kv_type kv,
                    uint32_t context, tdm_error *err)
{
    struct pool *p, with = {.memory = &state_host_memory,
                            .shape = *shape,
                            .kernels = kernels,
                            .kv = kv,
                            .context = context,
                            .kinds = shape->kinds + (shape->head_width > 0)};
    tdm_status status = new_pool(&p, &with, err);
    *out = NULL;
    if (status) return status;
    p->buffer_bytes = lay_out(p);
    bool fits = p->buffer_bytes > 0;
    for (uint32_t i = 0; i < p->kinds; i++) {
        const struct state_kind *kind = &shape->kind[i];
        p->block_bytes[i] = (kernels->kv_block_bytes(kv, kind->head_dim) + 63) & ~(size_t)63;
        p->page_bytes[i] = sizeof(struct page) + (size_t)2 * kind->layers * kind->kv_heads * p->block_bytes[i];
        fits = fits && p->page_bytes[i] < (uint64_t)1 << 32;
    }
    if (!fits) {
        free(p);
        return error_set(err, TDM_E_NOMEM, "a state of %u tokens takes more memory than can be had", context);
    }
    for (uint32_t i = 0; i < p->kinds; i++) blocks_open(&p->page_blocks[i], p->page_bytes[i]);
    blocks_open(&p->buffer_blocks, p->buffer_bytes);
    *out = p;
    return TDM_OK;
}

void pool_free(struct pool *p)
{
    if (!p) return;
    p->memory->close(p);
    free(p);
}

void pool_host_close(struct pool *p)
{
    for (uint32_t i = 0; i < p->kinds; i++) blocks_close(&p->page_blocks[i]);
    blocks_close(&p->buffer_blocks);
}

void *pool_device(const struct pool *p)
{
    return p->device;
}

const struct state_shape *pool_shape(const struct pool *p)
{
    return &p->shape;
}

const struct kernels *pool_kernels(const struct pool *p)
{
    return p->kernels;
}

enum kv_type pool_kv(const struct pool *p)
{
    return p->kv;
}

uint32_t pool_context(const struct pool *p)
{
    return p->context;
}

uint32_t pool_kinds(const struct pool *p)
{
    return p->kinds;
}

size_t pool_page_bytes(const struct pool *p)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < p->kinds; i++) bytes += p->page_bytes[i];
    return bytes;
}

size_t pool_kind_bytes(const struct pool *p, uint32_t kind)
{
    return p->page_bytes[kind];
}

uint64_t pool_held_bytes(const struct pool *p, uint32_t tokens)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->kinds; i++)
        bytes += ((tokens + KV_PAGE - 1) / KV_PAGE - state_kind_kept(&p->shape.kind[i], tokens)) *
                 (uint64_t)p->page_bytes[i];
    return bytes;
}

size_t pool_buffer_bytes(const struct pool *p)
{
    return p->buffer_bytes;
}

tdm_status pool_warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err)
{
    return p->memory->warm(p, pages, buffers, err);
}

struct pool_stats pool_stats(struct pool *p)
{
    return p->memory->stats(p);
}

uint64_t pool_give_back(struct pool *p)
{
    if (p->memory != &state_host_memory) return 0;
    uint64_t bytes = blocks_give_back(&p->buffer_blocks);
    for (uint32_t i = 0; i < p->kinds; i++) bytes += blocks_give_back(&p->page_blocks[i]);
    return bytes;
}

tdm_status pool_host_warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err)
{
    bool warm = blocks_warm(&p->buffer_blocks, buffers);
    for (uint32_t i = 0; i < p->kinds && warm; i++) warm = blocks_warm(&p->page_blocks[i], pages);
    if (warm) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "no memory for %u pages of keys and values and %u states", pages, buffers);
}

struct pool_stats pool_host_stats(struct pool *p)
{
    struct pool_stats s = {.pages = UINT32_MAX, .free_pages = UINT32_MAX};
    for (uint32_t i = 0; i < p->kinds; i++) {
        struct blocks *b = &p->page_blocks[i];
        pthread_mutex_lock(&b->lock);
        if (i < p->shape.kinds && b->ready < s.free_pages) {
            s.pages = b->total;
            s.free_pages = b->ready;
        }
        s.bytes += b->bytes;
        pthread_mutex_unlock(&b->lock);
    }
    pthread_mutex_lock(&p->buffer_blocks.lock);
    s.buffers = p->buffer_blocks.total;
    s.free_buffers = p->buffer_blocks.ready;
    s.bytes += p->buffer_blocks.bytes;
    pthread_mutex_unlock(&p->buffer_blocks.lock);
    return s;
}

struct page *pool_take_page(struct pool *p, uint32_t kind)
{
    struct page *page = blocks_take(&p->page_blocks[kind]);
    if (page) atomic_init(&page->references, 1);
    return page;
}

void page_hold(struct page *page)
{
    atomic_fetch_add_explicit(&page->references, 1, memory_order_relaxed);
}

bool page_is_shared(const struct page *page)
{
    return atomic_load_explicit(&page->references, memory_order_acquire) > 1;
}

void pool_drop_page(struct pool *p, uint32_t kind, struct page *page)
{
    /* Release: what this holder did with the page comes before its next use. Acquire: after all others' uses. */
    if (atomic_fetch_sub_explicit(&page->references, 1, memory_order_acq_rel) == 1)
        blocks_put(&p->page_blocks[kind], page);
}

void pool_copy_page(const struct pool *p, uint32_t kind, struct page *to, const struct page *from)
{
    memcpy(to->data, from->data, p->page_bytes[kind] - sizeof *to);
}

void *pool_keys(const struct pool *p, uint32_t kind, const struct page *page, uint32_t layer, uint32_t kv_head)
{
    size_t block = (size_t)layer * p->shape.kind[kind].kv_heads + kv_head;
    return (unsigned char *)page->data + 2 * block * p->block_bytes[kind];
}

void *pool_values(const struct pool *p, uint32_t kind, const struct page *page, uint32_t layer, uint32_t kv_head)
{
    return (unsigned char *)pool_keys(p, kind, page, layer, kv_head) + p->block_bytes[kind];
}
