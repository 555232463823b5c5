/* Finding models: paths, and names in a made-up hub cache. */
#include "tests/check.h"

#include <sys/stat.h>

#include "engine/model/locate.h"

static char cache[128];

static void put_file(const char *path, const char *text)
{
    char full[400];
    snprintf(full, sizeof full, "%s/%s", cache, path);
    for (char *p = full + strlen(cache) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(full, 0700);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    if (!f) abort();
    fputs(text, f);
    fclose(f);
}

static void check_found(const char *expected, const char *name)
{
    const char *caches[] = {"/nonexistent", cache, NULL};
    char full[400], *out = NULL;
    tdm_error err = {0};
    snprintf(full, sizeof full, "%s%s%s", *expected == '+' ? cache : "", *expected == '+' ? "/" : "",
             expected + (*expected == '+'));
    if (locate_model(&out, name, caches, &err)) CHECK_FAIL("%s: %s", name, err.text);
    CHECK_STR(full, out);
    free(out);
}

static void check_missing(const char *part, const char *name)
{
    const char *caches[] = {cache, NULL};
    char *out = NULL;
    tdm_error err = {0};
    CHECK_INT(TDM_E_NOT_FOUND, locate_model(&out, name, caches, &err));
    CHECK(!out);
    if (!strstr(err.text, part)) CHECK_FAIL("%s: found \"%s\"", name, err.text);
}

TEST(paths_are_taken_as_they_are)
{
    check_found("tests/goldens/tiny-a", "tests/goldens/tiny-a");
    check_missing("neither a config.json nor a single GGUF", "tests");
    check_found("assets/tandem-demo-51m-q6_k.gguf", "assets");
    check_found("Makefile", "Makefile");
    check_found("synthetic:9b:q4_k", "synthetic:9b:q4_k");
}

TEST(names_are_looked_up_in_the_cache)
{
    snprintf(cache, sizeof cache, "%s", check_tmp());
    put_file("models--Qwen--Qwen3.5-0.8B/refs/main", "abc123\n");
    put_file("models--Qwen--Qwen3.5-0.8B/snapshots/abc123/config.json", "{}");
    check_found("+models--Qwen--Qwen3.5-0.8B/snapshots/abc123", "Qwen/Qwen3.5-0.8B");
    put_file("models--a--b-GGUF/refs/main", "f00");
    put_file("models--a--b-GGUF/snapshots/f00/b-Q8_0.gguf", "");
    put_file("models--a--b-GGUF/snapshots/f00/mmproj-b.gguf", "");
    check_found("+models--a--b-GGUF/snapshots/f00/b-Q8_0.gguf", "a/b-GGUF");
    put_file("models--a--b-GGUF/snapshots/f00/b-Q4_0.gguf", "");
    check_missing("several models: name one by its tag, :Q4_0, :Q8_0", "a/b-GGUF");
}

TEST(a_tag_names_one_of_several_models)
{
    snprintf(cache, sizeof cache, "%s", check_tmp());
#define SNAPSHOT "models--a--tagged-GGUF/snapshots/f00/"
    put_file("models--a--tagged-GGUF/refs/main", "f00");
    put_file(SNAPSHOT "b-Q8_0.gguf", "");
    put_file(SNAPSHOT "mtp-b-Q4_K_M.gguf", "");
    put_file(SNAPSHOT "imatrix-Q4_K_M.gguf", "");
    put_file(SNAPSHOT "config.json", "{}");
    check_found("+" SNAPSHOT "b-Q8_0.gguf", "a/tagged-GGUF");
    put_file(SNAPSHOT "BF16/b-BF16-00001-of-00002.gguf", "");
    put_file(SNAPSHOT "BF16/b-BF16-00002-of-00002.gguf", "");
    check_found("+" SNAPSHOT "b-Q8_0.gguf", "a/tagged-GGUF:q8_0");
    check_found("+" SNAPSHOT "b-Q8_0.gguf", "a/tagged-GGUF:b-Q8_0");
    check_found("+" SNAPSHOT "BF16/b-BF16-00001-of-00002.gguf", "a/tagged-GGUF:BF16");
    check_missing("name one by its tag, :BF16, :Q8_0", "a/tagged-GGUF");
    check_missing("no model Q4_K_M on this machine, but :BF16, :Q8_0: `tandem pull a/tagged-GGUF:Q4_K_M`",
                  "a/tagged-GGUF:Q4_K_M");
    put_file(SNAPSHOT "b-UD-Q4_K_XL.gguf", "");
    check_found("+" SNAPSHOT "b-UD-Q4_K_XL.gguf", "a/tagged-GGUF");
    put_file(SNAPSHOT "b-Q4_K_M.gguf", "");
    check_found("+" SNAPSHOT "b-Q4_K_M.gguf", "a/tagged-GGUF");
    check_missing("no model Q4_K", "a/tagged-GGUF:Q4_K");
    put_file(SNAPSHOT "c-Q4_K_M.gguf", "");
    check_missing("no model Q4_K_M", "a/tagged-GGUF:Q4_K_M");
    check_found("+" SNAPSHOT "c-Q4_K_M.gguf", "a/tagged-GGUF:c-Q4_K_M");
}

TEST(what_is_missing_says_how_to_get_it)
{
    snprintf(cache, sizeof cache, "%s", check_tmp());
    check_missing("`tandem pull Qwen/Qwen3.5-4B` fetches it", "Qwen/Qwen3.5-4B");
    check_missing("`tandem pull a/b:Q8_0` fetches it", "a/b:Q8_0");
    check_missing("no such file or directory", "model.gguf");
    check_missing("no such file or directory", "../no-such-folder/x");
    check_missing("no such file or directory", "a/../b");
    check_missing("no such file or directory", "/nonexistent/m.gguf");
    check_missing("name is empty", "");
    put_file("models--bad--ref/refs/main", "../../../etc");
    check_missing("refs/main", "bad/ref");
    put_file("models--no--snapshot/refs/main", "abc");
    check_missing("refs/main", "no/snapshot");
}

TEST_MAIN(T(paths_are_taken_as_they_are), T(names_are_looked_up_in_the_cache), T(a_tag_names_one_of_several_models),
          T(what_is_missing_says_how_to_get_it))
