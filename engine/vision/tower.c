#include "engine/vision/tower_private.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/base/size.h"
#include "engine/model/half.h"
#include "engine/hub/hub.h"
#include "engine/os/file.h"

/* ---- The table --------------------------------------------------------------------------------------------------- */

enum size {
    ONE,
    WIDTH,
    THREE_WIDTHS,
    INTERMEDIATE,
    OUT,
    JOINED, /* width * merge * merge */
    POSITIONS,
    PATCH, /* of what the file's patch holds: one frame or all */
};

struct row {
    const char *gguf, *hf; /* behind "v.blk.N." and "blocks.N." for what each block has; NULL: that form has none */
    enum size rows, cols;
};

static const struct row table[VISION_ROLES] = {
    [VISION_PATCH] = {"v.patch_embd.weight", "patch_embed.proj.weight", WIDTH, PATCH},
    [VISION_PATCH_NEXT] = {"v.patch_embd.weight.1", NULL, WIDTH, PATCH},
    [VISION_PATCH_BIAS] = {"v.patch_embd.bias", "patch_embed.proj.bias", ONE, WIDTH},
    [VISION_POSITIONS] = {"v.position_embd.weight", "pos_embed.weight", POSITIONS, WIDTH},
    [VISION_MERGER_NORM] = {"v.post_ln.weight", "merger.norm.weight", ONE, WIDTH},
    [VISION_MERGER_NORM_BIAS] = {"v.post_ln.bias", "merger.norm.bias", ONE, WIDTH},
    [VISION_FC1] = {"mm.0.weight", "merger.linear_fc1.weight", JOINED, JOINED},
    [VISION_FC1_BIAS] = {"mm.0.bias", "merger.linear_fc1.bias", ONE, JOINED},
    [VISION_FC2] = {"mm.2.weight", "merger.linear_fc2.weight", OUT, JOINED},
    [VISION_FC2_BIAS] = {"mm.2.bias", "merger.linear_fc2.bias", ONE, OUT},
    [VISION_NORM1] = {"ln1.weight", "norm1.weight", ONE, WIDTH},
    [VISION_NORM1_BIAS] = {"ln1.bias", "norm1.bias", ONE, WIDTH},
    [VISION_QKV] = {"attn_qkv.weight", "attn.qkv.weight", THREE_WIDTHS, WIDTH},
    [VISION_QKV_BIAS] = {"attn_qkv.bias", "attn.qkv.bias", ONE, THREE_WIDTHS},
    [VISION_OUT] = {"attn_out.weight", "attn.proj.weight", WIDTH, WIDTH},
    [VISION_OUT_BIAS] = {"attn_out.bias", "attn.proj.bias", ONE, WIDTH},
    [VISION_NORM2] = {"ln2.weight", "norm2.weight", ONE, WIDTH},
    [VISION_NORM2_BIAS] = {"ln2.bias", "norm2.bias", ONE, WIDTH},
    [VISION_UP] = {"ffn_up.weight", "mlp.linear_fc1.weight", INTERMEDIATE, WIDTH},
    [VISION_UP_BIAS] = {"ffn_up.bias", "mlp.linear_fc1.bias", ONE, INTERMEDIATE},
    [VISION_DOWN] = {"ffn_down.weight", "mlp.linear_fc2.weight", WIDTH, INTERMEDIATE},
    [VISION_DOWN_BIAS] = {"ffn_down.bias", "mlp.linear_fc2.bias", ONE, WIDTH},
};

static bool in_each_block(enum vision_role role)
{
    return role >= VISION_NORM1;
}

/* Frames that one tensor of patches holds. */
static uint32_t frames_together(const struct tower *t)
{
    return t->tensors[VISION_PATCH_NEXT].data ? 1 : t->shape.frames;
}

static uint64_t size_of(const struct tower *t, enum size size)
{
    const struct vision_shape *s = &t->shape;
    switch (size) {
    case ONE:
        return 1;
    case WIDTH:
        return s->width;
    case THREE_WIDTHS:
        return 3 * (uint64_t)s->width;
    case INTERMEDIATE:
        return s->intermediate;
    case OUT:
        return s->out;
    case JOINED:
        return vision_joined(s);
    case POSITIONS:
        return (uint64_t)s->side * s->side;
    case PATCH:
        return (uint64_t)vision_patch_values(s) * frames_together(t);
    }
    return 0;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

struct vision_shape tower_usual(void)
{
    /* What the processor of the released models allows: 65,536 to 16,777,216 pixels. */
    return (struct vision_shape){.patch = 16,
                                 .merge = 2,
                                 .frames = 2,
                                 .eps = 1e-6f,
                                 .theta = 10000,
                                 .mean = {0.5f, 0.5f, 0.5f},
                                 .deviation = {0.5f, 0.5f, 0.5f},
                                 .min_pixels = 1 << 16,
                                 .max_pixels = 1 << 24,
                                 .pad = -1};
}

static tdm_status within(const struct tower *t, const char *what, uint64_t found, uint64_t low, uint64_t high,
                         tdm_error *err)
{
    if (found >= low && found <= high) return TDM_OK;
    return error_set(err, TDM_E_FORMAT, "%s: %s: expected %llu to %llu, found %llu", t->path, what,
                     (unsigned long long)low, (unsigned long long)high, (unsigned long long)found);
}

static tdm_status validate(const struct tower *t, tdm_error *err)
{
    const struct vision_shape *s = &t->shape;
    tdm_status status = within(t, "blocks of the vision tower", s->depth, 1, VISION_MAX_DEPTH, err);
    if (!status) status = within(t, "width of the vision tower", s->width, 4, VISION_MAX_WIDTH, err);
    if (!status) status = within(t, "heads of the vision tower", s->heads, 1, VISION_MAX_HEADS, err);
    if (!status)
        status = within(t, "feed-forward width of the vision tower", s->intermediate, 1, VISION_MAX_WIDTH, err);
    if (!status) status = within(t, "width behind the vision tower", s->out, 1, VISION_MAX_WIDTH, err);
    if (!status) status = within(t, "patch size", s->patch, 1, VISION_MAX_PATCH, err);
    if (!status) status = within(t, "merge size", s->merge, 1, VISION_MAX_MERGE, err);
    if (!status) status = within(t, "frames of a patch", s->frames, 1, 2, err);
    if (!status && (s->width % s->heads || vision_head_dim(s) % 4 || vision_head_dim(s) > VISION_MAX_HEAD))
        status =
            error_set(err, TDM_E_UNSUPPORTED,
                      "%s: a vision tower of width %u with %u heads: expected heads of a multiple of 4, at most %d",
                      t->path, s->width, s->heads, VISION_MAX_HEAD);
    bool odd = !(s->eps > 0 && s->eps < 1) || !(s->theta >= 1 && isfinite(s->theta));
    for (int c = 0; c < 3; c++) odd |= !isfinite(s->mean[c]) || !(s->deviation[c] > 1e-6f && isfinite(s->deviation[c]));
    if (!status && odd)
        status = error_set(err, TDM_E_FORMAT,
                           "%s: mean, deviation, epsilon or rotation of the vision tower: out of range", t->path);
    uint64_t unit = (uint64_t)s->patch * s->merge;
    if (!status && (s->min_pixels > s->max_pixels || s->max_pixels < unit * unit || s->max_pixels > 1 << 28))
        status = error_set(err, TDM_E_FORMAT,
                           "%s: pictures of %llu to %llu pixels: expected an ascending range, at least "
                           "%llu, at most %d",
                           t->path, (unsigned long long)s->min_pixels, (unsigned long long)s->max_pixels,
                           (unsigned long long)(unit * unit), 1 << 28);
    return status;
}

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

tdm_status tower_reserve(struct tower *t, tdm_error *err)
{
    tdm_status status = validate(t, err);
    if (status) return status;
    t->tensors = calloc((size_t)t->shape.depth * VISION_ROLES, sizeof *t->tensors);
    return t->tensors ? TDM_OK : error_set(err, TDM_E_NOMEM, "%s: out of memory", t->path);
}

void tower_dimensions(struct vision_tensor *out, const uint64_t *shape, uint32_t dims, bool fastest_first)
{
    out->rows = dims > 1 ? shape[fastest_first ? dims - 1 : 0] : 1;
    out->cols = 1;
    for (uint32_t i = 0; i < dims; i++) {
        bool slowest = dims > 1 && i == (fastest_first ? dims - 1 : 0);
        if (!slowest && !size_mul(out->cols, shape[i], &out->cols)) out->cols = 0; /* which no role has */
    }
}

/* The number at the beginning of a name, and what stands behind it and a dot. */
static bool take_block(struct span *name, uint32_t *block)
{
    size_t i = 0;
    for (*block = 0; i < name->length && name->bytes[i] >= '0' && name->bytes[i] <= '9' && i < 6; i++)
        *block = *block * 10 + (uint32_t)(name->bytes[i] - '0');
    if (!i || i >= name->length || name->bytes[i] != '.') return false;
    *name = (struct span){name->bytes + i + 1, name->length - i - 1};
    return true;
}

tdm_status tower_take(struct tower *t, enum tower_form form, struct span name, struct vision_tensor tensor,
                      tdm_error *err)
{
    const char *of_blocks = form == TOWER_GGUF ? "v.blk." : "blocks.";
    struct span rest = name;
    uint32_t block = 0;
    bool each = span_begins(name, of_blocks);
    if (each) {
        rest = (struct span){name.bytes + strlen(of_blocks), name.length - strlen(of_blocks)};
        if (!take_block(&rest, &block)) block = UINT32_MAX;
    }
    for (int role = 0; role < VISION_ROLES && block < t->shape.depth; role++) {
        const char *known = form == TOWER_GGUF ? table[role].gguf : table[role].hf;
        if (!known || in_each_block((enum vision_role)role) != each || !span_is(rest, known)) continue;
        struct vision_tensor *to = &t->tensors[(size_t)block * VISION_ROLES + (size_t)role];
        if (to->data)
            return error_set(err, TDM_E_FORMAT, "%s: %.*s: is there twice", t->path, (int)name.length, name.bytes);
        *to = tensor;
        return TDM_OK;
    }
    return error_set(err, TDM_E_UNSUPPORTED, "%s: %.*s: a part of a vision tower that Tandem doesn't know%s", t->path,
                     (int)name.length, name.bytes,
                     memmem(name.bytes, name.length, "deepstack", 9) ? " (deepstack)" : "");
}

static tdm_status check_tensor(struct tower *t, enum vision_role role, uint32_t block, tdm_error *err)
{
    const struct vision_tensor *tensor = tower_tensor(t, role, block);
    uint64_t rows = size_of(t, table[role].rows), cols = size_of(t, table[role].cols);
    char name[80];
    if (in_each_block(role))
        snprintf(name, sizeof name, "v.blk.%u.%s", block, table[role].gguf);
    else
        snprintf(name, sizeof name, "%s", table[role].gguf);
    if (!tensor->data)
        return role == VISION_PATCH_NEXT ? TDM_OK : error_set(err, TDM_E_FORMAT, "%s: %s: is missing", t->path, name);
    if (tensor->rows != rows || tensor->cols != cols || !type_row_bytes(tensor->type, cols))
        return error_set(err, TDM_E_FORMAT, "%s: %s: expected %llu x %llu, found %llu x %llu of %s", t->path, name,
                         (unsigned long long)rows, (unsigned long long)cols, (unsigned long long)tensor->rows,
                         (unsigned long long)tensor->cols, type_info(tensor->type)->name);
    t->parameters += rows * cols;
    t->bytes += rows * type_row_bytes(tensor->type, cols);
    return TDM_OK;
}

tdm_status tower_finish(struct tower *t, tdm_error *err)
{
    uint64_t positions = t->tensors[VISION_POSITIONS].rows;
    uint32_t side = (uint32_t)sqrt((double)positions);
    t->shape.side = side;
    if (!side || side > VISION_MAX_SIDE || (uint64_t)side * side != positions)
        return error_set(err, TDM_E_FORMAT, "%s: %llu learned positions: expected the square of 1 to %d", t->path,
                         (unsigned long long)positions, VISION_MAX_SIDE);
    if (t->tensors[VISION_PATCH_NEXT].data) t->shape.frames = 2;
    tdm_status status = TDM_OK;
    for (int role = 0; role < VISION_ROLES && !status; role++)
        for (uint32_t b = 0; b < (in_each_block((enum vision_role)role) ? t->shape.depth : 1) && !status; b++)
            status = check_tensor(t, (enum vision_role)role, b, err);
    return status;
}

const struct vision_tensor *tower_tensor(const struct tower *t, enum vision_role role, uint32_t block)
{
    return &t->tensors[(size_t)block * VISION_ROLES + role];
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static struct tower *tower_new(const char *path, const char *format)
{
    struct tower *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->path = strdup(path);
    t->format = format;
    t->shape = tower_usual();
    if (t->path) return t;
    free(t);
    return NULL;
}

void tower_close(struct tower *t)
{
    if (!t) return;
    gguf_close(t->gguf);
    shards_close(&t->shards);
    free(t->made);
    free(t->tensors);
    free(t->path);
    free(t);
}

static tdm_status opened(struct tower **out, struct tower *t, tdm_status status)
{
    if (!status)
        *out = t;
    else
        tower_close(t);
    return status;
}

tdm_status tower_open(struct tower **out, const char *path, tdm_error *err)
{
    struct stat st;
    bool folder = !stat(path, &st) && S_ISDIR(st.st_mode);
    struct tower *t = tower_new(path, folder ? "safetensors" : "GGUF");
    *out = NULL;
    if (!t) return error_set(err, TDM_E_NOMEM, "%s: out of memory", path);
    tdm_status status = folder ? tower_read_hf(t, err) : gguf_open(&t->gguf, path, err);
    if (!status && !folder) status = tower_read_gguf(t, err);
    return opened(out, t, status);
}

tdm_status tower_open_memory(struct tower **out, const void *data, uint64_t size, const char *name, tdm_error *err)
{
    struct tower *t = tower_new(name, "GGUF");
    *out = NULL;
    if (!t) return error_set(err, TDM_E_NOMEM, "%s: out of memory", name);
    tdm_status status = gguf_open_memory(&t->gguf, data, size, name, err);
    if (!status) status = tower_read_gguf(t, err);
    return opened(out, t, status);
}

/* Small numbers of both signs. */
static void fill(uint16_t *out, uint64_t n)
{
    uint64_t z = 1;
    for (uint64_t i = 0; i < n; i++) {
        z = z * 6364136223846793005u + 1442695040888963407u;
        out[i] = bf16_narrow(((float)(z >> 40) / (1 << 23) - 1) / 16);
    }
}

tdm_status tower_make(struct tower **out, const struct vision_shape *shape, tdm_error *err)
{
    struct tower *t = tower_new("made-up weights", "made up");
    *out = NULL;
    if (!t) return error_set(err, TDM_E_NOMEM, "no memory for a vision tower");
    t->shape = *shape;
    tdm_status status = tower_reserve(t, err);
    uint64_t most = 0;
    for (int role = 0; role < VISION_ROLES && !status; role++) {
        uint64_t n = size_of(t, table[role].rows) * size_of(t, table[role].cols);
        most = n > most ? n : most;
    }
    t->made = status ? NULL : malloc(most * sizeof(uint16_t));
    if (!status && !t->made) status = error_set(err, TDM_E_NOMEM, "no memory for a vision tower");
    if (!status) fill(t->made, most);
    for (int role = 0; role < VISION_ROLES && !status; role++) {
        if (role == VISION_PATCH_NEXT) continue;
        struct vision_tensor tensor = {TYPE_BF16, size_of(t, table[role].rows), size_of(t, table[role].cols), t->made};
        for (uint32_t b = 0; b < (in_each_block((enum vision_role)role) ? shape->depth : 1); b++)
            t->tensors[(size_t)b * VISION_ROLES + (size_t)role] = tensor;
    }
    if (!status) status = tower_finish(t, err);
    return opened(out, t, status);
}

/* ---- Where one is ------------------------------------------------------------------------------------------------ */

bool tower_is_projector(const char *path)
{
    struct gguf *g;
    struct span architecture = {"", 0};
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode) || gguf_open(&g, path, NULL)) return false;
    bool is = !gguf_get_string(g, "general.architecture", &architecture, NULL, NULL) && span_is(architecture, "clip");
    gguf_close(g);
    return is;
}

/* The one called mmproj- and the model's name, else the first by name. */
static char *found_in(const char *folder, const char *base)
{
    char best[256] = "";
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!hub_is_projector(e->d_name) || strlen(e->d_name) >= sizeof best) continue;
        bool own = !strncasecmp(e->d_name, "mmproj-", 7) && !strcasecmp(e->d_name + 7, base);
        if (own || !best[0] || strcmp(e->d_name, best) < 0) snprintf(best, sizeof best, "%s", e->d_name);
        if (own) break;
    }
    if (d) closedir(d);
    return best[0] ? file_join(folder, best) : NULL;
}

char *tower_beside(const char *model)
{
    struct stat st;
    errno = 0;
    if (stat(model, &st)) return NULL;
    if (S_ISDIR(st.st_mode)) return strdup(model);
    const char *slash = strrchr(model, '/');
    char *folder = slash ? strndup(model, (size_t)(slash - model) + (slash == model)) : strdup(".");
    char *found = folder ? found_in(folder, slash ? slash + 1 : model) : NULL;
    /* In a snapshot the parts of a model have a folder of their own, and its projector lies above it. */
    for (size_t top = folder ? hub_snapshot_length(folder) : 0;
         top && !found && errno != ENOMEM && strlen(folder) > top;) {
        *strrchr(folder, '/') = 0;
        found = found_in(folder, slash + 1);
    }
    free(folder);
    return found;
}

const struct vision_shape *tower_shape(const struct tower *t)
{
    return &t->shape;
}

const char *tower_path(const struct tower *t)
{
    return t->path;
}

const char *tower_format(const struct tower *t)
{
    return t->format;
}

uint64_t tower_bytes(const struct tower *t)
{
    return t->bytes;
}

uint64_t tower_parameters(const struct tower *t)
{
    return t->parameters;
}
