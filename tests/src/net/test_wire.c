/* Frames through a socket pair: in order, in pieces, larger than the socket takes, and nonsense. */
#include "tests/check.h"

#include <sys/socket.h>
#include <unistd.h>

#include "engine/json/write.h"
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

static tdm_status take(wire *w, wire_frame *f, tdm_error *err)
{
    tdm_status status = wire_read(w, err);
    return status ? status : wire_take(w, f, err);
}

TEST(frames_arrive_in_order)
{
    wire a, b;
    wire_frame f;
    json_object *o = json_new_object();
    open_pair(&a, &b);
    json_add_int(o, "status", 200);
    CHECK_INT(TDM_OK, wire_put(&a, WIRE_REQUEST, 7, text("line\nbody"), NULL));
    CHECK_INT(TDM_OK, wire_put(&a, WIRE_CANCEL, UINT32_MAX, text(""), NULL));
    CHECK_INT(TDM_OK, wire_tell(&a, WIRE_HEAD, 9, o, NULL));
    CHECK_INT(TDM_OK, take(&b, &f, NULL));
    REQUIRE(f.frame.head);
    CHECK_INT(WIRE_REQUEST, f.kind);
    CHECK_INT(7, f.id);
    CHECK(span_is(f.frame.payload, "line\nbody"));
    json_free(f.frame.head);
    CHECK_INT(TDM_OK, wire_take(&b, &f, NULL));
    REQUIRE(f.frame.head);
    CHECK_INT(WIRE_CANCEL, f.kind);
    CHECK(f.id == UINT32_MAX);
    CHECK_INT(0, f.frame.payload.length);
    json_free(f.frame.head);
    CHECK_INT(TDM_OK, wire_take(&b, &f, NULL));
    REQUIRE(f.frame.head);
    CHECK_INT(WIRE_HEAD, f.kind);
    CHECK_INT(200, json_int(f.frame.head, "status", 0));
    json_free(f.frame.head);
    CHECK_INT(TDM_OK, wire_take(&b, &f, NULL));
    CHECK(!f.frame.head);
    close_pair(&a, &b);
}

TEST(a_frame_larger_than_the_socket_waits)
{
    wire a, b;
    wire_frame f = {0};
    size_t n = 8 << 20;
    char *big = malloc(n);
    for (size_t i = 0; i < n; i++) big[i] = (char)(i * 7 >> 3);
    open_pair(&a, &b);
    CHECK_INT(TDM_OK, wire_put(&a, WIRE_DATA, 1, (struct span){big, n}, NULL));
    CHECK(wire_waits(&a));
    for (int i = 0; i < 100000 && !f.frame.head; i++) {
        CHECK_INT(TDM_OK, take(&b, &f, NULL));
        if (!f.frame.head) CHECK_INT(TDM_OK, wire_flush(&a, NULL));
    }
    REQUIRE(f.frame.head);
    CHECK(f.frame.payload.length == n && !memcmp(f.frame.payload.bytes, big, n));
    CHECK(!wire_waits(&a));
    json_free(f.frame.head);
    free(big);
    close_pair(&a, &b);
}

TEST(the_largest_frame_fits)
{
    wire w = {.fd = -1, .in.most = WIRE_MAX};
    wire_frame f;
    static const char rest[] = "\"kind\":\"data\",\"id\":1,\"payload\":67108864}\n";
    char *bytes = malloc(WIRE_MAX);
    memset(bytes, ' ', WIRE_MAX);
    bytes[0] = '{';
    CHECK_INT(TDM_OK, frames_feed(&w.in, bytes, FRAMES_LONGEST - sizeof rest + 1, NULL));
    CHECK_INT(TDM_OK, frames_feed(&w.in, rest, sizeof rest - 1, NULL));
    CHECK_INT(WIRE_MAX, frames_room(&w.in));
    CHECK_INT(TDM_OK, frames_feed(&w.in, bytes, WIRE_MAX, NULL));
    CHECK_INT(TDM_OK, wire_take(&w, &f, NULL));
    CHECK(f.frame.head && f.frame.payload.length == WIRE_MAX);
    json_free(f.frame.head);
    free(bytes);
    wire_free(&w);
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
    CHECK_INT(TDM_E_IO, wire_put(&a, WIRE_DATA, 1, text("x"), &err));
    close_pair(&a, &b);
}

static void check_nonsense(const char *head)
{
    wire a, b;
    wire_frame f;
    tdm_error err = {0};
    open_pair(&a, &b);
    REQUIRE(write(a.fd, head, strlen(head)) == (ssize_t)strlen(head));
    tdm_status status = take(&b, &f, &err);
    if (status != TDM_E_FORMAT || f.frame.head) CHECK_FAIL("%s: found %d", head, (int)status);
    close_pair(&a, &b);
}

TEST(nonsense_is_refused_before_it_is_waited_for)
{
    check_nonsense("nonsense\n");
    check_nonsense("[]\n");
    check_nonsense("{}\n");
    check_nonsense("{\"kind\":\"nonsense\",\"id\":1,\"payload\":0}\n");
    check_nonsense("{\"kind\":\"data\",\"payload\":0}\n");
    check_nonsense("{\"kind\":\"data\",\"id\":-1,\"payload\":0}\n");
    check_nonsense("{\"kind\":\"data\",\"id\":4294967296,\"payload\":0}\n");
    check_nonsense("{\"kind\":\"data\",\"id\":1,\"payload\":67108865}\n");
    check_nonsense("{\"kind\":\"data\",\"id\":1,\"payload\":-1}\n");
}

TEST_MAIN(T(frames_arrive_in_order), T(a_frame_larger_than_the_socket_waits), T(the_largest_frame_fits),
          T(the_other_end_may_be_gone), T(nonsense_is_refused_before_it_is_waited_for))
