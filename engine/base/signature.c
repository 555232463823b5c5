#include "engine/base/signature.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/utf8.h"

/* How much of a text is looked at. */
enum { TEXT = 4096 };

/* ---- Words ------------------------------------------------------------------------------------------------------- */

#define POINTER    ", which stands for the file itself: `git lfs pull` in its folder, or `tandem pull`, fetches that"
#define PLAIN      ": a GGUF file of the model, or one in BF16, F16 or F32, can be opened"
#define ADAPTER    "a LoRA adapter, which is no model of its own: merge it into the model that it was made for"
#define PYTORCH    "a PyTorch checkpoint: convert it to safetensors, or take a GGUF file of the model"
#define PROJECTOR  "a multimodal projector, the vision or audio part of a model alone: name the model's own file"
#define IMATRIX    "an importance matrix, which helps to quantise a model: name the model's own file"
#define EMBEDDING  "an embedding or reranking model, which doesn't write text"
#define UNFINISHED "an unfinished download: fetch it again"

/* ---- The beginnings of files ------------------------------------------------------------------------------------- */

#define BYTES(text) text, sizeof text - 1

static const struct {
    const char *bytes;
    size_t n;
    uint64_t at;
    const char *what;
} beginnings[] = {
    {BYTES("version https://git-lfs"), 0, "a git-lfs pointer" POINTER},
    {BYTES("version https://hawser"), 0, "a git-lfs pointer" POINTER},
    {BYTES("# xet version"), 0, "a xet pointer" POINTER},
    {BYTES("GGUF"), 0, "a GGUF file"},
    {BYTES("FUGG"), 0, "a GGUF file for big-endian machines"},
    {BYTES("lmgg"), 0, "a GGML file, of before GGUF: convert the original checkpoint again"},
    {BYTES("fmgg"), 0, "a GGMF file, of before GGUF: convert the original checkpoint again"},
    {BYTES("tjgg"), 0, "a GGJT file, of before GGUF: convert the original checkpoint again"},
    {BYTES("algg"), 0, ADAPTER},
    {BYTES("\x1f\x8b"), 0, "a file compressed by gzip: unpack it first"},
    {BYTES("\x28\xb5\x2f\xfd"), 0, "a file compressed by zstd: unpack it first"},
    {BYTES("\xfd" "7zXZ"), 0, "a file compressed by xz: unpack it first"},
    {BYTES("BZh"), 0, "a file compressed by bzip2: unpack it first"},
    {BYTES("\x04\x22\x4d\x18"), 0, "a file compressed by lz4: unpack it first"},
    {BYTES("7z\xbc\xaf\x27\x1c"), 0, "a 7-Zip archive: unpack it first"},
    {BYTES("Rar!"), 0, "a RAR archive: unpack it first"},
    {BYTES("ustar"), 257, "a tar archive: unpack it first"},
    {BYTES("\x89HDF\r\n\x1a\n"), 0, "a Keras or TensorFlow checkpoint (HDF5): take a GGUF file of the model"},
    {BYTES("TFL3"), 4, "a TensorFlow Lite model: take safetensors or a GGUF file of the model"},
    {BYTES("\x93NUMPY"), 0, "an array of NumPy"},
    {BYTES("%PDF"), 0, "a PDF document"},
    {BYTES("\x89PNG"), 0, "an image"},
    {BYTES("\xff\xd8\xff"), 0, "an image"},
    {BYTES("MZqFpD"), 0, "a llamafile: name the GGUF file that it was made of"},
    {BYTES("\x7f" "ELF"), 0, "a program"},
    {BYTES("MZ"), 0, "a program"},
    {BYTES("\xff\xfe"), 0, "a text in UTF-16: save it as UTF-8"},
    {BYTES("\xfe\xff"), 0, "a text in UTF-16: save it as UTF-8"},
};

static bool begins(const uint8_t *bytes, uint64_t size, const char *with, size_t n)
{
    return size >= n && !memcmp(bytes, with, n);
}

static bool has_within(const uint8_t *bytes, uint64_t size, uint64_t most, const char *what)
{
    return memmem(bytes, size < most ? size : most, what, strlen(what)) != NULL;
}

/* A checkpoint of PyTorch is a zip archive with a pickle in it, an old one a pickle. */
static const char *zip_or_pickle(const uint8_t *bytes, uint64_t size)
{
    if (begins(bytes, size, BYTES("PK\x03\x04")))
        return has_within(bytes, size, 4096, "data.pkl") || has_within(bytes, size, 4096, ".data/serialization_id")
                   ? PYTORCH
                   : "a zip archive: unpack it first";
    bool pickle = size > 3 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
    return pickle && (bytes[2] == 0x8a || bytes[2] == 0x95 || bytes[2] == '}' || bytes[2] == 'c') ? PYTORCH : NULL;
}

/* A message of protocol buffers: the version of the format, then its producer, or the graph. */
static bool is_onnx(const uint8_t *bytes, uint64_t size)
{
    if (size < 8 || bytes[0] != 8 || !bytes[1] || bytes[1] > 0x20) return false;
    if (bytes[2] == 0x3a) return true;
    return bytes[2] == 0x12 && bytes[3] && bytes[3] <= 64 && bytes[4] >= 0x20 && bytes[4] < 0x7f;
}

static uint32_t little(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The length of a header of JSON, and that header. */
static bool is_safetensors(const uint8_t *bytes, uint64_t size)
{
    return size > 9 && !little(bytes + 4) && little(bytes) > 1 && bytes[8] == '{';
}

/* Of llama-imatrix before it wrote GGUF: how many, then each with the length of its name and the name. */
static bool is_imatrix(const uint8_t *bytes, uint64_t size)
{
    return size > 16 && little(bytes) < 1 << 20 && little(bytes + 4) < 256 &&
           (begins(bytes + 8, size - 8, BYTES("blk.")) || begins(bytes + 8, size - 8, BYTES("output.")));
}

static bool is_zeros(const uint8_t *bytes, uint64_t size)
{
    uint64_t n = size < 64 ? size : 64, at = 0;
    while (at < n && !bytes[at]) at++;
    return at == n;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static bool is_html(const char *text, size_t n)
{
    static const char *const words[] = {"<!doctype", "<html", "<head", "<body", "<!--", "<title"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n >= strlen(words[i]) && !strncasecmp(text, words[i], strlen(words[i]))) return true;
    return false;
}

/* What stands before the first word. */
static void skip_blank(const char **text, size_t *n)
{
    for (size_t step = 1; *n && step; *text += step, *n -= step)
        step = begins((const uint8_t *)*text, *n, BYTES("\xEF\xBB\xBF")) ? 3 : **text && strchr(" \t\r\n", **text);
}

/* The first line of what is text, shortened; false: it isn't. */
static bool quote(char out[SIGNATURE_ROOM], const char *text, size_t n)
{
    enum { LOOKED_AT = 256, SHOWN = 80 };
    size_t length = 0, shown = 0;
    bool first = true;
    for (size_t at = 0; at < n && at < LOOKED_AT; at += length) {
        int32_t code;
        length = utf8_decode(text + at, n - at, &code);
        if (code < 0 ? n - at > 3 : code < 0x20 && code != '\n' && code != '\r' && code != '\t') return false;
        first = first && code != '\n' && code != '\r';
        if (first && at + length <= SHOWN) shown = at + length;
    }
    const char *kind = *text == '{' || *text == '[' ? "a JSON text" : *text == '<' ? "an XML text" : "a text";
    snprintf(out, SIGNATURE_ROOM, "%s, perhaps the error of a server: %.*s%s", kind, (int)shown, text,
             shown < n ? " ..." : "");
    return true;
}

bool signature_of_bytes(char out[SIGNATURE_ROOM], const void *data, uint64_t size)
{
    const uint8_t *bytes = data;
    const char *what = size ? NULL : "an empty file", *text = data;
    for (size_t i = 0; !what && i < sizeof beginnings / sizeof *beginnings; i++)
        if (size >= beginnings[i].at &&
            begins(bytes + beginnings[i].at, size - beginnings[i].at, beginnings[i].bytes, beginnings[i].n))
            what = beginnings[i].what;
    if (!what) what = zip_or_pickle(bytes, size);
    if (!what && is_zeros(bytes, size)) what = "nothing but zeros, as a broken download leaves them: fetch it again";
    if (!what && is_safetensors(bytes, size)) what = "a safetensors file: name the folder of its model";
    if (!what && is_imatrix(bytes, size)) what = IMATRIX;
    if (!what && is_onnx(bytes, size)) what = "an ONNX model: take safetensors or a GGUF file of the model";
    size_t n = size < TEXT ? (size_t)size : TEXT;
    if (!what) skip_blank(&text, &n);
    if (!what && is_html(text, n)) what = "an HTML page, as a login or an error gives it: fetch the file again";
    snprintf(out, SIGNATURE_ROOM, "%s", what ? what : "");
    return what;
}

bool signature_of_weights(char out[SIGNATURE_ROOM], const void *bytes, uint64_t size)
{
    if (signature_of_bytes(out, bytes, size)) return true;
    const char *text = bytes;
    size_t n = size < TEXT ? (size_t)size : TEXT;
    skip_blank(&text, &n);
    bool ours = n && *text == '{' &&
                (memmem(text, n, BYTES("\"model_type\"")) || memmem(text, n, BYTES("\"weight_map\"")));
    if (!ours) return n && quote(out, text, n);
    snprintf(out, SIGNATURE_ROOM, "a JSON file of a Hugging Face model: name its folder");
    return true;
}

/* ---- Words of other models --------------------------------------------------------------------------------------- */

static bool is_word(struct span text, const char *word)
{
    return text.length == strlen(word) && !strncasecmp(text.bytes, word, text.length);
}

const char *signature_of_gguf(struct span type, struct span architecture)
{
    static const struct {
        const char *word, *what;
    } words[] = {
        {"adapter", ADAPTER},
        {"mmproj", PROJECTOR},
        {"clip", PROJECTOR},
        {"imatrix", IMATRIX},
        {"vocab", "a vocabulary without weights: name the model's own file"},
        {"controlvector", "a control vector, which is no model of its own: name the model's own file"},
        {"bert", EMBEDDING},
        {"modern-bert", EMBEDDING},
        {"neo-bert", EMBEDDING},
        {"nomic-bert", EMBEDDING},
        {"nomic-bert-moe", EMBEDDING},
        {"jina-bert-v2", EMBEDDING},
        {"jina-bert-v3", EMBEDDING},
        {"gemma-embedding", EMBEDDING},
        {"llama-embed", EMBEDDING},
        {"t5encoder", EMBEDDING},
        {"embedding", EMBEDDING},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(type, words[i].word) || is_word(architecture, words[i].word)) return words[i].what;
    return NULL;
}

static const struct {
    const char *word, *what;
} methods[] = {
    {"fp8", "an FP8 checkpoint" PLAIN},
    {"fbgemm_fp8", "an FP8 checkpoint (fbgemm)" PLAIN},
    {"gptq", "a GPTQ checkpoint" PLAIN},
    {"awq", "an AWQ checkpoint" PLAIN},
    {"bitsandbytes", "a checkpoint quantised by bitsandbytes" PLAIN},
    {"compressed-tensors", "a checkpoint quantised by compressed-tensors" PLAIN},
    {"modelopt", "a checkpoint quantised by NVIDIA's ModelOpt" PLAIN},
    {"mxfp4", "an MXFP4 checkpoint" PLAIN},
    {"mlx", "a quantised MLX checkpoint" PLAIN},
    {"auto-round", "a checkpoint quantised by AutoRound" PLAIN},
    {"aqlm", "an AQLM checkpoint" PLAIN},
    {"hqq", "an HQQ checkpoint" PLAIN},
    {"eetq", "an EETQ checkpoint" PLAIN},
    {"exl2", "an ExLlamaV2 checkpoint" PLAIN},
    {"exl3", "an ExLlamaV3 checkpoint" PLAIN},
    {"quanto", "a checkpoint quantised by Quanto" PLAIN},
    {"torchao", "a checkpoint quantised by torchao" PLAIN},
};

const char *signature_of_method(const char *method)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcasecmp(method, methods[i].word)) return methods[i].what;
    return "a quantised checkpoint" PLAIN;
}

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

const char *signature_of_tensor(const char *name, const char *dtype)
{
    static const struct {
        const char *part; /* the end of its name; with a dot at its end too: anywhere */
        const char *what;
    } names[] = {
        {".lora_A.", ADAPTER},
        {".lora_B.", ADAPTER},
        {".lora_A.weight", ADAPTER},
        {".lora_B.weight", ADAPTER},
        {".lora_embedding_A", ADAPTER},
        {".lora_embedding_B", ADAPTER},
        {".lora_magnitude_vector", ADAPTER},
        {".qweight", "a GPTQ or AWQ checkpoint" PLAIN},
        {".qzeros", "a GPTQ or AWQ checkpoint" PLAIN},
        {".g_idx", "a GPTQ checkpoint" PLAIN},
        {".weight_packed", "a checkpoint quantised by compressed-tensors" PLAIN},
        {".weight_shape", "a checkpoint quantised by compressed-tensors" PLAIN},
        {".weight_scale_inv", "an FP8 checkpoint" PLAIN},
        {".weight_scale", "an FP8 or compressed-tensors checkpoint" PLAIN},
        {".weight_scale_2", "an NVFP4 checkpoint" PLAIN},
        {".input_scale", "an FP8 checkpoint" PLAIN},
        {".absmax", "a checkpoint quantised by bitsandbytes" PLAIN},
        {".quant_map", "a checkpoint quantised by bitsandbytes" PLAIN},
        {".quant_state.", "a checkpoint quantised by bitsandbytes" PLAIN},
        {".SCB", "a checkpoint quantised by bitsandbytes" PLAIN},
        {".scales", "a quantised MLX, GPTQ or AWQ checkpoint" PLAIN},
        {".biases", "a quantised MLX checkpoint" PLAIN},
        {"_blocks", "an MXFP4 checkpoint" PLAIN},
        {"_scales", "an MXFP4 checkpoint" PLAIN},
        {"score.weight", "a classifier or reranker, which doesn't write text"},
        {"classifier.weight", "a classifier, which doesn't write text"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *part = names[i].part;
        if (part[strlen(part) - 1] == '.' ? strstr(name, part) != NULL : span_ends(span_text(name), part))
            return names[i].what;
    }
    if (!strncmp(dtype, "F8_", 3)) return "an FP8 checkpoint" PLAIN;
    if (!strncmp(dtype, "F4", 2) || !strncmp(dtype, "F6_", 3)) return "a checkpoint of fewer than 8 bits" PLAIN;
    if ((dtype[0] == 'I' || dtype[0] == 'U') && span_ends(span_text(name), ".weight"))
        return "a quantised checkpoint" PLAIN;
    return NULL;
}

/* ---- Folders ----------------------------------------------------------------------------------------------------- */

const char *signature_of_name(const char *file)
{
    static const struct {
        const char *begin, *end, *what;
    } names[] = {
        {"", ".incomplete", UNFINISHED},
        {"", ".part", UNFINISHED},
        {"", ".crdownload", UNFINISHED},
        {"", ".aria2", UNFINISHED},
        {"", ".download", UNFINISHED},
        {"adapter_config", ".json", ADAPTER},
        {"adapter_model", ".safetensors", ADAPTER},
        {"adapter_model", ".bin", ADAPTER},
        {"pytorch_model", ".bin", PYTORCH},
        {"pytorch_model", ".bin.index.json", PYTORCH},
        {"consolidated", ".pth", PYTORCH},
        {"", ".pt", PYTORCH},
        {"", ".pth", PYTORCH},
        {"", ".ckpt", PYTORCH},
        {"tf_model", ".h5", "a TensorFlow checkpoint: take safetensors or a GGUF file of the model"},
        {"flax_model", ".msgpack", "a Flax checkpoint: take safetensors or a GGUF file of the model"},
        {"", ".onnx", "an ONNX model: take safetensors or a GGUF file of the model"},
        {"model_index", ".json", "a diffusers pipeline, which makes images and doesn't write text"},
        {"modules", ".json", EMBEDDING},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(file), b = strlen(names[i].begin), e = strlen(names[i].end);
        if (n >= b + e && !strncmp(file, names[i].begin, b) && !strcasecmp(file + n - e, names[i].end))
            return names[i].what;
    }
    return NULL;
}

static int is_known(const struct dirent *e)
{
    return signature_of_name(e->d_name) != NULL;
}

bool signature_of_folder(char out[SIGNATURE_ROOM], const char *folder)
{
    struct dirent **list;
    int n = scandir(folder, &list, is_known, alphasort);
    out[0] = 0;
    if (n > 0) snprintf(out, SIGNATURE_ROOM, "%.80s, %s", list[0]->d_name, signature_of_name(list[0]->d_name));
    for (int i = 0; i < n; i++) free(list[i]);
    if (n >= 0) free(list);
    return n > 0;
}
