/* Streams of server-sent events, whole, in single bytes, with every end of line, and too long. */
#include "tests/check.h"

#include "engine/base/error.h"
#include "src/net/sse.h"

struct got {
    char text[4096];
    size_t n;
    int events;
};

static tdm_status take(void *ctx, sse_kind kind, struct span data, tdm_error *err)
{
    struct got *g = ctx;
    (void)err;
    g->events++;
    g->n += (size_t)snprintf(g->text + g->n, sizeof g->text - g->n, "%s[%.*s]", kind == SSE_ERROR ? "!" : "",
                             (int)data.length, data.bytes);
    return TDM_OK;
}

/* With `ended` also what the end of the stream tells. */
static void check_ending(const char *expected, const char *odd, const char *stream, bool ended)
{
    for (size_t step = 1; step <= strlen(stream); step++) {
        struct got g = {0};
        sse s = {0};
        tdm_error err = {0};
        for (size_t at = 0; at < strlen(stream); at += step) {
            size_t n = strlen(stream) - at < step ? strlen(stream) - at : step;
            if (sse_read(&s, stream + at, n, take, &g, &err)) CHECK_FAIL("%s", err.text);
        }
        if (ended && sse_end(&s, take, &g, &err)) CHECK_FAIL("%s", err.text);
        CHECK_STR(odd, s.odd.n ? s.odd.bytes : "");
        sse_free(&s);
        if (strcmp(expected, g.text)) CHECK_FAIL("in pieces of %zu: expected %s, found %s", step, expected, g.text);
    }
}

static void check_stream(const char *expected, const char *stream)
{
    check_ending(expected, "", stream, false);
}

TEST(events_are_told_by_their_data)
{
    check_stream("[a][b c]", "data: a\n\ndata:b c\n\n");
    check_stream("[a\nb]", "data: a\ndata: b\n\n");
    check_stream("[ a]", "data:  a\n\n");
    check_stream("[]", "data\n\n");
    check_stream("[\n]", "data:\ndata:\n\n");
}

TEST(lines_end_in_every_way)
{
    check_stream("[a][b]", "data: a\r\n\r\ndata: b\r\n\r\n");
    check_stream("[a][b]", "data: a\r\rdata: b\r\r");
    check_stream("[a][b]", "data: a\n\r\ndata: b\r\n\n");
}

TEST(the_rest_is_left_out)
{
    check_stream("[a]", ": a comment\n\nevent: x\nid: 7\nretry: 9\ndata: a\n\n");
    check_ending("[a]", "datax: 1\n", "datax: 1\ndata: a\n\n", false);
    check_stream("[a]", "\xef\xbb\xbf"
                        "data: a\n\n");
    check_stream("", "data: the end of the stream came before its empty line\n");
}

TEST(names_tell_errors_and_what_only_keeps_awake)
{
    check_stream("![a]", "event: error\ndata: a\n\n");
    check_stream("![a]", "data: a\nevent:error\n\n");
    check_stream("![a][b]", "error: a\n\ndata: b\n\n");
    check_stream("[b]", "event: ping\ndata: {\"type\":\"ping\"}\n\ndata: b\n\n");
    check_stream("[b]", "event: keep-alive\ndata\n\ndata: b\n\n");
    check_stream("[b]", "event: error\n\nevent: ping\n\ndata: b\n\n");
    check_stream("[b]", "event: message\ndata: b\n\n");
}

TEST(the_end_of_the_stream_tells_the_last_event)
{
    check_ending("[a][b]", "", "data: a\n\ndata: b", true);
    check_ending("[a]", "", "data: a\n", true);
    check_ending("![no room]", "", "error: no room", true);
    check_ending("", "Internal Server Error\nerror\n", "Internal Server Error\n\nerror", true);
    check_ending("", "", ": a comment", true);
}

TEST(of_odd_lines_the_first_are_kept)
{
    sse s = {0};
    struct got g = {0};
    tdm_error err = {0};
    for (int i = 0; i < 10000; i++)
        if (sse_read(&s, "what is this?\n", 14, take, &g, &err)) CHECK_FAIL("%s", err.text);
    CHECK(s.odd.n <= SSE_ODD && s.odd.n > SSE_ODD - 20);
    sse_free(&s);
}

TEST(a_line_without_an_end_is_refused)
{
    sse s = {0};
    struct got g = {0};
    tdm_error err = {0};
    static char piece[1 << 16];
    memset(piece, 'x', sizeof piece);
    tdm_status status = TDM_OK;
    size_t given = 0;
    for (; !status && given < 100 << 20; given += sizeof piece)
        status = sse_read(&s, piece, sizeof piece, take, &g, &err);
    CHECK_INT(TDM_E_FORMAT, status);
    CHECK(given <= SSE_MAX + 2 * sizeof piece);
    sse_free(&s);
}

TEST(an_event_without_an_end_is_refused)
{
    sse s = {0};
    struct got g = {0};
    tdm_error err = {0};
    static char piece[1 << 16] = "data: ";
    memset(piece + 6, 'x', sizeof piece - 7);
    piece[sizeof piece - 1] = '\n';
    tdm_status status = TDM_OK;
    size_t given = 0;
    for (; !status && given < 100 << 20; given += sizeof piece)
        status = sse_read(&s, piece, sizeof piece, take, &g, &err);
    CHECK_INT(TDM_E_FORMAT, status);
    CHECK(given <= SSE_MAX + 2 * sizeof piece);
    sse_free(&s);
}

static tdm_status refuse(void *ctx, sse_kind kind, struct span data, tdm_error *err)
{
    (void)ctx, (void)kind, (void)data;
    return error_set(err, TDM_E_REFUSED, "no");
}

TEST(a_failure_of_the_taker_ends_the_reading)
{
    sse s = {0};
    tdm_error err = {0};
    CHECK_INT(TDM_E_REFUSED, sse_read(&s, "data: a\n\n", 9, refuse, NULL, &err));
    CHECK_STR("no", err.text);
    sse_free(&s);
}

TEST_MAIN(T(events_are_told_by_their_data), T(lines_end_in_every_way), T(the_rest_is_left_out),
          T(names_tell_errors_and_what_only_keeps_awake), T(the_end_of_the_stream_tells_the_last_event),
          T(of_odd_lines_the_first_are_kept), T(a_line_without_an_end_is_refused),
          T(an_event_without_an_end_is_refused), T(a_failure_of_the_taker_ends_the_reading))
