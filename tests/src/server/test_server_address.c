/* Servers as users name them. */
#include "tests/check.h"

#include "src/server/server_address.h"

static void check_address(const char *text, const char *url, const char *host, const char *model)
{
    server_address p;
    tdm_error err = {0};
    if (server_address_parse(&p, text, &err)) CHECK_FAIL("%s: %s", text, err.text);
    CHECK_STR(url, p.url);
    CHECK_STR(host, p.host);
    CHECK_STR(model, p.model);
}

TEST(addresses_with_and_without_more)
{
    check_address("http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080", "");
    check_address("http://box:8080/", "http://box:8080", "box:8080", "");
    check_address("http://box:8080/v1", "http://box:8080", "box:8080", "");
    check_address("http://box:8080/v1/#qwen/3.5", "http://box:8080", "box:8080", "qwen/3.5");
    check_address("https://host.example/api/v1#m", "https://host.example/api", "host.example", "m");
    check_address("https://h/v1beta/openai/", "https://h/v1beta/openai", "h", "");
    check_address("http://box:8080/v1/chat/completions#m", "http://box:8080", "box:8080", "m");
    check_address("http://box:8080/api/v1/models/", "http://box:8080/api", "box:8080", "");
    check_address("http://[::1]:8080", "http://[::1]:8080", "[::1]:8080", "");
    check_address("https://h#", "https://h", "h", "");
    check_address("http://box:8080/completion", "http://box:8080", "box:8080", "");
}

/* As people have them: from another program's lines, or typed from memory. */
TEST(addresses_as_they_come)
{
    check_address("127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080", "");
    check_address("192.168.1.7:8080/v1/#qwen", "http://192.168.1.7:8080", "192.168.1.7:8080", "qwen");
    check_address("localhost:8080/v1", "http://localhost:8080", "localhost:8080", "");
    check_address("[::1]:8080/v1/chat/completions", "http://[::1]:8080", "[::1]:8080", "");
    check_address("HTTP://Box:8080", "http://Box:8080", "Box:8080", "");
    check_address("HttpS://h/api/v1#m", "https://h/api", "h", "m");
    check_address("http://0.0.0.0:8080", "http://127.0.0.1:8080", "127.0.0.1:8080", "");
    check_address("0.0.0.0:8080/v1", "http://127.0.0.1:8080", "127.0.0.1:8080", "");
    check_address("http://[::]:8080/v1#m", "http://localhost:8080", "localhost:8080", "m");
    check_address("http://[0:0::0]:8080/api/v1", "http://localhost:8080/api", "localhost:8080", "");
    check_address("https://0.0.0.0", "https://127.0.0.1", "127.0.0.1", "");
}

TEST(others_are_refused)
{
    static const char *const wrong[] = {
        "",           "box:8080",        "http://",       "https:///v1", "http://:80",
        "ftp://h",    "http://u:p@h",    "http://h?x=1",  "http://a b",  "http://h\x1b[2J",
        "http://h\n", "http://\xc3\xa4", "http://h/\"x\""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        server_address p;
        tdm_error err = {0};
        CHECK_INT(TDM_E_ARG, server_address_parse(&p, wrong[i], &err));
        CHECK(!strpbrk(err.text, "\n\x1b"));
    }
    static const char *const lack[] = {"box:8080", "box:8080/v1#m", "box.example:80"};
    for (size_t i = 0; i < sizeof lack / sizeof *lack; i++) {
        server_address p;
        tdm_error err = {0};
        CHECK_INT(TDM_E_ARG, server_address_parse(&p, lack[i], &err));
        CHECK(strstr(err.text, "expected http:// or https:// before box"));
    }
    static const char *const keys[] = {"http://me:sesame@h", "http://sesame@h#m", "https://h/v1?key=sesame",
                                       "127.0.0.1:8080/v1?key=sesame"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        server_address p;
        tdm_error err = {0};
        CHECK_INT(TDM_E_ARG, server_address_parse(&p, keys[i], &err));
        CHECK(!strstr(err.text, "sesame") && strstr(err.text, "key-file"));
    }
    static char longest[2000] = "http://";
    server_address p;
    memset(longest + 7, 'a', sizeof longest - 8);
    CHECK_INT(TDM_E_ARG, server_address_parse(&p, longest, NULL));
    memcpy(longest, "http://h#", 9);
    CHECK_INT(TDM_E_ARG, server_address_parse(&p, longest, NULL));
}

TEST(names_of_models_are_not_servers)
{
    CHECK(server_address_is_meant("http://h") && server_address_is_meant("https://h"));
    CHECK(!server_address_is_meant("builtin") && !server_address_is_meant("http") &&
          !server_address_is_meant("./http://h"));
    static const char *const models[] = {"synthetic:0.8b", "org/model:8080", "box:8080",
                                         "127.0.0.1",      "localhost",      "localhost:80x",
                                         "1.2.3:80",       ":80",            "[::1]",
                                         "localhost:123456"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (server_address_is_meant(models[i])) CHECK_FAIL("%s is taken for a server", models[i]);
    CHECK(server_address_is_meant("HTTPS://h") && server_address_is_meant("localhost:8080") &&
          server_address_is_meant("[::1]:80#m") && server_address_is_meant("10.0.0.1:80/v1"));
}

TEST_MAIN(T(addresses_with_and_without_more), T(addresses_as_they_come), T(others_are_refused),
          T(names_of_models_are_not_servers))
