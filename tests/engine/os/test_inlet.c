/* Keys that poll(2) has told of and somebody else has taken: the read finds nothing, and doesn't wait. */
#include "engine/os/inlet.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/os/file.h"
#include "tests/check.h"

static void check_reads(int writes, int reads, const char *line)
{
    struct inlet in;
    char bytes[16];
    inlet_open(&in, reads);
    CHECK(write(writes, line, strlen(line)) == (ssize_t)strlen(line));
    struct pollfd fd = {reads, POLLIN, 0};
    CHECK_INT(1, poll(&fd, 1, CHECK_PATIENCE_MS));
    CHECK_INT((int)strlen(line), (int)read(reads, bytes, sizeof bytes)); /* somebody else */
    alarm(60);
    ssize_t n = inlet_read(&in, bytes, sizeof bytes);
    CHECK(n < 0 && file_again(n));
    CHECK(write(writes, line, strlen(line)) == (ssize_t)strlen(line));
    CHECK_INT(1, poll(&fd, 1, CHECK_PATIENCE_MS));
    CHECK_INT((int)strlen(line), (int)inlet_read(&in, bytes, sizeof bytes));
    alarm(0);
    CHECK(!(fcntl(reads, F_GETFL) & O_NONBLOCK)); /* the others' is as it was */
    inlet_close(&in);
}

TEST(a_terminal)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(master >= 0 && !grantpt(master) && !unlockpt(master));
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    check_reads(master, slave, "fg\n");
    close(slave);
    close(master);
}

TEST(a_pipe)
{
    int ends[2];
    REQUIRE(!pipe(ends));
    check_reads(ends[1], ends[0], "fg\n");
    struct inlet in;
    char byte;
    inlet_open(&in, ends[0]);
    close(ends[1]);
    CHECK_INT(0, (int)inlet_read(&in, &byte, 1)); /* its end */
    inlet_close(&in);
    close(ends[0]);
}

TEST_MAIN(T(a_terminal), T(a_pipe))
