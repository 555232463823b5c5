/* Checkpoints in several files: the index decides which file a tensor is taken from, and nothing is taken where nobody
 * decides. And the LM head of one that is said to be tied: its values count. */
#include "tests/check.h"

#include <sys/stat.h>

#include "engine/model/source.h"
#include "tests/engine/model/made.h"

enum { ROOM = 1 << 16 };

static bool is_first(const char *name)
{
    return strstr(name, ".layers.") && name[strlen("model.layers.")] < '4';
}

static bool is_second(const char *name)
{
    return !is_first(name);
}

static struct source *open_model(const char *path)
{
    struct source *s;
    tdm_error err;
    if (!source_open(&s, path, NULL, &err)) return s;
    CHECK_FAIL("%s", err.text);
    return NULL;
}

static void check_refused(const char *path, const char *part)
{
    struct source *s = NULL;
    tdm_error err = {0};
    CHECK(source_open(&s, path, NULL, &err) < 0);
    if (!strstr(err.text, part) || strchr(err.text, '\n')) CHECK_FAIL("expected \"%s\", found \"%s\"", part, err.text);
    source_close(s);
}

/* Whether two models have the same tensors, whatever the files. */
static bool same_weights(const struct source *a, const struct source *b)
{
    const struct tensor *const *list;
    bool same = source_tensors(a, &list) == source_tensors(b, &list);
    for (size_t i = 0, n = source_tensors(a, &list); same && i < n; i++) {
        const struct tensor *other = source_tensor(b, list[i]->role, list[i]->layer);
        same = other && other->bytes == list[i]->bytes && !memcmp(other->data, list[i]->data, other->bytes);
    }
    return same;
}

static bool opens_as_golden(const char *folder)
{
    struct source *s = open_model(folder), *golden = open_model(check_data("goldens/tiny-a"));
    bool same = s && golden && same_weights(s, golden);
    source_close(s);
    source_close(golden);
    return same;
}

static const char first[] = "model-00001-of-00002.safetensors", second[] = "model-00002-of-00002.safetensors";
static const char twice[] = "model.layers.3.self_attn.q_proj.weight"; /* of the first part */

/* Writes the index; `moved`: this tensor is said to be in that file. */
static void put_index(const char *folder, const char *moved, const char *file)
{
    char *text = malloc(ROOM);
    size_t n = (size_t)sprintf(text, "{\"metadata\":{},\"weight_map\":{\"model.visual.x\":\"%s\"", first);
    struct source *s = open_model(check_data("goldens/tiny-a"));
    const struct tensor *const *list;
    for (size_t i = 0, count = source_tensors(s, &list); i < count; i++) {
        const char *name = list[i]->name, *where = is_first(name) ? first : second;
        if (moved && !strcmp(name, moved)) where = file;
        if (where) n += (size_t)sprintf(text + n, ",\"%s\":\"%s\"", name, where);
    }
    sprintf(text + n, "}}");
    source_close(s);
    made_text(folder, "model.safetensors.index.json", text);
    free(text);
}

static bool is_second_or_twice(const char *name)
{
    return is_second(name) || !strcmp(name, twice);
}

/* A folder of two parts; the second has another copy of one tensor of the first, with other values. */
static char *two_parts(const char *name, bool overlap)
{
    char *folder = made_folder(name, "tiny-a");
    made_remove(folder, "model.safetensors");
    made_shard(folder, first, "tiny-a", &(struct made_shard){.takes = is_first});
    made_shard(folder, second, "tiny-a",
               &(struct made_shard){.takes = overlap ? is_second_or_twice : is_second, .spoiled = twice});
    return folder;
}

TEST(the_index_decides)
{
    char *folder = two_parts("decides", true);
    put_index(folder, NULL, NULL);
    CHECK(opens_as_golden(folder));
    put_index(folder, twice, second);
    struct source *s = open_model(folder), *golden = open_model(check_data("goldens/tiny-a"));
    CHECK(s && !same_weights(s, golden));
    source_close(s);
    source_close(golden);
    put_index(folder, twice, NULL);
    check_refused(folder, "tensor model.layers.3.self_attn.q_proj.weight is in model-00001-of-00002.safetensors and in "
                          "model-00002-of-00002.safetensors, and no index says which counts");
    made_remove(folder, "model.safetensors.index.json");
    check_refused(folder, "tensor model.layers.3.self_attn.q_proj.weight is in model-00001-of-00002.safetensors and");
    free(folder);
}

TEST(an_index_that_is_wrong)
{
    char *folder = two_parts("wrong", false);
    put_index(folder, NULL, NULL);
    struct source *s = open_model(folder);
    REQUIRE(s && source_notes(s)->n == 1); /* of vision alone */
    CHECK(strstr(source_notes(s)->lines[0], "nothing needs aren't there: 1, such as model.visual.x"));
    source_close(s);
    put_index(folder, twice, second);
    check_refused(folder, "index.json: tensor model.layers.3.self_attn.q_proj.weight: expected in "
                          "model-00002-of-00002.safetensors, which doesn't have it");
    put_index(folder, twice, NULL); /* not named at all, and in one file: there is nothing to decide */
    CHECK(opens_as_golden(folder));
    put_index(folder, twice, "model-00003-of-00002.safetensors");
    check_refused(folder, "index.json: model-00003-of-00002.safetensors, which it names, isn't there");
    made_shard(folder, "model.safetensors", "tiny-a", &(struct made_shard){0});
    CHECK(opens_as_golden(folder)); /* with the whole file */
    made_text(folder, "model.safetensors.index.json", "{\"weight_map\":");
    CHECK(opens_as_golden(folder));
    s = open_model(folder);
    REQUIRE(s && source_notes(s)->n == 1);
    CHECK(strstr(source_notes(s)->lines[0], "left out, since there is a model.safetensors: "));
    source_close(s);
    put_index(folder, NULL, NULL);
    CHECK(opens_as_golden(folder));
    s = open_model(folder);
    REQUIRE(s && source_notes(s)->n == 2);
    CHECK(strstr(source_notes(s)->lines[0], "/model.safetensors: the index beside it names other files"));
    source_close(s);
    free(folder);
}

TEST(without_an_index)
{
    char *folder = two_parts("without", false);
    CHECK(opens_as_golden(folder));
    made_remove(folder, second);
    check_refused(folder, "model-00002-of-00002.safetensors isn't there: an incomplete download?");
    made_shard(folder, second, "tiny-a", &(struct made_shard){.takes = is_second});
    made_remove(folder, first);
    check_refused(folder, "model-00001-of-00002.safetensors isn't there");
    made_remove(folder, second);
    check_refused(folder, "no weights: expected model.safetensors");
    made_shard(folder, "mine.safetensors", "tiny-a", &(struct made_shard){0});
    CHECK(opens_as_golden(folder));
    made_shard(folder, "other.safetensors", "tiny-a", &(struct made_shard){0});
    check_refused(folder, "several files of weights and no model.safetensors.index.json: mine.safetensors, other.safe");
    free(folder);
}

/* ---- The LM head ------------------------------------------------------------------------------------------------- */

TEST(an_lm_head_that_differs_is_not_tied)
{
    static const char embed[] = "model.embed_tokens.weight", head[] = "lm_head.weight";
    char *folder = made_folder("tied", "tiny-a");
    made_shard(folder, "model.safetensors", "tiny-a", &(struct made_shard){.copied = embed, .as = head});
    struct source *s = open_model(folder), *golden = open_model(check_data("goldens/tiny-a"));
    REQUIRE(s && golden);
    CHECK(source_config(s)->tied);
    CHECK(same_weights(s, golden));
    CHECK_INT(source_fingerprint(golden), source_fingerprint(s));
    source_close(s);
    made_shard(folder, "model.safetensors", "tiny-a",
               &(struct made_shard){.copied = embed, .as = head, .spoiled = head});
    s = open_model(folder);
    REQUIRE(s);
    CHECK(!source_config(s)->tied);
    const struct tensor *own = source_tensor(s, ROLE_LM_HEAD, 0);
    CHECK_STR(head, own->name);
    source_close(s);
    source_close(golden);
    free(folder);

    /* Said in any of the places where it can be said. */
    static const char *const words[] = {"{\"tie_word_embeddings\":true,", "{\"tie_word_embeddings\":false,"};
    char *config = malloc(ROOM);
    for (int top = 0; top < 2; top++)
        for (int inner = 0; inner < 2; inner++) {
            char name[16];
            snprintf(name, sizeof name, "said-%d%d", top, inner);
            folder = made_folder(name, "tiny-b");
            FILE *f = fopen(check_data("goldens/tiny-b/config.json"), "r");
            size_t n = f ? fread(config, 1, ROOM / 2, f) : 0;
            REQUIRE(n > 0 && !fclose(f));
            config[n] = 0;
            char *begin = strchr(config, '{'), *text = strstr(config, "\"text_config\": {"), *made;
            REQUIRE(begin && text);
            text += strlen("\"text_config\": ");
            REQUIRE(asprintf(&made, "%s%.*s%s%s", words[top], (int)(text - begin - 1), begin + 1, words[inner],
                             text + 1) > 0);
            for (char *at = made; (at = strstr(at, "\"tie_word_embeddings\": "));) at[1] = 'T'; /* the file's own */
            made_text(folder, "config.json", made);
            s = open_model(folder);
            CHECK(s && !source_config(s)->tied);
            source_close(s);
            free(made);
            free(folder);
        }
    free(config);
}

TEST_MAIN(T(the_index_decides), T(an_index_that_is_wrong), T(without_an_index),
          T(an_lm_head_that_differs_is_not_tied))
