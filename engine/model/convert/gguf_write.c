#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/model/gguf/gguf.h"
#include "engine/os/atomic_file.h"

enum { ALIGNMENT = 32 };

struct part {
    struct buffer text;
    bool failed; /* out of memory */
};

struct gguf_writer {
    struct part keys, tensors; /* as they stand in the file */
    uint64_t key_count, tensor_count;
    uint64_t *sizes; /* of the tensors' data */
    uint64_t offset; /* of the next tensor's data */
    struct atomic_file *file;
    uint64_t current, written; /* the tensor that is being written, and its bytes so far */
};

/* The header as it stands in the file; gguf_write_start reports a failure. */
static void put(struct part *p, const void *data, size_t n)
{
    if (!p->failed && buffer_append(&p->text, data, n, NULL)) p->failed = true;
}

static void put_u32(struct part *b, uint32_t v)
{
    put(b, &v, sizeof v);
}

static void put_u64(struct part *b, uint64_t v)
{
    put(b, &v, sizeof v);
}

static void put_span(struct part *b, struct span s)
{
    put_u64(b, s.length);
    put(b, s.bytes, s.length);
}

static void put_key(struct gguf_writer *w, struct span key, enum gguf_value type)
{
    put_span(&w->keys, key);
    put_u32(&w->keys, type);
    w->key_count++;
}

static void put_array(struct gguf_writer *w, const char *key, enum gguf_value type, uint64_t count)
{
    put_key(w, span_text(key), GGUF_ARRAY);
    put_u32(&w->keys, type);
    put_u64(&w->keys, count);
}

struct gguf_writer *gguf_writer_new(void)
{
    return calloc(1, sizeof(struct gguf_writer));
}

void gguf_writer_free(struct gguf_writer *w)
{
    if (!w) return;
    buffer_free(&w->keys.text);
    buffer_free(&w->tensors.text);
    free(w->sizes);
    free(w);
}

static void put_scalar(struct gguf_writer *w, const char *key, enum gguf_value type, const void *value, size_t n)
{
    put_key(w, span_text(key), type);
    put(&w->keys, value, n);
}

void gguf_add_u32(struct gguf_writer *w, const char *key, uint32_t value)
{
    put_scalar(w, key, GGUF_U32, &value, sizeof value);
}

void gguf_add_i32(struct gguf_writer *w, const char *key, int32_t value)
{
    put_scalar(w, key, GGUF_I32, &value, sizeof value);
}

void gguf_add_f32(struct gguf_writer *w, const char *key, float value)
{
    put_scalar(w, key, GGUF_F32, &value, sizeof value);
}

void gguf_add_bool(struct gguf_writer *w, const char *key, bool value)
{
    uint8_t byte = value;
    put_scalar(w, key, GGUF_BOOL, &byte, 1);
}

void gguf_add_string(struct gguf_writer *w, const char *key, struct span value)
{
    put_key(w, span_text(key), GGUF_STRING);
    put_span(&w->keys, value);
}

void gguf_add_strings(struct gguf_writer *w, const char *key, const struct span *values, uint64_t count)
{
    put_array(w, key, GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++) put_span(&w->keys, values[i]);
}

void gguf_add_i32s(struct gguf_writer *w, const char *key, const int32_t *values, uint64_t count)
{
    put_array(w, key, GGUF_I32, count);
    put(&w->keys, values, count * sizeof *values);
}

void gguf_add_f32s(struct gguf_writer *w, const char *key, const float *values, uint64_t count)
{
    put_array(w, key, GGUF_F32, count);
    put(&w->keys, values, count * sizeof *values);
}

void gguf_add_bools(struct gguf_writer *w, const char *key, const bool *values, uint64_t count)
{
    put_array(w, key, GGUF_BOOL, count);
    for (uint64_t i = 0; i < count; i++) put(&w->keys, &(uint8_t){values[i]}, 1);
}

void gguf_add_key(struct gguf_writer *w, const struct gguf_key *key)
{
    put_key(w, key->name, key->array ? GGUF_ARRAY : key->type);
    if (key->array) {
        put_u32(&w->keys, key->type);
        put_u64(&w->keys, key->count);
    }
    put(&w->keys, key->data, key->bytes);
}

void gguf_add_tensor(struct gguf_writer *w, struct span name, uint32_t dims, const uint64_t *shape, enum type type)
{
    uint64_t rows = 1;
    uint64_t *sizes = realloc(w->sizes, (w->tensor_count + 1) * sizeof *sizes);
    if (!sizes) {
        w->tensors.failed = true;
        return;
    }
    w->sizes = sizes;
    put_span(&w->tensors, name);
    put_u32(&w->tensors, dims);
    for (uint32_t i = 0; i < dims; i++) {
        put_u64(&w->tensors, shape[i]);
        if (i) rows *= shape[i];
    }
    put_u32(&w->tensors, type_info(type)->gguf);
    put_u64(&w->tensors, w->offset);
    sizes[w->tensor_count] = rows * type_row_bytes(type, shape[0]);
    w->offset += (sizes[w->tensor_count++] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static tdm_status pad(struct gguf_writer *w, tdm_error *err)
{
    static const uint8_t zeros[ALIGNMENT];
    uint64_t over = atomic_file_written(w->file) % ALIGNMENT;
    return over ? atomic_file_write(w->file, zeros, ALIGNMENT - over, err) : TDM_OK;
}

tdm_status gguf_write_start(struct gguf_writer *w, struct atomic_file *file, tdm_error *err)
{
    if (w->keys.failed || w->tensors.failed) return error_set(err, TDM_E_NOMEM, "GGUF header: out of memory");
    w->file = file;
    const uint32_t version = 3;
    const uint64_t counts[2] = {w->tensor_count, w->key_count};
    tdm_status status = atomic_file_write(file, "GGUF", 4, err);
    if (!status) status = atomic_file_write(file, &version, sizeof version, err);
    if (!status) status = atomic_file_write(file, counts, sizeof counts, err);
    if (!status) status = atomic_file_write(file, w->keys.text.bytes, w->keys.text.n, err);
    if (!status) status = atomic_file_write(file, w->tensors.text.bytes, w->tensors.text.n, err);
    return status ? status : pad(w, err);
}

tdm_status gguf_write_data(struct gguf_writer *w, const void *data, uint64_t bytes, tdm_error *err)
{
    assert_always(w->file && w->current < w->tensor_count && bytes <= w->sizes[w->current] - w->written);
    tdm_status status = atomic_file_write(w->file, data, bytes, err);
    w->written += bytes;
    if (status || w->written < w->sizes[w->current]) return status;
    w->current++;
    w->written = 0;
    return pad(w, err);
}

bool gguf_write_done(const struct gguf_writer *w)
{
    return w->current == w->tensor_count;
}
