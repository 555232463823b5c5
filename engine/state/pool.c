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
    struct pool with = {.memory = memory, .device = device, .shape = *form->shape, .kv = form->kv,
                        .context = form->context, .page_bytes = form->page_bytes, .buffer_bytes = form->buffer_bytes};
    with.shape.head_width = 0;
    return new_pool(out, &with, err);
}

tdm_status pool_new(struct pool **out, const struct state_shape *shape, const struct kernels *kernels, enum kv_type kv,
                    uint32_t context, tdm_error *err)
{
    struct pool *p, with = {.memory = &state_host_memory, .shape = *shape, .kernels = kernels, .kv = kv,
                            .context = context};
    tdm_status status = new_pool(&p, &with, err);
    *out = NULL;
    if (status) return status;

    uint64_t end = 0;
    size_t head;
    bool fits = reserve(&end, &head, 1, LAYOUT_STATE_BYTES) && reserve(&end, &p->tokens, context, sizeof(tdm_id)) &&
                reserve(&end, &p->pages, (context + KV_PAGE - 1) / KV_PAGE, sizeof(struct page *)) &&
                reserve(&end, &p->recurrent, state_shape_recurrent_floats(shape), sizeof(float)) &&
                reserve(&end, &p->conv, state_shape_conv_floats(shape), sizeof(float)) &&
                reserve(&end, &p->logits, shape->vocab, sizeof(float)) &&
                reserve(&end, &p->head_pages, shape->head_width ? (context + KV_PAGE - 1) / KV_PAGE : 0,
                        sizeof(struct page *)) &&
                reserve(&end, &p->waiting, (uint64_t)STATE_WAITING * shape->head_width, sizeof(float)) &&
                end < (uint64_t)1 << 40;
    p->block_bytes = (kernels->kv_block_bytes(kv, shape->head_dim) + 63) & ~(size_t)63;
    size_t layer_bytes = (size_t)2 * shape->kv_heads * p->block_bytes;
    size_t page_bytes = sizeof(struct page) + shape->attention_layers * layer_bytes;
    if (!fits || page_bytes >= (uint64_t)1 << 32) {
        free(p);
        return error_set(err, TDM_E_NOMEM, "a state of %u tokens takes more memory than can be had", context);
    }
    blocks_open(&p->page_blocks, page_bytes);
    blocks_open(&p->head_blocks, sizeof(struct page) + layer_bytes);
    blocks_open(&p->buffer_blocks, end);
    p->page_bytes = p->page_blocks.block_bytes + pool_head_page_bytes(p);
    p->buffer_bytes = p->buffer_blocks.block_bytes;
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
    blocks_close(&p->page_blocks);
    blocks_close(&p->head_blocks);
    blocks_close(&p->buffer_blocks);
}

const struct state_memory *pool_memory(const struct pool *p)
{
    return p->memory;
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

size_t pool_page_bytes(const struct pool *p)
{
    return p->page_bytes;
}

size_t pool_head_page_bytes(const struct pool *p)
{
    return p->shape.head_width ? p->head_blocks.block_bytes : 0;
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
    return blocks_give_back(&p->page_blocks) + blocks_give_back(&p->buffer_blocks);
}

tdm_status pool_host_warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err)
{
    if (blocks_warm(&p->page_blocks, pages) && blocks_warm(&p->buffer_blocks, buffers) &&
        (!p->shape.head_width || blocks_warm(&p->head_blocks, pages)))
        return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "no memory for %u pages of keys and values and %u states", pages, buffers);
}

struct pool_stats pool_host_stats(struct pool *p)
{
    struct pool_stats s;
    pthread_mutex_lock(&p->page_blocks.lock);
    s.pages = p->page_blocks.total;
    s.free_pages = p->page_blocks.ready;
    s.bytes = p->page_blocks.bytes;
    pthread_mutex_unlock(&p->page_blocks.lock);
    pthread_mutex_lock(&p->head_blocks.lock);
    s.bytes += p->head_blocks.bytes;
    pthread_mutex_unlock(&p->head_blocks.lock);
    pthread_mutex_lock(&p->buffer_blocks.lock);
    s.buffers = p->buffer_blocks.total;
    s.free_buffers = p->buffer_blocks.ready;
    s.bytes += p->buffer_blocks.bytes;
    pthread_mutex_unlock(&p->buffer_blocks.lock);
    return s;
}

static struct blocks *blocks_of(struct pool *p, enum page_kind kind)
{
    return kind == PAGE_HEAD ? &p->head_blocks : &p->page_blocks;
}

struct page *pool_take_page(struct pool *p, enum page_kind kind)
{
    struct page *page = blocks_take(blocks_of(p, kind));
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

void pool_drop_page(struct pool *p, enum page_kind kind, struct page *page)
{
    /* Release: what this holder did with the page comes before its next use. Acquire: after all others' uses. */
    if (atomic_fetch_sub_explicit(&page->references, 1, memory_order_acq_rel) == 1)
        blocks_put(blocks_of(p, kind), page);
}

void pool_copy_page(const struct pool *p, enum page_kind kind, struct page *to, const struct page *from)
{
    const struct blocks *blocks = kind == PAGE_HEAD ? &p->head_blocks : &p->page_blocks;
    memcpy(to->data, from->data, blocks->block_bytes - sizeof *to);
}

void *pool_keys(const struct pool *p, const struct page *page, uint32_t layer, uint32_t kv_head)
{
    return (unsigned char *)page->data + ((size_t)layer * p->shape.kv_heads + kv_head) * 2 * p->block_bytes;
}

void *pool_values(const struct pool *p, const struct page *page, uint32_t layer, uint32_t kv_head)
{
    return (unsigned char *)pool_keys(p, page, layer, kv_head) + p->block_bytes;
}
