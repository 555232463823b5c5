/* Requests through tandem-net to a server that answers whatever a test wants: bodies, streams, cuts, refusals,
 * redirects, floods. (The server: scripted.h.) */
#include "tests/check.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/json/json.h"
#include "src/server/connection.h"
#include "src/server/dialect.h"
#include "tests/src/server/scripted.h"

/* ---- One request ------------------------------------------------------------------------------------------------- */

struct told {
    int status, retry_after_s, pieces;
    struct buffer data; /* pieces with | between them */
    char error[500];
    double total_ms;
    sem_t piece, end;
};

static void on_head(void *ctx, int status, int retry_after_s)
{
    struct told *t = ctx;
    t->status = status;
    t->retry_after_s = retry_after_s;
}

static void on_data(void *ctx, struct span bytes)
{
    struct told *t = ctx;
    if (t->pieces++) buffer_append(&t->data, "|", 1, NULL);
    buffer_append(&t->data, bytes.bytes, bytes.length, NULL);
    sem_post(&t->piece);
}

static void on_end(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms)
{
    struct told *t = ctx;
    (void)connect_ms, (void)first_ms;
    t->total_ms = total_ms;
    snprintf(t->error, sizeof t->error, "%s", error ? error : "");
    sem_post(&t->end);
}

static uint32_t ask(connection *c, struct told *t, bool stream)
{
    struct buffer b = {0};
    char text[200];
    snprintf(text, sizeof text,
             "{\"method\":\"POST\",\"path\":\"/completion\",\"stream\":%s,\"silent_s\":20}\n{\"a\":1}",
             stream ? "true" : "false");
    buffer_append(&b, text, strlen(text), NULL);
    *t = (struct told){0};
    sem_init(&t->piece, 0, 0);
    sem_init(&t->end, 0, 0);
    uint32_t id = connection_send(c, (struct span){b.bytes, b.n}, &(connection_calls){t, on_head, on_data, on_end});
    buffer_free(&b);
    return id;
}

static connection *open_to(const connection_options *options)
{
    connection *c = NULL;
    tdm_error err = {0};
    if (connection_open(&c, options, &err)) CHECK_FAIL("%s", err.text);
    return c;
}

/* Asks the server that answers this, waits for the end, and checks what was told. */
static void check_answer(const char *text, bool stream, int status, const char *data, const char *error)
{
    connection *c = open_to(&(connection_options){.url = scripted_start()});
    struct told t;
    scripted.answer = text;
    REQUIRE(c);
    ask(c, &t, stream);
    sem_wait(&t.end);
    CHECK_INT(status, t.status);
    CHECK_STR(data, t.data.n ? t.data.bytes : "");
    if (error[0] ? !strstr(t.error, error) : t.error[0]) CHECK_FAIL("expected '%s', found '%s'", error, t.error);
    buffer_free(&t.data);
    connection_close(c);
}

TEST(a_body_comes_whole)
{
    check_answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, 200, "hello", "");
    CHECK(strstr(scripted.asked, "POST /completion HTTP/1.1\r\n"));
    CHECK(strstr(scripted.asked, "\r\n\r\n{\"a\":1}"));
    CHECK(strstr(scripted.asked, "Content-Type: application/json\r\n"));
    CHECK(!strstr(scripted.asked, "Authorization") && !strstr(scripted.asked, "Expect"));
}

TEST(a_stream_comes_by_events)
{
    check_answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2\n\n", true, 200, "1|2",
                 "");
    check_answer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\":\n\n1}", true, 200, "{\"a\":\n\n1}",
                 "");
}

TEST(a_cut_answer_is_told)
{
    check_answer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", false, 200, "hello", "cut");
    check_answer(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n",
        true, 200, "1", "cut");
    check_answer("", false, 0, "", "mpty reply");
    check_answer("garbage\r\n\r\n", false, 0, "", "HTTP/0.9");
}

TEST(a_refusal_comes_with_its_reason)
{
    check_answer("HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}", true, 429, "{}", "");
    check_answer("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", true, 503, "", "");
}

/* None was asked for; its bytes would be taken for the server's words. */
TEST(a_compressed_answer_is_told)
{
    check_answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b..", true, 0, "",
                 "found one that is compressed (gzip)");
    check_answer("HTTP/1.1 500 No\r\ncontent-encoding: \x1b[31mbr\r\nContent-Length: 4\r\n\r\n....", false, 0, "",
                 "found one that is compressed (");
    check_answer("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", false, 200,
                 "hello", "");
}

TEST(a_redirect_is_not_followed)
{
    int before = scripted.served;
    char to[200];
    snprintf(to, sizeof to, "HTTP/1.1 307 Go\r\nLocation: http://localhost:%d/elsewhere\r\nContent-Length: 0\r\n\r\n",
             scripted.port);
    check_answer(to, false, 307, "", "which was not named");
    CHECK_INT(before + 1, scripted.served);
}

TEST(a_flood_is_bounded)
{
    scripted.flood = 64 << 20;
    connection *c = open_to(&(connection_options){.url = scripted_start()});
    struct told t;
    scripted.answer = "HTTP/1.1 200 OK\r\n\r\n";
    REQUIRE(c);
    ask(c, &t, false);
    sem_wait(&t.end);
    if (!strstr(t.error, "more than 16 MiB")) CHECK_FAIL("found %s", t.error);
    CHECK(t.data.n < 18 << 20);
    buffer_free(&t.data);
    scripted.answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ";
    ask(c, &t, true);
    sem_wait(&t.end);
    CHECK(strstr(t.error, "a line of more than 4 MiB"));
    buffer_free(&t.data);
    scripted.answer = "HTTP/1.1 500 No\r\n\r\n";
    ask(c, &t, true);
    sem_wait(&t.end);
    CHECK(t.data.n <= 70 << 10);
    buffer_free(&t.data);
    scripted.flood = 0;
    connection_close(c);
}

TEST(a_head_is_bounded)
{
    struct buffer answer = {0};
    buffer_append(&answer, "HTTP/1.1 200 OK\r\n", 17, NULL);
    while (answer.n < 290 << 10) buffer_append(&answer, "X-More: and more of it\r\n", 24, NULL);
    buffer_append(&answer, "\r\n", 3, NULL);
    check_answer(answer.bytes, false, 0, "", "head has more than 256 KiB");
    buffer_free(&answer);
}

TEST(a_request_can_be_given_up)
{
    connection *c = open_to(&(connection_options){.url = scripted_start()});
    struct told t;
    scripted.hangs = true;
    scripted.answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n";
    REQUIRE(c);
    uint32_t id = ask(c, &t, true);
    sem_wait(&t.piece);
    connection_cancel(c, id);
    sem_wait(&t.end);
    CHECK_STR("given up", t.error);
    sem_wait(&scripted.left); /* the server has learnt of it */
    buffer_free(&t.data);
    ask(c, &t, true);
    sem_wait(&t.piece);
    connection_close(c); /* ends what is under way */
    sem_wait(&t.end);
    sem_wait(&scripted.left);
    buffer_free(&t.data);
    scripted.hangs = false;
}

static void check_key(const connection_options *options, const char *header, const char *error)
{
    connection *c = open_to(options);
    struct told t;
    scripted.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    scripted.asked[0] = 0;
    REQUIRE(c);
    ask(c, &t, false);
    sem_wait(&t.end);
    if (error[0] ? !strstr(t.error, error) : t.error[0]) CHECK_FAIL("expected '%s', found '%s'", error, t.error);
    CHECK(!header[0] || strstr(scripted.asked, header));
    CHECK(!error[0] || !scripted.asked[0]);
    connection_close(c);
}

TEST(keys_come_from_a_file_or_a_variable)
{
    char path[300];
    const char *url = scripted_start();
    snprintf(path, sizeof path, "%s/key", check_tmp());
    FILE *f = fopen(path, "w");
    fputs("  sk-abc\n", f);
    fclose(f);
    setenv("TANDEM_TEST_KEY", "sk-def", 1);
    setenv("TANDEM_TEST_BAD", "a\r\nX: y", 1);
    check_key(&(connection_options){.url = url, .key_file = path}, "Authorization: Bearer sk-abc\r\n", "");
    check_key(&(connection_options){.url = url, .key_env = "TANDEM_TEST_KEY"}, "Authorization: Bearer sk-def\r\n", "");
    check_key(&(connection_options){.url = url, .key_file = "/no/such"}, "", "/no/such");
    check_key(&(connection_options){.url = url, .key_env = "TANDEM_TEST_NONE"}, "",
              "$TANDEM_TEST_NONE, which is not set");
    check_key(&(connection_options){.url = url, .key_env = "TANDEM_TEST_BAD"}, "", "expected one word");
}

TEST(addresses_are_checked)
{
    check_key(&(connection_options){.url = "ftp://127.0.0.1"}, "", "expected http://HOST:PORT");
    check_key(&(connection_options){.url = "http://user:pass@127.0.0.1"}, "", "expected http://HOST:PORT");
    check_key(&(connection_options){.url = "http://192.0.2.1:9"}, "", "private networks only");
    check_key(&(connection_options){.url = "http://127.0.0.1:1"}, "", "no server answers there (Connection refused)");
}

/* tandem-net is this process's only child. */
static void kill_child(void)
{
    char path[100];
    int child = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &child) != 1) child = 0;
    if (f) fclose(f);
    if (!child || kill(child, SIGKILL)) abort();
}

static void check_overlay(const char *url, bool agreed, bool lacks)
{
    struct told t;
    connection *c = open_to(&(connection_options){.url = url, .plain_http = agreed});
    REQUIRE(c);
    uint32_t id = ask(c, &t, false);
    if (!lacks) connection_cancel(c, id); /* nobody may ever answer there */
    sem_wait(&t.end);
    CHECK_INT(lacks, connection_lacks_plain_http(c));
    CHECK_INT(lacks, strstr(t.error, "another computer on an overlay network: nothing was sent") != NULL);
    connection_close(c);
}

TEST(an_overlay_network_needs_an_answer_of_its_own)
{
    check_overlay("http://100.64.0.1:9", false, true);
    check_overlay("http://[::ffff:100.127.0.1]:9", false, true);
    check_overlay("http://100.64.0.1:9", true, false);
    check_overlay("https://100.64.0.1:9", false, false);
    check_overlay("http://100.63.0.1:9", true, false); /* of a public network no answer helps */
}

/* A server of plain http that waits for more of what it can't read, and answers what it can: each connection by a
 * thread that outlives the test. */
static atomic_bool hangs_up; /* ... or goes at once */

static void *serve_http(void *ctx)
{
    static const char page[] = "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    int fd = (int)(intptr_t)ctx;
    char text[4096];
    size_t n = 0;
    for (ssize_t got; n < sizeof text - 1 && (!n || !hangs_up);) {
        if ((got = read(fd, text + n, sizeof text - 1 - n)) <= 0) break;
        n += (size_t)got;
        text[n] = 0;
        if (strncmp(text, "GET / HTTP/", 11) || !strstr(text, "\r\n\r\n")) continue;
        if (send(fd, page, sizeof page - 1, MSG_NOSIGNAL) < 0) break;
        break;
    }
    if (n && strncmp(text, "GET ", 4) && !hangs_up)
        while (read(fd, text, sizeof text) > 0) continue;
    close(fd);
    return NULL;
}

static void *accept_all(void *ctx)
{
    int listening = (int)(intptr_t)ctx;
    for (pthread_t one;;) {
        int fd = accept(listening, NULL, NULL);
        if (fd < 0) return NULL;
        if (!pthread_create(&one, NULL, serve_http, (void *)(intptr_t)fd)) pthread_detach(one);
    }
}

TEST(https_to_a_server_of_plain_http_is_told)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    char url[60];
    struct told t;
    pthread_t all;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(!bind(listening, (struct sockaddr *)&at, sizeof at) && !listen(listening, 8));
    CHECK(!getsockname(listening, (struct sockaddr *)&at, &size));
    REQUIRE(!pthread_create(&all, NULL, accept_all, (void *)(intptr_t)listening));
    pthread_detach(all);
    snprintf(url, sizeof url, "https://127.0.0.1:%d", ntohs(at.sin_port));
    connection *c = open_to(&(connection_options){.url = url});
    REQUIRE(c);
    ask(c, &t, false);
    sem_wait(&t.end);
    if (!strstr(t.error, "speaks plain http there, not https: expected http://")) CHECK_FAIL("%s", t.error);
    connection_close(c);
    hangs_up = true;
    c = open_to(&(connection_options){.url = url});
    REQUIRE(c);
    ask(c, &t, false);
    sem_wait(&t.end);
    if (!strstr(t.error, "speaks plain http there, not https: expected http://")) CHECK_FAIL("%s", t.error);
    connection_close(c);
    /* One that answers at once. */
    snprintf(url, sizeof url, "https%s", scripted_start() + strlen("http"));
    scripted.answer = "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    scripted.unread = true;
    c = open_to(&(connection_options){.url = url});
    REQUIRE(c);
    ask(c, &t, false);
    sem_wait(&t.end);
    scripted.unread = false;
    if (!strstr(t.error, "speaks plain http there, not https: expected http://")) CHECK_FAIL("%s", t.error);
    connection_close(c);
}

TEST(a_killed_tandem_net_ends_requests)
{
    connection *c = open_to(&(connection_options){.url = scripted_start()});
    struct told t;
    scripted.hangs = true;
    scripted.answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n";
    REQUIRE(c);
    ask(c, &t, true);
    sem_wait(&t.piece);
    kill_child();
    sem_wait(&t.end);
    CHECK(strstr(t.error, "tandem-net"));
    sem_wait(&scripted.left);
    scripted.hangs = false;
    buffer_free(&t.data);
    ask(c, &t, false);
    sem_wait(&t.end);
    CHECK(strstr(t.error, "tandem-net"));
    connection_close(c);
}

/* A script stands for tandem-net, and ends when the connection does, as that does: it is written to before it may end.
 * The folder where the user is has another one. */
static void put_script(const char *folder, const char *says)
{
    char path[600];
    snprintf(path, sizeof path, "%s/tandem-net", folder);
    FILE *f = fopen(path, "w");
    if (!f) abort();
    fprintf(f, "#!/bin/sh\n(echo %s; env; ls /proc/$$/fd) >%s/told\ncat >/dev/null\n", says, check_tmp());
    if (fchmod(fileno(f), 0755) || fclose(f)) abort();
}

TEST(tandem_net_inherits_what_it_needs)
{
    char folder[512], path[600], text[4000] = "\n", *old = strdup(getenv("PATH"));
    snprintf(folder, sizeof folder, "%s/beside", check_tmp());
    mkdir(folder, 0700);
    put_script(folder, "the right one");
    put_script(check_tmp(), "another");
    int tree = open(".", O_PATH | O_CLOEXEC);
    REQUIRE(tree >= 0 && !chdir(check_tmp()));
    snprintf(path, sizeof path, ".::%s:%s", folder, old);
    setenv("PATH", path, 1);
    setenv("HF_TOKEN", "secret", 1);
    setenv("TEST_KEY", "mine", 1);
    setenv("TEST_KEY_2", "another", 1);
    setenv("https_proxy", "http://proxy", 1);
    int high = fcntl(STDOUT_FILENO, F_DUPFD, 77); /* one of who started us */
    connection *c = NULL;
    const connection_options server = {.url = "http://127.0.0.1:1", .key_env = "TEST_KEY"};
    CHECK_INT(TDM_OK, connection_open(&c, &server, NULL));
    connection_close(c); /* waits for its end */
    close(high);
    CHECK(!fchdir(tree));
    close(tree);
    setenv("PATH", old, 1);
    free(old);
    snprintf(path, sizeof path, "%s/told", check_tmp());
    FILE *f = fopen(path, "r");
    REQUIRE(f);
    text[1 + fread(text + 1, 1, sizeof text - 2, f)] = 0;
    fclose(f);
    CHECK(strstr(text, "\nthe right one\n") && strstr(text, "\nTEST_KEY=mine\n"));
    CHECK(strstr(text, "\nhttps_proxy=http://proxy\n"));
    CHECK(!strstr(text, "HF_TOKEN") && !strstr(text, "TEST_KEY_2"));
    CHECK(!strstr(text, "\n77\n"));
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(a_body_comes_whole),
                                              T(a_stream_comes_by_events),
                                              T(a_cut_answer_is_told),
                                              T(a_refusal_comes_with_its_reason),
                                              T(a_compressed_answer_is_told), T(a_redirect_is_not_followed),
                                              T(a_flood_is_bounded),
                                              T(a_head_is_bounded),
                                              T(a_request_can_be_given_up),
                                              T(keys_come_from_a_file_or_a_variable),
                                              T(addresses_are_checked),
                                              T(an_overlay_network_needs_an_answer_of_its_own),
                                              T(https_to_a_server_of_plain_http_is_told),
                                              T(a_killed_tandem_net_ends_requests),
                                              T(tandem_net_inherits_what_it_needs)};
    if (!scripted_find_net()) {
        puts("skip connection: tandem-net was not built (libcurl)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
