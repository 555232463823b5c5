#include "src/cli/wait.h"

#include <poll.h>

#include "src/cli/interrupt.h"

int wait_for(const tdm_chat *c, int other, int timeout_ms)
{
    struct pollfd fds[3] = {
        {.fd = c ? tdm_chat_fd(c) : -1, .events = POLLIN},
        {.fd = interrupt_seen() ? -1 : interrupt_fd(), .events = POLLIN},
        {.fd = other, .events = POLLIN},
    };
    int ready = 0;
    if (poll(fds, 3, timeout_ms) <= 0) return 0;
    for (int i = 0; i < 3; i++)
        if (fds[i].revents) ready |= 1 << i;
    return ready;
}
