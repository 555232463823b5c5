/* Frames through a socket pair: in order, in pieces, larger than the socket takes, and nonsense. */
#include "tests/check.h"

#include <sys/socket.h>
#include <unistd.h>

#include "src/net/wire.h"

static void open_pair(wire *a, wire *b)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || wire_open(a, ends[0], NULL) || wire_open(b, ends[1], NULL))
        abort();
}

static void close_pair(wire *a, wire *b)
{
    close(a->fd);
    if (b->fd >= 0) close(b->fd);
    wire_free(a);
    wire_free(b);
}

static struct span text(const char *s)
{
    return (struct span){s, strlen(s)};
}

TEST(frames_arrive_in_order)
{
    wire a, b;
    wire_frame f;
    bool found;
    open_pair(&a, &b);
    CHECK_INT(TDM_OK, wire_put(&a, WIRE_REQUEST, 7, text("head"), text("body"), NULL));
    CHECK_INT(TDM_OK, wire_put(&a, WIRE_CANCEL, 8, text(""), text(""), NULL));
    CHECK_INT(TDM_OK, wire_read(&b, NULL));
    CHECK_INT(TDM_OK, wire_take(&b, &f, &found, NULL));
    REQUIRE(found);
    CHECK_INT(WIRE_REQUEST, f.kind);
    CHECK_INT(7, f.id);
    CHECK(span_is(f.bytes, "headbody"));
    CHECK_INT(TDM_OK, wire_take(&b, &f, &found, NULL));
    REQUIRE(found);
    CHECK_INT(WIRE_CANCEL, f.kind);
    CHECK_INT(0, f.bytes.length);
    CHECK_INT(TDM_OK, wire_take(&b, &f, &found, NULL));
    CHECK(!found);
    close_pair(&a, &b);
}

TEST(a_frame_larger_than_the_socket_waits)
{
    wire a, b;
    wire_frame f;
    bool found = false;
    size_t n = 8 << 20;
    char *big = malloc(n);
    for (size_t i = 0; i < n; i++) big[i] = (char)(i * 7 >> 3);
    open_pair(&a, &b);
    CHECK_INT(TDM_OK, wire_put(&a, WIRE_DATA, 1, (struct span){big, n}, text(""), NULL));
    CHECK(wire_waits(&a));
    for (int i = 0; i < 100000 && !found; i++) {
        CHECK_INT(TDM_OK, wire_read(&b, NULL));
        CHECK_INT(TDM_OK, wire_take(&b, &f, &found, NULL));
        if (!found) CHECK_INT(TDM_OK, wire_flush(&a, NULL));
    }
    REQUIRE(found);
    CHECK(f.bytes.length == n && !memcmp(f.bytes.bytes, big, n));
    CHECK(!wire_waits(&a));
    free(big);
    close_pair(&a, &b);
}

TEST(the_other_end_may_be_gone)
{
    wire a, b;
    tdm_error err = {0};
    open_pair(&a, &b);
    close(b.fd);
    b.fd = -1;
    CHECK_INT(TDM_E_IO, wire_read(&a, &err));
    CHECK_STR("tandem-net has ended", err.text);
    CHECK_INT(TDM_E_IO, wire_put(&a, WIRE_DATA, 1, text("x"), text(""), &err));
    close_pair(&a, &b);
}

static void check_nonsense(const uint32_t head[3])
{
    wire a, b;
    wire_frame f;
    bool found;
    tdm_error err = {0};
    open_pair(&a, &b);
    REQUIRE(write(a.fd, head, 12) == 12);
    CHECK_INT(TDM_OK, wire_read(&b, NULL));
    CHECK_INT(TDM_E_FORMAT, wire_take(&b, &f, &found, &err));
    CHECK(!found);
    close_pair(&a, &b);
}

TEST(nonsense_is_refused_before_it_is_waited_for)
{
    check_nonsense((uint32_t[]){0, 1, 0});
    check_nonsense((uint32_t[]){WIRE_KINDS, 1, 0});
    check_nonsense((uint32_t[]){WIRE_DATA, 1, WIRE_MAX + 1});
    check_nonsense((uint32_t[]){WIRE_DATA, 1, UINT32_MAX});
}

TEST_MAIN(T(frames_arrive_in_order), T(a_frame_larger_than_the_socket_waits), T(the_other_end_may_be_gone),
          T(nonsense_is_refused_before_it_is_waited_for))
