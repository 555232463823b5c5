/* Memory in large pages: zeroed, aligned, all of it usable, and sizes that no machine has are refused. */
#include "engine/os/pages.h"

#include <stdint.h>
#include <unistd.h>

#include "tests/check.h"

TEST(memory_of_any_size_is_zero_and_aligned)
{
    const size_t sizes[] = {1, 4096, PAGES_LARGE - 1, PAGES_LARGE, PAGES_LARGE + 1, 3 * PAGES_LARGE + 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i], align = n < PAGES_LARGE ? (size_t)sysconf(_SC_PAGESIZE) : PAGES_LARGE, sum = 0;
        unsigned char *p = pages_map(n);
        REQUIRE(p);
        CHECK_INT(0, (uintptr_t)p % align);
        for (size_t k = 0; k < n; k++) sum += p[k];
        CHECK_INT(0, sum);
        memset(p, 255, n);
        pages_unmap(p, n);
    }
}

TEST(sizes_that_no_machine_has_are_refused)
{
    CHECK(!pages_map(0));
    CHECK(!pages_map(SIZE_MAX));
    CHECK(!pages_map(SIZE_MAX - 2 * PAGES_LARGE));
    pages_unmap(NULL, 5);
}

TEST_MAIN(T(memory_of_any_size_is_zero_and_aligned), T(sizes_that_no_machine_has_are_refused))
