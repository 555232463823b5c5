#include "src/commands/info.h"

#include <string.h>

#include "engine/json/write.h"
#include "engine/vision/patches.h"
#include "engine/vision/weights.h"
#include "src/io/frames.h"
#include "src/io/output.h"
#include "src/models/load.h"

static unsigned long long tokens(const struct vision_shape *s, uint64_t pixels)
{
    uint64_t side = (uint64_t)s->patch * s->merge;
    return pixels / (side * side);
}

/* The type that most of its weights have. */
static const char *type_name(const struct tower *t)
{
    return type_info(tower_tensor(t, VISION_UP, 0)->type)->name;
}

/* What a usual picture becomes. */
enum { USUAL_WIDTH = 640, USUAL_HEIGHT = 480 };

struct usual {
    uint32_t width, height; /* as it is seen */
    uint32_t tokens;
    uint64_t bytes; /* of its embeddings */
};

static struct usual usual_of(const struct vision_shape *s)
{
    struct usual u = {0};
    patches_fit(s, USUAL_WIDTH, USUAL_HEIGHT, &u.width, &u.height, NULL);
    u.tokens = patches_tokens(s, u.width, u.height);
    u.bytes = (uint64_t)u.tokens * s->out * sizeof(float);
    return u;
}

static uint64_t packed_bytes(const struct tower *t, const options *o)
{
    const struct kernels *k;
    return kernels_find(&k, options_text(o, OPTION_KERNELS), NULL) ? 0 : vision_weights_bytes(t, k);
}

static void print_shape(const struct tower *t, const options *o)
{
    const struct vision_shape *s = tower_shape(t);
    struct usual u = usual_of(s);
    uint64_t packed = packed_bytes(t, o);
    output_print("%-18s %.1f million parameters (%.1f MB), %s\n", "vision", 1e-6 * (double)tower_parameters(t),
                 1e-6 * (double)tower_bytes(t), type_name(t));
    output_print("%-18s %u, width %u, feed-forward %u, %u heads of %u\n", "  layers", s->depth, s->width,
                 s->intermediate, s->heads, vision_head_dim(s));
    output_print("%-18s %u x %u pixels; %u x %u of them are a token of width %u\n", "  patches", s->patch, s->patch,
                 s->merge, s->merge, s->out);
    output_print("%-18s %u x %u learned, interpolated; rotated, base %g\n", "  positions", s->side, s->side,
                 (double)s->theta);
    output_print("%-18s %llu to %llu pixels, %llu to %llu tokens\n", "  pictures", (unsigned long long)s->min_pixels,
                 (unsigned long long)s->max_pixels, tokens(s, s->min_pixels), tokens(s, s->max_pixels));
    output_print("  %-16s %u tokens, seen as %u x %u; %.1f MB of embeddings\n", "640 x 480", u.tokens, u.width,
                 u.height, 1e-6 * (double)u.bytes);
    if (packed) output_print("%-18s %.1f MB packed, from the first picture on\n", "  memory", 1e-6 * (double)packed);
}

static void add_shape(json_object *o, const struct tower *t, const options *given)
{
    const struct vision_shape *s = tower_shape(t);
    struct usual u = usual_of(s);
    json_add_string(o, "path", tower_path(t));
    json_add_string(o, "format", tower_format(t));
    json_add_string(o, "weight_type", type_name(t));
    json_add_int(o, "parameters", (int64_t)tower_parameters(t));
    json_add_int(o, "bytes", (int64_t)tower_bytes(t));
    json_add_int(o, "layers", s->depth);
    json_add_int(o, "width", s->width);
    json_add_int(o, "intermediate", s->intermediate);
    json_add_int(o, "heads", s->heads);
    json_add_int(o, "head_dim", vision_head_dim(s));
    json_add_int(o, "output_width", s->out);
    json_add_int(o, "patch", s->patch);
    json_add_int(o, "merge", s->merge);
    json_add_int(o, "positions", (int64_t)s->side * s->side);
    json_add_real(o, "rotation_base", (double)s->theta);
    json_add_int(o, "min_pixels", (int64_t)s->min_pixels);
    json_add_int(o, "max_pixels", (int64_t)s->max_pixels);
    json_add_int(o, "least_tokens", (int64_t)tokens(s, s->min_pixels));
    json_add_int(o, "most_tokens", (int64_t)tokens(s, s->max_pixels));
    json_add_int(o, "tokens_of_640x480", u.tokens);
    json_add_int(o, "embedding_bytes_of_640x480", (int64_t)u.bytes);
    json_add_int(o, "packed_bytes", (int64_t)packed_bytes(t, given));
}

bool info_vision_is(const char *path)
{
    return path && tower_is_projector(path);
}

int info_vision(const options *o, const char *path)
{
    tdm_error err = {0};
    struct tower *t;
    if (tower_open(&t, path, &err)) return load_failed(&err);
    if (options_flag(o, OPTION_JSON)) {
        json_object *all = json_new_object();
        json_add_string(all, "name", tower_shape(t)->name);
        add_shape(all, t, o);
        frames_print(all);
    } else {
        if (tower_shape(t)->name[0]) output_print("%-18s %s\n", "projector", tower_shape(t)->name);
        output_print("%-18s %s\n", "file", path);
        output_print("%-18s %s\n", "format", tower_format(t));
        print_shape(t, o);
    }
    tower_close(t);
    return 0;
}

tdm_status info_vision_open(struct tower **out, const tdm_model *m, tdm_error *err)
{
    tdm_vision v;
    *out = NULL;
    tdm_model_vision(m, &v);
    return v.there ? tower_open(out, v.path, err) : TDM_OK;
}

void info_vision_lines(const options *o, const tdm_model *m, const struct tower *t)
{
    tdm_model_info info;
    tdm_vision v;
    tdm_model_describe(m, &info);
    tdm_model_vision(m, &v);
    if (v.left_out) output_print("%-18s not used: %s\n", "vision", v.why);
    if (!t) return;
    print_shape(t, o);
    if (strcmp(v.path, info.path) != 0) output_print("%-18s %s\n", "  file", v.path);
}

void info_vision_member(const options *o, const tdm_model *m, const struct tower *t, json_object *to)
{
    tdm_vision v;
    tdm_model_vision(m, &v);
    if (v.left_out) json_add_string(to, "vision_not_used", v.why);
    if (!t) return;
    json_object *vision = json_new_object();
    add_shape(vision, t, o);
    json_add(to, "vision", vision);
}
