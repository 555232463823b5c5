#include "engine/text/bpe.h"

#include <string.h>
#include <sys/random.h>

#include "engine/base/clock.h"
#include "engine/base/utf8.h"

#define NO_RANK UINT32_MAX

struct bpe_word {
    uint32_t hash;
    tdm_id id; /* -1: free */
};

struct bpe_pair {
    uint64_t key; /* left in the upper half, right in the lower */
    uint32_t rank;
    tdm_id merged; /* -1: free */
};

/* A doubly linked list through an array; a symbol that was merged into the one before it has length 0. */
struct bpe_symbol {
    tdm_id id, merged; /* what it and its successor merge to */
    uint32_t rank;     /* of that merge, or NO_RANK */
    uint32_t previous, next;
    uint32_t length; /* bytes */
};

enum { WHOLE_UNKNOWN, WHOLE_YES, WHOLE_NO };

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_bytes(uint64_t seed, const char *bytes, size_t n)
{
    uint64_t h = seed ^ n, chunk;
    for (; n > 8; bytes += 8, n -= 8) {
        memcpy(&chunk, bytes, 8);
        h = mix(h ^ chunk, 0x9E3779B97F4A7C15u ^ seed);
    }
    chunk = 0;
    for (size_t i = 0; i < n; i++) chunk |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    return mix(h ^ chunk, 0xD6E8FEB86659FD93u ^ seed);
}

static uint64_t hash_pair(uint64_t seed, uint64_t key)
{
    return mix(key ^ seed, 0xA0761D6478BD642Fu ^ seed);
}

/* The smallest power of two that keeps a table at most two thirds full. */
static uint64_t table_size(uint64_t entries)
{
    uint64_t size = 16;
    while (size < entries + entries / 2) size *= 2;
    return size;
}

tdm_status bpe_init(struct bpe *bpe, const char *bytes, const struct bpe_token *tokens, tdm_id count, size_t merges,
                    tdm_error *err)
{
    *bpe = (struct bpe){.bytes = bytes, .tokens = tokens, .count = count};
    if (merges >= NO_RANK / 2) return error_set(err, TDM_E_FORMAT, "too many merges: %zu", merges);
    if (getrandom(&bpe->seed, sizeof bpe->seed, GRND_NONBLOCK) != sizeof bpe->seed)
        bpe->seed = (uint64_t)clock_ns() ^ (uintptr_t)bpe;
    uint64_t words = table_size((uint64_t)count), pairs = table_size(merges);
    bpe->words = malloc(words * sizeof *bpe->words);
    bpe->pairs = malloc(pairs * sizeof *bpe->pairs);
    bpe->whole = calloc((size_t)count + 1, 1);
    if (!bpe->words || !bpe->pairs || !bpe->whole) {
        bpe_free(bpe);
        return error_set(err, TDM_E_NOMEM, "no memory for a vocabulary of %d tokens", (int)count);
    }
    memset(bpe->words, 0xFF, words * sizeof *bpe->words);
    memset(bpe->pairs, 0xFF, pairs * sizeof *bpe->pairs);
    memset(bpe->byte, 0xFF, sizeof bpe->byte);
    bpe->word_mask = words - 1;
    bpe->pair_mask = pairs - 1;
    return TDM_OK;
}

void bpe_free(struct bpe *bpe)
{
    free(bpe->words);
    free(bpe->pairs);
    free((void *)bpe->whole);
    *bpe = (struct bpe){0};
}

/* The slot that holds these bytes, or the free one where they belong. */
static struct bpe_word *word_slot(const struct bpe *bpe, const char *bytes, size_t n, uint32_t *hash)
{
    uint64_t h = hash_bytes(bpe->seed, bytes, n), at = h >> 32;
    *hash = (uint32_t)h;
    for (;; at++) {
        struct bpe_word *slot = &bpe->words[at & bpe->word_mask];
        if (slot->id < 0) return slot;
        if (slot->hash != *hash) continue;
        const struct bpe_token *token = &bpe->tokens[slot->id];
        if (token->length == n && !memcmp(bpe->bytes + token->offset, bytes, n)) return slot;
    }
}

static struct bpe_pair *pair_slot(const struct bpe *bpe, tdm_id left, tdm_id right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right, at = hash_pair(bpe->seed, key);
    for (;; at++) {
        struct bpe_pair *slot = &bpe->pairs[at & bpe->pair_mask];
        if (slot->merged < 0 || slot->key == key) return slot;
    }
}

bool bpe_add_word(struct bpe *bpe, tdm_id id)
{
    const struct bpe_token *token = &bpe->tokens[id];
    const char *bytes = bpe->bytes + token->offset;
    uint32_t hash;
    struct bpe_word *slot = word_slot(bpe, bytes, token->length, &hash);
    if (slot->id >= 0) return false;
    *slot = (struct bpe_word){hash, id};
    if (token->length == 1 && !bpe->characters) bpe->byte[(unsigned char)bytes[0]] = id;
    if (token->length > bpe->longest) bpe->longest = token->length;
    return true;
}

tdm_id bpe_find(const struct bpe *bpe, const char *bytes, size_t n)
{
    uint32_t hash;
    return n > bpe->longest ? -1 : word_slot(bpe, bytes, n, &hash)->id;
}

void bpe_add_merge(struct bpe *bpe, tdm_id left, tdm_id right, tdm_id merged, uint32_t rank)
{
    struct bpe_pair *slot = pair_slot(bpe, left, right);
    *slot = (struct bpe_pair){(uint64_t)(uint32_t)left << 32 | (uint32_t)right, rank, merged};
}

static void heap_push(uint64_t *heap, size_t *n, uint64_t value)
{
    size_t at = (*n)++;
    for (; at > 0 && heap[(at - 1) / 2] > value; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = value;
}

static uint64_t heap_pop(uint64_t *heap, size_t *n)
{
    uint64_t top = heap[0], last = heap[--*n];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < *n; at = child) {
        if (child + 1 < *n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= last) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* Looks up the merge of symbol `at` with its successor and queues it. An entry of the heap is rank and place,
 * so that the smallest is the merge to do next; it is stale when the symbol's rank has changed since. */
static void queue_pair(const struct bpe *bpe, struct bpe_work *work, const char *bytes, size_t n, uint32_t at,
                       size_t *heap_n)
{
    struct bpe_symbol *symbol = &work->symbols[at];
    symbol->rank = NO_RANK;
    if (symbol->next >= n) return;
    const struct bpe_symbol *next = &work->symbols[symbol->next];
    if (bpe->ranks) {
        symbol->merged = bpe_find(bpe, bytes + at, symbol->length + next->length);
        if (symbol->merged < 0) return;
        symbol->rank = bpe->ranks[symbol->merged];
    } else {
        if (symbol->id < 0 || next->id < 0) return;
        const struct bpe_pair *pair = pair_slot(bpe, symbol->id, next->id);
        if (pair->merged < 0) return;
        symbol->rank = pair->rank;
        symbol->merged = pair->merged;
    }
    heap_push(work->heap, heap_n, (uint64_t)symbol->rank << 32 | at);
}

/* Each of the n-1 first pairs is queued once and each of at most n-1 merges queues two more. */
static tdm_status reserve_work(struct bpe_work *work, size_t n, tdm_error *err)
{
    if (n <= work->room) return TDM_OK;
    if (n >= UINT32_MAX) return error_set(err, TDM_E_ARG, "a word of %zu bytes is too long to tokenize", n);
    size_t room = n < 256 ? 256 : n;
    bpe_work_free(work);
    work->symbols = malloc(room * sizeof *work->symbols);
    work->heap = malloc(room * 3 * sizeof *work->heap);
    if (!work->symbols || !work->heap) {
        bpe_work_free(work);
        return error_set(err, TDM_E_NOMEM, "no memory to tokenize a word of %zu bytes", n);
    }
    work->room = room;
    return TDM_OK;
}

void bpe_work_free(struct bpe_work *work)
{
    free(work->symbols);
    free(work->heap);
    *work = (struct bpe_work){0};
}

static void merge_word(const struct bpe *bpe, struct bpe_work *work, const char *bytes, size_t n)
{
    struct bpe_symbol *symbols = work->symbols;
    size_t heap_n = 0;
    for (size_t i = 0, previous = n, length = 1; i < n; previous = i, i += length) {
        int32_t code;
        if (bpe->characters) length = utf8_decode(bytes + i, n - i, &code);
        symbols[i] = (struct bpe_symbol){
            .id = bpe->characters ? bpe_find(bpe, bytes + i, length) : bpe->byte[(unsigned char)bytes[i]],
            .previous = (uint32_t)previous,
            .next = (uint32_t)(i + length),
            .length = (uint32_t)length,
        };
    }
    for (size_t i = 0; i < n; i = symbols[i].next) queue_pair(bpe, work, bytes, n, (uint32_t)i, &heap_n);

    while (heap_n) {
        uint64_t top = heap_pop(work->heap, &heap_n);
        struct bpe_symbol *symbol = &symbols[(uint32_t)top];
        if (!symbol->length || symbol->rank != top >> 32) continue;
        struct bpe_symbol *gone = &symbols[symbol->next];
        symbol->id = symbol->merged;
        symbol->length += gone->length;
        symbol->next = gone->next;
        gone->length = 0;
        if (symbol->next < n) symbols[symbol->next].previous = (uint32_t)top;
        if (symbol->previous < n) queue_pair(bpe, work, bytes, n, symbol->previous, &heap_n);
        queue_pair(bpe, work, bytes, n, (uint32_t)top, &heap_n);
    }
}

tdm_status bpe_encode(const struct bpe *bpe, struct bpe_work *work, const char *bytes, size_t n, size_t base,
                      struct ids *out, tdm_error *err)
{
    tdm_id known = bpe_find(bpe, bytes, n);
    unsigned char whole = WHOLE_NO;
    if (known >= 0) {
        whole = atomic_load_explicit(&bpe->whole[known], memory_order_relaxed);
        if (whole == WHOLE_YES || bpe->ignore_merges) return ids_push(out, known, base + n, err);
    }
    tdm_status status = reserve_work(work, n, err);
    if (!status) status = ids_reserve(out, n, err);
    if (status) return status;
    merge_word(bpe, work, bytes, n);
    if (whole == WHOLE_UNKNOWN) {
        unsigned char value = work->symbols[0].length == n && work->symbols[0].id == known ? WHOLE_YES : WHOLE_NO;
        atomic_store_explicit(&bpe->whole[known], value, memory_order_relaxed);
    }
    for (size_t at = 0; at < n; at = work->symbols[at].next) {
        const struct bpe_symbol *symbol = &work->symbols[at];
        for (size_t i = 0; symbol->id < 0 && i < symbol->length; i++)
            ids_push(out, bpe->byte[(unsigned char)bytes[at + i]], base + i + 1, err);
        base += symbol->length;
        if (symbol->id >= 0) ids_push(out, symbol->id, base, err);
    }
    return TDM_OK;
}
