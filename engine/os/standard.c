#include "engine/os/standard.h"

#include <fcntl.h>
#include <unistd.h>

void standard_hold(void)
{
    static const int ways[] = {[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) /* upwards: open() gives the lowest that is free */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", ways[fd]) != fd) _exit(1);
}
