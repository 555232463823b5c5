/* How products of many tokens are tiled, as text that another process reads: measuring takes a second or more. A line
 * is a shape, and for each of gemm.c's numbers of tokens a variant:
 *
 *     bf16 3584x1024 0/0/0/0/0 2/2/4/4/8 ...
 *
 * What a process has read is trusted to be fast, not to be right: bits are tried in each process (gemm_try). */
#include <stdio.h>
#include <string.h>

#include "engine/gpu/pass/gemm.h"

static const struct gpu_variant *variant_of(const struct choice *c, uint32_t at)
{
    static const struct gpu_variant none;
    uint32_t n;
    const struct gpu_variant *variants = gpu_variants(gemm_types[c->kind], &n);
    return c->variant[at] ? &variants[c->variant[at] - 1] : &none;
}

size_t gpu_choices(struct gpu *g, char *out, size_t room)
{
    size_t n = 0;
    device_lock(g);
    for (uint32_t i = 0; i < g->products.n_choices; i++) {
        const struct choice *c = &g->products.choices[i];
        char line[256];
        int length = snprintf(line, sizeof line, "%s %ux%u", type_info(gemm_types[c->kind])->name, c->tiles * PACK_ROWS,
                              c->chunks * PACK_COLS);
        for (uint32_t at = 0; at < CHOICE_SIZES; at++) {
            const struct gpu_variant *w = variant_of(c, at);
            length += snprintf(line + length, sizeof line - (size_t)length, " %u/%u/%u/%u/%u", w->parts, w->groups,
                               w->quads, w->teams, w->apart);
        }
        line[length++] = '\n';
        if (!c->whole || n + (size_t)length >= room) continue;
        memcpy(out + n, line, (size_t)length);
        n += (size_t)length;
    }
    device_unlock(g);
    if (room) out[n] = 0;
    return n;
}

/* The number of a variant, 0 for none; -1: there is no such. */
static int number_of(enum weight_kind kind, const unsigned w[5])
{
    uint32_t n;
    const struct gpu_variant *variants = gpu_variants(gemm_types[kind], &n);
    if (!w[0]) return 0;
    for (uint32_t i = 0; i < n; i++)
        if (variants[i].parts == w[0] && variants[i].groups == w[1] && variants[i].quads == w[2] &&
            variants[i].teams == w[3] && variants[i].apart == w[4])
            return (int)i + 1;
    return -1;
}

static bool read_line(struct choice *out, const char *line)
{
    char type[16];
    unsigned rows, cols;
    int at = 0;
    enum weight_kind kind = 0;
    if (sscanf(line, "%15s %ux%u%n", type, &rows, &cols, &at) != 3 || !at) return false;
    while (kind < WEIGHT_KINDS && strcmp(type, type_info(gemm_types[kind])->name) != 0) kind++;
    if (kind == WEIGHT_KINDS || !rows || !cols || rows % PACK_ROWS || cols % PACK_COLS) return false;
    *out = (struct choice){.kind = kind, .tiles = rows / PACK_ROWS, .chunks = cols / PACK_COLS, .whole = true};
    for (uint32_t i = 0; i < CHOICE_SIZES; i++) {
        unsigned w[5];
        int length = 0;
        line += at;
        if (sscanf(line, " %u/%u/%u/%u/%u%n", &w[0], &w[1], &w[2], &w[3], &w[4], &length) != 5 || !length) return false;
        int number = number_of(kind, w);
        if (number < 0) return false;
        out->variant[i] = (uint8_t)number;
        at = length;
    }
    return line[at] == '\n';
}

void gpu_take_choices(struct gpu *g, const char *text)
{
    device_lock(g);
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        struct choice c;
        if (read_line(&c, line)) gemm_add_choice(g, &c);
    }
    device_unlock(g);
}
