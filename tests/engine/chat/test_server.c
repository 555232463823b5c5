/* What the engine asks of a server, by a server that says nothing: who calls, and with which locks held. */
#include "tests/check.h"
#include "tests/engine/chat/talk.h"
#include "tests/engine/text/template/forms.h"

#include <pthread.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"

struct called {
    tdm_chat *chat;
    atomic_int pictures;  /* pictures of the reply's request */
    tdm_picture *picture; /* the first of them, not held */
    pthread_t thread; /* of the last call of soon() */
    int soon, locked; /* calls; of these, with the chat's lock held */
    const char *chat_template; /* the model's own, by which prompts are rendered; or NULL */
    atomic_int ahead;          /* requests that read ahead; */
    atomic_int without_user;   /* of these, without a message of the user */
};

static tdm_status start(void *ctx, const tdm_server_ask *ask, void **request, tdm_error *err)
{
    struct called *called = ctx;
    bool user = false;
    (void)err;
    for (size_t i = 0; i < ask->n_messages; i++) user |= ask->messages[i].role == TDM_USER;
    atomic_fetch_add(&called->ahead, ask->ahead);
    atomic_fetch_add(&called->without_user, ask->ahead && !user);
    for (size_t i = 0; i < ask->n_messages && !ask->ahead; i++) {
        if (ask->messages[i].n_pictures) called->picture = ask->messages[i].pictures[0].picture;
        atomic_fetch_add(&called->pictures, (int)ask->messages[i].n_pictures);
    }
    *request = ctx;
    return TDM_OK;
}

static void next(void *ctx, void *request, int timeout_ms, tdm_server_news *out)
{
    (void)ctx, (void)request, (void)timeout_ms;
    *out = (tdm_server_news){.kind = TDM_SERVER_END, .finish = TDM_FINISH_END, .counts = {-1, -1, -1, -1, -1, -1}};
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
    /* A unit's thread may have it for a moment; this one for ever. */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    bool free = pthread_mutex_timedlock(&called->chat->lock, &until) == 0;
    if (free) pthread_mutex_unlock(&called->chat->lock);
    called->locked += !free;
}

static tdm_model *open_model(struct called *called, tdm_speculation ahead)
{
    tdm_error err = {0};
    tdm_model *m = NULL;
    const tdm_server_options s = {
        .name = "made up",
        .host = "nowhere",
        .tokenizer = talk_builtin,
        .context = 2048,
        .ahead = ahead,
        .chat_template = called->chat_template,
        .round_trip_ms = 1,
        .server = {.ctx = called, .start = start, .next = next, .end = end, .soon = soon},
    };
    if (tdm_model_open_server(&m, &s, &err)) CHECK_FAIL("%s", err.text);
    return m;
}

TEST(who_types_tells_of_it_without_a_lock)
{
    struct called called = {0};
    tdm_error err = {0};
    tdm_model *m = open_model(&called, TDM_SPEC_HISTORY);
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

TEST(a_unit_keeps_its_kind_beside_a_server)
{
    struct called called = {0};
    tdm_error err = {0};
    tdm_unit_info unit;
    tdm_model *m = open_model(&called, TDM_SPEC_HISTORY);
    REQUIRE(m);
    tdm_chat_options o;
    tdm_chat_defaults(&o, m);
    REQUIRE(tdm_chat_open(&called.chat, m, talk_machine(2), &o, &err) == TDM_OK);
    for (int u = 0; u < TDM_UNITS; u++) {
        tdm_unit_describe(talk_machine(2), u, &unit);
        CHECK_STR("server", unit.kind);
        CHECK_STR("native", tdm_machine_kind(talk_machine(2), u));
    }
    tdm_chat_close(called.chat);
    tdm_model_close(m);
}

/* A server says itself whether it sees: the engine hands it the pictures of what is typed and of what was sent. */
static void check_shown(tdm_speculation ahead)
{
    static const uint8_t rgb[3 * 4 * 4];
    struct called called = {0};
    tdm_error err = {0};
    tdm_picture *picture = NULL;
    tdm_model *m = open_model(&called, ahead);
    REQUIRE(m && !tdm_picture_new(&picture, rgb, 4, 4, &err));
    const tdm_placed_picture placed = {picture, 3};
    tdm_chat_options o;
    tdm_chat_defaults(&o, m);
    o.speculation = ahead;
    if (tdm_chat_open(&called.chat, m, talk_machine(2), &o, &err)) CHECK_FAIL("%s", err.text);
    REQUIRE(called.chat);
    CHECK_INT(TDM_OK, tdm_chat_set_draft_pictures(called.chat, "Is this", 7, &placed, 1, false, &err));
    CHECK_INT(TDM_OK, tdm_chat_send_pictures(called.chat, "Is this", 7, &placed, 1, 1, clock_ns(), &err));
    struct talk t = {.chat = called.chat};
    talk_until(&t, 1);
    CHECK_INT(1, atomic_load(&called.pictures));
    CHECK(called.picture == picture);
    tdm_chat_close(called.chat);
    tdm_model_close(m);
    tdm_picture_drop(picture);
}

TEST(it_is_shown_pictures)
{
    check_shown(TDM_SPEC_OFF);
    check_shown(TDM_SPEC_FULL);
}

/* Before the first message there is nothing to read but a template's words; then there is the system prompt, which a
 * server that renders the messages may refuse without one of the user. What is not asked for doesn't count as read. */
static void check_first_words(const char *chat_template)
{
    struct called called = {.chat_template = chat_template};
    tdm_error err = {0};
    tdm_model *m = open_model(&called, TDM_SPEC_FULL);
    REQUIRE(m);
    tdm_chat_options o;
    tdm_chat_status now;
    tdm_chat_defaults(&o, m);
    o.speculation = TDM_SPEC_FULL;
    REQUIRE(tdm_chat_open(&called.chat, m, talk_machine(2), &o, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(called.chat, CHECK_PATIENCE_MS));
    CHECK_INT(0, atomic_load(&called.ahead));
    tdm_chat_status_of(called.chat, &now);
    CHECK_INT(0, now.read);

    CHECK_INT(TDM_OK, tdm_chat_set_system(called.chat, "Be brief.", 9, &err));
    CHECK(tdm_chat_wait_idle(called.chat, CHECK_PATIENCE_MS));
    CHECK_INT(chat_template != NULL, atomic_load(&called.ahead));
    tdm_chat_status_of(called.chat, &now);
    CHECK_INT(chat_template ? now.target : 0, now.read);

    int before = atomic_load(&called.ahead);
    CHECK_INT(TDM_OK, tdm_chat_set_draft(called.chat, "How do you do?", 14, false, &err));
    CHECK(tdm_chat_wait_idle(called.chat, CHECK_PATIENCE_MS));
    CHECK(atomic_load(&called.ahead) > before);
    CHECK_INT(before, atomic_load(&called.without_user));
    tdm_chat_status_of(called.chat, &now);
    CHECK_INT(now.target, now.read);

    /* A draft that was taken back leaves what there was before it. */
    before = atomic_load(&called.ahead);
    CHECK_INT(TDM_OK, tdm_chat_set_draft(called.chat, "", 0, false, &err));
    CHECK(tdm_chat_wait_idle(called.chat, CHECK_PATIENCE_MS));
    if (!chat_template) CHECK_INT(before, atomic_load(&called.ahead));
    tdm_chat_close(called.chat);
    tdm_model_close(m);
}

TEST(nothing_is_asked_before_there_are_words_to_read)
{
    check_first_words(NULL);
    check_first_words(forms_text("qwen38"));
}

TEST_MAIN(T(who_types_tells_of_it_without_a_lock), T(a_unit_keeps_its_kind_beside_a_server), T(it_is_shown_pictures),
          T(nothing_is_asked_before_there_are_words_to_read))
