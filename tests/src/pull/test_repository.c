/* What the hub says, taken apart: files, names that are not safe, Link headers. */
#include "tests/check.h"

#include "engine/base/buffer.h"
#include "src/pull/repository.h"

#define SHA1   "0123456789abcdef0123456789abcdef01234567"
#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check_revision(const char *commit, const char *architecture, const char *json)
{
    repository r = {0};
    tdm_error err = {0};
    if (repository_take_revision(&r, json, strlen(json), "hub", &err)) CHECK_FAIL("%s: %s", json, err.text);
    CHECK_STR(commit, r.commit);
    CHECK_STR(architecture, r.architecture);
    repository_free(&r);
}

static void check_wrong(const char *part,
                        tdm_status (*take)(repository *, const void *, size_t, const char *, tdm_error *),
                        const char *json)
{
    repository r = {0};
    tdm_error err = {0};
    CHECK(take(&r, json, strlen(json), "hub", &err) != TDM_OK);
    if (!strstr(err.text, part)) CHECK_FAIL("%s: expected '%s' in '%s'", json, part, err.text);
    repository_free(&r);
}

TEST(a_revision_has_a_commit)
{
    check_revision(SHA1, "", "{\"sha\":\"" SHA1 "\"}");
    check_revision(SHA1, "qwen35",
                   "{\"sha\":\"" SHA1 "\",\"gguf\":{\"architecture\":\"qwen35\"},\"config\":{\"model_type\":\"x\"}}");
    check_revision(SHA1, "qwen3_5", "{\"sha\":\"" SHA1 "\",\"config\":{\"model_type\":\"qwen3_5\"},\"gguf\":null}");
    check_wrong("field sha: expected a commit", repository_take_revision, "{}");
    check_wrong("field sha: expected a commit", repository_take_revision, "{\"sha\":\"..\"}");
    check_wrong("field sha: expected a commit", repository_take_revision,
                "{\"sha\":\"012345678\\u00009abcdef0123456789abcdef0123456\"}");
    check_wrong("field sha: expected a string", repository_take_revision, "{\"sha\":7}");
    check_wrong("expected a JSON object", repository_take_revision, "[]");
    check_wrong("empty file", repository_take_revision, "");
}

TEST(an_index_names_each_file_once)
{
    static const char json[] = "{\"weight_map\":{\"a\":\"x-1.safetensors\",\"b\":\"x-1.safetensors\","
                               "\"c\":\"d/x-2.safetensors\",\"d\":\"x-1.safetensors\"}}";
    repository r = {0};
    tdm_error err = {0};
    CHECK_INT(TDM_OK, repository_take_index(&r, json, strlen(json), "index", &err));
    REQUIRE(r.index.n == 2);
    CHECK_STR("x-1.safetensors", r.index.paths[0]);
    CHECK_STR("d/x-2.safetensors", r.index.paths[1]);
    repository_free(&r);
    check_wrong("it names no file", repository_take_index, "{}");
    check_wrong("it names no file", repository_take_index, "{\"weight_map\":{}}");
    check_wrong("field weight_map", repository_take_index, "{\"weight_map\":[]}");
    check_wrong("expected names of safetensors files", repository_take_index, "{\"weight_map\":{\"a\":7}}");
    check_wrong("found 'config.json'", repository_take_index, "{\"weight_map\":{\"a\":\"config.json\"}}");
    check_wrong("found '../x.safetensors'", repository_take_index, "{\"weight_map\":{\"a\":\"../x.safetensors\"}}");
    check_wrong("JSON", repository_take_index, "{\"weight_map\":");
    struct buffer many = {0};
    buffer_append(&many, "{\"weight_map\":{", 15, NULL);
    for (int i = 0; i <= REPOSITORY_MAX_WEIGHTS; i++) {
        char one[60];
        int n = snprintf(one, sizeof one, "%s\"t%d\":\"%d.safetensors\"", i ? "," : "", i, i);
        buffer_append(&many, one, (size_t)n, NULL);
    }
    buffer_append(&many, "}}", 3, NULL);
    check_wrong("at most 1000 files", repository_take_index, many.bytes);
    buffer_free(&many);
}

TEST(files_have_paths_sizes_and_digests)
{
    static const char json[] = "[{\"type\":\"directory\",\"path\":\"d\"},"
                               "{\"type\":\"file\",\"path\":\"config.json\",\"size\":7,\"oid\":\"" SHA1 "\"},"
                               "{\"type\":\"file\",\"path\":\"d/m.gguf\",\"size\":5000000000,\"oid\":\"" SHA1 "\","
                               "\"lfs\":{\"oid\":\"" SHA256 "\",\"size\":5000000000}},"
                               "{\"type\":\"file\",\"path\":\"../x\",\"size\":7,\"oid\":\"" SHA1 "\"}]";
    repository r = {0};
    tdm_error err = {0};
    CHECK_INT(TDM_OK, repository_take_files(&r, json, strlen(json), "hub", &err));
    REQUIRE(r.n == 2);
    CHECK_INT(1, r.left_out);
    CHECK_STR("config.json", r.files[0].path);
    CHECK_STR(SHA1, r.files[0].digest);
    CHECK(!r.files[0].large);
    CHECK(r.files[1].large);
    CHECK_INT(5000000000, r.files[1].size);
    CHECK_STR(SHA256, r.files[1].digest);
    CHECK(repository_find(&r, "d/m.gguf") == &r.files[1]);
    CHECK(!repository_find(&r, "m.gguf"));
    repository_free(&r);
    check_wrong("expected a JSON array", repository_take_files, "{}");
    check_wrong("expected a list of objects", repository_take_files, "[1]");
    check_wrong("without a path", repository_take_files, "[{\"type\":\"file\"}]");
    check_wrong("without a size", repository_take_files, "[{\"type\":\"file\",\"path\":\"a\"}]");
    check_wrong("field size: expected", repository_take_files, "[{\"type\":\"file\",\"path\":\"a\",\"size\":-1}]");
    check_wrong("field size: expected", repository_take_files,
                "[{\"type\":\"file\",\"path\":\"a\",\"size\":9007199254740993}]");
    check_wrong("field oid: expected 40", repository_take_files,
                "[{\"type\":\"file\",\"path\":\"a\",\"size\":1,\"oid\":\"" SHA256 "\"}]");
    check_wrong("field lfs.oid: expected 64", repository_take_files,
                "[{\"type\":\"file\",\"path\":\"a\",\"size\":1,\"oid\":\"" SHA1 "\",\"lfs\":{\"size\":1,\"oid\":\"" SHA1
                "\"}}]");
}

TEST(safe_paths_lead_nowhere_else)
{
    static const char *const good[] = {"a",   "a/b.c", "model (1).gguf", "\xc3\xa4/\xe6\xa8\xa1\xe5\x9e\x8b.gguf",
                                       "..a", "...",   ".hidden"};
    static const char *const bad[] = {"",
                                      "/",
                                      "/a",
                                      "a/",
                                      "a//b",
                                      ".",
                                      "..",
                                      "../a",
                                      "a/..",
                                      "a/../b",
                                      "a/./b",
                                      "a\\b",
                                      "a\nb",
                                      "a\tb",
                                      "a\rb",
                                      "a\x7f"
                                      "b",
                                      "\x1b[31m",
                                      "a\xc2\x9b"
                                      "b",
                                      "\xff",
                                      "a\xe2\x80\xae"
                                      "b"};
    char longest[1100];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!repository_path_is_safe(good[i], strlen(good[i]))) CHECK_FAIL("'%s' was refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (repository_path_is_safe(bad[i], strlen(bad[i]))) CHECK_FAIL("bad path %zu was taken", i);
    CHECK(!repository_path_is_safe("a\0b", 3));
    memset(longest, 'a', sizeof longest);
    CHECK(repository_path_is_safe(longest, 255));
    CHECK(!repository_path_is_safe(longest, 256));
    for (size_t i = 100; i < sizeof longest; i += 100) longest[i] = '/';
    CHECK(repository_path_is_safe(longest, 1024));
    CHECK(!repository_path_is_safe(longest, 1025));
}

static void check_next(const char *expected, const char *link)
{
    char out[REPOSITORY_URL_ROOM] = "";
    bool found = repository_next_page(link, strlen(link), out);
    if (found != (expected[0] != 0)) CHECK_FAIL("%s: found %d", link, found);
    CHECK_STR(expected, found ? out : "");
}

TEST(the_next_page_is_in_the_link_header)
{
    check_next("https://h/x?cursor=a%3D&limit=5", "<https://h/x?cursor=a%3D&limit=5>; rel=\"next\"");
    check_next("/x", " </x> ; rel=next");
    check_next("/b", "</a>; rel=\"prev\", </b>; rel=\"next\"");
    check_next("/b,c;d", "</b,c;d>; title=\"a, <b>; rel=next\"; REL=\"last next\"");
    check_next("/b", "</a>; title=\"\\\"; rel=next\", </b>; x; rel=next");
    check_next("", "</a>; rel=\"nextish\"");
    check_next("", "</a>");
    check_next("", "<>; rel=next");
    check_next("", "</a; rel=next");
    check_next("", "rel=next");
    check_next("", "");
    check_next("", "</a>; title=\"unfinished");
}

TEST_MAIN(T(a_revision_has_a_commit), T(an_index_names_each_file_once), T(files_have_paths_sizes_and_digests),
          T(safe_paths_lead_nowhere_else), T(the_next_page_is_in_the_link_header))
