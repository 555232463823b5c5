/* Any bytes as a GGUF file: opened, every key looked up in every way, every tensor's ends touched, and a row of each
 * widened and packed, which has to come back as it was. */
#include "engine/kernel/layout.h"
#include "engine/model/config.h"
#include "engine/model/hf/generation.h"
#include "engine/model/gguf/gguf.h"
#include "engine/model/schema/schema.h"
#include "engine/model/schema/unknown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void look_up(const struct gguf *g, const char *key)
{
    uint64_t u = 0, n = 0;
    float f = 0;
    struct span s = {"", 0}, *strings = NULL;
    int32_t *ints = NULL;
    tdm_error err;
    gguf_get_u64(g, key, 0, UINT64_MAX, &u, NULL, &err);
    gguf_get_float(g, key, &f, NULL, &err);
    if (!gguf_get_string(g, key, &s, NULL, &err) && s.length) sink = (uint8_t)s.bytes[s.length - 1];
    if (!gguf_get_strings(g, key, &strings, &n, NULL, &err))
        for (uint64_t i = 0; strings && i < n; i++)
            if (strings[i].length) sink = (uint8_t)strings[i].bytes[strings[i].length - 1];
    free(strings);
    gguf_get_i32s(g, key, &ints, &n, NULL, &err);
    free(ints);
}

static void read_row(const struct gguf_tensor *t)
{
    enum { LIMIT = 1024 };
    static float want[LIMIT], got[LIMIT];
    static uint8_t packed[TILE_ROWS * LIMIT * sizeof(float)] __attribute__((aligned(64)));
    if (t->shape[0] > LIMIT) return;
    uint32_t cols = (uint32_t)t->shape[0];
    type_widen(t->type, t->data, want, cols);
    if (layouts[t->type].bits && cols % BLOCK_COLS) return; /* no matrix has such rows */
    layout_pack(t->type, cols, packed, t->data, 0, 1, 128);
    layout_unpack_row(t->type, cols, packed, 0, 128, got);
    for (uint32_t c = 0; c < cols; c++)
        if (want[c] != got[c] && !(isnan(want[c]) && isnan(got[c]))) abort();
}

/* A name that is known stands for a tensor that the model has, whose shape is not empty. */
static void find_role(const struct config *c, struct span name)
{
    struct role_place place;
    uint64_t rows = 0, cols = 0;
    role_find(c, SCHEMA_GGUF, name, &place);
    if (place.kind != ROLE_KNOWN) return;
    enum role role = place.tensor ? place.tensor->role : place.pieces->parts[0];
    role_shape(c, role, place.layer, &rows, &cols);
    if (place.layer >= config_blocks(c) || !role_exists(c, role, place.layer) || !rows || !cols) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gguf *g;
    tdm_error err;
    if (gguf_open_memory(&g, data, size, "fuzz", &err)) return 0;
    const struct gguf_key *keys;
    const struct gguf_tensor *tensors;
    size_t key_count = gguf_keys(g, &keys), tensor_count = gguf_tensors(g, &tensors);
    for (size_t i = 0; i < key_count && i < 100; i++) {
        char name[200] = "";
        memcpy(name, keys[i].name.bytes, keys[i].name.length < 199 ? keys[i].name.length : 199);
        look_up(g, name);
    }
    for (size_t i = 0; i < tensor_count; i++) {
        sink = tensors[i].data[0];
        sink = tensors[i].data[tensors[i].bytes - 1];
        read_row(&tensors[i]);
    }
    struct config c;
    struct unknowns u = {0};
    if (!config_from_gguf(&c, g, &u, &err)) {
        c.vocab = 512;
        struct sampling sampling = {NAN, NAN, NAN, NAN, NAN, NAN, -1};
        struct notes notes = {.n = 0};
        generation_sampling_from_gguf(&sampling, g, &notes);
        if (!generation_stops_from_gguf(&c, g, &notes, &err) && c.stops.count > CONFIG_MAX_STOPS) __builtin_trap();
        for (uint32_t i = 0; i < c.stops.count; i++)
            if (c.stops.ids[i] < 0 || c.stops.ids[i] >= 512) __builtin_trap();
        if (sampling.top_k < -1 || sampling.temperature < 0 || sampling.top_p <= 0 || sampling.top_p > 1 ||
            sampling.repeat_penalty <= 0 || notes.n > NOTES_MAX)
            __builtin_trap();
        if (!config_validate(&c, "fuzz", &err))
            for (size_t i = 0; i < tensor_count; i++) find_role(&c, tensors[i].name);
    }
    unknowns_free(&u);
    gguf_close(g);
    return 0;
}
