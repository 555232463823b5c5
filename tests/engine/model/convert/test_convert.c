/* Conversion against the files that the public converter made of the same checkpoints. */
#include "tests/check.h"

#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "engine/model/convert/convert.h"
#include "engine/model/gguf/gguf.h"

static tdm_status convert(const char *from, const char *to, enum type type, tdm_error *err)
{
    struct source *s;
    const struct source_options options = {.builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    tdm_status status = source_open(&s, from, &options, err);
    if (status) return status;
    const struct convert_options how = {.type = type};
    status = convert_to_gguf(s, to, &how, err);
    source_close(s);
    return status;
}

static const struct gguf_tensor *find_tensor(const struct gguf *g, struct span name)
{
    const struct gguf_tensor *list;
    size_t n = gguf_tensors(g, &list);
    for (size_t i = 0; i < n; i++)
        if (list[i].name.length == name.length && !memcmp(list[i].name.bytes, name.bytes, name.length)) return &list[i];
    return NULL;
}

static const struct gguf_key *find_key(const struct gguf *g, const char *name)
{
    const struct gguf_key *list;
    size_t n = gguf_keys(g, &list);
    for (size_t i = 0; i < n; i++)
        if (span_is(list[i].name, name)) return &list[i];
    return NULL;
}

static void compare_tensor(const struct gguf_tensor *made, const struct gguf_tensor *golden)
{
    if (!made || !golden || made->type != golden->type || made->dims != golden->dims || made->bytes != golden->bytes ||
        memcmp(made->shape, golden->shape, sizeof made->shape) || memcmp(made->data, golden->data, made->bytes))
        CHECK_FAIL("%.*s differs", (int)(made ? made : golden)->name.length, (made ? made : golden)->name.bytes);
}

static void compare_tensors(const struct gguf *made, const struct gguf *golden)
{
    const struct gguf_tensor *list, *a;
    size_t n = gguf_tensors(golden, &list);
    CHECK_INT(n, gguf_tensors(made, &a));
    for (size_t i = 0; i < n; i++) compare_tensor(find_tensor(made, list[i].name), &list[i]);
}

static void compare_keys(const struct gguf *made, const struct gguf *golden)
{
    const struct gguf_key *list;
    size_t n = gguf_keys(golden, &list);
    for (size_t i = 0; i < n; i++) {
        char name[100];
        snprintf(name, sizeof name, "%.*s", (int)list[i].name.length, list[i].name.bytes);
        if (!strcmp(name, "general.size_label") || !strcmp(name, "general.name"))
            continue; /* made of the folder's name */
        const struct gguf_key *k = find_key(made, name);
        if (!k || k->type != list[i].type || k->array != list[i].array || k->count != list[i].count ||
            k->bytes != list[i].bytes || memcmp(k->data, list[i].data, k->bytes))
            CHECK_FAIL("key %s differs", name);
    }
}

static void check_conversion(const char *from, const char *golden, enum type type)
{
    char out[200], wanted[200];
    struct gguf *a = NULL, *b = NULL;
    tdm_error err = {0};
    snprintf(out, sizeof out, "%s/out.gguf", check_tmp());
    snprintf(wanted, sizeof wanted, "%s", check_data(golden));
    if (convert(check_data(from), out, type, &err) || gguf_open(&a, out, &err) || gguf_open(&b, wanted, &err))
        CHECK_FAIL("%s: %s", golden, err.text);
    REQUIRE(a && b);
    compare_tensors(a, b);
    compare_keys(a, b);
    gguf_close(a);
    gguf_close(b);
}

TEST(a_checkpoint_becomes_the_golden_file)
{
    check_conversion("goldens/tiny-a", "goldens/gguf/tiny-a-bf16.gguf", TYPE_BF16);
    check_conversion("goldens/tiny-a", "goldens/gguf/tiny-a-q8_0.gguf", TYPE_Q8_0);
    check_conversion("goldens/tiny-b", "goldens/gguf/tiny-b-bf16.gguf", TYPE_BF16);
    check_conversion("goldens/tiny-b", "goldens/gguf/tiny-b-q8_0.gguf", TYPE_Q8_0);
}

TEST(a_gguf_becomes_the_golden_file)
{
    check_conversion("goldens/gguf/tiny-a-bf16.gguf", "goldens/gguf/tiny-a-q8_0.gguf", TYPE_Q8_0);
    check_conversion("goldens/gguf/tiny-a-bf16.gguf", "goldens/gguf/tiny-a-bf16.gguf", TYPE_BF16);
}

TEST(a_mixture_becomes_the_tensors_of_the_golden_file)
{
    char out[200];
    struct gguf *a = NULL, *b = NULL;
    const struct gguf_tensor *list;
    tdm_error err = {0};
    snprintf(out, sizeof out, "%s/mixture.gguf", check_tmp());
    if (convert(check_data("goldens/tiny-d"), out, TYPE_Q8_0, &err) || gguf_open(&a, out, &err) ||
        gguf_open(&b, check_data("goldens/gguf/tiny-d-q8_0.gguf"), &err))
        CHECK_FAIL("%s", err.text);
    REQUIRE(a && b);
    size_t n = gguf_tensors(a, &list);
    CHECK_INT(3 + 9 * 10 + 6 * 9 + 3 * 6 + 4, n); /* the MTP head is a layer and four tensors */
    for (size_t i = 0; i < n; i++) compare_tensor(&list[i], find_tensor(b, list[i].name));
    static const char *const keys[] = {"general.architecture", "qwen35moe.expert_count", "qwen35moe.expert_used_count",
                                       "qwen35moe.expert_feed_forward_length", "qwen35moe.rope.freq_base",
                                       "qwen35moe.expert_shared_feed_forward_length", "qwen35moe.ssm.inner_size"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct gguf_key *made = find_key(a, keys[i]), *golden = find_key(b, keys[i]);
        CHECK(made && golden && made->bytes == golden->bytes && !memcmp(made->data, golden->data, made->bytes));
    }
    CHECK(!find_key(a, "qwen35moe.feed_forward_length"));
    gguf_close(a);
    gguf_close(b);
    struct source *s;
    CHECK_INT(TDM_OK, source_open(&s, out, NULL, &err));
    source_close(s);
}

static void check_built_in(enum type type, enum type embeddings)
{
    char out[200];
    tdm_error err = {0};
    struct source *s = NULL;
    snprintf(out, sizeof out, "%s/demo.gguf", check_tmp());
    if (convert("assets/tandem-demo-51m-q6_k.gguf", out, type, &err) || source_open(&s, out, NULL, &err))
        CHECK_FAIL("%s", err.text);
    REQUIRE(s);
    CHECK_INT(12, source_config(s)->layers);
    CHECK(source_config(s)->mtp.there);
    CHECK_INT(embeddings, source_tensor(s, ROLE_EMBED, 0)->type);
    CHECK_INT(type, source_tensor(s, ROLE_DOWN, 0)->type);
    CHECK_INT(20, source_sampling(s)->top_k);
    CHECK(source_text(s)->chat_template.length > 400);
    source_close(s);
    unlink(out);
}

TEST(the_built_in_model_converts)
{
    bool all = !check_slow() || getenv("TANDEM_LONG"); /* under a sanitizer the short form has two types in one file */
    if (all) check_built_in(TYPE_Q4_0, TYPE_Q4_0);
    check_built_in(TYPE_Q4_K, TYPE_Q6_K);
    if (all) check_built_in(TYPE_Q6_K, TYPE_Q6_K);
    CHECK(!convert_makes(TYPE_F32));
    CHECK(!convert_makes(TYPE_Q5_K));
    CHECK(!convert_makes(TYPE_COUNT));
}

static int stop_after(void *context, uint64_t done, uint64_t total)
{
    int *calls = context;
    CHECK(done <= total);
    return ++*calls == 3;
}

static int count_files(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

TEST(a_cancelled_conversion_leaves_nothing)
{
    char dir[200], out[240];
    int calls = 0;
    tdm_error err;
    struct source *s = NULL;
    snprintf(dir, sizeof dir, "%s/cancel", check_tmp());
    REQUIRE(!mkdir(dir, 0700));
    snprintf(out, sizeof out, "%s/out.gguf", dir);
    source_open(&s, check_data("goldens/tiny-a"), NULL, &err);
    REQUIRE(s);
    const struct convert_options how = {.type = TYPE_F16, .progress = stop_after, .context = &calls};
    CHECK_INT(TDM_E_CANCELLED, convert_to_gguf(s, out, &how, &err));
    CHECK_INT(3, calls);
    CHECK_INT(0, count_files(dir));
    source_close(s);
}

/* A limit on the file's size stands for a full disk; what was there before stays. */
TEST(a_full_disk_is_one_line_and_leaves_the_old_file)
{
    char dir[200], out[240], text[8] = "";
    tdm_error err = {0};
    snprintf(dir, sizeof dir, "%s/full", check_tmp());
    REQUIRE(!mkdir(dir, 0700));
    snprintf(out, sizeof out, "%s/out.gguf", dir);
    FILE *f = fopen(out, "w");
    REQUIRE(f);
    fputs("old", f);
    fclose(f);
    struct rlimit old, small;
    REQUIRE(!getrlimit(RLIMIT_FSIZE, &old));
    small = old;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &small));
    tdm_status status = convert(check_data("goldens/tiny-b"), out, TYPE_BF16, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    CHECK_INT(TDM_E_IO, status);
    CHECK(strstr(err.text, "out.gguf: can't be written"));
    CHECK_INT(1, count_files(dir));
    f = fopen(out, "r");
    REQUIRE(f);
    CHECK(fgets(text, sizeof text, f) != NULL);
    fclose(f);
    CHECK_STR("old", text);
}

/* A copy of a model whose tokenizer.json has another text in one place. */
static void check_tokenizer_refused(const char *text, const char *other, const char *message)
{
    static const char *const linked[] = {"config.json", "model.safetensors"};
    char dir[200], path[300];
    static int count;
    snprintf(dir, sizeof dir, "%s/changed-%d", check_tmp(), count++);
    REQUIRE(!mkdir(dir, 0700));
    for (size_t i = 0; i < sizeof linked / sizeof *linked; i++) {
        char from[300], resolved[PATH_MAX];
        snprintf(from, sizeof from, "%s/%s", check_data("goldens/tiny-a"), linked[i]);
        snprintf(path, sizeof path, "%s/%s", dir, linked[i]);
        REQUIRE(realpath(from, resolved) && !symlink(resolved, path));
    }
    FILE *in = fopen(check_data("goldens/tiny-a/tokenizer.json"), "r");
    REQUIRE(in);
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    FILE *out = fopen(path, "w");
    REQUIRE(out);
    static char json[1 << 20];
    json[fread(json, 1, sizeof json - 1, in)] = 0;
    char *at = strstr(json, text);
    REQUIRE(at);
    fprintf(out, "%.*s%s%s", (int)(at - json), json, other, at + strlen(text));
    fclose(in);
    fclose(out);
    tdm_error err = {0};
    snprintf(path, sizeof path, "%s/out.gguf", dir);
    CHECK(convert(dir, path, TYPE_Q8_0, &err) != TDM_OK);
    if (!strstr(err.text, message)) CHECK_FAIL("expected \"%s\" in \"%s\"", message, err.text);
    CHECK(access(path, F_OK));
}

/* What would give other ids than the checkpoint's is refused, as where it is loaded. */
TEST(tokenizers_that_gguf_cannot_express_are_refused)
{
    check_tokenizer_refused("(?!\\\\S)", "(?=\\\\S)", "no GGUF name is known for the way");
    check_tokenizer_refused("\"Isolated\"", "\"Removed\"", "expected \"Isolated\", found \"Removed\"");
    check_tokenizer_refused("\"id\": 511", "\"id\": 512", "expected ids of tokens below 512, found 512");
}

TEST(other_types_are_refused)
{
    tdm_error err = {0};
    CHECK_INT(TDM_E_ARG, convert(check_data("goldens/tiny-a"), "/nonexistent/x.gguf", TYPE_Q5_K, &err));
    CHECK_INT(TDM_E_IO, convert(check_data("goldens/tiny-a"), "/nonexistent/x.gguf", TYPE_Q8_0, &err));
    CHECK_STR("/nonexistent/x.gguf: can't be written: No such file or directory", err.text);
}

TEST_MAIN(T(a_checkpoint_becomes_the_golden_file), T(a_gguf_becomes_the_golden_file),
          T(a_mixture_becomes_the_tensors_of_the_golden_file), T(the_built_in_model_converts),
          T(a_cancelled_conversion_leaves_nothing), T(a_full_disk_is_one_line_and_leaves_the_old_file),
          T(tokenizers_that_gguf_cannot_express_are_refused), T(other_types_are_refused))
