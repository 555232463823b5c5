/* The server of the tests itself: prefixes are kept by slot, requests and bytes are counted, and its faults happen. */
#include "tests/check.h"

#include <semaphore.h>

#include "engine/base/buffer.h"
#include "engine/json/json.h"
#include "src/server/connection.h"
#include "src/server/dialect.h"
#include "tests/src/server/scripted.h"
#include "tests/src/server/served.h"

static served s;
/* Where nobody reads a reply: it is loaded in a moment. */
static const char small[] = "tests/goldens/gguf/tiny-a-q8_0.gguf";

struct heard {
    int status, retry_after_s;
    dialect_piece last;
    struct buffer text;
    char error[500], unread[500];
    sem_t piece, end;
    bool stream;
};

static void on_head(void *ctx, int status, int retry_after_s)
{
    struct heard *h = ctx;
    h->status = status;
    h->retry_after_s = retry_after_s;
}

static void on_data(void *ctx, struct span bytes)
{
    struct heard *h = ctx;
    tdm_error err = {0};
    if (dialect_read(DIALECT_LLAMA, bytes, &h->last, &err)) snprintf(h->unread, sizeof h->unread, "%s", err.text);
    buffer_append(&h->text, h->last.text.bytes, h->last.text.n, NULL);
    sem_post(&h->piece);
}

static void on_end(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms)
{
    struct heard *h = ctx;
    (void)connect_ms, (void)first_ms, (void)total_ms;
    if (error) snprintf(h->error, sizeof h->error, "%s", error);
    sem_post(&h->end);
}

static void heard_free(struct heard *h)
{
    dialect_piece_free(&h->last);
    buffer_free(&h->text);
}

static uint32_t send_prompt(connection *c, struct heard *h, const char *prompt, int slot, bool ahead)
{
    static const tdm_sampling sampling = {.temperature = 0, .top_p = 1, .repeat_penalty = 1};
    struct buffer b = {0};
    dialect_ask ask = {.prompt = {prompt, strlen(prompt)}, .sampling = &sampling, .max_tokens = 60, .slot = slot};
    *h = (struct heard){.retry_after_s = -1, .stream = !ahead};
    sem_init(&h->piece, 0, 0);
    sem_init(&h->end, 0, 0);
    dialect_request(DIALECT_LLAMA, &ask, ahead, &b, NULL);
    uint32_t id = connection_send(c, (struct span){b.bytes, b.n}, &(connection_calls){h, on_head, on_data, on_end});
    buffer_free(&b);
    return id;
}

static void ask(connection *c, struct heard *h, const char *prompt, int slot, bool ahead)
{
    send_prompt(c, h, prompt, slot, ahead);
    sem_wait(&h->end);
}

static connection *open_to(const char *url)
{
    connection *c = NULL;
    tdm_error err = {0};
    if (connection_open(&c, &(connection_options){.url = url}, &err)) CHECK_FAIL("%s", err.text);
    return c;
}

#define USER "<|im_start|>user\n"
#define OPEN "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
static const char half[] = USER "What is the capital";
static const char peru[] = USER "What is the capital of Peru?" OPEN;
static const char cuba[] = USER "What is the capital of Cuba?" OPEN;

static void check_work(const char *prompt, int slot, bool ahead, int cached)
{
    connection *c = open_to(s.url);
    struct heard h;
    REQUIRE(c);
    ask(c, &h, prompt, slot, ahead);
    CHECK_STR("", h.error);
    CHECK_STR("", h.unread);
    if (cached >= 0) CHECK_INT(cached, h.last.cached_tokens);
    CHECK_INT(h.last.prompt_tokens, h.last.cached_tokens + h.last.evaluated_tokens);
    if (!ahead && prompt == peru) CHECK_STR("Peru has Lima as its capital.", h.text.bytes);
    heard_free(&h);
    connection_close(c);
}

/* Tokens of `half`, which both prompts begin with. */
static int half_tokens(void)
{
    connection *c = open_to(s.url);
    struct heard h;
    ask(c, &h, half, 3, true);
    int n = (int)h.last.prompt_tokens;
    heard_free(&h);
    connection_close(c);
    return n;
}

TEST(a_slot_keeps_the_prefix)
{
    REQUIRE(served_start(&s, (const char *const[]){NULL}));
    int n = half_tokens();
    check_work(half, 0, true, 0);
    check_work(peru, 0, false, n);
    check_work(peru, 1, false, 0);     /* another slot knows nothing of it */
    check_work(cuba, 0, false, n - 1); /* the checkpoint before the last token of `half` */
    CHECK(served_restart(&s));
    check_work(peru, 0, true, 0);
    served_stop(&s);
}

TEST(without_checkpoints_all_is_evaluated_anew)
{
    REQUIRE(served_start(&s, (const char *const[]){"--no-checkpoints", NULL}));
    int n = half_tokens();
    check_work(half, 0, true, 0);
    check_work(peru, 0, false, n);
    check_work(cuba, 0, false, 0);
    served_stop(&s);
}

TEST(requests_bytes_and_tokens_are_counted)
{
    REQUIRE(served_start(&s, (const char *const[]){"-m", small, NULL}));
    CHECK_INT(0, served_count(&s, "requests"));
    CHECK_INT(0, served_count(&s, "connections"));
    CHECK_INT(0, served_count(&s, "bytes_there"));
    check_work(peru, 0, true, 0);
    CHECK_INT(1, served_count(&s, "requests"));
    CHECK_INT(1, served_count(&s, "connections"));
    CHECK(served_count(&s, "bytes_there") > (int64_t)strlen(peru));
    CHECK(served_count(&s, "prompt_tokens") > 10);
    CHECK_INT(0, served_count(&s, "reply_tokens"));
    served_stop(&s);
}

static void check_fault(const char *name, int status, const char *error, const char *unread)
{
    connection *c = open_to(s.url);
    struct heard h;
    REQUIRE(c && served_fault(&s, name));
    ask(c, &h, peru, 0, false);
    CHECK_INT(status, h.status);
    if (error[0] ? !strstr(h.error, error) : h.error[0]) CHECK_FAIL("%s: '%s', not '%s'", name, h.error, error);
    if (unread[0] ? !strstr(h.unread, unread) : h.unread[0]) CHECK_FAIL("%s: '%s', not '%s'", name, h.unread, unread);
    if (!strncmp(name, "busy", 4)) CHECK_INT(2, h.retry_after_s);
    heard_free(&h);
    connection_close(c);
}

TEST(faults_happen)
{
    REQUIRE(served_start(&s, (const char *const[]){"--key", "k", "-m", small, NULL}));
    check_fault("none", 401, "", "Invalid API Key");
    served_stop(&s);
    REQUIRE(served_start(&s, (const char *const[]){NULL}));
    check_fault("busy:2", 429, "", "");
    check_fault("broken", 503, "", "out of order");
    check_fault("broken:500", 500, "", "out of order");
    check_fault("garbage", 200, "", "the server says: ?[2J");
    check_fault("flood:100", 200, "a line of more than 4 MiB", "");
    check_fault("redirect:http://localhost:9", 307, "which was not named", "");
    check_fault("cut:300*1", 200, "cut", "");
    check_fault("none", 200, "", "");
    served_stop(&s);
}

TEST(a_request_that_is_given_up_ends)
{
    REQUIRE(served_start(&s, (const char *const[]){"--slow", "30", NULL}));
    connection *c = open_to(s.url);
    struct heard h;
    REQUIRE(c);
    uint32_t id = send_prompt(c, &h, peru, 0, false);
    sem_wait(&h.piece);
    connection_cancel(c, id);
    sem_wait(&h.end);
    heard_free(&h);
    check_work(cuba, 0, true, -1); /* the slot is free again before the whole reply could be written */
    CHECK(served_count(&s, "reply_tokens") < 8);
    REQUIRE(served_fault(&s, "silent"));
    id = send_prompt(c, &h, peru, 0, false);
    connection_cancel(c, id);
    sem_wait(&h.end);
    CHECK_STR("given up", h.error);
    heard_free(&h);
    connection_close(c);
    served_stop(&s);
}

TEST(a_certificate_that_nobody_signed_is_refused)
{
    REQUIRE(served_start(&s, (const char *const[]){"--tls", "-m", small, NULL}));
    CHECK(!strncmp(s.url, "https://", 8));
    connection *c = open_to(s.url);
    struct heard h;
    REQUIRE(c);
    ask(c, &h, peru, 0, true);
    CHECK_INT(0, h.status);
    if (!strstr(h.error, "certificate")) CHECK_FAIL("%s", h.error);
    CHECK_INT(0, served_count(&s, "requests"));
    heard_free(&h);
    connection_close(c);
    served_stop(&s);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(a_slot_keeps_the_prefix),
                                              T(without_checkpoints_all_is_evaluated_anew),
                                              T(requests_bytes_and_tokens_are_counted),
                                              T(faults_happen),
                                              T(a_request_that_is_given_up_ends),
                                              T(a_certificate_that_nobody_signed_is_refused)};
    if (!scripted_find_net() || !served_is_there()) {
        puts("skip served: tandem-net (libcurl) or tests/server/serve (libmicrohttpd) was not built");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
