/* States to and from the host's memory. A state is its caller's, and full pages don't change: the device's lock is held
 * for each submission alone, and others' tokens come in between, or run beside it where copies have a queue of their
 * own. Where device and host have one memory the host's cores write to it and read it themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/model.h"

struct gpu_port {
    struct gpu_model *model;
    struct lane lane;
    struct block memory;
    bool under_way;
};

uint64_t gpu_part_bytes(const struct gpu_model *m, enum gpu_part part)
{
    const struct config *c = &m->config;
    const struct config_delta *d = &c->delta;
    uint32_t kind = (uint32_t)part - GPU_PAGES;
    if (part >= GPU_PAGES) return kind < m->shape.kinds ? model_page_bytes(m, kind) : 0;
    switch (part) {
    case GPU_HEAD_PAGES:
        return c->mtp.there ? model_page_bytes(m, m->shape.kinds) : 0;
    case GPU_RECURRENT:
        return sizeof(float) * (uint64_t)d->key_dim * d->value_dim;
    case GPU_CONV:
        return sizeof(float) * (uint64_t)(d->conv_kernel - 1) * config_conv_channels(d);
    default: /* GPU_WAITING_ROWS */
        break;
    }
    return sizeof(float) * (uint64_t)c->hidden;
}

tdm_status gpu_port_new(struct gpu_port **out, struct gpu_model *m, uint64_t bytes, tdm_error *err)
{
    struct gpu_port *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return error_set(err, TDM_E_NOMEM, "no memory for a way to a device");
    p->model = m;
    tdm_status status = lane_open(&p->lane, m->gpu, m->gpu->carrying_family, err);
    if (!status) status = block_new(&p->memory, m->gpu, BLOCK_READ, bytes, err);
    if (status)
        gpu_port_free(p);
    else
        *out = p;
    return status;
}

void gpu_port_free(struct gpu_port *p)
{
    if (!p) return;
    gpu_port_wait(p, NULL);
    block_free(&p->memory, p->model->gpu);
    lane_close(&p->lane, p->model->gpu);
    free(p);
}

void *gpu_port_memory(const struct gpu_port *p)
{
    return p->memory.mapped;
}

/* Where a state has the i-th of a part. */
static const struct block *place_of(const struct gpu_state *s, enum gpu_part part, uint32_t i, uint64_t *at)
{
    const struct gpu_model *m = s->model;
    if (part >= GPU_HEAD_PAGES) {
        const struct gpu_page *page = s->pages[part == GPU_HEAD_PAGES ? m->shape.kinds : (uint32_t)part - GPU_PAGES][i];
        *at = page->at;
        return page->block;
    }
    const struct block *b = &s->buffer->block;
    *at = part == GPU_WAITING_ROWS ? state_waiting_row(s, i) - b->address
                                   : (part == GPU_CONV ? model_conv_at(m, s->conv) : 0) + i * gpu_part_bytes(m, part);
    return b;
}

static void record(struct gpu_port *p, const struct gpu_state *s, const struct gpu_piece *piece, bool to_device)
{
    struct gpu *g = p->model->gpu;
    uint64_t bytes = gpu_part_bytes(p->model, piece->part);
    bool together = piece->part == GPU_RECURRENT || piece->part == GPU_CONV; /* they lie one behind the other */
    uint32_t step = together ? piece->n : 1;
    for (uint32_t i = 0; i < piece->n && bytes; i += step) {
        uint64_t at, here = piece->at + i * bytes;
        const struct block *b = place_of(s, piece->part, piece->first + i, &at);
        VkBufferCopy region = {to_device ? here : at, to_device ? at : here, step * bytes};
        g->vk.CmdCopyBuffer(p->lane.commands, to_device ? p->memory.buffer : b->buffer,
                            to_device ? b->buffer : p->memory.buffer, 1, &region);
    }
}

tdm_status gpu_port_start(struct gpu_port *p, const struct gpu_state *s, const struct gpu_piece *pieces, uint32_t n,
                          bool to_device, tdm_error *err)
{
    struct gpu *g = p->model->gpu;
    assert_always(!p->under_way && s->model == p->model);
    tdm_status status = device_check(g, err);
    if (!status) status = device_begin(g, p->lane.commands, true, err);
    if (status) return status;
    for (uint32_t i = 0; i < n; i++) record(p, s, &pieces[i], to_device);
    device_land(g, p->lane.commands);
    status = device_end(g, p->lane.commands, err);
    if (!status) status = device_carry(g, p->lane.fence, p->lane.commands, err);
    p->under_way = !status;
    return status;
}

tdm_status gpu_port_wait(struct gpu_port *p, tdm_error *err)
{
    if (!p->under_way) return TDM_OK;
    p->under_way = false;
    return device_finish(p->model->gpu, p->lane.fence, 0, err);
}

bool gpu_state_is_host_visible(const struct gpu_state *s, const uint32_t start[STATE_PAGES])
{
    if (!s->buffer->block.mapped) return false;
    for (int kind = 0; kind < STATE_PAGES; kind++)
        for (uint32_t i = start[kind]; s->pages[kind] && s->pages[kind][i]; i++)
            if (!s->pages[kind][i]->block->mapped) return false;
    return true;
}

void *gpu_state_pointer(const struct gpu_state *s, enum gpu_part part, uint32_t i)
{
    uint64_t at;
    const struct block *b = place_of(s, part, i, &at);
    return (char *)b->mapped + at;
}

tdm_status gpu_state_make_visible(const struct gpu_state *s, tdm_error *err)
{
    return device_show(s->model->gpu, err);
}

/* Drops the pages that don't stay. */
static void keep_pages(struct gpu_state *s, const struct gpu_content *c)
{
    for (int kind = 0; kind < STATE_PAGES; kind++) {
        if (!s->pages[kind]) continue;
        state_drop_pages(s, (uint32_t)kind, c->first[kind] < c->start[kind] ? c->start[kind] : 0);
        state_give_back(s, (uint32_t)kind, c->first[kind]);
    }
}

tdm_status gpu_state_prepare(struct gpu_state *s, const struct gpu_content *c, tdm_error *err)
{
    struct gpu_model *m = s->model;
    if (c->length > m->options.context)
        return error_set(err, TDM_E_CONTEXT, "a state of %u tokens in a context of %u", c->length, m->options.context);
    assert_always(c->headless || c->length - c->entries <= GPU_WAITING);
    keep_pages(s, c);
    s->broken = true;
    s->logits_valid = false;
    s->buffer->away = s->buffer->listed = false;
    s->conv = 0;
    s->headless = c->headless || !m->config.mtp.there;
    s->length = c->length;
    s->entries = s->headless ? 0 : c->entries;
    tdm_status status = device_check(m->gpu, err);
    if (!status) status = state_make_pages(s, 0, err);
    if (status) return status; /* it is cleared next, or freed */
    memcpy(s->tokens, c->tokens, c->length * sizeof *s->tokens);
    return TDM_OK;
}

void gpu_state_finish(struct gpu_state *s, const float *logits)
{
    if (logits) memcpy(s->logits, logits, s->model->config.vocab * sizeof *s->logits);
    s->logits_valid = logits != NULL;
    s->broken = false;
}
