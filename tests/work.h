/* How much work something is, counted and not timed. A test_X_work.c includes the source that it is about and is
 * compiled so that each basic block of it, when it is run, counts here. */
#ifndef TANDEM_TESTS_WORK_H
#define TANDEM_TESTS_WORK_H

#include <stdint.h>

extern uint64_t work_done;

#endif
