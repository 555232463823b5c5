/* Recycled blocks of one size, cut from large mappings that are touched when made and advised to be huge pages.
 * Memory goes back to the system with blocks_close, and that of free blocks with blocks_give_back.
 * Threads: blocks_close last, the rest from any thread. */
#ifndef TANDEM_STATE_BLOCKS_H
#define TANDEM_STATE_BLOCKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blocks {
    size_t block_bytes;   /* a multiple of 64 */
    uint32_t chunk;       /* blocks that are mapped together */
    pthread_mutex_t lock; /* guards what follows */
    struct free_block *free; /* a list through the blocks */
    struct blocks_chunk *chunks;
    uint32_t total, ready;
    uint64_t bytes; /* bytes taken from the system and not given back */
};

void blocks_open(struct blocks *b, size_t block_bytes);
/* Call it after all blocks have been put back. */
void blocks_close(struct blocks *b);
/* A block aligned to 64 bytes, contents undefined; NULL: no memory. */
void *blocks_take(struct blocks *b);
void blocks_put(struct blocks *b, void *block);
/* Grows until `count` blocks are free; false: no memory. */
bool blocks_warm(struct blocks *b, uint32_t count);

/* Gives the memory of all free blocks back to the system, except pages that they share with blocks in use. The blocks
 * stay free, and taking one then waits for the system. Returns the bytes. */
uint64_t blocks_give_back(struct blocks *b);

#endif
