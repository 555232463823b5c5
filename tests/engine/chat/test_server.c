/* What the engine asks of a server, by a server that says nothing: who calls, and with which locks held. */
#include "tests/check.h"
#include "tests/engine/chat/talk.h"

#include <pthread.h>

#include "engine/chat/chat.h"

struct called {
    tdm_chat *chat;
    pthread_t thread; /* of the last call of soon() */
    int soon, locked; /* calls; of these, with the chat's lock held */
};

static tdm_status start(void *ctx, const tdm_server_ask *ask, void **request, tdm_error *err)
{
    (void)ask, (void)err;
    *request = ctx;
    return TDM_OK;
}

static void next(void *ctx, void *request, int timeout_ms, tdm_server_news *out)
{
    (void)ctx, (void)request, (void)timeout_ms;
    *out = (tdm_server_news){.kind = TDM_SERVER_END, .finish = TDM_END, .counts = {-1, -1, -1, -1, -1, -1}};
}

static void end(void *ctx, void *request)
{
    (void)ctx, (void)request;
}

static void soon(void *ctx)
{
    struct called *called = ctx;
    called->soon++;
    called->thread = pthread_self();
    bool free = pthread_mutex_trylock(&called->chat->lock) == 0;
    if (free) pthread_mutex_unlock(&called->chat->lock);
    called->locked += !free;
}

TEST(who_types_tells_of_it_without_a_lock)
{
    struct called called = {0};
    tdm_error err = {0};
    tdm_model *m = NULL;
    const tdm_server_options s = {
        .name = "made up",
        .host = "nowhere",
        .template_name = "built-in",
        .tokenizer = talk_builtin,
        .context = 2048,
        .ahead = TDM_SPEC_HISTORY,
        .round_trip_ms = 1,
        .server = {.ctx = &called, .start = start, .next = next, .end = end, .soon = soon},
    };
    if (tdm_model_open_server(&m, &s, &err)) CHECK_FAIL("%s", err.text);
    REQUIRE(m);
    tdm_chat_options o;
    tdm_chat_defaults(&o, m);
    o.speculation = TDM_SPEC_HISTORY;
    if (tdm_chat_open(&called.chat, m, talk_machine(2), &o, &err)) CHECK_FAIL("%s", err.text);
    REQUIRE(called.chat);
    CHECK_INT(TDM_OK, tdm_chat_set_draft(called.chat, "Hi", 2, false, &err));
    CHECK_INT(1, called.soon);
    CHECK_INT(0, called.locked);
    CHECK(pthread_equal(called.thread, pthread_self()));
    CHECK_INT(TDM_OK, tdm_chat_set_draft(called.chat, "", 0, false, &err)); /* nothing is typed any more */
    o.speculation = TDM_SPEC_OFF;
    CHECK_INT(TDM_OK, tdm_chat_configure(called.chat, &o, &err));
    CHECK_INT(TDM_OK, tdm_chat_set_draft(called.chat, "Hi", 2, false, &err)); /* nothing may be sent */
    CHECK_INT(1, called.soon);
    tdm_chat_close(called.chat);
    tdm_model_close(m);
}

TEST_MAIN(T(who_types_tells_of_it_without_a_lock))
