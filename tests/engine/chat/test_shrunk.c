/* A mixture's file that becomes shorter while its experts are read from it: in every pipeline the turn ends with an
 * error that names the file, what came is kept, and the chat goes on; with the file whole again it answers as
 * before. */
#include "tests/check.h"
#include "tests/engine/chat/talk.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "engine/os/file.h"

static const char golden[] = "tests/goldens/gguf/tiny-d-q8_0.gguf", words[] = " shrank while it was in use: expected ";
static char path[512];
static tdm_error err;

static bool make_whole(void)
{
    static char bytes[1 << 23];
    int from = open(golden, O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n = from >= 0 ? read(from, bytes, sizeof bytes) : -1;
    bool good = to >= 0 && n > 0 && n < (ssize_t)sizeof bytes && file_write_all(to, bytes, (size_t)n);
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    return good;
}

/* The model with room for few experts, so that every pass misses some. */
static tdm_model *open_model(void)
{
    tdm_model *m = NULL;
    snprintf(path, sizeof path, "%s/model.gguf", check_tmp());
    tdm_model_options o = {.path = path, .expert_memory = 200000};
    if (!make_whole() || tdm_model_open(&m, &o, &err)) CHECK_FAIL("%s", err.text);
    return m;
}

static bool open_chat(struct talk *t, const tdm_model *m, tdm_pipeline pipeline)
{
    tdm_chat_options o = talk_options(m);
    o.pipeline = pipeline;
    *t = (struct talk){0};
    if (tdm_chat_open(&t->chat, m, talk_machine(0), &o, &err)) CHECK_FAIL("%s", err.text);
    return t->chat != NULL;
}

static size_t length_of(const struct talk *t, int node)
{
    tdm_node n;
    if (tdm_chat_node(t->chat, TDM_FRONT, node, &n, &err)) return 0;
    size_t length = n.length;
    tdm_node_free(&n);
    return length;
}

static void say(struct talk *t, const char *text)
{
    CHECK(!tdm_chat_send(t->chat, text, strlen(text), 0, &err));
}

/* So slow a reply of so many tokens has not ended when its first one came. */
static void limit(struct talk *t, int tokens, double pace)
{
    tdm_chat_options o;
    tdm_chat_options_of(t->chat, &o);
    o.max_tokens = tokens;
    o.pace_tps = pace;
    CHECK(!tdm_chat_configure(t->chat, &o, &err));
}

static void check_pipeline(tdm_pipeline pipeline, uint64_t *whole)
{
    struct talk t;
    tdm_model *m = open_model();
    REQUIRE(m && open_chat(&t, m, pipeline));
    /* As it would be. */
    say(&t, "Hello there.");
    talk_until(&t, 1);
    CHECK_INT(TDM_FINISH_LENGTH, t.turns[0].finish);
    if (!*whole) *whole = t.turns[0].text;
    CHECK(t.turns[0].text == *whole);
    /* In the middle of a reply. */
    limit(&t, 500, 20);
    say(&t, "And then?");
    while (!length_of(&t, 4) && t.n < 2) {
        struct pollfd fd = {.fd = tdm_chat_fd(t.chat), .events = POLLIN};
        poll(&fd, 1, 1000);
        talk_events(&t);
    }
    REQUIRE(!truncate(path, 100000));
    talk_until(&t, 2);
    CHECK_INT(TDM_FINISH_FAILED, t.turns[1].finish);
    CHECK(strstr(t.errors, path) && strstr(t.errors, words) && strstr(t.errors, "found 100000"));
    CHECK(length_of(&t, 4) > 0);
    /* And while the next prompt is read. */
    limit(&t, 8, 0);
    t.errors[0] = 0;
    say(&t, "Tell me more of it.");
    talk_until(&t, 3);
    CHECK_INT(TDM_FINISH_FAILED, t.turns[2].finish);
    CHECK(strstr(t.errors, words));
    CHECK(tdm_chat_nodes(t.chat, TDM_FRONT) >= 5);
    /* It is back, and nothing reads it meanwhile. */
    REQUIRE(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    talk_events(&t);
    REQUIRE(make_whole());
    t.errors[0] = 0;
    tdm_chat_clear(t.chat);
    say(&t, "Hello there.");
    talk_until(&t, 4);
    CHECK_INT(TDM_FINISH_LENGTH, t.turns[3].finish);
    CHECK(t.turns[3].text == *whole);
    CHECK_STR("", t.errors);
    talk_close(&t);
    tdm_model_close(m);
}

TEST(a_turn_ends_and_the_chat_goes_on)
{
    uint64_t whole = 0;
    for (int p = 0; p < TDM_PIPELINES; p++) check_pipeline((tdm_pipeline)p, &whole);
}

TEST(a_reply_that_broke_off_goes_on)
{
    struct talk t;
    tdm_model *m = open_model();
    REQUIRE(m && open_chat(&t, m, TDM_PIPE_TANDEM));
    limit(&t, 40, 0);
    say(&t, "Hello there.");
    talk_until(&t, 1);
    tdm_chat_clear(t.chat);
    limit(&t, 40, 20);
    say(&t, "Hello there.");
    while (!length_of(&t, 2) && t.n < 2) {
        struct pollfd fd = {.fd = tdm_chat_fd(t.chat), .events = POLLIN};
        poll(&fd, 1, 1000);
        talk_events(&t);
    }
    REQUIRE(!truncate(path, 100000));
    talk_until(&t, 2);
    CHECK_INT(TDM_FINISH_FAILED, t.turns[1].finish);
    REQUIRE(make_whole());
    limit(&t, 40, 0);
    CHECK(!tdm_chat_continue(t.chat, &err));
    talk_until(&t, 3);
    CHECK_INT(TDM_FINISH_LENGTH, t.turns[2].finish);
    CHECK(length_of(&t, 2) > 0);
    talk_close(&t);
    tdm_model_close(m);
}

/* What fails while nobody waits is told once, not at every rest. */
TEST(reading_ahead_fails_once)
{
    struct talk t;
    tdm_model *m = open_model();
    REQUIRE(m && open_chat(&t, m, TDM_PIPE_TANDEM));
    say(&t, "Hello there.");
    talk_until(&t, 1);
    REQUIRE(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    REQUIRE(!truncate(path, 100000));
    static const char draft[] = "What is it that you would say of all of this, and of that? And why is it so? ";
    for (int i = 0; i < 3; i++) {
        char text[sizeof draft + 8];
        int n = snprintf(text, sizeof text, "%s%d. ", draft, i);
        CHECK(!tdm_chat_set_draft(t.chat, text, (size_t)n, false, &err));
        CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    }
    talk_events(&t);
    const char *first = strstr(t.errors, words);
    CHECK(first && !strstr(first + 1, words));
    CHECK(strstr(t.errors, "the conversation goes on without it"));
    talk_close(&t);
    tdm_model_close(m);
}

TEST_MAIN(T(a_turn_ends_and_the_chat_goes_on), T(a_reply_that_broke_off_goes_on), T(reading_ahead_fails_once))
