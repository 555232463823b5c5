/* What a test and a program under shared_memory.so have in common, in a file that both map. */
#ifndef TANDEM_TESTS_CLI_SHARED_MEMORY_H
#define TANDEM_TESTS_CLI_SHARED_MEMORY_H

#include <stdatomic.h>

struct starved {
    atomic_long count; /* allocations so far, those of child processes as well */
    atomic_long at;    /* that of this number fails; 0: none */
    atomic_bool all;   /* and all that follow it */
};

#endif
