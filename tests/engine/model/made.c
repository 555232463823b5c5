#include "tests/engine/model/made.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

#include "engine/model/gguf/gguf.h"
#include "engine/model/hf/safetensors.h"
#include "engine/os/atomic_file.h"

static char *join(const char *folder, const char *file)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, file) < 0) abort();
    return path;
}

char *made_folder(const char *name, const char *golden)
{
    char *folder = join(check_tmp(), name), *below = join("goldens", golden), whole[PATH_MAX];
    if (mkdir(folder, 0700) || !realpath(check_data(below), whole)) abort();
    DIR *d = opendir(whole);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || strstr(e->d_name, "golden")) continue;
        char *from = join(whole, e->d_name), *to = join(folder, e->d_name);
        if (symlink(from, to)) abort();
        free(from);
        free(to);
    }
    closedir(d);
    free(below);
    return folder;
}

void made_put(const char *folder, const char *file, const void *bytes, size_t n)
{
    char *path = join(folder, file);
    unlink(path);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) abort();
    free(path);
}

void made_text(const char *folder, const char *file, const char *text)
{
    made_put(folder, file, text, strlen(text));
}

void made_remove(const char *folder, const char *file)
{
    char *path = join(folder, file);
    if (unlink(path)) abort();
    free(path);
}

static void shard_add(FILE *header, FILE *data, const struct safetensors_tensor *t, const char *name, bool spoiled)
{
    long at = ftell(data);
    fprintf(header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", ftell(header) > 1 ? "," : "", name, t->dtype);
    for (uint32_t i = 0; i < t->dims; i++) fprintf(header, "%s%llu", i ? "," : "", (unsigned long long)t->shape[i]);
    fprintf(header, "],\"data_offsets\":[%ld,%llu]}", at, (unsigned long long)at + t->bytes);
    fwrite(t->data, 1, t->bytes - 1, data);
    putc(t->data[t->bytes - 1] ^ spoiled, data);
}

void made_shard(const char *folder, const char *file, const char *golden, const struct made_shard *what)
{
    char *header_text, *data_text, *from;
    size_t header_bytes, data_bytes;
    FILE *header = open_memstream(&header_text, &header_bytes), *data = open_memstream(&data_text, &data_bytes);
    struct safetensors *s;
    const struct safetensors_tensor *list;
    if (!header || !data || asprintf(&from, "goldens/%s/model.safetensors", golden) < 0) abort();
    if (safetensors_open(&s, check_data(from), NULL)) abort();
    size_t n = safetensors_tensors(s, &list);
    putc('{', header);
    for (size_t i = 0; i < n; i++) {
        if (what->takes && !what->takes(list[i].name)) continue;
        shard_add(header, data, &list[i], list[i].name, what->spoiled && !strcmp(list[i].name, what->spoiled));
        if (what->copied && !strcmp(list[i].name, what->copied))
            shard_add(header, data, &list[i], what->as, what->spoiled && !strcmp(what->as, what->spoiled));
    }
    putc('}', header);
    if (fclose(header) || fclose(data)) abort();
    char *bytes = malloc(8 + header_bytes + data_bytes);
    uint64_t length = header_bytes;
    if (!bytes) abort();
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header_text, header_bytes);
    memcpy(bytes + 8 + header_bytes, data_text, data_bytes);
    made_put(folder, file, bytes, 8 + header_bytes + data_bytes);
    safetensors_close(s);
    free(bytes);
    free(header_text);
    free(data_text);
    free(from);
}

static bool listed(struct span name, const char *const *list)
{
    for (; list && *list; list++)
        if (span_is(name, *list)) return true;
    return false;
}

struct made_tensor *made_find(struct made_tensor *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name)) return &list[i];
    fprintf(stderr, "no tensor %s\n", name);
    abort();
}

void made_drop(struct made_tensor *list, size_t *n, const char *name)
{
    struct made_tensor *t = made_find(list, *n, name);
    memmove(t, t + 1, (size_t)(list + --*n - t) * sizeof *t);
}

static struct made_tensor *list_of_gguf(const struct gguf *g, size_t *n)
{
    const struct gguf_tensor *from;
    *n = gguf_tensors(g, &from);
    struct made_tensor *list = calloc(2 * *n, sizeof *list);
    if (!list) abort();
    for (size_t i = 0; i < *n; i++) {
        snprintf(list[i].name, sizeof list[i].name, "%.*s", (int)from[i].name.length, from[i].name.bytes);
        memcpy(list[i].shape, from[i].shape, sizeof from[i].shape);
        list[i].dims = from[i].dims, list[i].type = from[i].type;
        list[i].data = from[i].data, list[i].bytes = from[i].bytes;
    }
    return list;
}

static void free_list(struct made_tensor *list, size_t n)
{
    for (size_t i = 0; i < n; i++) free(list[i].own);
    free(list);
}

char *made_gguf_edited(const char *name, const char *golden, const char *const *without,
                       void (*add)(struct gguf_writer *w), made_edit *edit)
{
    char *path = join(check_tmp(), name), *below;
    struct gguf *g;
    struct atomic_file *file;
    struct gguf_writer *w = gguf_writer_new();
    const struct gguf_key *keys;
    tdm_error err;
    if (asprintf(&below, "goldens/gguf/%s.gguf", golden) < 0) abort();
    if (!w || gguf_open(&g, check_data(below), &err) || atomic_file_new(&file, path, &err)) abort();
    size_t n_keys = gguf_keys(g, &keys), n;
    struct made_tensor *list = list_of_gguf(g, &n);
    if (edit) edit(list, &n);
    for (size_t i = 0; i < n_keys; i++)
        if (!listed(keys[i].name, without)) gguf_add_key(w, &keys[i]);
    if (add) add(w);
    for (size_t i = 0; i < n; i++)
        gguf_add_tensor(w, (struct span){list[i].name, strlen(list[i].name)}, list[i].dims, list[i].shape,
                        list[i].type);
    if (gguf_write_start(w, file, &err)) abort();
    for (size_t i = 0; i < n; i++)
        if (gguf_write_data(w, list[i].data, list[i].bytes, &err)) abort();
    if (!gguf_write_done(w)) abort();
    gguf_writer_free(w);
    gguf_close(g);
    if (atomic_file_commit(file, &err)) abort();
    free_list(list, n);
    free(below);
    return path;
}

char *made_gguf(const char *name, const char *golden, const char *const *without, void (*add)(struct gguf_writer *w))
{
    return made_gguf_edited(name, golden, without, add, NULL);
}

static void write_weights(FILE *f, const struct made_tensor *list, size_t n)
{
    char *header;
    size_t length;
    uint64_t at = 0;
    FILE *text = open_memstream(&header, &length);
    if (!text) abort();
    for (size_t i = 0; i < n; i++) {
        const char *dtype = list[i].type == TYPE_F32 ? "F32" : list[i].type == TYPE_F16 ? "F16" : "BF16";
        fprintf(text, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "{", list[i].name, dtype);
        for (uint32_t d = 0; d < list[i].dims; d++)
            fprintf(text, "%s%llu", d ? "," : "", (unsigned long long)list[i].shape[d]);
        fprintf(text, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
                (unsigned long long)(at + list[i].bytes));
        at += list[i].bytes;
    }
    fputs("}", text);
    if (fclose(text)) abort();
    uint64_t size = length;
    if (fwrite(&size, 8, 1, f) != 1 || fwrite(header, 1, length, f) != length) abort();
    for (size_t i = 0; i < n; i++)
        if (fwrite(list[i].data, 1, list[i].bytes, f) != list[i].bytes) abort();
    free(header);
}

void made_weights(const char *folder, made_edit *edit)
{
    char *path = join(folder, "model.safetensors"), *other = join(folder, "other");
    const struct safetensors_tensor *from;
    struct safetensors *s;
    tdm_error err;
    if (safetensors_open(&s, path, &err)) abort();
    size_t n = safetensors_tensors(s, &from);
    struct made_tensor *list = calloc(2 * n, sizeof *list);
    if (!list) abort();
    for (size_t i = 0; i < n; i++) {
        snprintf(list[i].name, sizeof list[i].name, "%s", from[i].name);
        memcpy(list[i].shape, from[i].shape, sizeof from[i].shape);
        list[i].dims = from[i].dims, list[i].type = from[i].type;
        list[i].data = from[i].data, list[i].bytes = from[i].bytes;
    }
    edit(list, &n);
    FILE *f = fopen(other, "wb");
    if (!f) abort();
    write_weights(f, list, n);
    if (fclose(f) || rename(other, path)) abort();
    safetensors_close(s);
    free_list(list, n);
    free(other);
    free(path);
}
