/* Vision towers in files: what is read of them, and what is refused, each by one line that names it. */
#include "tests/check.h"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/model/gguf/gguf.h"
#include "engine/vision/tower_private.h"
#include "tests/engine/model/made.h"
#include "tests/engine/vision/projector.h"

static const char *path_of(const char *name)
{
    static char path[700];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    return path;
}

static void opens(const struct projector_change *change, const char *said)
{
    const char *path = path_of("mmproj-made.gguf");
    struct tower *t;
    tdm_error err = {0};
    projector_put(path, change);
    tdm_status status = tower_open(&t, path, &err);
    if (!said && status) CHECK_FAIL("%s", err.text);
    if (said && (!status || !strstr(err.text, said) || strncmp(err.text, path, strlen(path)) != 0))
        CHECK_FAIL("expected \"%s\" in \"%s\"", said, status ? err.text : "(it was opened)");
    tower_close(t);
}

TEST(a_projector_is_read)
{
    struct tower *t;
    projector_put(path_of("mmproj-made.gguf"), &(struct projector_change){0});
    REQUIRE(!tower_open(&t, path_of("mmproj-made.gguf"), NULL));
    const struct vision_shape *s = tower_shape(t);
    CHECK_INT(2, s->depth);
    CHECK_INT(12, s->width);
    CHECK_INT(20, s->intermediate);
    CHECK_INT(3, s->heads);
    CHECK_INT(4, vision_head_dim(s));
    CHECK_INT(10, s->out);
    CHECK_INT(4, s->patch);
    CHECK_INT(2, s->merge);
    CHECK_INT(2, s->frames);
    CHECK_INT(4, s->side);
    CHECK(s->eps == 1e-5f && s->theta == 10000);
    CHECK_STR("GGUF", tower_format(t));
    CHECK_INT(4 * tower_parameters(t), tower_bytes(t));
    CHECK_INT(36, tower_tensor(t, VISION_QKV, 1)->rows);
    CHECK_INT(12, tower_tensor(t, VISION_QKV, 1)->cols);
    CHECK_INT(1, tower_tensor(t, VISION_NORM2_BIAS, 1)->rows);
    CHECK_INT(48, tower_tensor(t, VISION_PATCH, 0)->cols);
    tower_close(t);
    CHECK(tower_is_projector(path_of("mmproj-made.gguf")));
    CHECK(!tower_is_projector(check_data("goldens/gguf/tiny-a-q8_0.gguf")));
    CHECK(!tower_is_projector("/"));
}

static void deepstack(struct gguf_writer *w)
{
    static const bool layers[] = {false, true};
    gguf_add_bools(w, "clip.vision.is_deepstack_layers", layers, 2);
}

static void no_deepstack(struct gguf_writer *w)
{
    static const bool layers[] = {false, false};
    gguf_add_bools(w, "clip.vision.is_deepstack_layers", layers, 2);
    gguf_add_u32(w, "clip.vision.image_min_pixels", 1024);
    gguf_add_u32(w, "clip.vision.image_max_pixels", 65536);
}

static void unknown_key(struct gguf_writer *w)
{
    gguf_add_u32(w, "clip.vision.window_size", 112);
}
static void silu(struct gguf_writer *w)
{
    gguf_add_bool(w, "clip.use_silu", true);
}
static void nonsense(struct gguf_writer *w)
{
    gguf_add_u32(w, "clip.vision.image_min_pixels", 1u << 31);
}

TEST(what_a_projector_may_not_be)
{
    opens(&(struct projector_change){.add = no_deepstack}, NULL);
    opens(&(struct projector_change){.architecture = "llama"}, "expected clip");
    opens(&(struct projector_change){.kind = "resampler"}, "projector resampler: expected qwen3vl_merger");
    opens(&(struct projector_change){.add = deepstack}, "is_deepstack_layers: expected false");
    opens(&(struct projector_change){.more = "v.deepstack.1.norm.weight"}, "(deepstack)");
    opens(&(struct projector_change){.more = "v.blk.2.ln1.weight"}, "v.blk.2.ln1.weight: a part");
    opens(&(struct projector_change){.more = "v.blk.x"}, "v.blk.x: a part");
    opens(&(struct projector_change){.add = unknown_key}, "clip.vision.window_size: a key");
    opens(&(struct projector_change){.add = silu}, "clip.use_silu: expected false");
    opens(&(struct projector_change){.add = nonsense}, "ascending range");
    opens(&(struct projector_change){.without = "mm.2.bias"}, "mm.2.bias: is missing");
    opens(&(struct projector_change){.without = "v.blk.1.attn_qkv.weight"}, "v.blk.1.attn_qkv.weight: is missing");
    opens(&(struct projector_change){.without = "v.position_embd.weight"}, "0 learned positions");
    opens(&(struct projector_change){.without = "v.patch_embd.weight.1"}, NULL);
    opens(&(struct projector_change){.odd = "v.blk.0.ffn_down.weight"}, "expected 12 x 20, found 12 x 21 of f32");
    opens(&(struct projector_change){.odd = "v.post_ln.bias"}, "expected 1 x 12, found 1 x 13");
    opens(&(struct projector_change){.without_key = "clip.vision.block_count"}, "block_count: is missing");
    opens(&(struct projector_change){.heads = 5}, "with 5 heads");
    opens(&(struct projector_change){.heads = 6}, "with 6 heads: expected heads of a multiple of 4");
}

TEST(the_projector_beside_a_model_is_found)
{
    char model[800];
    mkdir(path_of("beside"), 0700);
    snprintf(model, sizeof model, "%s/one.gguf", path_of("beside"));
    FILE *f = fopen(model, "w");
    REQUIRE(f && !fclose(f));
    CHECK(!tower_beside(model));
    projector_put(path_of("beside/mmproj-f16.gguf"), &(struct projector_change){0});
    char *found = tower_beside(model);
    CHECK_STR(path_of("beside/mmproj-f16.gguf"), found);
    free(found);
    projector_put(path_of("beside/mmproj-one.gguf"), &(struct projector_change){0});
    found = tower_beside(model);
    CHECK_STR(path_of("beside/mmproj-one.gguf"), found);
    free(found);
    found = tower_beside(check_data("goldens/tiny-b"));
    CHECK_STR(check_data("goldens/tiny-b"), found);
    free(found);
    CHECK(!tower_beside("synthetic:0.8b:q8_0"));
}

/* ---- Directories ------------------------------------------------------------------------------------------------- */

TEST(a_checkpoint_s_tower_is_read)
{
    struct tower *t;
    tdm_error err = {0};
    REQUIRE(!tower_open(&t, check_data("goldens/tiny-b"), &err));
    CHECK_INT(1, tower_shape(t)->depth);
    CHECK_INT(32, tower_shape(t)->width);
    CHECK_INT(4, tower_shape(t)->side);
    CHECK_INT(2, tower_shape(t)->frames);
    CHECK_INT(1 << 16, tower_shape(t)->min_pixels);
    CHECK_INT(3 * 2 * 256, tower_tensor(t, VISION_PATCH, 0)->cols);
    tower_close(t);
    CHECK_INT(TDM_E_NOT_FOUND, tower_open(&t, check_data("goldens/tiny-a"), &err));
}

/* tiny-b with a word of its config.json replaced, and a processor's file. */
static void edited(const char *from, const char *to, const char *processor, const char *said)
{
    static int number;
    char name[32], text[8192], path[900], changed[9000];
    snprintf(name, sizeof name, "edited-%d", number++);
    char *folder = made_folder(name, "tiny-b"), *at;
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *f = fopen(path, "r");
    REQUIRE(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    at = strstr(text, "vision_config");
    REQUIRE(at && (at = strstr(at, from)));
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    made_text(folder, "config.json", changed);
    if (processor) made_text(folder, "preprocessor_config.json", processor);
    struct tower *t;
    tdm_error err = {0};
    tdm_status status = tower_open(&t, folder, &err);
    if (!said && status) CHECK_FAIL("%s", err.text);
    if (said && (!status || !strstr(err.text, said)))
        CHECK_FAIL("expected \"%s\" in \"%s\"", said, status ? err.text : "(it was opened)");
    if (!said && processor && !status) CHECK_INT(1024, tower_shape(t)->min_pixels);
    tower_close(t);
    free(folder);
}

TEST(what_a_checkpoint_may_not_be)
{
    edited("\"depth\"", "\"deepstack_visual_indexes\": [5], \"depth\"", NULL, "expected an empty list");
    edited("\"depth\"", "\"deepstack_visual_indexes\": [], \"depth\"", NULL, NULL);
    edited("\"depth\"", "\"window_size\": 112, \"depth\"", NULL, "vision_config.window_size: a key");
    edited("gelu_pytorch_tanh", "quick_gelu", NULL, "expected gelu_pytorch_tanh, found quick_gelu");
    edited("\"in_channels\": 3", "\"in_channels\": 4", NULL, "in_channels: expected 3, found 4");
    edited("\"hidden_size\": 32", "\"hidden_size\": 40", NULL, "expected");
}

TEST(what_the_processor_does_is_read)
{
    edited("\"depth\"", "\"depth\"", "{\"size\": {\"shortest_edge\": 1024, \"longest_edge\": 4096}}", NULL);
    edited("\"depth\"", "\"depth\"", "{\"min_pixels\": 1024, \"max_pixels\": 4096, \"do_resize\": true}", NULL);
    edited("\"depth\"", "\"depth\"", "{\"do_normalize\": false}", "do_normalize: expected true");
    edited("\"depth\"", "\"depth\"", "{\"resample\": 2}", "resample: expected 3, found 2");
    edited("\"depth\"", "\"depth\"", "{\"patch_size\": 14}", "patch_size: expected 16, found 14");
    edited("\"depth\"", "\"depth\"", "{\"image_mean\": [0.5, 0.5]}", "image_mean: expected 3 numbers");
    edited("\"depth\"", "\"depth\"", "{\"image_std\": [0, 0.5, 0.5]}", "out of range");
    edited("\"depth\"", "\"depth\"", "{\"size\": {\"shortest_edge\": 4096, \"longest_edge\": 1024}}", "ascending");
    edited("\"depth\"", "\"depth\"", "nonsense", "preprocessor_config.json");
}

TEST(a_processor_that_a_broken_link_names_is_told)
{
    char path[900];
    char *folder = made_folder("broken", "tiny-b");
    struct tower *t;
    tdm_error err = {0};
    snprintf(path, sizeof path, "%s/preprocessor_config.json", folder);
    unlink(path);
    CHECK(!symlink("../../blobs/none", path));
    CHECK(tower_open(&t, folder, &err));
    CHECK(strstr(err.text, "preprocessor_config.json: can't be opened: No such file or directory"));
    tower_close(t);
    free(folder);
}

TEST_MAIN(T(a_projector_is_read), T(what_a_projector_may_not_be), T(the_projector_beside_a_model_is_found),
          T(a_checkpoint_s_tower_is_read), T(what_a_checkpoint_may_not_be), T(what_the_processor_does_is_read),
          T(a_processor_that_a_broken_link_names_is_told))
