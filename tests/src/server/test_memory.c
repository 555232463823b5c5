/* Servers without memory: what can't be read is no other kind of server, and what can't be given up at the other end
 * is given up here. */
#include "tests/check.h"
#include "tests/starved.h"

#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "engine/backend/server.h"
#include "src/server/connection.h"
#include "src/server/server_info.h"
#include "tests/src/server/scripted.h"

static const char props[] = "{\"default_generation_settings\":{\"n_ctx\":4096},\"total_slots\":3,\"build_info\":\"b1\","
                            "\"chat_template\":\"{{ t }}\",\"model_path\":\"/models/qwen.gguf\"}";
static tdm_status read_status;

static void read_props(void)
{
    server_info f = {0};
    read_status = server_info_read_props(&f, (struct span){props, sizeof props - 1}, NULL);
    if (!read_status && (!f.chat_template || strcmp(f.chat_template, "{{ t }}"))) read_status = TDM_E_FORMAT;
    server_info_free(&f);
}

TEST(a_servers_settings)
{
    if (!starved_can()) return;
    for (long n = 0; starved_by(n, read_props); n++)
        if (read_status != TDM_OK && read_status != TDM_E_NOMEM) CHECK_FAIL("allocation %ld: %d", n, read_status);
    CHECK_INT(TDM_OK, read_status);
}

static connection *open_one;
static uint32_t id;
static char ended_by[200];
static sem_t ended;

static void on_head(void *ctx, int status, int retry_after_s)
{
    (void)ctx, (void)status, (void)retry_after_s;
}

static void on_data(void *ctx, struct span bytes)
{
    (void)ctx, (void)bytes;
}

static void on_end(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms)
{
    (void)ctx, (void)connect_ms, (void)first_ms, (void)total_ms;
    snprintf(ended_by, sizeof ended_by, "%s", error ? error : "");
    sem_post(&ended);
}

static void cancel(void)
{
    connection_cancel(open_one, id);
}

/* This program's only child. */
static pid_t tandem_net(void)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *in = fopen(path, "r");
    if (!in || fscanf(in, "%d", &pid) != 1) CHECK_FAIL("%s: no child", path);
    if (in) fclose(in);
    return pid;
}

/* tandem-net takes nothing, so that what is for it waits here and needs memory; and nobody else would end the request.
 */
TEST(a_request_that_is_given_up)
{
    enum { FILLS_A_SOCKET = 1 << 20 };
    static char request[FILLS_A_SOCKET];
    tdm_error err = {0};
    if (!starved_can()) return;
    if (!scripted_find_net()) {
        check_skipped = "tandem-net was not built";
        return;
    }
    sem_init(&ended, 0, 0);
    REQUIRE(!connection_open(&open_one, &(connection_options){.url = "http://127.0.0.1:1"}, &err));
    pid_t child = tandem_net();
    REQUIRE(child > 0 && !kill(child, SIGSTOP));
    memset(request, ' ', sizeof request);
    id = connection_send(open_one, (struct span){request, sizeof request},
                         &(connection_calls){NULL, on_head, on_data, on_end});
    starved_alone = true;
    long n = 0;
    while (n < FILLS_A_SOCKET && !starved_by(0, cancel)) n++; /* until the room for what waits is full */
    starved_alone = false;
    CHECK(starved_hit);
    while (sem_wait(&ended)) {
    }
    CHECK_STR("given up", ended_by);
    kill(child, SIGCONT);
    connection_close(open_one);
}

static struct server_link *server;
static const tdm_id first_ids[] = {1, 2, 3}, second_ids[] = {1, 2, 4, 5};
static const size_t ends[] = {1, 2, 3, 4};

static tdm_status want(const tdm_id *ids, uint32_t n)
{
    struct written text = {0};
    const tdm_message message = {.text = "abcd", .length = n};
    written_add(&text, (struct span){"abcd", n}, false, NULL);
    const struct server_prompt prompt = {
        .ids = ids, .ends = ends, .n = n, .text = &text, .messages = &message, .n_messages = 1, .last = n};
    tdm_status status = server_want(server, &prompt, NULL);
    written_free(&text);
    return status;
}

static void want_second(void)
{
    read_status = want(second_ids, 4);
}

/* Or its reply would be one to the message before. */
TEST(a_prompt_that_is_not_kept_is_not_the_one_before)
{
    const tdm_server_options options = {.name = "a", .host = "b"};
    if (!starved_can()) return;
    REQUIRE(!server_link_new(&server, &options, NULL, NULL, NULL));
    long n = 0;
    for (bool more = true; more; n++) {
        struct server_prompt found;
        CHECK_INT(TDM_OK, want(first_ids, 3));
        more = starved_by(n, want_second);
        tdm_status status = server_wanted(server, &found, NULL);
        if (status != read_status) CHECK_FAIL("allocation %ld: %d, then %d", n, (int)read_status, (int)status);
        CHECK_INT(status ? 0 : 4, found.n);
        server_prompt_free(&found);
    }
    CHECK_INT(TDM_OK, read_status);
    CHECK(n > 6);
    server_link_free(server);
}

static void ask(void)
{
    static const char request[] = "{\"method\":\"GET\",\"path\":\"/v1/models\",\"silent_s\":20}\n";
    connection_send(open_one, (struct span){request, sizeof request - 1},
                    &(connection_calls){NULL, on_head, on_data, on_end});
    while (sem_wait(&ended)) {
    }
}

/* It ends, with the answer or with why not, and so does the next one: the connection stays. */
TEST(an_answer_that_there_is_no_memory_for)
{
    tdm_error err = {0};
    long n = 0;
    if (!starved_can()) return;
    if (!scripted_find_net()) {
        check_skipped = "tandem-net was not built";
        return;
    }
    sem_init(&ended, 0, 0);
    scripted.hangs = false;
    scripted.answer = scripted_ok("{}");
    REQUIRE(!connection_open(&open_one, &(connection_options){.url = scripted_start()}, &err));
    for (; starved_by(n, ask); n++) {
        ask();
        CHECK_STR("", ended_by);
    }
    CHECK(n > 6);
    connection_close(open_one);
}

TEST_MAIN(T(a_servers_settings), T(a_request_that_is_given_up), T(an_answer_that_there_is_no_memory_for),
          T(a_prompt_that_is_not_kept_is_not_the_one_before))
