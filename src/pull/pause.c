#include "src/pull/pause.h"

#include <poll.h>

#include "src/process/interrupt.h"

bool pause_for(int ms)
{
    struct pollfd fd = {.fd = interrupt_fd(), .events = POLLIN};
    if (!interrupt_seen()) poll(&fd, 1, ms);
    return !interrupt_seen();
}
