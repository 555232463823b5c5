/* Replies' streams in each form that servers send, whole and in every size of pieces. */
#include "tests/check.h"

#include "src/net/stream.h"

struct got {
    char text[4096];
    size_t n;
};

static tdm_status take(void *ctx, struct span value, tdm_error *err)
{
    struct got *g = ctx;
    (void)err;
    g->n += (size_t)snprintf(g->text + g->n, sizeof g->text - g->n, "<%.*s>", (int)value.length, value.bytes);
    return TDM_OK;
}

static void check(const char *expected, const char *text)
{
    for (size_t step = 1; step <= strlen(text); step++) {
        struct got g = {0};
        stream s = {0};
        tdm_error err = {0};
        for (size_t at = 0; at < strlen(text); at += step) {
            size_t n = strlen(text) - at < step ? strlen(text) - at : step;
            if (stream_read(&s, text + at, n, take, &g, &err)) CHECK_FAIL("%s", err.text);
        }
        if (stream_end(&s, take, &g, &err)) CHECK_FAIL("%s", err.text);
        stream_free(&s);
        if (strcmp(expected, g.text)) CHECK_FAIL("in pieces of %zu: expected %s, found %s", step, expected, g.text);
    }
}

TEST(events)
{
    check("<{\"a\":1}><[DONE]>", ": ping\n\ndata: {\"a\":1}\n\ndata: [DONE]\n\n");
    check("<{}><><null>", "data: {}\n\ndata\n\ndata: null\n\n");
    check("<{\"a\":1}>", "event: ping\ndata: {\"type\":\"ping\"}\n\ndata: {\"a\":1}");
    check("<{\"a\":1}>", "data: {\"a\":1}\n\ndata: {\"a\":");
    check("<{\"a\":1}><{\"b\":2}>", "data: {\"a\":1}\n\n{\"b\":2}\n");
}

TEST(values_one_after_the_other)
{
    check("<{\"a\":1}><{\"b\":\"}\\\"\"}>", "{\"a\":1}\n{\"b\":\"}\\\"\"}\n");
    check("<{\"a\":1}><{\"b\":2}><[DONE]>", "{\"a\":1}{\"b\":2}[DONE]");
    check("<{\"a\":1}><{\"b\":2}>", "\x1e{\"a\":1}\n\x1e{\"b\":2}\n");
    check("<{\"a\":1}><{\"b\":2}>", " {\"a\":1},\r\n {\"b\":2}\r\n");
}

TEST(one_value)
{
    check("<{\"a\":\n\n {\"b\": [1,\n{}]}}>", "\n{\"a\":\n\n {\"b\": [1,\n{}]}}\n");
    check("<[{\"error\":1}]>", "[{\"error\":1}]");
    check("<{\"a\":1}>", "\xef\xbb\xbf{\"a\":1}");
    check("", "{\"a\":1");
}

TEST(errors_outside_a_value)
{
    check("<{\"error\":{\"message\":\"no room\"}}>", "event: error\ndata: {\"message\":\"no room\"}\n\n");
    check("<{\"a\":1}><{\"error\":{\"code\":500}}>", "data: {\"a\":1}\n\nerror: {\"code\":500}\n\n");
    check("<{\"error\":\"no room\"}>", "event: error\ndata: no room\n\n");
    check("<{\"error\":\"null\"}>", "event: error\ndata: null\n\n");
    check("<{\"error\":\"Internal Server Error\\n\"}>", "Internal Server Error");
    check("<{\"error\":\"<html>\\n<p>no</p>\\n\"}>", "<html>\n<p>no</p>\n");
    check("<{\"error\":\"[oops] no room\\n\"}>", "[oops] no room\n");
    check("<{\"error\":\"\xef\xbf\xbd\\n\"}>", "\xff");
}

static tdm_status flood(const char *begin)
{
    static char piece[1 << 16];
    stream s = {0};
    struct got g = {0};
    tdm_error err = {0};
    tdm_status status = stream_read(&s, begin, strlen(begin), take, &g, &err);
    memset(piece, 'x', sizeof piece);
    size_t given = 0;
    for (; !status && given < 100 << 20; given += sizeof piece)
        status = stream_read(&s, piece, sizeof piece, take, &g, &err);
    CHECK(given <= SSE_MAX + 2 * sizeof piece);
    CHECK(strstr(err.text, "more than 4 MiB"));
    stream_free(&s);
    return status;
}

TEST(what_has_no_end_is_refused)
{
    CHECK_INT(TDM_E_FORMAT, flood("data: "));
    CHECK_INT(TDM_E_FORMAT, flood("{\"a\":\""));
    CHECK_INT(TDM_E_FORMAT, flood("[ [ ["));
    CHECK_INT(TDM_E_FORMAT, flood("<html>"));
}

TEST_MAIN(T(events), T(values_one_after_the_other), T(one_value), T(errors_outside_a_value),
          T(what_has_no_end_is_refused))
