#include "src/pull/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/error.h"
#include "engine/base/size.h"
#include "engine/model/type.h"
#include "src/io/number.h"

static bool fits(uint64_t bytes, uint64_t memory)
{
    return !memory || (memory > HUB_SPARE && bytes <= memory - HUB_SPARE);
}

static tdm_status take_file(choice *c, const repository_file *f, bool weights, tdm_error *err)
{
    const repository_file **larger = realloc(c->files, (c->n + 1) * sizeof *larger);
    if (!larger) return error_set(err, TDM_E_NOMEM, "out of memory");
    c->files = larger;
    c->files[c->n++] = f;
    if (weights) c->weights += f->size;
    if (!size_add(c->bytes, f->size, &c->bytes)) return error_set(err, TDM_E_FORMAT, "%s: impossible size", f->path);
    return TDM_OK;
}

void choose_free(choice *c)
{
    free(c->files);
    *c = (choice){0};
}

/* ---- GGUF ------------------------------------------------------------------------------------------------------ */

/* One model of a repository: a file, or the parts of a split one. */
typedef struct {
    const char *path; /* of one of its files; the first name.stem characters are shared by all */
    struct hub_gguf name;
    uint64_t bytes;
    uint32_t found; /* parts */
} model;

typedef struct {
    model *list;
    size_t n;
} models;

static bool same_model(const model *m, const struct hub_gguf *name, const char *path)
{
    return m->name.stem == name->stem && m->name.parts == name->parts && !memcmp(m->path, path, name->stem);
}

static tdm_status models_gather(models *out, const repository *r, tdm_error *err)
{
    *out = (models){.list = calloc(r->n + 1, sizeof *out->list)};
    if (!out->list) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < r->n; i++) {
        const repository_file *f = &r->files[i];
        struct hub_gguf name;
        model *m = out->list;
        if (!hub_gguf_parse(&name, f->path)) continue;
        while (m < out->list + out->n && !same_model(m, &name, f->path)) m++;
        if (m == out->list + out->n) *m = (model){.path = f->path, .name = name}, out->n++;
        m->found++;
        if (!size_add(m->bytes, f->size, &m->bytes))
            return error_set(err, TDM_E_FORMAT, "%s: impossible size", f->path);
    }
    return TDM_OK;
}

static int by_bytes(const void *a, const void *b)
{
    const model *x = a, *y = b;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* "BF16 8.4 GB, Q8_0 4.5 GB": the largest first, as many as there is room for. */
static void models_words(const models *all, char *out, size_t room)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = all->n; i-- > 0 && used + HUB_TAG_ROOM + BYTES_ROOM + 2 < room;) {
        char size[BYTES_ROOM];
        int added = snprintf(out + used, room - used, "%s%s %s", used ? ", " : "", all->list[i].name.tag,
                             bytes_words(size, all->list[i].bytes));
        used += added > 0 ? (size_t)added : 0;
    }
}

static const model *find_tag(const models *all, const char *tag, size_t *count)
{
    const model *found = NULL;
    *count = 0;
    for (size_t i = 0; i < all->n; i++)
        if (hub_tag_is(&all->list[i].name, all->list[i].path, tag)) found = &all->list[i], ++*count;
    return found;
}

/* Whether the engine reads the type that a quant is named after: Q4_K of UD-Q4_K_XL, IQ4_XS of IQ4_XS. */
static bool is_read(const char *tag)
{
    char name[HUB_TAG_ROOM];
    snprintf(name, sizeof name, "%s", tag + (strncasecmp(tag, "UD-", 3) ? 0 : 3));
    for (;;) {
        if (type_from_name(name) != TYPE_COUNT) return true;
        char *last = strrchr(name, '_');
        if (!last) return false;
        *last = 0;
    }
}

/* 16 and 32 bits a weight: read more slowly than a quantised form, and hardly better. */
static bool is_wide(const char *tag)
{
    return strcasestr(tag, "F16") || strcasestr(tag, "F32") || strcasestr(tag, "FP16") || strcasestr(tag, "FP32");
}

/* The largest model that fits, of the quantised ones if there are any; the list is sorted by size. A single model may
 * have any name. */
static const model *find_fitting(const models *all, uint64_t memory)
{
    for (int wide = 0; wide < 2; wide++)
        for (size_t i = all->n; i-- > 0;) {
            const model *m = &all->list[i];
            bool good = is_read(m->name.tag) || all->n == 1;
            if (fits(m->bytes, memory) && good && is_wide(m->name.tag) == wide) return m;
        }
    return NULL;
}

static tdm_status pick_tag(const model **out, choice *c, const models *all, const char *tag, tdm_error *err)
{
    char words[300];
    size_t count;
    *out = find_tag(all, tag, &count);
    snprintf(c->reason, sizeof c->reason, "the quant that you named");
    if (count == 1) return TDM_OK;
    models_words(all, words, sizeof words);
    if (count > 1)
        return error_set(err, TDM_E_NOT_FOUND, "%s: %zu models have this tag; name one by its file, without .gguf: %s",
                         tag, count, (*out)->path);
    return error_set(err, TDM_E_NOT_FOUND, "no model %s; there are: %s", tag, words);
}

static tdm_status pick_usual(const model **out, choice *c, const models *all, uint64_t memory, tdm_error *err)
{
    char size[BYTES_ROOM], words[300], wanted[80] = "";
    for (const char *const *usual = hub_usual_tags; *usual; usual++) {
        size_t count;
        const model *m = find_tag(all, *usual, &count);
        if (count != 1) continue;
        if (fits(m->bytes, memory)) {
            *out = m;
            snprintf(c->reason, sizeof c->reason, "the usual quant%s", memory ? ", and it fits the memory" : "");
            return TDM_OK;
        }
        if (!wanted[0]) snprintf(wanted, sizeof wanted, "%s does not fit the memory", *usual);
    }
    if (!wanted[0]) snprintf(wanted, sizeof wanted, "there is neither Q4_K_M nor UD-Q4_K_XL");
    *out = find_fitting(all, memory);
    if (all->n == 1)
        snprintf(c->reason, sizeof c->reason, "the only model of the repository");
    else
        snprintf(c->reason, sizeof c->reason, "%s; the largest quant that %s", wanted, memory ? "fits" : "is there");
    if (*out) return TDM_OK;
    models_words(all, words, sizeof words);
    return error_set(
        err, TDM_E_NOT_FOUND,
        "no quant that Tandem reads fits the memory (%s less 3 GB); with :TAG one is taken all the same: %s",
        bytes_words(size, memory), words);
}

/* All files of the model, in the order of their parts. */
static tdm_status take_model(choice *c, const repository *r, const model *m, tdm_error *err)
{
    tdm_status status = TDM_OK;
    if (m->found != m->name.parts)
        return error_set(err, TDM_E_FORMAT, "%s: expected %u parts, found %u", m->path, m->name.parts, m->found);
    for (uint32_t part = 1; !status && part <= m->name.parts; part++) {
        const repository_file *file = NULL;
        for (size_t i = 0; i < r->n && !file; i++) {
            struct hub_gguf name;
            const repository_file *f = &r->files[i];
            if (hub_gguf_parse(&name, f->path) && same_model(m, &name, f->path) && name.part == part) file = f;
        }
        status = file ? take_file(c, file, true, err)
                      : error_set(err, TDM_E_FORMAT, "%s: part %u is missing", m->path, part);
    }
    strcpy(c->tag, m->name.tag);
    return status;
}

/* In the folder of the model, or at the top of the repository: where a model's parts have a folder of their own. */
static bool is_beside(const char *path, const model *m)
{
    const char *slash = strrchr(path, '/'), *its = strrchr(m->path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    return !slash || (its && (size_t)(its - m->path) == n && !memcmp(path, m->path, n));
}

/* These towers are trained in BF16. A narrower or wider form is taken only if there is no other. */
static int projector_rank(const char *path)
{
    return strcasestr(path, "bf16") ? 0 : strcasestr(path, "f16") ? 1 : strcasestr(path, "f32") ? 2 : 3;
}

static tdm_status take_projector(choice *c, const repository *r, const model *m, tdm_error *err)
{
    const repository_file *best = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const repository_file *f = &r->files[i];
        if (!hub_is_projector(f->path) || !is_beside(f->path, m)) continue;
        if (!best || projector_rank(f->path) < projector_rank(best->path)) best = f;
    }
    c->projector = best;
    return best ? take_file(c, best, true, err) : TDM_OK;
}

/* ---- Safetensors ----------------------------------------------------------------------------------------------- */

static const char index_name[] = "model.safetensors.index.json";

static bool has_models(const repository *r)
{
    struct hub_gguf name;
    for (size_t i = 0; i < r->n; i++)
        if (hub_gguf_parse(&name, r->files[i].path)) return true;
    return false;
}

const repository_file *choose_index(const repository *r)
{
    return has_models(r) ? NULL : repository_find(r, index_name);
}

const repository_file *choose_whole(const repository *r)
{
    return repository_find(r, "model.safetensors");
}

/* The length of NAME in NAME.safetensors beside config.json; 0: the path is no such file, or it is Mistral's own form
 * of the same weights, or an adapter. */
static size_t weights_stem(const char *path)
{
    static const char suffix[] = ".safetensors";
    size_t n = strlen(path), end = sizeof suffix - 1;
    bool other = !strncmp(path, "consolidated", 12) || !strncmp(path, "adapter", 7);
    return strchr(path, '/') || other || n <= end || strcmp(path + n - end, suffix) ? 0 : n - end;
}

/* All files that the index names. */
static tdm_status take_indexed(choice *c, const repository *r, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (size_t i = 0; !status && i < r->index.n; i++) {
        const repository_file *f = repository_find(r, r->index.paths[i]);
        status = f ? take_file(c, f, true, err)
                   : error_set(err, TDM_E_FORMAT, "%s names %s, which the repository doesn't have", index_name,
                               r->index.paths[i]);
    }
    return status;
}

/* Without an index: takes the parts of one model, or the only file. named: only those whose name is `model`. */
static tdm_status take_parts(choice *c, const repository *r, bool named, tdm_error *err)
{
    const repository_file *first = NULL;
    uint32_t part = 1, parts = 1, found = 0;
    size_t name = 0;
    tdm_status status = TDM_OK;
    for (size_t i = 0; !status && i < r->n; i++) {
        const repository_file *f = &r->files[i];
        size_t stem = weights_stem(f->path);
        uint32_t of = 1;
        if (!stem || (named && strncmp(f->path, "model", 5))) continue;
        size_t its = hub_part_parse(f->path, stem, &part, &of);
        if (first && (!its || its != name || of != parts || memcmp(f->path, first->path, its)))
            return error_set(err, TDM_E_NOT_FOUND, "several files of weights and no %s: %s, %s ...", index_name,
                             first->path, f->path);
        if (!first) first = f, name = its, parts = of;
        found++;
        status = take_file(c, f, true, err);
    }
    if (!status && found && name && found != parts)
        status = error_set(err, TDM_E_FORMAT, "%s: expected %u parts, found %u", first->path, parts, found);
    return status;
}

static tdm_status take_weights(choice *c, const repository *r, tdm_error *err)
{
    const repository_file *whole = choose_whole(r);
    if (r->index.n) return take_indexed(c, r, err);
    if (whole) return take_file(c, whole, true, err);
    tdm_status status = take_parts(c, r, true, err);
    return status || c->weights ? status : take_parts(c, r, false, err);
}

static tdm_status choose_safetensors(choice *c, const repository *r, bool vision, tdm_error *err)
{
    static const char *const beside[] = {
        "config.json",         "generation_config.json",  "tokenizer.json",     "tokenizer_config.json",
        "chat_template.jinja", "special_tokens_map.json", "chat_template.json",
    };
    tdm_status status = TDM_OK;
    if (!repository_find(r, "config.json") || !repository_find(r, "tokenizer.json"))
        return error_set(err, TDM_E_NOT_FOUND,
                         "expected GGUF models, or safetensors with config.json and tokenizer.json; found neither");
    for (size_t i = 0; !status && i < sizeof beside / sizeof *beside; i++) {
        const repository_file *f = repository_find(r, beside[i]);
        if (f) status = take_file(c, f, false, err);
    }
    const repository_file *pictures = vision ? repository_find(r, "preprocessor_config.json") : NULL;
    if (!status && pictures) status = take_file(c, pictures, false, err);
    if (!status && r->index.n) status = take_file(c, repository_find(r, index_name), false, err);
    size_t before = c->n;
    if (!status) status = take_weights(c, r, err);
    if (!status && c->n == before)
        status = error_set(err, TDM_E_NOT_FOUND, "there are neither GGUF models nor safetensors");
    snprintf(c->reason, sizeof c->reason, "configuration, tokenizer and weights (safetensors)%s",
             r->index.n ? ", those that the index names" : "");
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- */

tdm_status choose(choice *out, const repository *r, const choice_wish *wish, tdm_error *err)
{
    models all;
    const model *m = NULL;
    const char *tag = wish->tag;
    *out = (choice){0};
    tdm_status status = models_gather(&all, r, err);
    if (!status && all.n) {
        qsort(all.list, all.n, sizeof *all.list, by_bytes);
        status = tag[0] ? pick_tag(&m, out, &all, tag, err) : pick_usual(&m, out, &all, wish->memory, err);
        if (!status && wish->vision) status = take_projector(out, r, m, err);
        if (!status) status = take_model(out, r, m, err);
    } else if (!status && tag[0]) {
        status = error_set(err, TDM_E_NOT_FOUND, "no model %s; there are no GGUF models", tag);
    } else if (!status) {
        status = choose_safetensors(out, r, wish->vision, err);
    }
    free(all.list);
    if (status)
        choose_free(out);
    else
        out->fits = fits(out->weights, wish->memory);
    return status;
}
