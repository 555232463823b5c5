/* What files are that aren't what they were taken for. */
#include "tests/check.h"

#include <sys/stat.h>

#include "engine/base/signature.h"

#define BYTES(text) text, sizeof text - 1

TEST(beginnings_of_files)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *found;
    } cases[] = {
        {BYTES(""), "an empty file"},
        {BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n"), "a git-lfs pointer"},
        {BYTES("# xet version 0\nfilesize = 911048\n"), "a xet pointer"},
        {BYTES("<!doctype html>\n<html>"), "an HTML page"},
        {BYTES("\xEF\xBB\xBF \r\n<HTML lang=en>"), "an HTML page"},
        {BYTES("\n\n<!DOCTYPE HTML PUBLIC"), "an HTML page"},
        {BYTES("{\"error\":\"Repository not found\"}"), "a JSON text, perhaps the error of a server: {\"error\":"},
        {BYTES("Entry not found"), "a text, perhaps the error of a server: Entry not found"},
        {BYTES("<Error><Code>AccessDenied</Code></Error>"), "an XML text, perhaps the error of a server: <Error>"},
        {BYTES("{\"model_type\": \"qwen3_5\"}"), "a JSON file of a Hugging Face model: name its folder"},
        {BYTES("GGUF\3\0\0\0"), "a GGUF file"},
        {BYTES("tjgg\1\0\0\0"), "a GGJT file, of before GGUF"},
        {BYTES("lmgg\1\0\0\0"), "a GGML file, of before GGUF"},
        {BYTES("algg\1\0\0\0"), "a LoRA adapter"},
        {BYTES("PK\3\4\0\0\0\0archive/data.pkl"), "a PyTorch checkpoint"},
        {BYTES("PK\3\4\0\0\0\0readme.txt"), "a zip archive"},
        {BYTES("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."), "a PyTorch checkpoint"},
        {BYTES("\x80\x04\x95\0\0"), "a PyTorch checkpoint"},
        {BYTES("\x1f\x8b\x08\0"), "a file compressed by gzip"},
        {BYTES("\x28\xb5\x2f\xfd"), "a file compressed by zstd"},
        {BYTES("\x08\x07\x12\x07pytorch"), "an ONNX model"},
        {BYTES("\x89HDF\r\n\x1a\n"), "a Keras or TensorFlow checkpoint"},
        {BYTES("\x50\0\0\0\0\0\0\0{\"a\":{}}"), "a safetensors file: name the folder"},
        {BYTES("\x7e\0\0\0\x16\0\0\0blk.0.attn_q.weight"), "an importance matrix"},
        {BYTES("\xff\xfe{\0\n\0"), "a text in UTF-16"},
        {BYTES("\0\0\0\0\0\0\0\0\0\0"), "nothing but zeros"},
        {BYTES("\x01\x02\x03\x04\x05\x06"), ""},
        {BYTES("\x80\x99\xff\xfe\x80"), ""},
    };
    char out[SIGNATURE_ROOM];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *copy = malloc(cases[i].n ? cases[i].n : 1); /* its exact size, so that reading past it is seen */
        memcpy(copy, cases[i].bytes, cases[i].n);
        bool known = signature_of_weights(out, copy, cases[i].n);
        CHECK_INT(cases[i].found[0] != 0, known);
        if (strncmp(out, cases[i].found, strlen(cases[i].found)) || (!cases[i].found[0] && out[0]))
            CHECK_FAIL("expected \"%s\", found \"%s\"", cases[i].found, out);
        free(copy);
    }
    /* What is read as text isn't strange for being text. */
    CHECK(!signature_of_bytes(out, BYTES("{\"temperature\": 1,}")));
    CHECK(!signature_of_bytes(out, BYTES("Entry not found")));
    CHECK(signature_of_bytes(out, BYTES("<html>")));
    char tar[300] = "name";
    memcpy(tar + 257, "ustar", 5);
    CHECK(signature_of_bytes(out, tar, sizeof tar) && !strncmp(out, "a tar archive", 13));
}

static struct span word(const char *text)
{
    return (struct span){text, strlen(text)};
}

static void check_words(const char *found, const char *words)
{
    if (words ? !found || strncmp(found, words, strlen(words)) : found != NULL)
        CHECK_FAIL("expected \"%s\", found \"%s\"", words ? words : "", found ? found : "");
}

TEST(words_of_other_models)
{
    check_words(signature_of_gguf(word("adapter"), word("qwen35")), "a LoRA adapter");
    check_words(signature_of_gguf(word("mmproj"), word("clip")), "a multimodal projector");
    check_words(signature_of_gguf(word(""), word("clip")), "a multimodal projector");
    check_words(signature_of_gguf(word("imatrix"), word("")), "an importance matrix");
    check_words(signature_of_gguf(word("model"), word("nomic-bert")), "an embedding or reranking model");
    check_words(signature_of_gguf(word("model"), word("qwen35")), NULL);
    check_words(signature_of_gguf(word(""), word("")), NULL);
    check_words(signature_of_method("fp8"), "an FP8 checkpoint: ");
    check_words(signature_of_method("GPTQ"), "a GPTQ checkpoint: ");
    check_words(signature_of_method("awq"), "an AWQ checkpoint: ");
    check_words(signature_of_method("bitsandbytes"), "a checkpoint quantised by bitsandbytes: ");
    check_words(signature_of_method("something"), "a quantised checkpoint: ");
    check_words(signature_of_tensor("base_model.model.layers.0.q_proj.lora_A.weight", "F32"), "a LoRA adapter");
    check_words(signature_of_tensor("model.layers.0.mlp.up_proj.qweight", "I32"), "a GPTQ or AWQ checkpoint");
    check_words(signature_of_tensor("model.layers.0.mlp.up_proj.weight_scale_inv", "F32"), "an FP8 checkpoint");
    check_words(signature_of_tensor("model.layers.0.mlp.up_proj.weight", "F8_E4M3"), "an FP8 checkpoint");
    check_words(signature_of_tensor("model.layers.0.mlp.up_proj.weight", "U32"), "a quantised checkpoint");
    check_words(signature_of_tensor("model.layers.0.mlp.up_proj.weight", "BF16"), NULL);
    check_words(signature_of_tensor("model.position_ids", "I64"), NULL);
    check_words(signature_of_tensor("score.weight", "BF16"), "a classifier or reranker");
}

static void put(const char *folder, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f || fclose(f)) abort();
}

TEST(files_of_folders)
{
    char out[SIGNATURE_ROOM];
    check_words(signature_of_name("adapter_config.json"), "a LoRA adapter");
    check_words(signature_of_name("adapter_model.safetensors"), "a LoRA adapter");
    check_words(signature_of_name("pytorch_model-00001-of-00002.bin"), "a PyTorch checkpoint");
    check_words(signature_of_name("model.ONNX"), "an ONNX model");
    check_words(signature_of_name("model.gguf.part"), "an unfinished download");
    check_words(signature_of_name("model.safetensors"), NULL);
    check_words(signature_of_name("pytorch_model"), NULL);
    CHECK(!signature_of_folder(out, check_tmp()));
    CHECK_STR("", out);
    put(check_tmp(), "readme.md");
    put(check_tmp(), "x.gguf.incomplete");
    CHECK(signature_of_folder(out, check_tmp()));
    CHECK_STR("x.gguf.incomplete, an unfinished download: fetch it again", out);
    CHECK(!signature_of_folder(out, "/nowhere"));
}

TEST_MAIN(T(beginnings_of_files), T(words_of_other_models), T(files_of_folders))
