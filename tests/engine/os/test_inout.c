/* Bytes for somebody who takes them late, in pieces, or not at all; and keys that poll(2) has told of and somebody else
 * has taken: the read finds nothing, and doesn't wait. */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "engine/os/file.h"
#include "engine/os/inout.h"

enum { BYTES = 300000 };

static char sent[BYTES], got[BYTES];

static void *take(void *arg)
{
    size_t n = 0;
    for (ssize_t r; n < BYTES && (r = file_read(*(int *)arg, got + n, BYTES - n)) > 0;) n += (size_t)r;
    return NULL;
}

/* Larger than any buffer: both have to wait for each other. */
static void check_all(int to, int from)
{
    struct outlet o;
    pthread_t thread;
    for (size_t i = 0; i < BYTES; i++) sent[i] = (char)('a' + i % 23);
    memset(got, 0, sizeof got);
    REQUIRE(!pthread_create(&thread, NULL, take, &from));
    outlet_open(&o, to, -1);
    CHECK(outlet_write(&o, sent, BYTES));
    outlet_close(&o);
    pthread_join(thread, NULL);
    CHECK(!memcmp(sent, got, BYTES));
}

/* Nobody takes anything: what has come before is dropped once it is told to leave. */
static void check_dropped(int to, int from)
{
    struct outlet o;
    int leave[2];
    REQUIRE(!pipe(leave) && write(leave[1], "l", 1) == 1);
    outlet_open(&o, to, leave[0]);
    CHECK(!outlet_write(&o, sent, BYTES));
    CHECK_INT(ETIMEDOUT, errno);
    CHECK(!outlet_write(&o, sent, BYTES)); /* at once */
    pthread_t thread;
    REQUIRE(!pthread_create(&thread, NULL, take, &from));
    while (!outlet_write(&o, "end", 3)) { /* is taken again as soon as there is room */
    }
    outlet_close(&o);
    close(to);
    pthread_join(thread, NULL);
    close(from);
    close(leave[0]);
    close(leave[1]);
}

TEST(a_pipe)
{
    for (int both = 0; both < 2; both++) {
        int ends[2];
        REQUIRE(!pipe2(ends, both ? O_NONBLOCK : 0));
        check_all(ends[1], ends[0]);
        check_dropped(ends[1], ends[0]);
    }
}

TEST(a_terminal)
{
    for (int both = 0; both < 2; both++) {
        int master, slave;
        struct termios raw;
        REQUIRE(!openpty(&master, &slave, NULL, NULL, NULL) && !tcgetattr(slave, &raw));
        cfmakeraw(&raw);
        REQUIRE(!tcsetattr(slave, TCSANOW, &raw));
        if (both) fcntl(slave, F_SETFL, O_NONBLOCK);
        check_all(slave, master);
        CHECK_INT(both ? O_NONBLOCK : 0, fcntl(slave, F_GETFL) & O_NONBLOCK); /* the others' is left alone */
        check_dropped(slave, master);
    }
}

/* The other end of a pseudo-terminal is not to be opened again: that would be another one. */
TEST(the_other_end_of_a_terminal)
{
    int master, slave;
    char line[8] = "";
    struct outlet o;
    REQUIRE(!openpty(&master, &slave, NULL, NULL, NULL));
    outlet_open(&o, master, -1);
    CHECK_INT(-1, o.own);
    CHECK(outlet_write(&o, "typed\n", 6));
    CHECK_INT(6, (int)read(slave, line, sizeof line));
    outlet_close(&o);
    close(master);
    close(slave);
}

/* A descriptor that something else is put in the place of, as for a moment while readline reads its file. */
TEST(a_descriptor_that_is_replaced)
{
    int master, slave, ends[2];
    char bytes[8] = "";
    struct outlet o;
    REQUIRE(!openpty(&master, &slave, NULL, NULL, NULL) && !pipe(ends));
    outlet_open(&o, slave, -1);
    CHECK(o.own >= 0);
    REQUIRE(dup2(ends[1], slave) == slave);
    CHECK(outlet_write(&o, "here", 4));
    CHECK_INT(4, (int)read(ends[0], bytes, sizeof bytes));
    CHECK_STR("here", bytes);
    outlet_close(&o);
}

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

TEST(keys_of_a_terminal)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(master >= 0 && !grantpt(master) && !unlockpt(master));
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    check_reads(master, slave, "fg\n");
    close(slave);
    close(master);
}

TEST(keys_of_a_pipe)
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

TEST_MAIN(T(a_pipe), T(a_terminal), T(the_other_end_of_a_terminal), T(a_descriptor_that_is_replaced),
          T(keys_of_a_terminal), T(keys_of_a_pipe))
