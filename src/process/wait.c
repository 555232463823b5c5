#include "src/process/wait.h"

#include <poll.h>

#include "src/process/interrupt.h"

enum { LOOK_MS = 100 };

int wait_for(const tdm_chat *c, int other, int timeout_ms)
{
    struct pollfd fds[3] = {
        {.fd = c ? tdm_chat_fd(c) : -1, .events = POLLIN},
        {.fd = other, .events = POLLIN},
        {.fd = interrupt_seen() ? -1 : interrupt_fd(), .events = POLLIN},
    };
    if (poll(fds, 3, timeout_ms) <= 0) return 0;
    return (fds[0].revents ? WAIT_CHAT : 0) | (fds[1].revents ? WAIT_OTHER : 0);
}

bool wait_idle(tdm_chat *c)
{
    while (!tdm_chat_wait_idle(c, LOOK_MS))
        if (interrupt_seen()) return false;
    return true;
}
