/* The program `tandem-bench`, which `tandem bench` runs: measurements, with all that a conversation doesn't need, such
 * as the emulation of a terminal. Exit status: 0 all went well, 1 something failed, 2 wrong use. */
#include "src/bench/bench.h"
#include "src/cli/program.h"

int main(int argc, char **argv)
{
    return program_main_of(COMMAND_BENCH, bench_main, argc, argv);
}
