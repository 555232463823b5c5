#include "tests/work.h"

uint64_t work_done;

void __sanitizer_cov_trace_pc(void); /* what -fsanitize-coverage=trace-pc calls */

void __sanitizer_cov_trace_pc(void)
{
    work_done++;
}
