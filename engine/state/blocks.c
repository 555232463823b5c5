#include "engine/state/blocks.h"

#include "engine/base/error.h"
#include "engine/os/pages.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK_BYTES = 8 << 20 };

/* What a free block holds. Fresh mappings are zero. */
struct free_block {
    struct free_block *next;
    size_t given_back; /* bytes of it that the system has again */
};

/* The head of a mapping; blocks follow at the next multiple of 64. */
struct blocks_chunk {
    struct blocks_chunk *next;
    size_t bytes;
} __attribute__((aligned(64)));

void blocks_open(struct blocks *b, size_t block_bytes)
{
    memset(b, 0, sizeof *b);
    assert_always(block_bytes % 64 == 0 && block_bytes > 0); /* and so there is room for a struct free_block */
    b->block_bytes = block_bytes;
    b->chunk = block_bytes >= CHUNK_BYTES ? 1 : (uint32_t)(CHUNK_BYTES / block_bytes);
    pthread_mutex_init(&b->lock, NULL);
}

void blocks_close(struct blocks *b)
{
    assert_always(b->ready == b->total);
    for (struct blocks_chunk *c = b->chunks, *next; c; c = next) {
        next = c->next;
        pages_unmap(c, c->bytes);
    }
    pthread_mutex_destroy(&b->lock);
}

/* Maps and touches one chunk. The slow part runs without the lock, so that others can take what is ready. */
static bool grow(struct blocks *b)
{
    size_t wanted = sizeof(struct blocks_chunk) + (size_t)b->chunk * b->block_bytes;
    size_t bytes = (wanted + PAGES_LARGE - 1) & ~(size_t)(PAGES_LARGE - 1);
    if (bytes < wanted) return false;
    struct blocks_chunk *c = pages_map(bytes);
    if (!c) return false;
    memset(c, 0, bytes);
    c->bytes = bytes;
    /* What the rounding to large pages left over is used, too. */
    uint32_t count = (uint32_t)((bytes - sizeof *c) / b->block_bytes);
    char *block = (char *)(c + 1);
    pthread_mutex_lock(&b->lock);
    c->next = b->chunks;
    b->chunks = c;
    b->bytes += bytes;
    b->total += count;
    b->ready += count;
    for (uint32_t i = count; i-- > 0;) {
        struct free_block *first = (struct free_block *)(block + (size_t)i * b->block_bytes);
        first->next = b->free;
        b->free = first;
    }
    pthread_mutex_unlock(&b->lock);
    return true;
}

void *blocks_take(struct blocks *b)
{
    for (;;) {
        pthread_mutex_lock(&b->lock);
        struct free_block *block = b->free;
        if (block) {
            b->free = block->next;
            b->bytes += block->given_back;
            b->ready--;
        }
        pthread_mutex_unlock(&b->lock);
        if (block || !grow(b)) return block;
    }
}

void blocks_put(struct blocks *b, void *block)
{
    struct free_block *first = block;
    pthread_mutex_lock(&b->lock);
    *first = (struct free_block){.next = b->free};
    b->free = first;
    b->ready++;
    pthread_mutex_unlock(&b->lock);
}

bool blocks_warm(struct blocks *b, uint32_t count)
{
    for (;;) {
        pthread_mutex_lock(&b->lock);
        bool enough = b->ready >= count;
        pthread_mutex_unlock(&b->lock);
        if (enough) return true;
        if (!grow(b)) return false;
    }
}

uint64_t blocks_give_back(struct blocks *b)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint64_t bytes = 0;
    pthread_mutex_lock(&b->lock);
    for (struct free_block *f = b->free; f; f = f->next) {
        uintptr_t from = ((uintptr_t)(f + 1) + page - 1) & ~(page - 1);
        uintptr_t to = ((uintptr_t)f + b->block_bytes) & ~(page - 1);
        if (f->given_back || to <= from || madvise((void *)from, to - from, MADV_DONTNEED)) continue;
        f->given_back = to - from;
        bytes += to - from;
    }
    b->bytes -= bytes;
    pthread_mutex_unlock(&b->lock);
    return bytes;
}
