/* Finding models: paths, and names in a made-up hub cache. */
#include "tests/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <time.h>

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
    check_missing("neither a config.json nor a GGUF file", "tests/build");
    check_found("assets/tandem-demo-51m-q6_k.gguf", "assets");
    check_found("Makefile", "Makefile");
    check_found("synthetic:9b:q4_k", "synthetic:9b:q4_k");
}

static const char *in_cache(const char *path)
{
    static char full[400];
    snprintf(full, sizeof full, "%s/%s", cache, path);
    return full;
}

static bool join_each(void *ctx, const char *path, const char *tag, const char *missing)
{
    char *list = ctx;
    (void)tag, (void)missing;
    sprintf(list + strlen(list), "%s ", path + strlen(cache) + 1);
    return true;
}

/* What `models` lists of a folder. */
static void check_listed(const char *wanted, const char *folder)
{
    char list[2000] = "";
    CHECK(locate_each(in_cache(folder), join_each, list));
    CHECK_STR(wanted, list);
}

/* Folders as downloads and other programs leave them: -m and the list of models mean the same. */
TEST(folders_with_gguf_files)
{
    snprintf(cache, sizeof cache, "%s", check_tmp());
    put_file("one/config.json", "{}");
    put_file("one/m-Q8_0.gguf", "");
    put_file("one/mmproj-BF16.gguf", "");
    check_found("+one/m-Q8_0.gguf", in_cache("one"));
    check_listed("one/m-Q8_0.gguf ", "one");
    put_file("one/m-BF16.gguf", "");
    check_missing("one: several models, name one of them: m-BF16.gguf, m-Q8_0.gguf", in_cache("one"));
    put_file("one/model.safetensors", "");
    check_found("+one", in_cache("one"));
    char list[2000] = "";
    CHECK(locate_each(in_cache("one"), join_each, list));
    CHECK(strstr(list, "one ") && strstr(list, "one/m-Q8_0.gguf ") && strstr(list, "one/m-BF16.gguf "));

    /* Safetensors of which a part is missing beside GGUF files that are whole. */
    put_file("half/config.json", "{}");
    put_file("half/model-00001-of-00002.safetensors", "");
    check_found("+half", in_cache("half"));
    put_file("half/m-Q8_0.gguf", "");
    check_found("+half/m-Q8_0.gguf", in_cache("half"));
    put_file("half/m-BF16.gguf", "");
    check_missing("half: several models, name one of them: m-BF16.gguf, m-Q8_0.gguf", in_cache("half"));

    put_file("below/a/b/m-Q8_0.gguf", "");
    put_file("below/.cache/huggingface/download/m-Q8_0.gguf", "");
    check_found("+below/a/b/m-Q8_0.gguf", in_cache("below"));
    check_listed("below/a/b/m-Q8_0.gguf ", "below");
    put_file("below/c/other.gguf", "");
    check_missing("below: several models, name one of them: a/b/m-Q8_0.gguf, c/other.gguf", in_cache("below"));

    put_file("bare/config.json", "{}"); /* loading says what is missing */
    check_found("+bare", in_cache("bare"));
    check_listed("bare ", "bare");
    put_file("lora/adapter_config.json", "{}");
    put_file("lora/adapter_model.safetensors", "");
    check_missing("lora: neither a config.json nor a GGUF file, but adapter_config.json, a LoRA adapter",
                  in_cache("lora"));
    put_file("part/m.gguf.part", "");
    check_missing("part: neither a config.json nor a GGUF file, but m.gguf.part, an unfinished", in_cache("part"));
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "many/model-%02d.gguf", i);
        put_file(name, "");
    }
    check_missing("model-00.gguf, model-01.gguf, ", in_cache("many"));
    check_missing(", ...", in_cache("many"));
}

TEST(links_that_lead_nowhere)
{
    snprintf(cache, sizeof cache, "%s", check_tmp());
    CHECK(!symlink("loop", in_cache("loop")));
    check_missing("loop: a link that leads nowhere", in_cache("loop"));
    CHECK(!symlink("gone", in_cache("to-gone.gguf")));
    check_missing("to-gone.gguf: a link that leads nowhere", in_cache("to-gone.gguf"));
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

TEST(what_no_tag_names_is_named_by_its_path)
{
    snprintf(cache, sizeof cache, "%s", check_tmp());
#define TWINS "models--a--twins/snapshots/f00/"
    put_file(TWINS "x/m-Q8_0.gguf", "");
    put_file(TWINS "y/m-Q8_0.gguf", "");
    check_missing("several models: name one by its tag or path, /", "a/twins");
    check_missing(TWINS "x/m-Q8_0.gguf", "a/twins");
    check_missing("no model Q8_0 on this machine, but /", "a/twins:Q8_0");
    check_missing(TWINS "x/m-Q8_0.gguf: `tandem pull", "a/twins:m-Q8_0");
    put_file(TWINS "m-BF16.gguf", "");
    check_found("+" TWINS "m-BF16.gguf", "a/twins:BF16");
    check_missing("no model Q4_0 on this machine, but :BF16, /", "a/twins:Q4_0");
}

static void put_link(const char *path, const char *target)
{
    char full[400];
    put_file(path, "");
    snprintf(full, sizeof full, "%s/%s", cache, path);
    if (unlink(full) || symlink(target, full)) abort();
}

/* A folder that leads back to one above it shows each file a second time. */
TEST(a_second_way_to_a_file_is_no_second_model)
{
    snprintf(cache, sizeof cache, "%s", check_tmp());
#define CIRCLE "models--a--circle/snapshots/f00/"
    put_file(CIRCLE "m-Q5_0.gguf", "");
    put_link(CIRCLE "up", "..");
    check_found("+" CIRCLE "m-Q5_0.gguf", "a/circle:Q5_0");
    check_found("+" CIRCLE "m-Q5_0.gguf", "a/circle");
}

/* What locate_each_cached tells of a/m: "tag=missing, ..." by tag. */
static char told[600];

static bool tell(void *ctx, const char *path, const char *tag, const char *missing)
{
    char one[300];
    (void)ctx;
    const char *snapshot = strstr(path, "/snapshots/") + strlen("/snapshots/");
    snprintf(one, sizeof one, "[%s %.*s%s%s]", tag, (int)strcspn(snapshot, "/"), snapshot, missing ? " lacks " : "",
             missing ? missing : "");
    strncat(told, one, sizeof told - strlen(told) - 1);
    return true;
}

static void check_told(const char *part, bool is_there)
{
    told[0] = 0;
    CHECK(locate_each_cached(cache, "a/m", tell, NULL));
    if (!strstr(told, part) == is_there) CHECK_FAIL("%s: found %s", part, told);
}

/* A cache of its own for each test. */
static void begin(const char *name)
{
    snprintf(cache, sizeof cache, "%.100s/cache %s", check_tmp(), name);
    if (mkdir(cache, 0700)) abort();
}

#define A "models--a--m/snapshots/"

TEST(what_is_whole_is_found_beside_what_is_not)
{
    begin("1");
    put_file("models--a--m/refs/main", "f00");
    put_file(A "f00/m-Q8_0.gguf", "");
    put_link(A "f00/m-Q4_K_M.gguf", "../../blobs/gone");
    put_link(A "f00/README.md", "../../blobs/gone");
    check_found("+" A "f00/m-Q8_0.gguf", "a/m");
    check_found("+" A "f00/m-Q8_0.gguf", "a/m:q8_0");
    check_missing("a/m:Q4_K_M: incomplete: m-Q4_K_M.gguf isn't there: `tandem pull a/m:Q4_K_M` fetches it",
                  "a/m:Q4_K_M");
    check_told("[Q4_K_M f00 lacks m-Q4_K_M.gguf]", true);
    check_told("[Q8_0 f00]", true);
    put_file(A "f00/BF16/m-BF16-00002-of-00003.gguf", "");
    put_file(A "f00/BF16/m-BF16-00003-of-00003.gguf", "");
    check_missing("incomplete: m-BF16-00001-of-00003.gguf isn't there", "a/m:BF16");
    check_told("[BF16 f00 lacks m-BF16-00001-of-00003.gguf]", true);
    check_found("+" A "f00/m-Q8_0.gguf", "a/m");
    put_file(A "f00/BF16/m-BF16-00001-of-00003.gguf", "");
    check_found("+" A "f00/BF16/m-BF16-00001-of-00003.gguf", "a/m:BF16");
    check_missing("several models: name one by its tag, :BF16, :Q8_0", "a/m");
}

TEST(a_snapshot_needs_no_ref)
{
    begin("2");
    put_file(A "0123abc/m-Q8_0.gguf", "");
    check_found("+" A "0123abc/m-Q8_0.gguf", "a/m");
    put_file("models--a--m/refs/main", "gone");
    check_found("+" A "0123abc/m-Q8_0.gguf", "a/m");
    check_told("[Q8_0 0123abc]", true);
}

/* Makes one snapshot so many seconds older than now. */
static void age(const char *snapshot, int seconds)
{
    char full[400];
    snprintf(full, sizeof full, "%s/" A "%s", cache, snapshot);
    struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    if (utimensat(AT_FDCWD, full, times, 0)) abort();
}

TEST(of_several_snapshots_the_whole_copy_counts)
{
    begin("3");
    put_file(A "old/m-Q8_0.gguf", "");
    put_file(A "new/m-Q8_0.gguf", "");
    put_file(A "main/other.txt", "");
    age("old", 1000);
    age("new", 500);
    check_found("+" A "new/m-Q8_0.gguf", "a/m"); /* the newest, where no ref says another */
    put_file("models--a--m/refs/main", "old\n");
    check_found("+" A "old/m-Q8_0.gguf", "a/m");
    put_file("models--a--m/refs/main", "main");
    put_link(A "main/m-Q8_0.gguf", "../../blobs/gone");
    check_found("+" A "new/m-Q8_0.gguf", "a/m");
    check_told("lacks", false);
    put_file(A "old/m-Q6_K.gguf", ""); /* which only that one has */
    check_found("+" A "old/m-Q6_K.gguf", "a/m:Q6_K");
    check_told("[Q6_K old]", true);
}

TEST(folders_are_whole_when_their_weights_are)
{
    begin("4");
    put_file("models--a--m/refs/main", "f00");
    put_file(A "f00/config.json", "{}");
    put_file(A "f00/tokenizer.json", "{}");
    put_file(
        A "f00/model.safetensors.index.json",
        "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\",\"b\":\"model-00002-of-00002.safetensors\"}}");
    put_file(A "f00/model-00001-of-00002.safetensors", "");
    put_link(A "f00/model-00002-of-00002.safetensors", "../../blobs/gone");
    check_missing("a/m: incomplete: model-00002-of-00002.safetensors isn't there: `tandem pull a/m` fetches it", "a/m");
    check_told("[ f00 lacks model-00002-of-00002.safetensors]", true);
    put_file(A "older/config.json", "{}");
    check_found("+" A "older", "a/m"); /* without weights, as loading says */
    put_file(A "older/model.safetensors", "");
    put_file(A "oldest/config.json", "{}");
    check_found("+" A "older", "a/m");
    put_link(A "older/config.json", "../../blobs/gone");
    check_found("+" A "oldest", "a/m");
    put_file(A "f00/model.safetensors", ""); /* counts where the index is of no use */
    check_found("+" A "f00", "a/m");
    put_link(A "f00/generation_config.json", "../../blobs/gone");
    check_found("+" A "f00", "a/m");
    check_told("[ f00]", true);
}

TEST(blanks_keep_nothing_from_being_found)
{
    begin("5");
    put_file("models--a--m/refs/main", "f00");
    put_file(A "f00/My Model Q8_0.gguf", "");
    put_file(A "f00/My Model (final).gguf", "");
    check_found("+" A "f00/My Model Q8_0.gguf", "a/m:Q8_0");
    check_found("+" A "f00/My Model (final).gguf", "a/m:My Model (final)");
    check_told("[My Model (final) f00]", true);
    put_file(A "f00/two words/Your Model Q8_0.gguf", "");
    check_told("[My Model Q8_0 f00]", true); /* a tag that two have names neither */
    check_found("+" A "f00/two words/Your Model Q8_0.gguf", "a/m:your model q8_0");
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

TEST_MAIN(T(paths_are_taken_as_they_are), T(folders_with_gguf_files), T(links_that_lead_nowhere),
          T(names_are_looked_up_in_the_cache), T(a_tag_names_one_of_several_models),
          T(what_no_tag_names_is_named_by_its_path), T(a_second_way_to_a_file_is_no_second_model),
          T(what_is_whole_is_found_beside_what_is_not), T(a_snapshot_needs_no_ref),
          T(of_several_snapshots_the_whole_copy_counts), T(folders_are_whole_when_their_weights_are),
          T(blanks_keep_nothing_from_being_found), T(what_is_missing_says_how_to_get_it))
