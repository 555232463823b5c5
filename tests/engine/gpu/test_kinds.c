/* A GPU's pages in kinds: those of a made-up model, which cross from the host and back, are shared, cut and given back
 * on the way. No pass is done on them. */
#include "engine/backend/ferry.h"
#include "engine/gpu/model.h"
#include "tests/check.h"
#include "tests/engine/gpu/rig.h"
#include "tests/engine/state/pretend.h"

enum { STATES = 4 };

struct play {
    struct pool *pool;
    struct ferry ferry;
    struct gpu_model *model;
    struct gpu_state *state[STATES];
    struct team team;
    uint64_t seed;
};

static uint32_t below(struct play *p, uint32_t n)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->seed >> 33) % n;
}

/* The first pages that go, where the ones before `kept` may stay: as state_cross has it. */
static struct crossing plan(struct play *p, uint32_t kept, uint32_t length, const uint32_t *to, const uint32_t *from)
{
    struct crossing x = {.team = &p->team, .kept = kept};
    for (uint32_t kind = 0; kind < p->model->shape.kinds; kind++) {
        uint32_t first = state_kind_kept(&p->model->shape.kind[kind], length);
        if (first < from[kind]) first = from[kind];
        x.first[kind] = first;
        x.start[kind] = to[kind] <= first && first <= kept ? kept : first;
    }
    return x;
}

/* Appends tokens, which the host evaluates. */
static void grow(struct play *p, uint32_t i, uint32_t n)
{
    static const uint32_t none[STATE_PAGES];
    struct gpu_state *s = p->state[i];
    struct state *host, from = {.pool = p->pool, .length = gpu_state_length(s), .headless = true};
    tdm_id ids[PRETEND_CONTEXT];
    tdm_error err;
    struct crossing back = plan(p, 0, from.length, none, gpu_state_first(s));
    for (uint32_t k = 0; k < n; k++) ids[k] = (tdm_id)below(p, PRETEND_VOCAB);
    REQUIRE(!state_new(&host, p->pool, &err));
    if (ferry_to_host(&p->ferry, s, &from, host, &back, &err)) CHECK_FAIL("%s", err.text);
    memcpy(host->tokens, gpu_state_tokens(s), from.length * sizeof *ids);
    host->broken = false;
    CHECK(pretend_holds(host, below(p, 6)));
    uint32_t kept = from.length / KV_PAGE;
    pretend_grow(host, ids, n);
    host->logits_valid = false;
    struct crossing x = plan(p, below(p, 4) ? kept : below(p, kept + 1), host->length, gpu_state_first(s), host->first);
    if (ferry_to_device(&p->ferry, s, host, &x, &err)) CHECK_FAIL("%s", err.text);
    state_free(host);
}

static void cut(struct play *p, uint32_t i)
{
    struct gpu_state *s = p->state[i];
    uint32_t length = gpu_state_length(s), back = 1 + below(p, below(p, 2) ? PRETEND_CONTEXT : 60);
    if (back > length || state_kind_seen(&p->model->shape.kind[0], length - back) < gpu_state_first(s)[0]) return;
    CHECK_INT(TDM_OK, gpu_state_cut(s, length - back, NULL));
    CHECK_INT(length - back, gpu_state_length(s));
    for (uint32_t kind = 0; kind < 2 && (length - back) % KV_PAGE; kind++)
        CHECK_INT(1, s->pages[kind][(length - back) / KV_PAGE]->references); /* a pass writes to it */
}

static void step(struct play *p)
{
    uint32_t i = below(p, STATES), j = below(p, STATES), pages;
    switch (below(p, 8)) {
    case 0:
        CHECK_INT(TDM_OK, gpu_state_copy(p->state[j], p->state[i], NULL));
        break;
    case 1:
        if (i == j) break;
        gpu_state_free(p->state[j]);
        p->state[j] = gpu_rig_fork(p->state[i]);
        pages = gpu_state_shared_pages(p->state[i], p->state[j]);
        CHECK_INT(gpu_state_length(p->state[i]) / KV_PAGE, pages);
        break;
    case 2:
    case 3:
        cut(p, i);
        break;
    case 4:
        CHECK_INT(TDM_OK, gpu_state_make_room(p->state[i], 0, NULL));
        CHECK(gpu_state_first(p->state[i])[0] >=
              state_kind_kept(&p->model->shape.kind[0], gpu_state_length(p->state[i])));
        break;
    case 5:
        if (gpu_state_length(p->state[i]) > 300) gpu_state_clear(p->state[i]);
        break;
    default:
        if (gpu_state_length(p->state[i]) < PRETEND_CONTEXT)
            grow(p, i, 1 + below(p, PRETEND_CONTEXT - gpu_state_length(p->state[i])) / 2);
    }
}

/* Pages of a kind that are free. */
static uint32_t free_pages(const struct gpu_model *m, uint32_t kind)
{
    uint32_t n = 0;
    for (const struct gpu_page *p = m->states.pages[kind].free; p; p = p->next) n++;
    return n;
}

static uint32_t all_pages(const struct gpu_model *m, uint32_t kind)
{
    uint32_t n = 0;
    for (const struct slab *s = m->states.pages[kind].slabs; s; s = s->next)
        n += (uint32_t)(s->block.bytes / model_page_bytes(m, kind));
    return n;
}

TEST(schedules)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct gpu *g = gpu_rig_open(NULL);
    struct play p = {.model = g ? gpu_rig_model(g, "tests/goldens/tiny-a", KV_F16) : NULL, .seed = 5};
    REQUIRE(p.model);
    p.model->shape = pretend_shape(false); /* before there are states */
    p.pool = pretend_pool(KV_F16, false);
    ferry_open(&p.ferry, p.model, KV_F16, pool_shape(p.pool));
    team_solo(&p.team);
    for (int i = 0; i < STATES; i++) p.state[i] = gpu_rig_state(p.model);
    int n = getenv("TANDEM_LONG") ? 5000 : check_slow() ? 60 : 400;
    for (int i = 0; i < n && !check_failures; i++) step(&p);
    for (uint32_t i = 0; i < STATES; i++)
        if (gpu_state_length(p.state[i]) < PRETEND_CONTEXT) grow(&p, i, 1);
    for (int i = 0; i < STATES; i++) gpu_state_free(p.state[i]);
    for (uint32_t kind = 0; kind < 2; kind++) {
        CHECK(all_pages(p.model, kind) > 0);
        CHECK_INT(all_pages(p.model, kind), free_pages(p.model, kind));
    }
    ferry_close(&p.ferry);
    pool_free(p.pool);
    gpu_model_free(p.model);
    CHECK_INT(0, gpu_validation_messages(g));
    gpu_close(g);
}

TEST_MAIN(T(schedules))
