/* What a server says of itself, for each kind of server, and those that refuse or talk nonsense. */
#include "tests/check.h"

#include "src/server/facts.h"
#include "tests/src/server/scripted.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOT_FOUND "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

static facts found;
static tdm_error failure;

static tdm_status ask(const struct scripted_page *pages, int kind, const char *model)
{
    connection *c = NULL;
    scripted.answer = NOT_FOUND;
    scripted.pages = pages;
    failure = (tdm_error){0};
    if (connection_open(&c, &(connection_options){.url = scripted_start()}, &failure)) return failure.code;
    tdm_status status = facts_ask(&found, c, kind, model, NULL, &failure);
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
    facts_free(&found);
    CHECK_INT(TDM_OK, ask(pages, DIALECT_OPENAI, NULL)); /* as the user says */
    CHECK_INT(DIALECT_OPENAI, found.kind);
    facts_free(&found);
    pages[1].path = NULL; /* an old one without names */
    CHECK_INT(TDM_OK, ask(pages, -1, NULL));
    CHECK_STR("qwen.gguf", found.model);
    facts_free(&found);
}

/* Gives up at the third time that it is asked. */
static bool third(void *ctx)
{
    return ++*(int *)ctx >= 3;
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
    CHECK_INT(TDM_E_CANCELLED, facts_ask(&found, c, -1, NULL, &(facts_patience){third, &asked}, &failure));
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
    facts_free(&found);
    struct scripted_page sglang[] = {
        {"/get_model_info", scripted_ok("{\"model_path\":\"a\"}")}, {"/v1/models", models}, {NULL, NULL}};
    CHECK_INT(TDM_OK, ask(sglang, -1, "b"));
    CHECK_INT(DIALECT_SGLANG, found.kind);
    CHECK_STR("b", found.model);
    CHECK_INT(0, found.context);
    facts_free(&found);
    CHECK_INT(TDM_OK, ask(sglang + 1, -1, NULL));
    CHECK_INT(DIALECT_OPENAI, found.kind);
    facts_free(&found);
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
    struct scripted_page key[] = {{"/props", "HTTP/1.1 401 No\r\nContent-Length: 31\r\nConnection: close\r\n\r\n"
                                             "{\"error\":{\"message\":\"bad key\"}}"},
                                  {NULL, NULL}};
    check_refused(key, -1, NULL, "the server answers 401: bad key");
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
    static const struct check_test tests[] = {T(a_llama_server), T(one_that_never_answers_is_given_up),
                                              T(the_others), T(refusals_have_one_line),
                                              T(info_prints_them)};
    if (!scripted_find_net()) {
        puts("skip facts: tandem-net was not built (libcurl)");
        return 0;
    }
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
