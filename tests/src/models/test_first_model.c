/* The model that a conversation begins with: the one that is named, else the last one, else the built-in; and the one
 * that a newcomer is told of. */
#include "tests/check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/files/recent.h"
#include "src/models/family.h"
#include "src/models/first_model.h"

static void begin(const char *name)
{
    static char home[300];
    snprintf(home, sizeof home, "%s/%s", check_tmp(), name);
    static const char *const variables[] = {"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
    for (size_t i = 0; i < 4; i++) setenv(variables[i], home, 1);
    unsetenv("HF_HOME");
    unsetenv("HF_HUB_CACHE");
}

/* What a command with these words begins with, where the configuration says this ("": nothing); "" for the built-in
 * model. */
static const char *first_of(const char *command, const char *const *words, const char *configuration, char note[300])
{
    static char model[300];
    char path[400];
    options o;
    char *argv[8] = {(char *)"tandem", (char *)command};
    int n = 2;
    for (; words && *words; words++) argv[n++] = (char *)*words;
    CHECK(options_parse(&o, n, argv, NULL));
    snprintf(path, sizeof path, "%s/config", check_tmp());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(configuration, f) >= 0 && !fclose(f) && options_read_file(&o, path, NULL));
    first_model(&o, note, 300);
    const char *text = options_text(&o, OPTION_MODEL);
    snprintf(model, sizeof model, "%s", text ? text : "");
    options_free(&o);
    return model;
}

static const char *first(const char *const *words, char note[300])
{
    return first_of("chat", words, "", note);
}

TEST(the_last_one_unless_another_is_named)
{
    char note[300], whole[PATH_MAX];
    begin("last");
    CHECK_STR("", first(NULL, note));
    CHECK_STR("", note);
    recent_add("tests/goldens/tiny-a");
    REQUIRE(realpath("tests/goldens/tiny-a", whole));
    CHECK_STR(whole, first(NULL, note));
    CHECK_STR("", note);
    CHECK_STR("other.gguf", first((const char *const[]){"-m", "other.gguf", NULL}, note));
    CHECK_STR("", first((const char *const[]){"--prefill-model", "x.gguf", NULL}, note));
    recent_add("synthetic:0.8b");
    CHECK_STR(whole, first(NULL, note));
    recent_add("builtin");
    CHECK_STR("", first(NULL, note));
    CHECK_STR("", note);
}

TEST(one_that_is_gone_is_told_and_comes_back)
{
    char note[300], path[400];
    begin("gone");
    snprintf(path, sizeof path, "%s/x.gguf", check_tmp());
    FILE *f = fopen(path, "w");
    REQUIRE(f && !fclose(f));
    recent_add(path);
    CHECK_STR(path, first(NULL, note));
    CHECK(!unlink(path));
    CHECK_STR("", first(NULL, note));
    CHECK(strstr(note, "x.gguf, is gone: the built-in one talks"));
    f = fopen(path, "w");
    REQUIRE(f && !fclose(f));
    CHECK_STR(path, first(NULL, note)); /* its disk is there again */
    recent_add("a/not-there-GGUF:Q8_0");
    CHECK_STR("", first(NULL, note));
    CHECK(strstr(note, "a/not-there-GGUF:Q8_0, is gone"));
}

TEST(run_takes_that_of_a_chat_and_says_so)
{
    static const char *const none[] = {NULL}, *const server[] = {"-m", "http://a:1", NULL},
                             *const other[] = {"-m", "x.gguf", NULL}, *const script[] = {"--script", "x.json", NULL};
    char note[300], whole[PATH_MAX], said[PATH_MAX + 100];
    begin("run");
    CHECK_STR("", first_of("run", none, "", note));
    CHECK_STR("", note);
    recent_add("tests/goldens/tiny-a");
    REQUIRE(realpath("tests/goldens/tiny-a", whole));
    snprintf(said, sizeof said, "%s answers; -m names another model", whole);
    CHECK_STR(whole, first_of("run", none, "", note));
    CHECK_STR(said, note);
    CHECK_STR("x.gguf", first_of("run", other, "", note));
    CHECK_STR("", note);
    CHECK_STR("", first_of("run", script, "", note));
    CHECK_STR("", first_of("eval", none, "", note));
    CHECK_STR("y.gguf", first_of("run", none, "model = y.gguf\n", note));
    CHECK_STR("y.gguf answers; -m names another model", note);
    CHECK_STR("builtin", first_of("run", none, "model = builtin\n", note));
    CHECK_STR("", note);
    recent_add("a/not-there-GGUF:Q8_0");
    CHECK_STR("", first_of("run", none, "", note));
    CHECK(strstr(note, "is gone: the built-in one talks"));
    /* A server is asked only by its name on the command line. */
    CHECK_STR("http://a:1", first_of("run", server, "model = y.gguf\n", note));
    CHECK_STR("", note);
    const char *configured = "model = box#m\nserver.box.url = http://a:1\n";
    CHECK_STR("builtin", first_of("run", none, configured, note));
    CHECK_STR("box#m is on a server, which has to be named with -m: the built-in one answers", note);
    CHECK_STR("box#m", first_of("chat", none, configured, note));
    CHECK_STR("", note);
}

TEST(the_suggestion_fits_the_memory)
{
    static const struct {
        uint64_t memory;
        const char *name;
    } cases[] = {{UINT64_C(2000000000), "-0.8B-"},    {UINT64_C(4200000000), "-0.8B-"}, {UINT64_C(4400000000), "-2B-"},
                 {UINT64_C(8000000000), "-4B-"},      {UINT64_C(16000000000), "-9B-"},  {UINT64_C(24000000000), "-9B-"},
                 {UINT64_C(32000000000), "-35B-A3B-"}};
    char line[300];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        family_suggest(cases[i].memory, line, sizeof line);
        if (!strstr(line, cases[i].name)) CHECK_FAIL("%llu bytes: %s", (unsigned long long)cases[i].memory, line);
    }
    family_suggest(UINT64_C(8000000000), line, sizeof line);
    CHECK_STR("Larger: `tandem pull unsloth/Qwen3.5-4B-GGUF:Q4_K_M` (about 2.6 GB).", line);
    family_suggest(0, line, sizeof line);
    CHECK_STR("Larger: `tandem pull unsloth/Qwen3.5-0.8B-GGUF:Q4_K_M` (about 520 MB).", line);
}

/* Models to fetch are offered where there is none but the built-in one; a broken one counts as none. */
TEST(a_new_machine_is_offered_the_family)
{
    tdm_error err;
    models_list l = {.rows = calloc(2, sizeof *l.rows), .n = 2};
    REQUIRE(l.rows);
    l.rows[0] = (models_row){.name = strdup("a/b"), .path = strdup("x"), .type = strdup(""), .reason = strdup("gone")};
    l.rows[1] = (models_row){.name = strdup("builtin"), .path = strdup("y"), .type = strdup(""), .builtin = true};
    REQUIRE(!family_offer(&l, &err));
    CHECK_INT(10, (int)l.n);
    for (size_t i = 2; i < l.n; i++) {
        char verdict[80];
        const models_row *r = &l.rows[i];
        CHECK(r->offered && !r->in_hub && r->disk_bytes < r->needs_bytes && r->token_bytes <= r->disk_bytes);
        CHECK(!strncmp(models_verdict(r, verdict, sizeof verdict), "to fetch", 8));
    }
    REQUIRE(!family_offer(&l, &err));
    CHECK_INT(10, (int)l.n);
    models_free(&l);
}

/* It is refused when it is to be loaded; nothing is said of it before. */
TEST(an_empty_name_is_no_model)
{
    char note[300];
    begin("empty");
    first_of("run", NULL, "model =\n", note);
    CHECK_STR("", note);
}

TEST_MAIN(T(the_last_one_unless_another_is_named), T(one_that_is_gone_is_told_and_comes_back),
          T(run_takes_that_of_a_chat_and_says_so), T(the_suggestion_fits_the_memory),
          T(a_new_machine_is_offered_the_family), T(an_empty_name_is_no_model))
