/* The model that a conversation begins with: the one that is named, else the last one, else the built-in; and the one
 * that a newcomer is told of. */
#include "tests/check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/chat/first_model.h"
#include "src/cli/recent.h"

static void begin(const char *name)
{
    static char home[300];
    snprintf(home, sizeof home, "%s/%s", check_tmp(), name);
    static const char *const variables[] = {"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
    for (size_t i = 0; i < 4; i++) setenv(variables[i], home, 1);
    unsetenv("HF_HOME");
    unsetenv("HF_HUB_CACHE");
}

/* What a chat with these words on the command line begins with; "" for the built-in model. */
static const char *first(const char *const *words, char note[300])
{
    static char model[300];
    options o;
    char *argv[8] = {(char *)"tandem", (char *)"chat"};
    int n = 2;
    for (; words && *words; words++) argv[n++] = (char *)*words;
    CHECK(options_parse(&o, n, argv, NULL));
    first_model(&o, note, 300);
    const char *text = options_text(&o, OPTION_MODEL);
    snprintf(model, sizeof model, "%s", text ? text : "");
    options_free(&o);
    return model;
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
        first_model_suggest(cases[i].memory, line, sizeof line);
        if (!strstr(line, cases[i].name)) CHECK_FAIL("%llu bytes: %s", (unsigned long long)cases[i].memory, line);
    }
    first_model_suggest(UINT64_C(8000000000), line, sizeof line);
    CHECK_STR("Larger: `tandem pull unsloth/Qwen3.5-4B-GGUF:Q4_K_M` (about 2.6 GB).", line);
    first_model_suggest(0, line, sizeof line);
    CHECK_STR("Larger: `tandem pull unsloth/Qwen3.5-0.8B-GGUF:Q4_K_M` (about 520 MB).", line);
}

TEST_MAIN(T(the_last_one_unless_another_is_named), T(one_that_is_gone_is_told_and_comes_back),
          T(the_suggestion_fits_the_memory))
