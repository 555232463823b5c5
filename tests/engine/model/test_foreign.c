/* Files and folders of other kinds, where a model was expected: the line names what they are. */
#include "tests/check.h"

#include "engine/model/source.h"
#include "tests/engine/model/made.h"

static void check_refused(const char *path, const char *part)
{
    struct source *s = NULL;
    tdm_error err = {0};
    CHECK(source_open(&s, path, NULL, &err) < 0);
    if (!strstr(err.text, part) || strchr(err.text, '\n')) CHECK_FAIL("expected \"%s\", found \"%s\"", part, err.text);
    source_close(s);
}

static void text_key(struct gguf_writer *w, const char *key, const char *text)
{
    gguf_add_string(w, key, (struct span){text, strlen(text)});
}

static void add_adapter(struct gguf_writer *w)
{
    text_key(w, "general.type", "adapter");
    text_key(w, "general.architecture", "qwen35");
}

static void add_projector(struct gguf_writer *w)
{
    text_key(w, "general.architecture", "clip");
}

static void add_imatrix(struct gguf_writer *w)
{
    text_key(w, "general.type", "imatrix");
}

static void add_embedding(struct gguf_writer *w)
{
    text_key(w, "general.architecture", "qwen3");
    gguf_add_u32(w, "qwen3.pooling_type", 3);
}

TEST(gguf_files_of_other_kinds)
{
    static const char *const without[] = {"general.architecture", "general.type", NULL};
    static const struct {
        void (*add)(struct gguf_writer *w);
        const char *found;
    } cases[] = {
        {add_adapter, "other.gguf: expected a language model, found a LoRA adapter, which is no model of its own"},
        {add_projector, "other.gguf: expected a language model, found a multimodal projector"},
        {add_imatrix, "other.gguf: expected a language model, found an importance matrix"},
        {add_embedding, "other.gguf: expected a language model, found an embedding or reranking model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = made_gguf("other.gguf", "tiny-a-q8_0", without, cases[i].add);
        check_refused(path, cases[i].found);
        free(path);
    }
}

TEST(gguf_files_of_other_times)
{
    static const struct {
        uint32_t version;
        const char *found;
    } cases[] = {
        {1, "expected GGUF version 2 or 3, found 1, of before August 2023: convert the checkpoint again"},
        {0x03000000, "found a file for big-endian machines, version 3"},
        {0x02000000, "found a file for big-endian machines, version 2"},
        {4, "expected GGUF version 2 or 3, found 4"},
    };
    char path[200];
    snprintf(path, sizeof path, "%s/times.gguf", check_tmp());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t header[24] = "GGUF";
        memcpy(header + 4, &cases[i].version, 4);
        made_put(check_tmp(), "times.gguf", header, sizeof header);
        check_refused(path, cases[i].found);
    }
}

TEST(quantised_checkpoints)
{
    static const char *const cases[][2] = {
        {"{\"model_type\":\"qwen3_5\",\"quantization_config\":{\"quant_method\":\"fp8\"}}",
         "config.json: expected an unquantised language model, found an FP8 checkpoint: a GGUF file of the model, or "},
        {"{\"model_type\":\"llama\",\"quantization_config\":{\"quant_method\":\"gptq\"}}", "a GPTQ checkpoint"},
        {"{\"text_config\":{\"quantization_config\":{\"quant_method\":\"awq\"}}}", "an AWQ checkpoint"},
        {"{\"quantization_config\":{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true}}", "by bitsandbytes"},
        {"{\"compression_config\":{\"quant_method\":\"compressed-tensors\"}}", "by compressed-tensors"},
        {"{\"quantization\":{\"group_size\":64,\"bits\":4}}", "a quantised MLX checkpoint"},
        {"{\"quantization_config\":{\"quant_method\":\"x\"}}", "a quantised checkpoint"},
        {"{\"quantization_config\":{\"quant_method\":5}}", "a quantised checkpoint"},
        {"{\"quantization_config\":null}", "field model_type is missing"}, /* that is none */
    };
    char *folder = made_folder("quantised", "tiny-a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_text(folder, "config.json", cases[i][0]);
        check_refused(folder, cases[i][1]);
    }
    free(folder);
}

static const char up[] = "model.layers.0.mlp.up_proj.weight";

/* Where the configuration doesn't say it, a tensor may. */
TEST(tensors_of_other_kinds)
{
    static const char *const cases[][2] = {
        {"model.layers.0.mlp.up_proj.weight_scale_inv", "found an FP8 checkpoint: "},
        {"model.layers.0.mlp.up_proj.qweight", "found a GPTQ or AWQ checkpoint: "},
        {"model.layers.0.mlp.up_proj.weight.absmax", "found a checkpoint quantised by bitsandbytes: "},
        {"base_model.model.layers.0.mlp.up_proj.lora_A.weight", "found a LoRA adapter, "},
        {"score.weight", "found a classifier or reranker, "},
    };
    char *folder = made_folder("tensors", "tiny-a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_shard(folder, "model.safetensors", "tiny-a", &(struct made_shard){.copied = up, .as = cases[i][0]});
        check_refused(folder, cases[i][1]);
    }
    free(folder);
}

TEST(folders_of_other_kinds)
{
    char *folder = made_folder("folders", "tiny-a");
    made_remove(folder, "model.safetensors");
    made_text(folder, "pytorch_model.bin", "");
    check_refused(folder, "no weights: expected model.safetensors, or its parts and model.safetensors.index.json, "
                          "found pytorch_model.bin, a PyTorch checkpoint: ");
    made_shard(folder, "adapter_model.safetensors", "tiny-a", &(struct made_shard){0});
    check_refused(folder, "found adapter_model.safetensors, a LoRA adapter, ");
    free(folder);
}

TEST(pointers_and_pages)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 911048\n";
    static const struct {
        const char *file, *text, *found;
    } cases[] = {
        {"model.safetensors", pointer, "model.safetensors: expected a safetensors file, found a git-lfs pointer"},
        {"model.safetensors", "# xet version 0\n", "expected a safetensors file, found a xet pointer"},
        {"model.safetensors", "Entry not found", "a text, perhaps the error of a server: Entry not found"},
        {"model.safetensors", "<html><head>", "model.safetensors: expected a safetensors file, found an HTML page"},
        {"model.safetensors", "", "model.safetensors: expected a safetensors file, found an empty file"},
        {"config.json", pointer, "config.json: expected JSON, found a git-lfs pointer"},
        {"config.json", "<!doctype html>", "config.json: expected JSON, found an HTML page"},
        {"model.safetensors.index.json", pointer, ""}, /* beside the whole file it isn't needed */
        {"generation_config.json", pointer, ""},
    };
    char name[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(name, sizeof name, "pointer%zu", i);
        char *folder = made_folder(name, "tiny-a");
        made_text(folder, cases[i].file, cases[i].text);
        struct source *s = NULL;
        if (cases[i].found[0]) {
            check_refused(folder, cases[i].found);
        } else {
            CHECK_INT(TDM_OK, source_open(&s, folder, NULL, NULL));
            CHECK(s && source_notes(s)->n == 1 && strstr(source_notes(s)->lines[0], "found a git-lfs pointer"));
        }
        source_close(s);
        free(folder);
    }
}

TEST_MAIN(T(gguf_files_of_other_kinds), T(gguf_files_of_other_times), T(quantised_checkpoints),
          T(tensors_of_other_kinds), T(folders_of_other_kinds), T(pointers_and_pages))
