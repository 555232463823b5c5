/* Servers of the configuration file, and those that the user has agreed to send to. */
#include "tests/check.h"

#include <unistd.h>

#include "src/cli/servers.h"
#include "src/files/agreed.h"
#include "src/server/dialect.h"

static struct server_named *all;
static int n;

static void check_set(const char *setting, const char *value, const char *words)
{
    tdm_error err = {0};
    tdm_status status = servers_set(&all, &n, setting, value, &err);
    if (words ? !status || !strstr(err.text, words) : status != TDM_OK)
        CHECK_FAIL("%s = %s: expected '%s', found '%s'", setting, value, words ? words : "no failure", err.text);
}

static void empty(void)
{
    free(all);
    all = NULL;
    n = 0;
}

TEST(a_server_of_several_lines)
{
    check_set("box.model", "qwen", NULL);
    check_set("far.url", "https://far.example/v1", NULL);
    check_set("box.url", "http://box:8080", NULL);
    check_set("box.key-file", "~/key", NULL);
    check_set("box.drafts", "yes", NULL);
    check_set("far.plain-http", "no", NULL);
    check_set("near.url", "localhost:8080/v1", NULL);
    check_set("near.plain-http", "yes", NULL);
    CHECK_INT(3, n);
    CHECK_INT(TDM_OK, servers_check(all, n, NULL));
    const struct server_named *s = servers_find(all, n, "box");
    REQUIRE(s);
    CHECK_STR("http://box:8080", s->url);
    CHECK_STR("qwen", s->model);
    CHECK_STR("~/key", s->key_file);
    CHECK_INT(SERVERS_YES, s->drafts);
    CHECK_INT(SERVERS_UNSAID, s->plain_http);
    CHECK_INT(SERVERS_NO, servers_find(all, n, "far")->plain_http);
    CHECK_INT(SERVERS_YES, servers_find(all, n, "near")->plain_http);
    CHECK(servers_find(all, n, "far")->drafts != SERVERS_YES);
    CHECK(!servers_find(all, n, "nowhere"));
    const char *setting, *value;
    CHECK(servers_line(s, 1, &setting, &value));
    CHECK_STR("model", setting);
    CHECK(servers_line(s, 3, &setting, &value));
    CHECK_STR("drafts", setting);
    CHECK_STR("yes", value);
    CHECK(!servers_line(s, 4, &setting, &value));
    CHECK(servers_line(servers_find(all, n, "far"), 1, &setting, &value));
    CHECK_STR("plain-http", setting);
    CHECK_STR("no", value);
    empty();
}

TEST(wrong_lines_say_what_was_expected)
{
    check_set("url", "http://box", "expected server.NAME.url, .model");
    check_set("box.port", "8080", "expected server.NAME.url, .model");
    check_set(".url", "http://box", "expected a name of letters");
    check_set("a b.url", "http://box", "expected a name of letters");
    check_set("builtin.url", "http://box", "not builtin");
    check_set("abcdefghijklmnopqrstuvwxyzabcdefghijk.url", "http://box", "31 at most");
    check_set("box.url", "box:8080", "expected http://HOST:PORT or https://HOST, found 'box:8080'");
    check_set("box.url", "http://user:word@box", "expected http://HOST:PORT");
    check_set("box.kind", "ollama", "expected llama-server, vllm, sglang or openai, found 'ollama'");
    check_set("box.drafts", "on", "expected yes or no");
    check_set("box.plain-http", "", "expected yes or no");
    check_set("box.key-env", "A B", "expected the name of a variable");
    check_set("box.model", "", "expected a text");
    CHECK_INT(0, n);
    for (dialect d = 0; d < DIALECTS; d++) check_set("box.kind", dialect_name(d), NULL);
    tdm_error err;
    CHECK_INT(TDM_E_FORMAT, servers_check(all, n, &err));
    CHECK_STR("server.box has no server.box.url", err.text);
    check_set("box.url", "http://box", NULL);
    check_set("box.key-env", "KEY", NULL);
    check_set("box.key-file", "key", NULL);
    CHECK_INT(TDM_E_FORMAT, servers_check(all, n, &err));
    CHECK(strstr(err.text, "found both"));
    for (int i = 1; i < SERVERS_MAX; i++) {
        char name[20];
        snprintf(name, sizeof name, "s%d.url", i);
        check_set(name, "http://box", NULL);
    }
    check_set("more.url", "http://box", "expected at most 16 servers");
    empty();
}

TEST(agreement_is_kept_by_host)
{
    char folder[300];
    snprintf(folder, sizeof folder, "%s/state", check_tmp());
    setenv("XDG_STATE_HOME", folder, 1);
    CHECK(!agreed_with("http://box:8080"));
    CHECK_INT(TDM_OK, agreed_keep("http://box:8080/api", NULL));
    CHECK_INT(TDM_OK, agreed_keep("https://far.example", NULL));
    CHECK_INT(TDM_OK, agreed_keep("http://box:8080", NULL));
    CHECK(agreed_with("http://box:8080"));
    CHECK(agreed_with("http://box:8080/other"));
    CHECK(agreed_with("https://far.example"));
    CHECK(!agreed_with("http://box:80"));
    CHECK(!agreed_with("http://box:80801"));
    CHECK(!agreed_with("https://box:8080"));
    CHECK(!agreed_with("http://far.example"));
    CHECK(!agreed_with("box"));
    CHECK_INT(TDM_E_ARG, agreed_keep("box", NULL));
    CHECK_INT(TDM_E_ARG, agreed_keep("http://a\nhttp://b", NULL));
}

TEST_MAIN(T(a_server_of_several_lines), T(wrong_lines_say_what_was_expected), T(agreement_is_kept_by_host))
