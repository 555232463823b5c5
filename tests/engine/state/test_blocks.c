/* Recycled blocks: what is free can be given back to the system, and is taken again as if nothing had been. */
#include "tests/check.h"

#include "engine/state/blocks.h"

enum { BLOCKS = 40, BYTES = 300 * 1024 + 64 };

TEST(free_blocks_are_given_back)
{
    struct blocks b;
    unsigned char *block[BLOCKS];
    blocks_open(&b, BYTES);
    for (int i = 0; i < BLOCKS; i++) {
        REQUIRE((block[i] = blocks_take(&b)) != NULL);
        memset(block[i], i + 1, BYTES);
    }
    for (int i = 0; i < BLOCKS; i += 2) blocks_put(&b, block[i]);
    uint64_t before = b.bytes, given = blocks_give_back(&b);
    CHECK(given >= (uint64_t)b.ready * (BYTES - 3 * 4096) && given < (uint64_t)b.ready * BYTES);
    CHECK(b.bytes == before - given);
    CHECK_INT(0, (int)blocks_give_back(&b)); /* once */
    for (int i = 1; i < BLOCKS; i += 2) /* what is in use stays as it was */
        for (size_t k = 0; k < BYTES; k++)
            if (block[i][k] != i + 1) REQUIRE(!"a block in use was changed");
    for (int i = 0; i < BLOCKS; i += 2) {
        REQUIRE((block[i] = blocks_take(&b)) != NULL);
        memset(block[i], i + 1, BYTES);
    }
    CHECK(b.bytes > before - given && b.bytes <= before);
    uint32_t rest = b.ready;
    for (uint32_t i = 0; i < rest; i++) CHECK(blocks_take(&b) != NULL);
    CHECK(b.bytes == before); /* all of it is in use again */
    b.ready = b.total;        /* as if all had been put back */
    blocks_close(&b);
}

TEST_MAIN(T(free_blocks_are_given_back))
