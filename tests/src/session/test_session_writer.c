/* When a session is saved: not more than once a second, and so rarely that writing takes a hundredth of a core. */
#include "tests/check.h"

#include "src/session/session_writer.h"

static const int64_t second = 1000000000;

TEST(text_is_saved_once_a_second)
{
    session_writer *k = session_writer_new();
    REQUIRE(k);
    CHECK(session_writer_deadline(k) == INT64_MAX && !session_writer_ready(k, 5 * second));
    session_writer_text_came(k);
    CHECK_INT(0, session_writer_deadline(k));
    CHECK(session_writer_ready(k, 5 * second) && !session_writer_ready(k, 5 * second));
    session_writer_text_came(k);
    CHECK_INT(6 * second, session_writer_deadline(k));
    CHECK(!session_writer_ready(k, 6 * second - 1) && session_writer_ready(k, 6 * second));
    session_writer_text_came(k);
    session_writer_rest(k); /* all is saved; the next reply need not wait */
    CHECK(session_writer_deadline(k) == INT64_MAX);
    session_writer_text_came(k);
    CHECK(session_writer_ready(k, 6 * second + 1));
    session_writer_free(k);
}

TEST(a_long_one_is_saved_more_rarely)
{
    enum { BYTES = 32 << 20 };
    session_writer *k = session_writer_new();
    session_slot p;
    tdm_status status;
    tdm_error err;
    setenv("XDG_STATE_HOME", check_tmp(), 1);
    session s = {.leaf = 1, .n = 1, .nodes = calloc(1, sizeof *s.nodes), .attached = calloc(1, sizeof *s.attached)};
    char *text = malloc(BYTES + 1);
    REQUIRE(k && s.nodes && s.attached && text && !store_create(&p, &err));
    memset(text, 'x', BYTES);
    text[BYTES] = 0;
    s.nodes[0] = (tdm_node){.node = 1, .role = TDM_USER, .text = text, .length = BYTES, .current = true};
    session_writer_put(k, &p, &s);
    session_writer_wait(k);
    CHECK(session_writer_take(k, &status, &err) && status == TDM_OK);
    session_writer_text_came(k);
    CHECK(session_writer_ready(k, second));
    session_writer_text_came(k);
    CHECK(session_writer_deadline(k) > 2 * second); /* it took more than 10 ms */
    session_writer_free(k);
    store_close(&p);
}

TEST_MAIN(T(text_is_saved_once_a_second), T(a_long_one_is_saved_more_rarely))
