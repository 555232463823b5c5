#include "engine/backend/ferry.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"

/* A load is so large that waking the team and waiting for the device take little of its time, and so small that the
 * first one is soon on its way. */
enum { LOAD_BYTES = 8 << 20 };

/* The parts of a state that are to cross, and how far that has come. */
struct cargo {
    struct gpu_piece parts[GPU_PARTS]; /* `at` has no meaning */
    uint32_t n, part;
};

/* What a port holds. */
struct load {
    struct gpu_piece pieces[GPU_PARTS];
    uint32_t n, items; /* items: of all pieces, each of which one thread moves at once */
};

void ferry_open(struct ferry *f, struct gpu_model *m, enum kv_type kv, const struct state_shape *shape)
{
    *f = (struct ferry){.model = m, .kv = kv, .shape = shape, .bytes = LOAD_BYTES};
    for (int part = 0; part < GPU_PARTS; part++) {
        uint64_t bytes = gpu_part_bytes(m, (enum gpu_part)part);
        if (bytes > f->bytes) f->bytes = bytes;
    }
    pthread_mutex_init(&f->busy, NULL);
}

void ferry_close(struct ferry *f)
{
    for (int i = 0; i < 2; i++) gpu_port_free(f->port[i]);
    pthread_mutex_destroy(&f->busy);
}

/* With `busy`. */
static tdm_status make_ports(struct ferry *f, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (int i = 0; i < 2 && !status; i++)
        if (!f->port[i]) status = gpu_port_new(&f->port[i], f->model, f->bytes, err);
    return status;
}

static uint32_t page_count(uint32_t tokens)
{
    return (tokens + KV_PAGE - 1) / KV_PAGE;
}

/* All parts of a state of this many tokens. entries, headless: of the side that has less of an MTP head. */
static struct cargo cargo_of(const struct ferry *f, const struct crossing *x, uint32_t length, uint32_t entries,
                             bool headless)
{
    const struct state_shape *s = f->shape;
    struct cargo c = {0};
    for (uint32_t kind = 0; kind < s->kinds; kind++)
        c.parts[c.n++] = (struct gpu_piece){
            .part = GPU_PAGES + kind, .first = x->start[kind], .n = page_count(length) - x->start[kind]};
    if (x->sealed) return c;
    c.parts[c.n++] = (struct gpu_piece){.part = GPU_RECURRENT, .n = s->linear_layers * s->value_heads};
    c.parts[c.n++] = (struct gpu_piece){.part = GPU_CONV, .n = s->linear_layers};
    if (headless) return c;
    c.parts[c.n++] = (struct gpu_piece){.part = GPU_HEAD_PAGES, .n = page_count(entries)};
    c.parts[c.n++] = (struct gpu_piece){.part = GPU_WAITING_ROWS, .first = entries, .n = length - entries};
    return c;
}

/* How many items one element of a part has: a page has one for each layer and head. */
static uint32_t items_of(const struct ferry *f, enum gpu_part part)
{
    if (part < GPU_PAGES && part != GPU_HEAD_PAGES) return 1;
    const struct state_kind *kind = &f->shape->kind[part >= GPU_PAGES ? (uint32_t)part - GPU_PAGES : f->shape->kinds];
    return kind->kv_heads * kind->layers;
}

/* The next load; false: nothing is left. */
static bool take_load(const struct ferry *f, struct cargo *c, struct load *out, uint64_t *bytes)
{
    uint64_t used = 0;
    *out = (struct load){0};
    for (; c->part < c->n; c->part++) {
        struct gpu_piece *rest = &c->parts[c->part];
        uint64_t one = gpu_part_bytes(f->model, rest->part);
        uint64_t room = !one ? 0 : (f->bytes - used) / one; /* a part without bytes (no full attention) stays behind */
        uint32_t n = rest->n < room ? rest->n : (uint32_t)room;
        if (!rest->n || !one) continue;
        if (!n) return true;
        out->pieces[out->n++] = (struct gpu_piece){.part = rest->part, .first = rest->first, .n = n, .at = used};
        out->items += n * items_of(f, rest->part);
        rest->first += n;
        rest->n -= n;
        *bytes += n * one;
        used = (used + n * one + 63) & ~(uint64_t)63;
        if (used > f->bytes) used = f->bytes;
        if (rest->n) return true;
    }
    return out->n > 0;
}

/* All loads as one, where no port has to hold it. */
static struct load take_all(const struct ferry *f, const struct cargo *c, uint64_t *bytes)
{
    struct load all = {0};
    for (uint32_t part = 0; part < c->n; part++) {
        const struct gpu_piece *piece = &c->parts[part];
        uint64_t one = gpu_part_bytes(f->model, piece->part);
        if (!piece->n || !one) continue;
        all.pieces[all.n++] = *piece;
        all.items += piece->n * items_of(f, piece->part);
        *bytes += piece->n * one;
    }
    return all;
}

/* ---- Filling and emptying ---------------------------------------------------------------------------------------- */

/* A state of a device, at one end of a crossing. What it holds passes through ports, or is seen
 * (gpu_state_is_host_visible). */
struct end {
    struct ferry *ferry;
    struct gpu_state *state;
    bool seen, to_device;
};

/* Where the i-th of a piece is for the host: in a port, or where it lies. */
static char *place_in(const struct end *e, const struct gpu_piece *piece, uint32_t i, int port)
{
    if (e->seen) return gpu_state_pointer(e->state, piece->part, piece->first + i);
    char *memory = gpu_port_memory(e->ferry->port[port]);
    return memory + piece->at + i * gpu_part_bytes(e->ferry->model, piece->part);
}

struct handled {
    const struct load *load;
    const struct end *end, *other; /* other: of the second device; NULL: the host has the state */
    struct state *host;
    int port;
};

static void handle_block(const struct handled *h, uint32_t kind, uint32_t i, uint32_t block, char *plain)
{
    if (h->end->to_device)
        crossing_take_block(h->host, kind, i, block, h->end->ferry->kv, plain);
    else
        crossing_give_block(h->host, kind, i, block, h->end->ferry->kv, plain);
}

static void handle(const struct handled *h, enum gpu_part part, uint32_t i, uint32_t item, char *plain)
{
    const struct state_shape *shape = h->end->ferry->shape;
    uint32_t heads = shape->value_heads;
    bool to_host = !h->end->to_device;
    if (part >= GPU_PAGES) {
        handle_block(h, (uint32_t)part - GPU_PAGES, i, item, plain);
    } else if (part == GPU_HEAD_PAGES) {
        handle_block(h, shape->kinds, i, item, plain);
    } else if (part == GPU_RECURRENT && to_host) {
        crossing_give_head(h->host, i / heads, shape, i % heads, (const float *)plain);
    } else if (part == GPU_RECURRENT) {
        crossing_take_head(h->host, i / heads, shape, i % heads, (float *)plain);
    } else if (part == GPU_CONV && to_host) {
        crossing_give_conv(h->host, i, shape, (const float *)plain);
    } else if (part == GPU_CONV) {
        crossing_take_conv(h->host, i, shape, (float *)plain);
    } else {
        uint64_t bytes = gpu_part_bytes(h->end->ferry->model, part);
        char *row = (char *)h->host->waiting + (i - h->host->entries) * bytes;
        memcpy(to_host ? row : plain, to_host ? plain : row, bytes);
    }
}

static void handle_items(void *ctx, struct member *m)
{
    const struct handled *h = ctx;
    uint32_t begin, end;
    while (member_claim(m, h->load->items, 1, &begin, &end)) {
        const struct ferry *f = h->end->ferry;
        const struct gpu_piece *piece = h->load->pieces;
        uint32_t i = begin;
        for (; i >= piece->n * items_of(f, piece->part); piece++) i -= piece->n * items_of(f, piece->part);
        uint32_t items = items_of(f, piece->part), item = i % items;
        char *plain = place_in(h->end, piece, i / items, h->port);
        uint64_t bytes = gpu_part_bytes(f->model, piece->part) / items;
        if (h->other)
            memcpy(plain + item * bytes, place_in(h->other, piece, i / items, h->port) + item * bytes, bytes);
        else
            handle(h, piece->part, piece->first + i / items, item, plain);
    }
}

/* ---- Crossing ---------------------------------------------------------------------------------------------------- */

/* Ports are needed; with `busy`. */
static tdm_status prepare_end(struct end *e, const struct crossing *x, tdm_error *err)
{
    e->seen = gpu_state_is_host_visible(e->state, x->start);
    if (!e->seen) return make_ports(e->ferry, err);
    return e->to_device ? TDM_OK : gpu_state_make_visible(e->state, err);
}

static tdm_status start(const struct end *e, const struct load *load, int port, tdm_error *err)
{
    if (e->seen) return TDM_OK;
    return gpu_port_start(e->ferry->port[port], e->state, load->pieces, load->n, e->to_device, err);
}

static tdm_status wait_for(const struct end *e, int port, tdm_error *err)
{
    return e->ferry->port[port] ? gpu_port_wait(e->ferry->port[port], err) : TDM_OK;
}

/* Waits for both ports. Returns `status`, or that of the first failure. */
static tdm_status wait_for_all(const struct end *e, tdm_status status, tdm_error *err)
{
    for (int port = 0; port < 2; port++) {
        tdm_status waited = wait_for(e, port, status ? NULL : err);
        if (!status) status = waited;
    }
    return status;
}

/* From the host's state to that of `to`. */
static tdm_status fill(const struct end *to, struct state *host, struct cargo *cargo, struct crossing *x,
                       tdm_error *err)
{
    struct load load;
    struct handled h = {.load = &load, .end = to, .host = host};
    if (to->seen) {
        load = take_all(to->ferry, cargo, &x->bytes);
        team_run(x->team, handle_items, &h);
        return TDM_OK;
    }
    tdm_status status = TDM_OK;
    for (; !status && take_load(to->ferry, cargo, &load, &x->bytes); h.port = !h.port) {
        status = wait_for(to, h.port, err);
        if (status) break;
        team_run(x->team, handle_items, &h);
        status = start(to, &load, h.port, err);
    }
    return wait_for_all(to, status, err);
}

/* From the state of `from` to the host's, or to that of another device, which has as many ports. */
static tdm_status empty(const struct end *from, struct state *host, const struct end *to, struct cargo *cargo,
                        struct crossing *x, tdm_error *err)
{
    struct load loads[2];
    struct handled h = {.load = loads, .end = to ? to : from, .other = to ? from : NULL, .host = host};
    if (from->seen && (!to || to->seen)) {
        loads[0] = take_all(from->ferry, cargo, &x->bytes);
        team_run(x->team, handle_items, &h);
        return TDM_OK;
    }
    bool more = take_load(from->ferry, cargo, &loads[0], &x->bytes), next;
    tdm_status status = more ? start(from, &loads[0], 0, err) : TDM_OK;
    for (; more && !status; more = next, h.port = !h.port) {
        next = take_load(from->ferry, cargo, &loads[!h.port], &x->bytes);
        if (next) status = start(from, &loads[!h.port], !h.port, err);
        if (!status) status = wait_for(from, h.port, err);
        if (!status && to) status = wait_for(to, h.port, err);
        if (status) break;
        h.load = &loads[h.port];
        team_run(x->team, handle_items, &h);
        if (to) status = start(to, h.load, h.port, err);
    }
    status = wait_for_all(from, status, err);
    return to ? wait_for_all(to, status, err) : status;
}

tdm_status ferry_to_device(struct ferry *f, struct gpu_state *to, const struct state *host, struct crossing *x,
                           tdm_error *err)
{
    struct end end = {.ferry = f, .state = to, .to_device = true};
    struct gpu_content content = {.length = crossing_length(host, x),
                                  .tokens = host->tokens,
                                  .headless = host->headless || x->sealed,
                                  .entries = host->entries};
    memcpy(content.first, x->first, sizeof content.first);
    memcpy(content.start, x->start, sizeof content.start);
    pthread_mutex_lock(&f->busy);
    tdm_status status = gpu_state_prepare(to, &content, err);
    if (!status) status = prepare_end(&end, x, err);
    if (!status) {
        struct cargo cargo = cargo_of(f, x, content.length, content.entries, gpu_state_headless(to));
        status = fill(&end, (struct state *)host, &cargo, x, err);
    }
    pthread_mutex_unlock(&f->busy);
    if (!status && !x->sealed) gpu_state_finish(to, host->logits_valid ? host->logits : NULL);
    return status;
}

tdm_status ferry_to_host(struct ferry *f, struct gpu_state *gpu, const struct state *from, struct state *host,
                         struct crossing *x, tdm_error *err)
{
    struct end end = {.ferry = f, .state = gpu};
    pthread_mutex_lock(&f->busy);
    tdm_status status = prepare_end(&end, x, err);
    if (!status) status = crossing_prepare(host, from, gpu_state_entries(gpu), x, err);
    if (!status) {
        struct cargo cargo = cargo_of(f, x, host->length, host->entries, host->headless);
        status = empty(&end, host, NULL, &cargo, x, err);
    }
    pthread_mutex_unlock(&f->busy);
    return status;
}

tdm_status ferry_across(const struct ferry_way *way, const struct state *from, struct crossing *x, tdm_error *err)
{
    struct end a = {.ferry = way->from, .state = way->source},
               b = {.ferry = way->to, .state = way->target, .to_device = true};
    struct ferry *first = way->from < way->to ? way->from : way->to, *second = first == way->to ? way->from : way->to;
    struct gpu_content content = {.length = crossing_length(from, x),
                                  .tokens = from->tokens,
                                  .headless = from->headless || x->sealed,
                                  .entries = gpu_state_entries(a.state)};
    assert_always(a.ferry->kv == b.ferry->kv && a.ferry->bytes == b.ferry->bytes);
    memcpy(content.first, x->first, sizeof content.first);
    memcpy(content.start, x->start, sizeof content.start);
    pthread_mutex_lock(&first->busy);
    pthread_mutex_lock(&second->busy);
    tdm_status status = gpu_state_prepare(b.state, &content, err);
    if (!status) status = prepare_end(&a, x, err);
    if (!status) status = prepare_end(&b, x, err);
    if (!status) {
        struct cargo cargo = cargo_of(b.ferry, x, content.length, content.entries, gpu_state_headless(b.state));
        status = empty(&a, NULL, &b, &cargo, x, err);
    }
    pthread_mutex_unlock(&second->busy);
    pthread_mutex_unlock(&first->busy);
    return status;
}

tdm_status ferry_link_ms(struct ferry *f, struct gpu_state *s, uint64_t bytes, bool to_device, double *ms,
                         tdm_error *err)
{
    static const uint32_t all_pages[STATE_PAGES] = {0};
    struct end end = {.ferry = f, .state = s, .seen = gpu_state_is_host_visible(s, all_pages), .to_device = to_device};
    uint64_t one = gpu_part_bytes(f->model, GPU_RECURRENT), done = 0;
    uint32_t all = f->shape->linear_layers * f->shape->value_heads, most = one ? (uint32_t)(f->bytes / one) : 0;
    struct load load = {.pieces = {{.part = GPU_RECURRENT, .n = most < all ? most : all}}, .n = 1};
    if (end.seen || !load.pieces[0].n) return TDM_OK;
    pthread_mutex_lock(&f->busy);
    tdm_status status = make_ports(f, err);
    int64_t began = clock_ns();
    for (int port = 0; !status && done < bytes; port = !port, done += one * load.pieces[0].n) {
        status = wait_for(&end, port, err);
        if (!status) status = start(&end, &load, port, err);
    }
    status = wait_for_all(&end, status, err);
    *ms = 1e-6 * (double)(clock_ns() - began) * (double)bytes / (double)(done ? done : 1);
    pthread_mutex_unlock(&f->busy);
    return status;
}
