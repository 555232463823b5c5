/* What is asked and answered, against exchanges written down from the documentation and sources of the real servers
 * (tests/src/server/exchanges): every field that we send is one of theirs, every answer of theirs is read, and the
 * server of the tests answers in the same form. TANDEM_TEST_SERVER=http://HOST:PORT asks a real one as well. */
#include "tests/check.h"
#include "tests/json_line.h"

#include <dirent.h>
#include <semaphore.h>
#include <unistd.h>

#include "engine/base/buffer.h"
#include "engine/json/json.h"
#include "src/files/files.h"
#include "src/server/connection.h"
#include "src/server/dialect.h"
#include "src/server/server_info.h"
#include "tests/src/server/scripted.h"
#include "tests/src/server/served.h"

static const char *const files[] = {"llama-server", "llama-server-old", "vllm", "sglang", "openai"};
enum { FILES = sizeof files / sizeof *files };

static json_object *load(const char *name)
{
    char path[200], *text;
    size_t n;
    tdm_error err = {0};
    json_object *o = NULL;
    snprintf(path, sizeof path, "src/server/exchanges/%s.json", name);
    if (files_read(check_data(path), 1 << 20, &text, &n, &err) || json_parse(&o, name, text, n, JSON_UTF8, &err))
        CHECK_FAIL("%s", err.text);
    else
        free(text);
    return o;
}

static dialect kind_of(json_object *exchanges)
{
    int d = dialect_find(json_text(exchanges, "kind", NULL));
    if (d < 0) abort();
    return (dialect)d;
}

/* ---- What we ask ------------------------------------------------------------------------------------------------- */

static const char user[] = "What is the capital of Peru?";
static const char rendered[] =
    "<|im_start|>user\nWhat is the capital of Peru?<|im_end|>\n<|im_start|>assistant\n<think>\n"
    "\n</think>\n\n";

static void request(dialect d, bool ahead, const char *model, struct buffer *out)
{
    static const tdm_sampling sampling = {.temperature = 0, .top_k = 20, .top_p = 0.8F, .repeat_penalty = 1, .seed = 7};
    static const char *const stops[] = {"\nuser", NULL};
    tdm_message message = {TDM_USER, user, strlen(user), NULL, 0, NULL, 0};
    dialect_ask ask = {.model = model,
                       .prompt = {rendered, strlen(rendered)},
                       .messages = &message,
                       .n_messages = 1,
                       .sampling = &sampling,
                       .max_tokens = 40,
                       .stops = stops,
                       .slot = d == DIALECT_LLAMA ? 1 : -1};
    if (dialect_request(d, &ask, ahead, out, NULL)) abort();
}

static void check_fields(json_object *exchanges, bool ahead)
{
    struct buffer b = {0};
    json_object *body = NULL, *fields = json_member(exchanges, "fields", JSON_OBJECT);
    json_object *needs = json_member(exchanges, "needs", JSON_ARRAY);
    request(kind_of(exchanges), ahead, "m", &b);
    const char *line = strchr(b.bytes, '\n') + 1;
    json_parse(&body, "body", line, b.n - (size_t)(line - b.bytes), JSON_UTF8, NULL);
    for (struct json_walk m = json_walk(body); json_next(&m);) {
        const char *wanted = json_text(fields, m.key, NULL), *is = json_kind_name(m.value);
        /* A whole number is as good as any where a real one is wanted. */
        bool good = wanted && (!strcmp(wanted, is) || (!strcmp(wanted, "double") && !strcmp(is, "int")));
        if (!good) CHECK_FAIL("%s: sent as %s, the server takes %s", m.key, is, wanted ? wanted : "no such field");
    }
    for (size_t i = 0; i < json_length(needs); i++) {
        const char *name = json_text_of(json_at(needs, i));
        if (!json_has(body, name)) CHECK_FAIL("%s: not sent", name);
    }
    json_free(body);
    buffer_free(&b);
}

TEST(we_send_fields_that_they_take)
{
    for (int i = 0; i < FILES; i++) {
        json_object *exchanges = load(files[i]);
        REQUIRE(exchanges);
        check_fields(exchanges, false);
        check_fields(exchanges, true);
        json_free(exchanges);
    }
}

/* ---- What they answer -------------------------------------------------------------------------------------------- */

static const char *end_of(const dialect_piece *p)
{
    if (!p->end) return "";
    return p->finish == TDM_FINISH_END           ? "end"
           : p->finish == TDM_FINISH_LENGTH      ? "length"
           : p->finish == TDM_FINISH_STOP_STRING ? "stop string"
                                                 : "context";
}

static void check_reading(dialect d, json_object *one, dialect_piece *p)
{
    json_object *reads = json_member(one, "reads", JSON_OBJECT);
    const char *says = json_shown(json_member(one, "says", JSON_OBJECT));
    const char *fails = json_text(one, "fails", NULL);
    tdm_error err = {0};
    tdm_status status = dialect_read(d, (struct span){says, strlen(says)}, p, &err);
    if (fails) {
        CHECK_STR(fails, status ? err.text : p->finish == TDM_FINISH_FAILED ? p->reason : "read");
        return;
    }
    if (status) CHECK_FAIL("%s: %s", says, err.text);
    CHECK_STR(json_text(reads, "text", NULL), p->text.n ? p->text.bytes : "");
    const char *thinking = json_text(reads, "thinking", NULL), *end = json_text(reads, "end", NULL);
    CHECK_STR(thinking ? thinking : "", p->thinking.n ? p->thinking.bytes : "");
    CHECK_STR(end ? end : "", end_of(p));
    CHECK_INT(json_int(reads, "prompt", -1), p->prompt_tokens);
    CHECK_INT(json_int(reads, "cached", -1), p->cached_tokens);
    CHECK_INT(json_int(reads, "evaluated", -1), p->evaluated_tokens);
    CHECK_INT(json_int(reads, "reply", -1), p->reply_tokens);
    double prompt_ms = json_real(reads, "prompt_ms", -1), reply_ms = json_real(reads, "reply_ms", -1);
    CHECK(prompt_ms < 0 || p->prompt_ms == prompt_ms);
    CHECK(reply_ms < 0 || p->reply_ms == reply_ms);
}

TEST(their_answers_are_read)
{
    static const char *const parts[] = {"reply", "ahead", "also"};
    dialect_piece piece = {0};
    for (int i = 0; i < FILES; i++) {
        json_object *exchanges = load(files[i]);
        REQUIRE(exchanges);
        for (int k = 0; k < 3; k++) {
            json_object *list = json_member(exchanges, parts[k], JSON_ARRAY);
            REQUIRE(list && json_length(list));
            for (size_t n = 0; n < json_length(list); n++) check_reading(kind_of(exchanges), json_at(list, n), &piece);
        }
        json_free(exchanges);
    }
    dialect_piece_free(&piece);
}

TEST(their_refusals_have_one_line)
{
    for (int i = 0; i < FILES; i++) {
        json_object *exchanges = load(files[i]);
        json_object *list = json_member(exchanges, "refusals", JSON_ARRAY);
        REQUIRE(list);
        for (size_t n = 0; n < json_length(list); n++) {
            json_object *one = json_at(list, n);
            const char *says = json_shown(json_member(one, "says", JSON_OBJECT));
            tdm_error err = {0};
            dialect_failure((int)json_int(one, "status", 0), (struct span){says, strlen(says)}, &err);
            CHECK_STR(json_text(one, "line", NULL), err.text);
        }
        json_free(exchanges);
    }
}

/* ---- What the server of the tests answers, or a real one --------------------------------------------------------- */

enum { MAX_EVENTS = 500 };

struct heard {
    json_object *event[MAX_EVENTS];
    int n, status;
    struct buffer body;
    bool stream;
    char error[300];
    sem_t end;
};

static void on_head(void *ctx, int status, int retry_after_s)
{
    (void)retry_after_s;
    ((struct heard *)ctx)->status = status;
}

static void on_data(void *ctx, struct span bytes)
{
    struct heard *h = ctx;
    if (!h->stream)
        buffer_append(&h->body, bytes.bytes, bytes.length, NULL);
    else if (h->n < MAX_EVENTS && !span_is(bytes, "[DONE]") &&
             !json_parse(&h->event[h->n], "event", bytes.bytes, bytes.length, JSON_UTF8, NULL))
        h->n++;
}

static void on_end(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms)
{
    struct heard *h = ctx;
    (void)connect_ms, (void)first_ms, (void)total_ms;
    if (error) snprintf(h->error, sizeof h->error, "%s", error);
    if (!h->stream && h->body.n && !json_parse(&h->event[0], "body", h->body.bytes, h->body.n, JSON_UTF8, NULL))
        h->n = 1;
    sem_post(&h->end);
}

/* Has o every member of `like`, of the same type, in its parts too? What is null on either side fits. */
static bool has_form(json_object *o, json_object *like, char *missing)
{
    if (!o || !like) return true;
    json_kind is = json_kind_of(o), want = json_kind_of(like);
    bool numbers = (is == JSON_INT || is == JSON_REAL) && (want == JSON_INT || want == JSON_REAL);
    if (is != want) return numbers;
    if (want == JSON_ARRAY)
        return json_length(like) == 0 || (json_length(o) > 0 && has_form(json_at(o, 0), json_at(like, 0), missing));
    if (want != JSON_OBJECT) return true;
    for (struct json_walk m = json_walk(like); json_next(&m);) {
        bool there = json_has(o, m.key);
        if (there && has_form(json_get(o, m.key), m.value, missing)) continue;
        if (!there) snprintf(missing, 100, "%s", m.key);
        return false;
    }
    return true;
}

static void check_form(json_object *exchanges, const char *part, const struct heard *h)
{
    json_object *list = json_member(exchanges, part, JSON_ARRAY);
    for (size_t n = 0; n < json_length(list); n++) {
        json_object *says = json_member(json_at(list, n), "says", JSON_OBJECT);
        char missing[100] = "another type";
        bool found = false;
        for (int i = 0; i < h->n && !found; i++) found = has_form(h->event[i], says, missing);
        if (!found) CHECK_FAIL("%s %zu: no answer of this form: %s", part, n, missing);
    }
}

/* Asks, and checks form and content of what comes. */
static void check_exchange(json_object *exchanges, const char *url, const char *model, bool ahead)
{
    dialect d = kind_of(exchanges);
    connection *c = NULL;
    struct heard *h = calloc(1, sizeof *h);
    struct buffer b = {0};
    dialect_piece p = {0};
    char reply[1000] = "";
    bool ended = false;
    REQUIRE(h && !connection_open(&c, &(connection_options){.url = url}, NULL));
    sem_init(&h->end, 0, 0);
    h->stream = !ahead;
    request(d, ahead, model, &b);
    connection_send(c, (struct span){b.bytes, b.n}, &(connection_calls){h, on_head, on_data, on_end});
    sem_wait(&h->end);
    CHECK_INT(200, h->status);
    CHECK_STR("", h->error);
    check_form(exchanges, ahead ? "ahead" : "reply", h);
    for (int i = 0; i < h->n; i++) {
        tdm_error err = {0};
        const char *line = json_line(h->event[i]);
        if (dialect_read(d, (struct span){line, strlen(line)}, &p, &err)) CHECK_FAIL("%s", err.text);
        ended |= p.end;
        snprintf(reply + strlen(reply), sizeof reply - strlen(reply), "%s", p.text.n ? p.text.bytes : "");
        json_free(h->event[i]);
    }
    CHECK(ended);
    if (!ahead) CHECK_STR("Peru has Lima as its capital.", reply);
    dialect_piece_free(&p);
    connection_close(c);
    buffer_free(&b);
    buffer_free(&h->body);
    free(h);
}

TEST(the_server_of_the_tests_answers_like_them)
{
    if (!served_is_there()) SKIP("tests/server/serve was not built (libmicrohttpd)");
    for (int i = 0; i < FILES; i++) {
        json_object *exchanges = load(files[i]);
        REQUIRE(exchanges);
        bool old = json_flag(exchanges, "old", false);
        const char *kind = json_text(exchanges, "kind", NULL);
        served s;
        REQUIRE(served_start(&s, (const char *const[]){"--kind", kind, old ? "--old" : NULL, NULL}));
        check_exchange(exchanges, s.url, "tandem-demo-51m", true);
        check_exchange(exchanges, s.url, "tandem-demo-51m", false);
        served_stop(&s);
        json_free(exchanges);
    }
}

TEST(a_real_server_answers_like_them)
{
    const char *url = getenv("TANDEM_TEST_SERVER");
    if (!url) SKIP("TANDEM_TEST_SERVER names none (tests/server/README.md)");
    connection *c = NULL;
    server_info f = {0};
    tdm_error err = {0};
    REQUIRE(!connection_open(&c, &(connection_options){.url = url}, &err));
    if (server_info_ask(&f, c, -1, NULL, NULL, &err)) CHECK_FAIL("%s", err.text);
    connection_close(c);
    bool old = f.kind == DIALECT_LLAMA && !f.version[0];
    for (int i = 0; i < FILES; i++) {
        json_object *exchanges = load(files[i]);
        bool is = kind_of(exchanges) == f.kind;
        is = is && json_flag(exchanges, "old", false) == old;
        if (is) check_exchange(exchanges, url, f.model, true);
        if (is) check_exchange(exchanges, url, f.model, false);
        json_free(exchanges);
    }
    server_info_free(&f);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        T(we_send_fields_that_they_take), T(their_answers_are_read), T(their_refusals_have_one_line),
        T(the_server_of_the_tests_answers_like_them), T(a_real_server_answers_like_them)};
    if (!scripted_find_net()) {
        puts("skip exchanges: tandem-net was not built (libcurl)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
