#include "tests/engine/vision/projector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/gguf/gguf.h"
#include "engine/os/atomic_file.h"

enum { MAX_TENSORS = 64, WIDTH = 12, HIDDEN = 20, OUT = 10, PATCH = 4 };

struct list {
    struct gguf_writer *w;
    const struct projector_change *change;
    uint64_t bytes[MAX_TENSORS];
    int n;
};

static bool is(const char *a, const char *b)
{
    return a && !strcmp(a, b);
}

static void tensor(struct list *l, const char *name, uint32_t dims, const uint64_t *shape)
{
    uint64_t own[4] = {1, 1, 1, 1}, n = 1;
    if (is(l->change->without, name)) return;
    for (uint32_t i = 0; i < dims; i++) own[i] = shape[i];
    if (is(l->change->odd, name)) own[0]++;
    for (int i = 0; i < 4; i++) n *= own[i];
    gguf_add_tensor(l->w, (struct span){name, strlen(name)}, dims, own, TYPE_F32);
    l->bytes[l->n++] = 4 * n;
}

static void vector(struct list *l, const char *name, uint64_t n)
{
    tensor(l, name, 1, &n);
}

static void matrix(struct list *l, const char *name, uint64_t rows, uint64_t cols)
{
    tensor(l, name, 2, (uint64_t[]){cols, rows});
}

static void block(struct list *l, int number)
{
    static const struct {
        const char *name;
        uint64_t rows, cols;
    } parts[] = {{"attn_qkv", 3 * WIDTH, WIDTH}, {"attn_out", WIDTH, WIDTH}, {"ffn_up", HIDDEN, WIDTH},
                 {"ffn_down", WIDTH, HIDDEN},    {"ln1", 0, WIDTH},          {"ln2", 0, WIDTH}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "v.blk.%d.%s.weight", number, parts[i].name);
        if (parts[i].rows)
            matrix(l, name, parts[i].rows, parts[i].cols);
        else
            vector(l, name, parts[i].cols);
        snprintf(name, sizeof name, "v.blk.%d.%s.bias", number, parts[i].name);
        vector(l, name, parts[i].rows ? parts[i].rows : parts[i].cols);
    }
}

static void tensors(struct list *l)
{
    static const uint64_t patch[] = {PATCH, PATCH, 3, WIDTH};
    tensor(l, "v.patch_embd.weight", 4, patch);
    tensor(l, "v.patch_embd.weight.1", 4, patch);
    vector(l, "v.patch_embd.bias", WIDTH);
    matrix(l, "v.position_embd.weight", 16, WIDTH);
    for (int b = 0; b < 2; b++) block(l, b);
    vector(l, "v.post_ln.weight", WIDTH);
    vector(l, "v.post_ln.bias", WIDTH);
    matrix(l, "mm.0.weight", 4 * WIDTH, 4 * WIDTH);
    vector(l, "mm.0.bias", 4 * WIDTH);
    matrix(l, "mm.2.weight", OUT, 4 * WIDTH);
    vector(l, "mm.2.bias", OUT);
    if (l->change->more) vector(l, l->change->more, 1);
}

static void keys(struct gguf_writer *w, const struct projector_change *c)
{
    const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {{"block_count", 2},
                   {"embedding_length", WIDTH},
                   {"feed_forward_length", HIDDEN},
                   {"attention.head_count", c->heads ? c->heads : 3},
                   {"patch_size", PATCH},
                   {"spatial_merge_size", 2},
                   {"projection_dim", OUT},
                   {"image_size", 16}};
    const char *architecture = c->architecture ? c->architecture : "clip", *kind = c->kind ? c->kind : "qwen3vl_merger";
    gguf_add_string(w, "general.architecture", (struct span){architecture, strlen(architecture)});
    gguf_add_string(w, "clip.projector_type", (struct span){kind, strlen(kind)});
    gguf_add_bool(w, "clip.use_gelu", true);
    gguf_add_f32(w, "clip.vision.attention.layer_norm_epsilon", 1e-5f);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char key[64];
        snprintf(key, sizeof key, "clip.vision.%s", numbers[i].key);
        if (!is(c->without_key, key)) gguf_add_u32(w, key, numbers[i].value);
    }
    if (c->add) c->add(w);
}

void projector_put(const char *path, const struct projector_change *change)
{
    struct list l = {.w = gguf_writer_new(), .change = change};
    struct atomic_file *f;
    static const float values[3 * 4 * WIDTH * 4 * WIDTH];
    if (!l.w || atomic_file_new_shared(&f, path, NULL)) abort();
    keys(l.w, change);
    tensors(&l);
    if (gguf_write_start(l.w, f, NULL)) abort();
    for (int i = 0; i < l.n; i++)
        if (gguf_write_data(l.w, values, l.bytes[i], NULL)) abort();
    if (!gguf_write_done(l.w) || atomic_file_commit(f, NULL)) abort();
    gguf_writer_free(l.w);
}
