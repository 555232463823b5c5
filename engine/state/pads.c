#include "engine/state/pads.h"

#include <pthread.h>
#include <stdlib.h>

#include "engine/base/error.h"

/* Entries lie in chunks that never move, in order of their ids, so that finding one takes no lock. `lock` is for adding
 * some, and for their holders. */
enum { CHUNK = 256, CHUNKS = 1024 };

static struct {
    pthread_mutex_t lock;
    struct pads *chunks[CHUNKS]; /* [CHUNK] each */
    atomic_uint n;               /* entries that are whole */
    tdm_id next;                 /* of the next picture */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER, .next = -1};

static struct pads *entry(uint32_t i)
{
    return &known.chunks[i / CHUNK][i % CHUNK];
}

static struct pads *find_hash(const uint64_t hash[2], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (entry(i)->hash[0] == hash[0] && entry(i)->hash[1] == hash[1]) return entry(i);
    return NULL;
}

static tdm_status add(struct pads **out, const uint64_t hash[2], uint32_t rows, uint32_t columns, tdm_error *err)
{
    uint32_t n = atomic_load_explicit(&known.n, memory_order_relaxed), tokens = rows * columns;
    if (n == CHUNK * CHUNKS || (int64_t)known.next - tokens < INT32_MIN)
        return error_set(err, TDM_E_CONTEXT, "%u pictures were seen: there is no room for another one", n);
    struct pads **chunk = &known.chunks[n / CHUNK];
    if (!*chunk) *chunk = calloc(CHUNK, sizeof **chunk);
    if (!*chunk) return error_set(err, TDM_E_NOMEM, "no memory for a picture");
    struct pads *p = *out = entry(n);
    p->hash[0] = hash[0];
    p->hash[1] = hash[1];
    p->rows = rows;
    p->columns = columns;
    p->tokens = tokens;
    p->first = known.next;
    known.next -= (tdm_id)tokens;
    atomic_store_explicit(&known.n, n + 1, memory_order_release);
    return TDM_OK;
}

tdm_status pads_of(struct pads **out, const uint64_t hash[2], uint32_t rows, uint32_t columns, tdm_error *err)
{
    assert_always(rows && columns && (uint64_t)rows * columns <= INT32_MAX);
    pthread_mutex_lock(&known.lock);
    struct pads *found = *out = find_hash(hash, atomic_load_explicit(&known.n, memory_order_relaxed));
    tdm_status status = TDM_OK;
    if (!found)
        status = add(out, hash, rows, columns, err);
    else if (found->rows != rows || found->columns != columns)
        status = error_set(err, TDM_E_FORMAT, "a picture of %u x %u tokens has the hash of one of %u x %u", columns,
                           rows, found->columns, found->rows);
    pthread_mutex_unlock(&known.lock);
    return status;
}

void pads_give(struct pads *p, float *embeddings, uint32_t width)
{
    pthread_mutex_lock(&known.lock);
    if (p->holders++) {
        free(embeddings);
    } else {
        p->width = width;
        atomic_store_explicit(&p->embeddings, embeddings, memory_order_release);
    }
    pthread_mutex_unlock(&known.lock);
}

bool pads_hold(struct pads *p)
{
    pthread_mutex_lock(&known.lock);
    bool there = p->holders > 0;
    p->holders += there;
    pthread_mutex_unlock(&known.lock);
    return there;
}

void pads_drop(struct pads *p)
{
    pthread_mutex_lock(&known.lock);
    assert_always(p->holders > 0);
    if (!--p->holders) free((float *)atomic_exchange(&p->embeddings, NULL));
    pthread_mutex_unlock(&known.lock);
}

struct pads *pads_find(tdm_id id, uint32_t *cell)
{
    uint32_t low = 0, high = atomic_load_explicit(&known.n, memory_order_acquire);
    if (id >= 0 || !high) return NULL;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (entry(middle)->first >= id)
            low = middle;
        else
            high = middle;
    }
    struct pads *p = entry(low);
    uint32_t at = (uint32_t)(p->first - id);
    if (at >= p->tokens) return NULL;
    if (cell) *cell = at;
    return p;
}

const float *pads_embedding(tdm_id id, uint32_t width)
{
    uint32_t cell;
    const struct pads *p = pads_find(id, &cell);
    const float *rows = p ? atomic_load_explicit(&p->embeddings, memory_order_acquire) : NULL;
    return rows && p->width == width ? rows + (size_t)cell * width : NULL;
}

tdm_status pads_check(tdm_id id, uint32_t vocab, uint32_t width, tdm_error *err)
{
    if (id < 0 && pads_find(id, NULL))
        return pads_embedding(id, width) ? TDM_OK
                                         : error_set(err, TDM_E_ARG, "a picture is to be read before it is encoded");
    if (id >= 0 && (uint32_t)id < vocab) return TDM_OK;
    return error_set(err, TDM_E_ARG, "token id %d: expected 0 to %u", (int)id, vocab - 1);
}

/* What positions lag more by behind a whole picture. */
static uint32_t gain(const struct pads *p)
{
    return p->tokens - (p->rows > p->columns ? p->rows : p->columns);
}

/* The next id below 0 in ids[i..n), or n. */
static uint32_t next_pad(const tdm_id *ids, uint32_t i, uint32_t n)
{
    enum { SOME = 64 };
    for (; n - i >= SOME; i += SOME) {
        tdm_id any = 0;
        for (uint32_t j = 0; j < SOME; j++) any |= ids[i + j];
        if (any < 0) break;
    }
    while (i < n && ids[i] >= 0) i++;
    return i;
}

bool pads_among(const tdm_id *ids, uint32_t n)
{
    return next_pad(ids, 0, n) < n;
}

uint32_t pads_next(const tdm_id *ids, uint32_t *i, uint32_t n)
{
    uint32_t cell = 0, at = next_pad(ids, *i, n);
    const struct pads *p = at < n ? pads_find(ids[at], &cell) : NULL;
    *i = at;
    if (at == n) return 0;
    assert_always(p); /* no other ids are below 0 */
    return p->tokens - cell < n - at ? p->tokens - cell : n - at;
}

uint32_t pads_lag(const tdm_id *ids, uint32_t n)
{
    uint32_t lag = 0, some;
    if (!atomic_load_explicit(&known.n, memory_order_relaxed)) return 0;
    for (uint32_t i = 0; (some = pads_next(ids, &i, n)) > 0; i += some) {
        const struct pads *p = pads_find(ids[i], NULL);
        if (some == p->tokens) lag += gain(p);
    }
    return lag;
}

struct pads_position pads_position(const tdm_id *ids, uint32_t i, uint32_t first, uint32_t lag)
{
    uint32_t cell;
    const struct pads *p;
    bool none = !atomic_load_explicit(&known.n, memory_order_relaxed);
    for (uint32_t j = none ? i : next_pad(ids, 0, i); j < i; j = next_pad(ids, j + 1, i)) {
        p = pads_find(ids[j], &cell);
        if (p && cell + 1 == p->tokens) lag += gain(p);
    }
    uint32_t at = first + i - lag;
    p = ids[i] < 0 ? pads_find(ids[i], &cell) : NULL;
    if (!p) return (struct pads_position){at, at, at};
    at -= cell;
    return (struct pads_position){at, at + cell / p->columns, at + cell % p->columns};
}

uint64_t pads_word(tdm_id id)
{
    uint32_t cell;
    const struct pads *p = pads_find(id, &cell);
    return p ? p->hash[0] + cell : (uint64_t)id;
}
