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
    check_missing("name the file", "a/b-GGUF");
}

TEST(what_is_missing_says_how_to_get_it)
{
    snprintf(cache, sizeof cache, "%s", check_tmp());
    check_missing("hf download Qwen/Qwen3.5-4B", "Qwen/Qwen3.5-4B");
    check_missing("no such file or directory", "model.gguf");
    check_missing("no such file or directory", "../no-such-folder/x");
    check_missing("no such file or directory", "a/../b");
    check_missing("no such file or directory", "/nonexistent/m.gguf");
    check_missing("no such file or directory", "");
    put_file("models--bad--ref/refs/main", "../../../etc");
    check_missing("refs/main", "bad/ref");
    put_file("models--no--snapshot/refs/main", "abc");
    check_missing("refs/main", "no/snapshot");
}

TEST_MAIN(T(paths_are_taken_as_they_are), T(names_are_looked_up_in_the_cache), T(what_is_missing_says_how_to_get_it))
