#include "engine/base/slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SHORT_NS = 1000000, LONG_NS = 10000000, NOT_INHERITED = 1 };

static void ask(uint32_t policy, uint64_t slice_ns)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline, period;
    } attributes = {.size = sizeof attributes, .policy = policy, .flags = NOT_INHERITED, .slice_ns = slice_ns};
    attributes.nice = getpriority(PRIO_PROCESS, 0); /* this thread's */
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void slice_for_answers(void)
{
    ask(SCHED_OTHER, SHORT_NS);
}

void slice_for_work(void)
{
    ask(SCHED_BATCH, LONG_NS);
}
