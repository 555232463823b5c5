/* Any bytes as names in files: the first two choose architecture and format, then come lines, each a name of a key or a
 * tensor. What is found is what the model has, with a shape that isn't empty, and parts lie within their whole. */
#include <string.h>

#include "engine/model/schema/schema.h"
#include "engine/model/schema/unknown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct config model_of(const struct schema *schema)
{
    struct config c = {.schema = schema, .layers = 4, .hidden = 64, .feed.intermediate = 96, .vocab = 512};
    c.attention.heads = 4, c.attention.kv_heads = 2, c.attention.head_dim = 32;
    c.delta.key_heads = 2, c.delta.value_heads = 4, c.delta.key_dim = c.delta.value_dim = 16, c.delta.conv_kernel = 4;
    if (schema->mixture) c.experts.count = 8, c.experts.used = 2, c.experts.intermediate = 32;
    c.positions = 8;
    c.optional = UINT64_MAX;
    config_set_interval(&c, schema->interval);
    c.mtp.layers = 1;
    c.mtp.there = c.mtp.norm = c.full_attention[4] = true;
    return c;
}

static void find_tensor(const struct config *c, enum schema_format format, struct span name)
{
    struct role_place place;
    uint64_t rows, cols;
    role_find(c, format, name, &place);
    if (place.kind != ROLE_KNOWN) {
        if (place.tensor || place.pieces) __builtin_trap();
        return;
    }
    if (!place.tensor == !place.pieces || place.layer >= config_blocks(c)) __builtin_trap();
    for (int i = 0; i < (place.pieces ? place.pieces->n_parts : 1); i++) {
        enum role role = place.pieces ? place.pieces->parts[i] : place.tensor->role;
        role_shape(c, role, place.layer, &rows, &cols);
        if (!role_exists(c, role, place.layer) || !rows || !cols) __builtin_trap();
        if (place.pieces && rows % schema_size(c, place.pieces->groups, place.layer)) __builtin_trap();
    }
    if (place.pieces && place.pieces->rows != SIZE_NONE) {
        uint64_t each = schema_size(c, place.pieces->rows, place.layer);
        uint64_t before = place.pieces->before_times * schema_size(c, place.pieces->before, place.layer);
        if (!each || place.part * each + before + each > rows) __builtin_trap();
    }
}

/* A row that is found has a use, and what that needs. */
static void find_key(const struct schema *s, enum schema_format format, struct span name)
{
    const struct schema_key *row = schema_key(s, format, name);
    if (!row) return;
    if ((row->use == SCHEMA_ONLY || row->use == SCHEMA_HARMLESS) != (row->text != NULL)) __builtin_trap();
    if (row->field + sizeof(uint32_t) > sizeof(struct config)) __builtin_trap();
    if (!(format == SCHEMA_GGUF ? row->gguf : row->json)) __builtin_trap();
}

/* A pattern of the user's with the line as name: whatever is accepted is noted, whatever is not is refused. */
static void refuse(struct span name, const char *pattern)
{
    const char *const accept[] = {pattern, NULL};
    struct unknowns u = {.accept = accept};
    tdm_error err;
    tdm_status status = unknowns_refuse(&u, "fuzz", "tensor", name, "", " has no place", &err);
    if ((status == TDM_OK) != (u.count == 1)) __builtin_trap();
    unknowns_free(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAX_PATTERN = 40 };
    if (size < 2) return 0;
    const struct schema *const *schemas;
    size_t n = schema_all(&schemas);
    const struct config c = model_of(schemas[data[0] % n]);
    enum schema_format format = data[1] % 2 ? SCHEMA_GGUF : SCHEMA_HF;
    char pattern[MAX_PATTERN + 1] = "*.weight";
    const char *at = (const char *)data + 2, *end = (const char *)data + size;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        struct span line = {at, (size_t)((line_end ? line_end : end) - at)};
        find_tensor(&c, format, line);
        find_key(c.schema, format, line);
        if (line.length <= 1024) refuse(line, pattern);
        /* A pattern with few stars: the user writes it, and its time grows with their number. */
        size_t stars = 0;
        for (size_t i = 0; i < line.length; i++) stars += line.bytes[i] == '*';
        if (line.length <= MAX_PATTERN && stars <= 2) {
            memcpy(pattern, line.bytes, line.length);
            pattern[line.length] = 0;
        }
        at += line.length + 1;
    }
    return 0;
}
