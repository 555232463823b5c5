/* What a server says of itself, for each kind of server, and those that refuse or talk nonsense. */
#include "tests/check.h"

#include "src/server/server_info.h"
#include "tests/src/server/scripted.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOT_FOUND "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

static server_info found;
static tdm_error failure;

static tdm_status ask(const struct scripted_page *pages, int kind, const char *model)
{
    connection *c = NULL;
    scripted.answer = NOT_FOUND;
    scripted.pages = pages;
    failure = (tdm_error){0};
    if (connection_open(&c, &(connection_options){.url = scripted_start()}, &failure)) return failure.code;
    tdm_status status = server_info_ask(&found, c, kind, model, NULL, &failure);
    connection_close(c);
    return status;
}

static const char props[] = "{\"default_generation_settings\":{\"n_ctx\":4096},\"total_slots\":3,\"build_info\":\"b1\","
                            "\"chat_template\":\"{{ t }}\",\"model_path\":\"/models/qwen.gguf\"}";

TEST(a_llama_server)
{
    struct scripted_page pages[] = {
        {"/props", scripted_ok(props)}, {"/v1/models", scripted_ok("{\"data\":[{\"id\":\"q\"}]}")}, {NULL, NULL}};
    CHECK_INT(TDM_OK, ask(pages, -1, NULL));
    CHECK_INT(DIALECT_LLAMA, found.kind);
    CHECK_STR("q", found.model);
    CHECK_STR("b1", found.version);
    CHECK_STR("{{ t }}", found.chat_template);
    CHECK_INT(4096, found.context);
    CHECK_INT(3, found.slots);
    CHECK(found.round_trip_ms > 0);
    server_info_free(&found);
    CHECK_INT(TDM_OK, ask(pages, DIALECT_OPENAI, NULL)); /* as the user says */
    CHECK_INT(DIALECT_OPENAI, found.kind);
    server_info_free(&found);
    pages[1].path = NULL; /* an old one without names */
    CHECK_INT(TDM_OK, ask(pages, -1, NULL));
    CHECK_STR("qwen.gguf", found.model);
    server_info_free(&found);
}

#define ROUTER                                                                                                         \
    "{\"role\":\"router\",\"model_path\":\"none\",\"default_generation_settings\":{\"params\":null,\"n_ctx\":0}}"

/* llama-server with several models: server_info are of the one that is used. */
TEST(a_router)
{
    struct scripted_page pages[] = {
        {"/props", scripted_ok(ROUTER)},
        {"/v1/models", scripted_ok("{\"data\":[{\"id\":\"a\"},{\"id\":\"org/b c+\"}]}")},
        {"/props?model=a", scripted_ok("{\"default_generation_settings\":{\"n_ctx\":2048},\"total_slots\":1}")},
        {"/props?model=org%2Fb%20c%2B", scripted_ok(props)},
        {NULL, NULL}};
    CHECK_INT(TDM_OK, ask(pages, -1, "org/b c+"));
    CHECK_INT(DIALECT_LLAMA, found.kind);
    CHECK_STR("org/b c+", found.model);
    CHECK_STR("{{ t }}", found.chat_template);
    CHECK_INT(4096, found.context);
    CHECK_INT(3, found.slots);
    CHECK_INT(2, found.n_models);
    server_info_free(&found);
    CHECK_INT(TDM_OK, ask(pages, -1, NULL));
    CHECK_STR("a", found.model);
    CHECK_INT(2048, found.context);
    CHECK(!found.chat_template);
    server_info_free(&found);
    pages[2].answer =
        "HTTP/1.1 500 No\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"model a failed to load\"}}";
    CHECK_INT(TDM_E_IO, ask(pages, -1, "a"));
    CHECK_STR("the server answers 500: model a failed to load", failure.text);
    pages[2].answer = scripted_ok(ROUTER);
    CHECK_INT(TDM_E_FORMAT, ask(pages, -1, "a"));
}

static const char *many_models(void)
{
    struct buffer b = {0};
    char one[100];
    buffer_append(&b, "{\"data\":[", 9, NULL);
    for (int i = 0; i < 900; i++) {
        int n =
            snprintf(one, sizeof one, "%s{\"id\":\"org/model-%d\",\"context_length\":%d}", i ? "," : "", i, 1000 + i);
        buffer_append(&b, one, (size_t)n, NULL);
    }
    buffer_append(&b, "]}", 3, NULL);
    const char *answer = scripted_ok(b.bytes);
    buffer_free(&b);
    return answer;
}

TEST(lists_of_models_in_every_form)
{
    struct scripted_page pages[] = {{"/v1/models", many_models()}, {NULL, NULL}};
    CHECK_INT(TDM_OK, ask(pages, -1, "org/model-899"));
    CHECK_STR("org/model-899", found.model);
    CHECK_INT(1899, found.context);
    CHECK_INT(900, found.n_models);
    server_info_free(&found);
    static const char *const forms[] = {
        "[{\"id\":\"m1\"},{\"id\":\"m2\",\"context_window\":512}]",
        "{\"models\":[{\"name\":\"m1\"},{\"name\":\"m2\",\"max_context_length\":512}]}",
        "{\"object\":\"list\",\"data\":[null,7,{\"id\":\"\"},{\"id\":\"m1\"},{\"id\":\"m2\",\"max_model_len\":512}]}",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        pages[0].answer = scripted_ok(forms[i]);
        CHECK_INT(TDM_OK, ask(pages, -1, "m2"));
        CHECK_INT(2, found.n_models);
        CHECK_INT(512, found.context);
        server_info_free(&found);
    }
    pages[0].answer = scripted_ok("[\"m1\",\"m2\"]");
    CHECK_INT(TDM_OK, ask(pages, -1, NULL));
    CHECK_STR("m1", found.model);
    server_info_free(&found);
}

#define REFUSED(status) "HTTP/1.1 " status " No\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"not yours\"}}"

/* What is missing or refused beside the replies keeps nobody who names a model from talking. */
TEST(side_pages_may_refuse)
{
    static const char *const refusals[] = {
        NOT_FOUND,      REFUSED("401"), REFUSED("403"),
        REFUSED("503"), REFUSED("500"), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>hello</html>"};
    const char *models = scripted_ok("{\"data\":[{\"id\":\"m\"}]}");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct scripted_page all[] = {{"/props", refusals[i]},   {"/get_model_info", refusals[i]},
                                      {"/version", refusals[i]}, {"/v1/models", refusals[i]},
                                      {"/models", refusals[i]},  {NULL, NULL}};
        CHECK_INT(TDM_OK, ask(all, -1, "named"));
        CHECK_INT(DIALECT_OPENAI, found.kind);
        CHECK_STR("named", found.model);
        CHECK_INT(0, found.n_models);
        server_info_free(&found);
        CHECK(ask(all, -1, NULL) != TDM_OK);
        all[3].answer = models; /* the list alone is there: its first */
        CHECK_INT(TDM_OK, ask(all, -1, NULL));
        CHECK_STR("m", found.model);
        server_info_free(&found);
    }
    struct scripted_page llama[] = {{"/props", scripted_ok(props)}, {"/v1/models", REFUSED("403")}, {NULL, NULL}};
    CHECK_INT(TDM_OK, ask(llama, -1, "named"));
    CHECK_INT(DIALECT_LLAMA, found.kind);
    CHECK_STR("named", found.model);
    server_info_free(&found);
    CHECK_INT(TDM_OK, ask(llama, -1, NULL));
    CHECK_STR("qwen.gguf", found.model);
    server_info_free(&found);
}

TEST(a_base_path_of_its_own)
{
    struct scripted_page pages[] = {{"/models", scripted_ok("{\"data\":[{\"id\":\"m\"}]}")}, {NULL, NULL}};
    CHECK_INT(TDM_OK, ask(pages, -1, "m"));
    CHECK_STR("", found.base ? found.base : "/v1");
    CHECK_INT(1, found.n_models);
    server_info_free(&found);
}

/* Gives up at the third time that it is asked. */
static bool third(void *ctx, int loading_s)
{
    CHECK_INT(-1, loading_s);
    return ++*(int *)ctx >= 3;
}

/* Counts how often a server is said to load; gives up at the limit. */
struct loading {
    int told, most;
};
static bool is_too_long(void *ctx, int loading_s)
{
    struct loading *l = ctx;
    l->told += loading_s >= 0;
    return l->told > l->most;
}

static tdm_status ask_patiently(struct loading *l)
{
    connection *c = NULL;
    if (connection_open(&c, &(connection_options){.url = scripted_start()}, &failure)) return failure.code;
    tdm_status status =
        server_info_ask(&found, c, -1, NULL, &(server_info_patience){is_too_long, l}, &failure);
    connection_close(c);
    return status;
}

TEST(one_that_loads_is_waited_for)
{
    struct scripted_page pages[] = {{"/v1/models", scripted_ok("{\"data\":[{\"id\":\"q\"}]}")}, {NULL, NULL}};
    struct loading waits = {.most = 1000000}, gives_up = {.most = 1};
    scripted.pages = pages; /* without /props */
    scripted.answer = "HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    scripted.second = scripted_ok(props);
    scripted.first_went = false;
    CHECK_INT(TDM_OK, ask_patiently(&waits));
    CHECK_INT(DIALECT_LLAMA, found.kind);
    CHECK_INT(4096, found.context);
    CHECK(waits.told > 0);
    server_info_free(&found);
    scripted.second = NULL;
    scripted.answer = "HTTP/1.1 503 No\r\nContent-Length: 37\r\nConnection: close\r\n\r\n"
                      "{\"error\":{\"message\":\"Loading model\"}}";
    int before = scripted.served;
    CHECK_INT(TDM_E_CANCELLED, ask_patiently(&gives_up));
    CHECK_INT(2, gives_up.told);
    CHECK_INT(before + 1, scripted.served);
}

TEST(one_that_never_answers_is_given_up)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int asked = 0, listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connection *c = NULL;
    char url[60];
    CHECK(!bind(listening, (struct sockaddr *)&at, sizeof at) && !listen(listening, 4));
    CHECK(!getsockname(listening, (struct sockaddr *)&at, &size));
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(at.sin_port));
    scripted_find_net();
    REQUIRE(!connection_open(&c, &(connection_options){.url = url}, &failure));
    CHECK_INT(TDM_E_CANCELLED, server_info_ask(&found, c, -1, NULL, &(server_info_patience){third, &asked}, &failure));
    CHECK(asked >= 3);
    connection_close(c);
    close(listening);
}

TEST(the_others)
{
    const char *models = scripted_ok("{\"data\":[{\"id\":\"a\",\"max_model_len\":8192},{\"id\":\"b\"},{\"x\":1},7]}");
    struct scripted_page vllm[] = {
        {"/version", scripted_ok("{\"version\":\"0.9\"}")}, {"/v1/models", models}, {NULL, NULL}};
    CHECK_INT(TDM_OK, ask(vllm, -1, NULL));
    CHECK_INT(DIALECT_VLLM, found.kind);
    CHECK_STR("0.9", found.version);
    CHECK_STR("a", found.model);
    CHECK_INT(8192, found.context);
    CHECK_INT(2, found.n_models);
    server_info_free(&found);
    struct scripted_page sglang[] = {
        {"/get_model_info", scripted_ok("{\"model_path\":\"a\"}")}, {"/v1/models", models}, {NULL, NULL}};
    CHECK_INT(TDM_OK, ask(sglang, -1, "b"));
    CHECK_INT(DIALECT_SGLANG, found.kind);
    CHECK_STR("b", found.model);
    CHECK_INT(0, found.context);
    server_info_free(&found);
    CHECK_INT(TDM_OK, ask(sglang + 1, -1, NULL));
    CHECK_INT(DIALECT_OPENAI, found.kind);
    server_info_free(&found);
}

static void check_refused(const struct scripted_page *pages, int kind, const char *model, const char *part)
{
    CHECK(ask(pages, kind, model) != TDM_OK);
    if (!strstr(failure.text, part)) CHECK_FAIL("expected '%s', found '%s'", part, failure.text);
    CHECK(!found.models && !found.chat_template);
}

TEST(refusals_have_one_line)
{
    const char *models = scripted_ok("{\"data\":[{\"id\":\"a\\u001b[2J\"},{\"id\":\"b\"}]}");
    struct scripted_page pages[] = {{"/v1/models", models}, {NULL, NULL}};
    check_refused(pages, -1, "c", "expected a model of the server, found c; it offers a?[2J and others");
    pages[0].answer = scripted_ok("{\"data\":[]}");
    check_refused(pages, -1, NULL, "offers no model");
    pages[0].answer = scripted_ok("{}");
    check_refused(pages, -1, NULL, "expected `data`");
    pages[0].answer = scripted_ok("[[[");
    check_refused(pages, -1, NULL, "/v1/models");
    check_refused(pages, DIALECT_LLAMA, NULL, "expected a llama-server");
    pages[0].answer = scripted_ok("<!doctype html><title>Sign \x1b[1min</title><p>...");
    check_refused(pages, -1, NULL, "/v1/models: expected a list of models, found a web page: Sign ?[1min");
    pages[0].answer = scripted_ok("\n<html></html>");
    check_refused(pages, -1, NULL, "found a web page: without words");
    pages[0].answer = NOT_FOUND;
    check_refused(pages, -1, NULL, "the server answers 404; it lists no models: one can be named");
    struct scripted_page key[] = {{"/props", "HTTP/1.1 401 No\r\nContent-Length: 31\r\nConnection: close\r\n\r\n"
                                             "{\"error\":{\"message\":\"bad key\"}}"},
                                  {NULL, NULL}};
    check_refused(key, -1, NULL, "the server answers 401: bad key");
    struct scripted_page listed[] = {
        key[0], {"/v1/models", scripted_ok("{\"data\":[{\"id\":\"a\",\"owned_by\":\"llamacpp\"}]}")}, {NULL, NULL}};
    check_refused(listed, -1, NULL, "the server answers 401: bad key"); /* as each reply would be */
    struct scripted_page loads[] = {{"/props", "HTTP/1.1 503 No\r\nContent-Length: 37\r\nConnection: close\r\n\r\n"
                                               "{\"error\":{\"message\":\"Loading model\"}}"},
                                    {NULL, NULL}};
    int before = scripted.served;
    check_refused(loads, -1, NULL, "the server answers 503: Loading model");
    CHECK_INT(before + 1, scripted.served); /* what it is is told later: no other page is tried */
}

TEST(info_prints_them)
{
    struct scripted_page pages[] = {{"/props", scripted_ok(props)},
                                    {"/v1/models", scripted_ok("{\"data\":[{\"id\":\"q\"},{\"id\":\"r\"}]}")},
                                    {NULL, NULL}};
    char command[300], line[500] = "";
    const char *program = getenv("TANDEM");
    scripted.pages = pages;
    snprintf(command, sizeof command, "%s info --json %s/v1#r", program ? program : "build/tandem", scripted_start());
    FILE *f = popen(command, "r");
    REQUIRE(f);
    if (!fgets(line, sizeof line, f)) line[0] = 0;
    CHECK_INT(0, pclose(f));
    CHECK(strstr(line, "\"kind\":\"llama-server\",\"version\":\"b1\",\"model\":\"r\",\"models\":[\"q\",\"r\"],"
                       "\"context\":4096,\"slots\":3"));
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(a_llama_server),
                                              T(a_router),
                                              T(lists_of_models_in_every_form),
                                              T(side_pages_may_refuse),
                                              T(a_base_path_of_its_own),
                                              T(one_that_loads_is_waited_for),
                                              T(one_that_never_answers_is_given_up),
                                              T(the_others),
                                              T(refusals_have_one_line),
                                              T(info_prints_them)};
    if (!scripted_find_net()) {
        puts("skip facts: tandem-net was not built (libcurl)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
